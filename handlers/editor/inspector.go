package editor

import (
	"crypto/rand"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/sorting"
	"sluice/handlers/web"
	"sluice/markdown"
	"sluice/views/components"
	editorview "sluice/views/editor"
	"sluice/views/layout"
)

// inspectorRoutes returns the routes of the inspector, which is the pane with the
// settings of a node.
func (s *Server) inspectorRoutes() []route {
	return []route{
		{http.MethodGet, "/flows/:flow/overview", web.Viewer, web.With((*call).findDisplayed, (*call).showOverview)},
		{http.MethodGet, "/flows/:flow/node/:node", web.Viewer, web.With((*call).findDisplayed, (*call).showNode)},
		{http.MethodPost, "/flows/:flow/node/:node", web.Editor, web.With((*call).findNode, (*call).saveNode)},
		{http.MethodPost, "/flows/:flow/node/:node/secret", web.Editor, web.Posted(web.With((*call).findNode, (*call).moveSecret))},
		{http.MethodPost, "/flows/:flow/node/:node/try", web.Editor, web.Posted(web.With((*call).findNode, (*call).tryNode))},
		{http.MethodPost, "/flows/:flow/node/:node/conditions", web.Editor, web.Posted(web.With((*call).findNode, (*call).testConditions))},
		{http.MethodGet, "/flows/:flow/node/:node/last", web.Viewer, web.With((*call).findDisplayed, showLast)},
		{http.MethodGet, "/flows/:flow/node/:node/pin", web.Editor, web.With((*call).findNode, pinModel)},
		{http.MethodGet, "/flows/:flow/node/:node/upgrade", web.Editor, web.With((*call).findNode, showUpgrade)},
		{http.MethodGet, "/flows/:flow/node/:node/tools", web.Editor, web.With((*call).findNode, showServerTools)},
		{http.MethodPost, "/flows/:flow/node/:node/tools", web.Editor, web.Posted(web.With((*call).findNode, saveServerTools))},
		{http.MethodGet, "/flows/:flow/completions", web.Viewer, onDraft((*call).listCompletions)},
		{http.MethodGet, "/flows/:flow/models", web.Viewer, listModels},
		{http.MethodPost, "/flows/:flow/files", web.Editor, uploadFile},
		{http.MethodGet, "/files/:id", web.Viewer, showFile},
	}
}

// draftNode is a node of a draft with its kind.
type draftNode struct {
	*draft
	node *flow.Node
	kind *flow.Kind
}

// findNode finds the node of the path in the draft.
func (c *call) findNode() (*draftNode, error) {
	d, err := c.findDraft()
	if err != nil {
		return nil, err
	}
	return c.findNodeIn(d)
}

// findNodeIn finds the node of the path in a document.
func (c *call) findNodeIn(d *draft) (*draftNode, error) {
	n := d.Node(c.Param("node"))
	if n == nil {
		return nil, web.ErrNotFound
	}
	k := c.s.Kinds.For(n)
	if k == nil {
		return nil, flow.Errorf(flow.CodeDocumentInvalid, "The kind %q does not exist, so this node cannot be edited here. Delete it, or export the flow and fix it.", n.Kind)
	}
	return &draftNode{d, n, k}, nil
}

// nodePane returns the content of the inspector for a node.
func (c *call) nodePane(t *draftNode) (editorview.NodePane, error) {
	list, err := c.s.Store.ListCredentials(c.Ctx(), c.WorkspaceID())
	if err != nil {
		return editorview.NodePane{}, err
	}
	facts := editorview.PaneFacts{FlowID: string(t.flow.ID), Kinds: c.s.Kinds, Problems: t.problems, ReadOnly: !c.canChange(t.draft)}
	for _, credential := range list {
		facts.Credentials = append(facts.Credentials, editorview.CredentialChoice{Name: credential.Name, Provider: credential.Provider})
	}
	if t.kind.StartsRuns() {
		if facts.Flows, err = c.flowChoices(t); err != nil {
			return editorview.NodePane{}, err
		}
	}
	p := editorview.PaneOf(t.Document, t.node, t.kind, facts)
	p.Doc = markdown.HTML(t.kind.Doc)
	return p, nil
}

// flowChoices lists the other published flows of the workspace, for a node that runs one: the first web.MaxOptions by name, of those that have
// all words of the query parameter find in their name or slug, and the one that the node runs now.
func (c *call) flowChoices(t *draftNode) (editorview.FlowChoices, error) {
	heads, err := c.s.Store.ListFlowHeads(c.Ctx(), c.WorkspaceID())
	now, words := flow.Text(t.node.Config["flow"]), strings.TrimSpace(c.QueryParam("find"))
	choices := editorview.FlowChoices{Words: words}
	var current []editorview.FlowChoice
	for i := range heads {
		f := &heads[i]
		choice := editorview.FlowChoice{ID: string(f.ID), Slug: f.Slug, Name: f.Name, Live: f.LiveVersion}
		switch {
		case f.ID == t.flow.ID || !f.ArchivedAt.IsZero():
		case now != "" && (choice.ID == now || choice.Slug == now):
			current = append(current, choice)
			if hasWords(choice.Name+" "+choice.Slug, words) {
				choices.Total++
			}
		case choice.Live > 0 && hasWords(choice.Name+" "+choice.Slug, words):
			choices.List = append(choices.List, choice)
		}
	}
	byName := func(a, b editorview.FlowChoice) int { return strings.Compare(a.Name, b.Name) }
	sorting.By(choices.List, byName)
	choices.Total += len(choices.List)
	choices.List = append(choices.List[:min(len(choices.List), web.MaxOptions)], current...)
	sorting.By(choices.List, byName)
	return choices, err
}

// hasWords reports whether a text contains all words of a search, in any case.
func hasWords(text, words string) bool {
	text = strings.ToLower(text)
	for word := range strings.FieldsSeq(strings.ToLower(words)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// showNode is GET /flows/{id}/node/{node}: the inspector as a fragment, or
// without scripts as a page.
func (c *call) showNode(d *draft) error {
	t, err := c.findNodeIn(d)
	if err != nil {
		return err
	}
	p, err := c.nodePane(t)
	if err != nil {
		return err
	}
	return c.renderPane(http.StatusOK, p)
}

// renderPane renders the inspector.
func (c *call) renderPane(status int, p editorview.NodePane) error {
	if c.IsFragment() {
		return c.Render(status, editorview.Inspector(p))
	}
	page := c.Page(p.Name, layout.SectionFlows).WithSheet("canvas.css") // has the styles of the inspector
	return c.Render(status, editorview.InspectorPage(page, p))
}

// saveNode is POST /flows/{id}/node/{node}, the form for browsers without scripts.
// It applies the differences from the draft as edits.
func (c *call) saveNode(t *draftNode) error {
	form, err := c.nodeForm(t)
	if err != nil {
		return err
	}
	if form.hasErrors() {
		p, err := c.nodePane(t)
		if err != nil {
			return err
		}
		form.show(&p)
		return c.renderPane(http.StatusUnprocessableEntity, p)
	}
	if err := c.edit(t.flow.ID, form.edits); err != nil {
		return err
	}
	return c.Redirect("/flows/" + string(t.flow.ID) + "/node/" + t.node.ID)
}

// moveSecret is POST /flows/{id}/node/{node}/secret: it moves a text that looks
// like a secret to a new credential.
func (c *call) moveSecret(t *draftNode) error {
	field, number, _ := strings.Cut(c.FormValue("move"), " ")
	index, err := strconv.Atoi(number)
	if err != nil {
		return web.ErrNotFound
	}
	name, err := c.s.Library.MoveSecret(c.Ctx(), c.Actor(), c.WorkspaceID(), t.flow.ID, t.node.ID, field, index)
	if err != nil {
		return err
	}
	c.Toast(components.ToneOK, "Moved to the credential “"+name+"”.")
	if c.IsFragment() {
		return c.NoContent(http.StatusNoContent)
	}
	return c.Redirect("/flows/" + string(t.flow.ID) + "/node/" + t.node.ID)
}

// edit applies edits to the current draft. After a conflict with a concurrent edit
// it retries up to three times: each edit changes one field, so it still applies.
func (c *call) edit(flowID flow.FlowID, edits []document.Edit) error {
	if len(edits) == 0 {
		return nil
	}
	for retries := 0; ; retries++ {
		f, err := c.s.Store.FindFlow(c.Ctx(), c.WorkspaceID(), flowID)
		if err != nil {
			return err
		}
		r := document.EditRequest{Base: f.Rev, Tab: "form", TxID: rand.Text(), Ops: edits}
		_, err = c.s.Library.EditFlow(c.Ctx(), c.WorkspaceID(), flowID, c.Member.UserID, r)
		if _, missed := errors.AsType[*document.EditsMissed](err); !missed || retries == 3 {
			return err
		}
	}
}

// showOverview is GET /flows/{id}/overview: the pane while no node is selected.
func (c *call) showOverview(d *draft) error {
	return c.Render(http.StatusOK, c.inspector(d))
}

// inspector returns the pane without a selected node, which is how the editor
// opens.
func (c *call) inspector(d *draft) templ.Component {
	return editorview.FlowOverview(editorview.FlowPaneOf(string(d.flow.ID), d.Document, c.s.Kinds))
}
