package console

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/knowledge"
	"sluice/flow/wording"
	"sluice/handlers/web"
	"sluice/views/components"
	consoleview "sluice/views/console"
	"sluice/views/layout"
)

// newFlowRoutes returns the routes that create flows.
func (s *Server) newFlowRoutes() []route {
	return []route{
		{http.MethodPost, "/flows", web.Editor, web.Posted((*call).createFlow)},
		{http.MethodGet, "/flows/templates", web.Viewer, (*call).showTemplates},
		{http.MethodGet, "/flows/import", web.Editor, (*call).showImport},
		{http.MethodPost, "/flows/import", web.Editor, (*call).importFlow},
	}
}

// showTemplates is GET /flows/templates.
func (c *call) showTemplates() error {
	page := consoleview.TemplatesPage{Starters: c.s.starters(false), MayEdit: c.MayEdit()}
	return c.Render(http.StatusOK, consoleview.Templates(c.Page("Templates", layout.SectionFlows), page))
}

// createFlow is POST /flows: an empty flow, a template, or a flow around a
// model or node kind.
func (c *call) createFlow() error {
	d, subflows, err := c.newDocument()
	if err != nil {
		return err
	}
	var base *knowledge.Base
	if st := c.s.findStarter(c.FormValue("template")); st != nil && st.Base != "" {
		if base, err = c.addBase(d, st, c.FormValue("knowledge")); err != nil {
			return err
		}
	}
	made, err := c.s.Library.CreateFromTemplate(c.Ctx(), c.Actor(), c.WorkspaceID(), d, subflows)
	if err != nil {
		return fmt.Errorf("create a flow: %w", err)
	}
	if base != nil && base.Documents == 0 {
		c.Toast(components.ToneOK, "“"+made[0].Name+"” is ready. Add documents here, then use the flow.")
		return c.Redirect("/knowledge/" + url.PathEscape(base.Slug))
	}
	return c.Redirect("/flows/" + string(made[0].ID))
}

// newDocument returns the document that the form requests, and the flows that come with a
// template because it runs them.
func (c *call) newDocument() (d *flow.Document, subflows []*flow.Document, err error) {
	if kind := c.FormValue("kind"); kind != "" {
		d, err = c.documentForKind(kind, strings.TrimSpace(c.FormValue("model")))
		return d, nil, err
	}
	if model := c.FormValue("model"); model != "" {
		d, err = c.documentForModel(model)
		return d, nil, err
	}
	id := c.FormValue("template")
	if id == "" {
		return blankDocument(), nil, nil
	}
	st := c.s.findStarter(id)
	if st == nil {
		return nil, nil, flow.Errorf(flow.CodeInputInvalid, "This template no longer exists. Reload the page and choose another.")
	}
	d, _ = document.ParseDocument(st.Document.Compact()) // a copy, as the starter is shared
	return d, st.Subflows, nil
}

// blankDocument returns the smallest valid flow, which returns its input.
func blankDocument() *flow.Document {
	return &flow.Document{
		Schema: flow.Schema, Name: "Untitled flow",
		Nodes: []flow.Node{
			{ID: "text", Kind: "input", Position: &flow.Position{X: 0, Y: 0}, Config: map[string]any{"name": "text", "type": "text", "example": "Hello"}},
			{ID: "result", Kind: "output", Position: &flow.Position{X: 300, Y: 0}, Config: map[string]any{"name": "result"}},
		},
		Edges: []flow.Edge{{From: "text.value", To: "result.value"}},
	}
}

// documentForModel returns a flow with one hosted model, an input for each required
// field, and one output.
func (c *call) documentForModel(model string) (*flow.Document, error) {
	n := &flow.Node{ID: "model", Kind: "hosted_model", Position: &flow.Position{X: 240, Y: 0}, Config: map[string]any{}}
	config, err := c.s.Models.PinModel(c.Ctx(), c.WorkspaceID(), n, strings.TrimSpace(model))
	if err != nil {
		return nil, err
	}
	n.Config = config
	d := &flow.Document{Schema: flow.Schema, Name: truncateName(flow.Text(config["model"])), Edges: []flow.Edge{}}
	k := c.s.Kinds.For(n)
	taken := map[string]bool{"model": true, "result": true}
	for i := range k.Fields {
		f := &k.Fields[i]
		name, isInput := strings.CutPrefix(f.Name, "input.")
		if isInput && (f.Required || name == "prompt") && f.Type != flow.FieldSecret {
			d.Nodes = append(d.Nodes, inputForField(f, name, len(d.Nodes), taken))
			d.Edges = append(d.Edges, flow.Edge{From: d.Nodes[len(d.Nodes)-1].ID + ".value", To: "model." + f.Name})
		}
	}
	d.Nodes = append(d.Nodes, *n, flow.Node{ID: "result", Kind: "output", Position: &flow.Position{X: 480, Y: 0}, Config: map[string]any{"name": "result"}})
	d.Edges = append(d.Edges, flow.Edge{From: "model.output", To: "result.value"})
	return d, nil
}

// documentForKind returns a flow with one node that has the example config of its kind, an
// input for each port in the example, and the first output. model may be empty.
func (c *call) documentForKind(kind, model string) (*flow.Document, error) {
	k := c.s.Kinds.Find(kind)
	if k == nil || k.Group != builtInGroup && k.Group != modelGroup {
		return nil, flow.Errorf(flow.CodeInputInvalid, "This node kind does not exist. Reload the page and choose another.")
	}
	n := flow.Node{ID: kind, Kind: kind, Position: &flow.Position{X: 240, Y: 0}, Config: maps.Clone(k.Example.Config)}
	name := k.Title
	if model != "" {
		if n.Config == nil {
			n.Config = map[string]any{}
		}
		n.Config["model"], name = model, model
	}
	d := &flow.Document{Schema: flow.Schema, Name: truncateName(name), Edges: []flow.Edge{}}
	taken := map[string]bool{kind: true, "result": true}
	for _, port := range flow.InputPorts(&n, k) {
		example, fed := k.Example.Ports[port.Name]
		if !fed {
			continue
		}
		in := inputForPort(port, example, len(d.Nodes), taken)
		d.Nodes = append(d.Nodes, in)
		d.Edges = append(d.Edges, flow.Edge{From: in.ID + ".value", To: kind + "." + port.Name})
	}
	d.Nodes = append(d.Nodes, n, flow.Node{ID: "result", Kind: "output", Position: &flow.Position{X: 480, Y: 0}, Config: map[string]any{"name": "result"}})
	if outputs := flow.OutputPorts(&n, k); len(outputs) > 0 {
		d.Edges = append(d.Edges, flow.Edge{From: kind + "." + outputs[0].Name, To: "result.value"})
	}
	return d, nil
}

// inputForPort returns an input node for a port. The example of the port becomes the
// example of the input. It adds the ID of the node to taken.
func inputForPort(port flow.Port, example any, row int, taken map[string]bool) flow.Node {
	id := port.Name
	for taken[id] {
		id += "_input"
	}
	taken[id] = true
	t := port.ShownType()
	if t == flow.TypeAny {
		t = flow.TypeJSON
		if _, text := example.(string); text {
			t = flow.TypeText
		}
	}
	config := map[string]any{"name": id, "type": string(t)}
	if t != flow.TypeFile {
		config["example"] = example
	}
	return flow.Node{ID: id, Kind: "input", Label: port.Title, Position: &flow.Position{X: 0, Y: float64(row * 140)}, Config: config}
}

// inputForField returns an input node for a field of a model. It adds the ID of the
// node to taken.
func inputForField(f *flow.Field, name string, row int, taken map[string]bool) flow.Node {
	id := strings.Trim(notFileName.ReplaceAllString(strings.ToLower(name), "_"), "_")
	for id == "" || taken[id] {
		id += fmt.Sprintf("input_%d", row+1)
	}
	taken[id] = true
	config := map[string]any{"name": id, "type": string(inputType(f))}
	if f.Help != "" {
		config["description"] = f.Help
	}
	if f.Suggest != nil && f.PortType() != flow.TypeFile {
		config["default"] = f.Suggest
	}
	return flow.Node{ID: id, Kind: "input", Label: f.Title, Position: &flow.Position{X: 0, Y: float64(row * 140)}, Config: config}
}

// inputType returns the type of an input node for a field.
func inputType(f *flow.Field) flow.Type {
	if f.Type == flow.FieldFile {
		return flow.TypeFile
	}
	switch t := f.PortType(); t {
	case flow.TypeText, flow.TypeNumber, flow.TypeBoolean, flow.TypeList:
		return t
	}
	return flow.TypeJSON
}

// truncateName shortens a name to 100 characters, the limit for flows.
func truncateName(title string) string {
	name, _ := wording.Cut(title, 100)
	return name
}
