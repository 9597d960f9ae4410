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
	"sluice/handlers/web"
	"sluice/views/components"
	editorview "sluice/views/editor"
	"sluice/views/layout"
)

func (s *Server) inspectorRoutes() []route {
	return []route{
		{http.MethodGet, "/flows/:flow/overview", web.Viewer, web.With((*call).findShown, (*call).showOverview)},
		{http.MethodGet, "/flows/:flow/node/:node", web.Viewer, web.With((*call).findShown, (*call).showNode)},
		{http.MethodPost, "/flows/:flow/node/:node", web.Editor, web.With((*call).findNode, (*call).saveNode)},
		{http.MethodPost, "/flows/:flow/node/:node/secret", web.Editor, web.Posted(web.With((*call).findNode, (*call).moveSecret))},
		{http.MethodGet, "/flows/:flow/node/:node/pin", web.Editor, web.With((*call).findNode, (*call).pinModel)},
		{http.MethodGet, "/flows/:flow/node/:node/upgrade", web.Editor, web.With((*call).findNode, (*call).showUpgrade)},
		{http.MethodGet, "/flows/:flow/completions", web.Viewer, onDraft((*call).listCompletions)},
		{http.MethodGet, "/flows/:flow/models", web.Viewer, (*call).listModels},
		{http.MethodPost, "/flows/:flow/files", web.Editor, (*call).addFile},
		{http.MethodGet, "/files/:id", web.Viewer, (*call).showFile},
	}
}

// drafted is a node of a draft, with what it takes to show and change it.
type drafted struct {
	*draft
	node *flow.Node
	kind *flow.Kind
}

// findNode reads the node of the draft that the address names.
func (c *call) findNode() (*drafted, error) {
	d, err := c.findDraft()
	if err != nil {
		return nil, err
	}
	return c.nodeIn(d)
}

func (c *call) nodeIn(d *draft) (*drafted, error) {
	n := d.Node(c.Param("node"))
	if n == nil {
		return nil, web.ErrNotFound
	}
	k := c.s.Kinds.For(n)
	if k == nil {
		return nil, flow.Errorf(flow.CodeDocumentInvalid, "There is no kind %q, so this node cannot be changed here. Delete it, or export the flow and mend it.", n.Kind)
	}
	return &drafted{d, n, k}, nil
}

// pane makes the inspector of a node.
func (c *call) pane(t *drafted) (editorview.NodePane, error) {
	list, err := c.s.Store.ListCredentials(c.Ctx(), c.WorkspaceID())
	if err != nil {
		return editorview.NodePane{}, err
	}
	facts := editorview.PaneFacts{FlowID: t.flow.ID, Kinds: c.s.Kinds, Problems: t.problems, ReadOnly: !c.mayChange(t.draft)}
	for _, credential := range list {
		facts.Credentials = append(facts.Credentials, editorview.CredentialChoice{Name: credential.Name, Provider: credential.Provider})
	}
	return editorview.PaneOf(t.Document, t.node, t.kind, facts), nil
}

// showNode is GET the inspector: alone for the script, a page without one.
func (c *call) showNode(d *draft) error {
	t, err := c.nodeIn(d)
	if err != nil {
		return err
	}
	p, err := c.pane(t)
	if err != nil {
		return err
	}
	return c.renderPane(http.StatusOK, p)
}

func (c *call) renderPane(status int, p editorview.NodePane) error {
	if c.IsFragment() {
		return c.Render(status, editorview.Inspector(p))
	}
	page := c.Page(p.Name, layout.SectionFlows)
	page.Canvas = true // its styles are those of the builder
	return c.Render(status, editorview.InspectorPage(page, p))
}

// saveNode is POST the inspector without a script: what differs from the draft
// is carried out as edits.
func (c *call) saveNode(t *drafted) error {
	form, err := c.nodeForm(t)
	if err != nil {
		return err
	}
	if form.failed() {
		p, err := c.pane(t)
		if err != nil {
			return err
		}
		form.show(&p)
		return c.renderPane(http.StatusUnprocessableEntity, p)
	}
	if err := c.edit(t.flow.ID, form.edits); err != nil {
		return err
	}
	return c.Redirect("/flows/" + t.flow.ID + "/node/" + t.node.ID)
}

// moveSecret handles the button beside a text that looks like a secret.
func (c *call) moveSecret(t *drafted) error {
	field, number, _ := strings.Cut(c.FormValue("move"), " ")
	index, err := strconv.Atoi(number)
	if err != nil {
		return web.ErrNotFound
	}
	name, err := c.s.Library.MoveSecret(c.Ctx(), c.WorkspaceID(), t.flow.ID, c.Member.UserID, t.node.ID, field, index)
	if err != nil {
		return err
	}
	if err := c.Audit("credential.save", name, "flow:"+t.flow.ID); err != nil {
		return err
	}
	c.Toast(components.ToneOK, "Moved to the credential “"+name+"”.")
	if c.IsFragment() {
		return c.NoContent(http.StatusNoContent)
	}
	return c.Redirect("/flows/" + t.flow.ID + "/node/" + t.node.ID)
}

// edit carries edits out on the draft as it is now. Somebody who is faster
// only makes it try again: each edit is about one field.
func (c *call) edit(flowID string, edits []document.Edit) error {
	if len(edits) == 0 {
		return nil
	}
	for try := 0; ; try++ {
		f, err := c.s.Store.FindFlow(c.Ctx(), c.WorkspaceID(), flowID)
		if err != nil {
			return err
		}
		r := document.EditRequest{Base: f.Rev, Tab: "form", TxID: rand.Text(), Ops: edits}
		_, err = c.s.Library.EditFlow(c.Ctx(), c.WorkspaceID(), flowID, c.Member.UserID, r)
		if _, missed := errors.AsType[*document.EditsMissed](err); !missed || try == 3 {
			return err
		}
	}
}

// showOverview is GET what the pane shows while no node is selected.
func (c *call) showOverview(d *draft) error {
	return c.Render(http.StatusOK, c.inspector(d))
}

// inspector is the pane as the builder opens.
func (c *call) inspector(d *draft) templ.Component {
	return editorview.FlowOverview(editorview.FlowPaneOf(d.flow.ID, d.Document, c.s.Kinds))
}
