package editor

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/handlers/web"
	"sluice/views/components"
	editorview "sluice/views/editor"
)

// maxModels is the largest number of models in the list.
const maxModels = 120

// listModels is GET /flows/{id}/models: the list below a model field.
func listModels(c *call) error {
	f, err := c.FindFlow()
	if err != nil {
		return err
	}
	list := editorview.ModelList{Query: strings.TrimSpace(c.QueryParam("q")), Current: c.QueryParam("model"), Connected: c.QueryParam("connected")}
	if c.MayEdit() {
		list.FlowID = string(f.ID)
	}
	left := maxModels
	for _, g := range c.s.Models.ListModels(c.Ctx(), c.WorkspaceID(), c.QueryParam("task"), list.Query) {
		if g.Place == components.PlaceOwn {
			if c.MayEdit() {
				list.Servers = append(list.Servers, g)
			}
			continue
		}
		if len(g.Models) > left {
			g.Models, list.More = g.Models[:left], true
		}
		left -= len(g.Models)
		if len(g.Models) > 0 || g.Note != "" || g.Place == components.PlaceOffered && c.MayEdit() {
			list.Groups = append(list.Groups, g)
		}
	}
	return c.Render(http.StatusOK, editorview.Models(list))
}

// pinModel is GET /flows/{id}/node/{node}/pin: the edits that make a node use a
// hosted model. The script applies them, so that they can be undone like all
// edits.
func pinModel(c *call, t *draftNode) error {
	if !t.usesHostedModel() {
		return web.ErrNotFound
	}
	ops, err := pinEdits(c, t.node, c.QueryParam("model"))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"ops": ops})
}

// usesHostedModel reports whether the node runs a hosted model.
func (t *draftNode) usesHostedModel() bool {
	f := t.kind.Field("model")
	return f != nil && f.Type == flow.FieldModel && f.Task == web.HostedTask
}

// pinEdits returns the edits that change a node to a model.
func pinEdits(c *call, n *flow.Node, model string) ([]document.Edit, error) {
	config, err := c.s.Models.PinModel(c.Ctx(), c.WorkspaceID(), n, strings.TrimSpace(model))
	if err != nil {
		return nil, err
	}
	var ops []document.Edit
	for _, field := range []string{"model", "version", "schema"} {
		value, set := config[field]
		if current, exists := n.Config[field]; set == exists && string(flow.EncodeJSON(current)) == string(flow.EncodeJSON(value)) {
			continue
		}
		ops = append(ops, document.Edit{Op: document.OpSet, Node: n.ID, Field: field, Value: value, Unset: !set})
	}
	return ops, nil
}

// applyPinned replaces the edit of the model name by edits of name, version and
// schema. If the provider cannot be read, the model is accepted by name; a model
// that is incompatible or does not exist is an error of the form.
func applyPinned(c *call, f *nodeForm, model string) error {
	ops, err := pinEdits(c, f.node, model)
	if e, ok := errors.AsType[*flow.Error](err); ok {
		if e.Code == flow.CodeModelIncompatible || e.Code == flow.CodeNotFound {
			f.errors["model"] = e.Message
			f.typed["model"] = document.FormValue{As: flow.FieldModel, Texts: []string{model}}
		}
		return nil
	}
	if err != nil {
		return err
	}
	f.edits = slices.DeleteFunc(f.edits, func(e document.Edit) bool {
		return e.Op == document.OpSet && (e.Field == "model" || e.Field == "version" || e.Field == "schema")
	})
	f.edits = append(f.edits, ops...)
	return nil
}

// showUpgrade is GET /flows/{id}/node/{node}/upgrade: the changes in the newest
// version of a node's model, or of the flow that it runs.
func showUpgrade(c *call, t *draftNode) error {
	if t.kind.StartsRuns() {
		return showFlowUpgrade(c, t)
	}
	if !t.usesHostedModel() {
		return web.ErrNotFound
	}
	up, err := c.s.Models.UpgradeModel(c.Ctx(), c.WorkspaceID(), t.node, t.Edges)
	if err != nil {
		return err
	}
	up.FlowID, up.Node = string(t.flow.ID), t.node.ID
	return c.Render(http.StatusOK, editorview.UpgradeOf(up))
}

// showFlowUpgrade compares the version of a flow that a node is pinned to with the live version.
func showFlowUpgrade(c *call, t *draftNode) error {
	up, err := c.s.Library.UpgradeCalled(c.Ctx(), c.WorkspaceID(), t.Document, t.node)
	if err != nil {
		return err
	}
	if up == nil {
		return c.Render(http.StatusOK, editorview.UpgradeOf(components.Upgrade{Newest: true, Name: "the flow"}))
	}
	view := components.Upgrade{FlowID: string(t.flow.ID), Node: t.node.ID, Name: up.Flow, Version: up.To}
	for _, change := range up.Changes {
		view.Changes = append(view.Changes, components.UpgradeChange{Sentence: change.Sentence, Breaking: change.Breaking})
	}
	for _, e := range up.Dropped {
		view.Misfits = append(view.Misfits, fmt.Sprintf("The port for the connection from %s to %s no longer exists. Remove or redraw the connection.", e.From, e.To))
	}
	return c.Render(http.StatusOK, editorview.UpgradeOf(view))
}
