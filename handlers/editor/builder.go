package editor

import (
	"net/http"
	"strconv"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/handlers/web"
	editorview "sluice/views/editor"
	"sluice/views/layout"
)

// builderRoutes returns the routes of the canvas.
func (s *Server) builderRoutes() []route {
	return []route{
		{http.MethodGet, "/flows/:flow", web.Viewer, onDraft((*call).showBuilder)},
		{http.MethodGet, "/flows/:flow/problems", web.Viewer, onDraft((*call).showProblems)},
		{http.MethodGet, "/flows/:flow/outline", web.Viewer, web.With((*call).findDisplayed, (*call).showOutline)},
		{http.MethodGet, "/flows/:flow/face", web.Viewer, web.With((*call).findDisplayed, (*call).showFace)},
		{http.MethodGet, "/flows/:flow/wire", web.Viewer, (*call).showWire},
		{http.MethodGet, "/flows/:flow/ops", web.Viewer, (*call).missedOps},
		{http.MethodPost, "/flows/:flow/ops", web.Editor, (*call).applyOps},
		{http.MethodPost, "/flows/:flow/child", web.Editor, web.Posted(web.OnFlow((*call).newChild))},
		{http.MethodGet, "/flows/:flow/events", web.Viewer, streaming(web.OnFlow((*call).flowEvents))},
	}
}

// draft is the document that the editor shows, with its problems: the draft of a
// flow or, read-only, the document of a run or of a version.
type draft struct {
	*flow.Document
	flow     *flow.Flow
	problems []flow.Problem
	// readOnlyVersion is set if the document belongs to a run or a version.
	readOnlyVersion bool
}

// findDraft reads and validates the draft of the flow in the path. Missing
// credentials count as problems, and so do nodes through which the flow would call
// itself.
func (c *call) findDraft() (*draft, error) {
	f, err := c.FindFlow()
	if err != nil {
		return nil, err
	}
	d, _ := document.ParseDocument(f.Draft)
	if d == nil || d.Schema != flow.Schema {
		return nil, flow.Errorf(flow.CodeDocumentInvalid, "This version of Sluice cannot read the format of this draft. Import the flow again.")
	}
	problems := document.Validate(d, c.s.Kinds)
	more, err := c.s.Library.CredentialProblems(c.Ctx(), f.WorkspaceID, d)
	if err != nil {
		return nil, err
	}
	calls, err := c.s.Library.CallProblems(c.Ctx(), f, d)
	if err != nil {
		return nil, err
	}
	return &draft{Document: d, flow: f, problems: append(append(problems, more...), calls...)}, nil
}

// findDisplayed returns the document that the page shows: the one of ?run= or
// ?version=, else the draft.
func (c *call) findDisplayed() (*draft, error) {
	d, err := c.findDraft()
	if err != nil {
		return nil, err
	}
	if id := flow.RunID(c.QueryParam("run")); id != "" {
		run, err := c.s.Store.FindRun(c.Ctx(), c.WorkspaceID(), d.flow.ID, id)
		if err != nil {
			return nil, err
		}
		return c.draftOfRun(d, run)
	}
	if n := c.QueryParam("version"); n != "" {
		return versionOf(c, d, n)
	}
	return d, nil
}

// withDocument returns a read-only draft with another document of the same flow.
func (d *draft) withDocument(doc *flow.Document) *draft {
	f := *d.flow
	f.Draft = doc.Compact()
	return &draft{Document: doc, flow: &f, readOnlyVersion: true}
}

// canChange reports whether the user may edit the displayed document.
func (c *call) canChange(d *draft) bool { return c.MayEdit() && !d.readOnlyVersion }

// showBuilder is GET /flows/{id}: the editor with the draft, or with ?run= or
// ?version= with an earlier document.
func (c *call) showBuilder(d *draft) error {
	if run := flow.RunID(c.QueryParam("run")); run != "" {
		return c.showReplay(d, run)
	}
	if n := c.QueryParam("version"); n != "" {
		return showVersion(c, d, n)
	}
	return c.builder(http.StatusOK, d, nil)
}

// builder renders the page of the editor. change may be nil; it modifies the page
// before it is rendered.
func (c *call) builder(status int, d *draft, change func(*editorview.BuilderPage)) error {
	faces, err := c.faces(d, nil)
	if err != nil {
		return err
	}
	fill, err := c.fill(d)
	if err != nil {
		return err
	}
	problems, err := c.problemsOf(d)
	if err != nil {
		return err
	}
	b := editorview.BuilderPage{
		FlowID: string(d.flow.ID), Name: d.Name, Description: d.Description, Rev: d.flow.Rev, ReadOnly: !c.canChange(d),
		Nodes: faces, Document: string(d.flow.Draft), Palette: c.s.palette(), Problems: problems,
		Outline: c.outline(d, c.QueryParam("node")), Others: c.s.editing.others(d.flow.ID, c.Member.UserID), Outlined: c.QueryParam("node") != "",
		Pane: c.chosenPane(), Fill: fill,
	}
	if from := flow.FlowID(c.QueryParam("from")); from != "" && from != d.flow.ID {
		if parent, err := c.s.Store.FindFlow(c.Ctx(), c.WorkspaceID(), from); err == nil {
			b.Parent = &editorview.FlowChoice{ID: string(parent.ID), Name: parent.Name}
		} else if !flow.IsNotFound(err) {
			return err
		}
	}
	if change != nil {
		change(&b)
	}
	if !b.ReadOnly {
		if b.Replaced, err = c.newestReplacement(flow.FlowID(b.FlowID)); err != nil {
			return err
		}
		b.Replaced.Rev = b.Rev
	}
	p := c.Page(b.Name, layout.SectionFlows)
	p.Canvas, p.Panes = true, b.Pane == editorview.PaneAPI || b.Pane == editorview.PaneResult
	return c.Render(status, editorview.Builder(p, b))
}

// chosenPane returns the tab next to the canvas that was open last. A script stores
// it in a cookie, so that the first response already contains that tab. At first it is the
// result, which suggests to run the flow.
func (c *call) chosenPane() editorview.PaneTab {
	if cookie, err := c.Cookie("pane"); err == nil {
		return editorview.ParsePaneTab(cookie.Value)
	}
	if c.QueryParam("node") == "" {
		return editorview.PaneResult
	}
	return editorview.PaneNode
}

// fill returns the parts of the page that other files of this package render.
func (c *call) fill(d *draft) (f editorview.BuilderFill, err error) {
	f.Inspector = c.inspector(d)
	state, err := fillPublish(c, d, &f)
	if err == nil {
		err = fillAPI(c, d, state.Next, &f)
	}
	if err == nil {
		err = c.fillRunning(d, &f)
	}
	return f, err
}

// palette returns the kinds of nodes by group.
func (s *Server) palette() []editorview.PaletteGroup { return editorview.PaletteOf(s.Kinds.List()) }

// facts returns the problems, pins and missing credentials that nodes show in
// addition to their own data.
func (c *call) facts(d *draft) (editorview.NodeFacts, error) {
	facts := editorview.FactsOf(d.Document, d.problems)
	pins, err := c.s.Store.ListPins(c.Ctx(), d.flow.WorkspaceID, d.flow.ID)
	if err != nil {
		return facts, err
	}
	facts.Pinned = map[string]bool{}
	for _, p := range pins {
		facts.Pinned[p.Node] = true
	}
	facts.Missing, err = c.missingCredentials(d)
	return facts, err
}

// missingCredentials returns the names of credentials that the draft refers to but
// the workspace does not have. The map is nil if the draft needs none.
func (c *call) missingCredentials(d *draft) (map[string]bool, error) {
	missing := map[string]bool{}
	for i := range d.Nodes {
		for _, name := range d.Nodes[i].Credentials() {
			missing[name] = true
		}
	}
	if len(missing) == 0 {
		return nil, nil
	}
	list, err := c.s.Store.ListCredentials(c.Ctx(), d.flow.WorkspaceID)
	if err != nil {
		return nil, err
	}
	for i := range list {
		delete(missing, list[i].Name)
	}
	return missing, nil
}

// faces returns the canvas views of the nodes whose IDs are in only, or of all
// nodes if only is nil.
func (c *call) faces(d *draft, only []string) ([]editorview.NodeFace, error) {
	facts, err := c.facts(d)
	if err != nil {
		return nil, err
	}
	wanted := map[string]bool{}
	for _, id := range only {
		wanted[id] = true
	}
	list := make([]editorview.NodeFace, 0, len(d.Nodes))
	for i := range d.Nodes {
		if n := &d.Nodes[i]; only == nil || wanted[n.ID] {
			list = append(list, editorview.FaceOf(n, c.s.Kinds.For(n), facts))
		}
	}
	return list, nil
}

// showFace is GET /flows/{id}/face?node=: one node with all its ports,
// including those that are usually hidden.
func (c *call) showFace(d *draft) error {
	n := d.Node(c.QueryParam("node"))
	if n == nil {
		return web.ErrNotFound
	}
	facts, err := c.facts(d)
	if err != nil {
		return err
	}
	facts.AllPorts = true
	face := editorview.FaceOf(n, c.s.Kinds.For(n), facts)
	return c.Render(http.StatusOK, editorview.CanvasNode(&face))
}

// parseRevision parses the revision of a draft, which is never negative.
func parseRevision(text string) (int64, error) {
	rev, err := strconv.ParseInt(text, 10, 64)
	if err != nil || rev < 0 {
		return 0, flow.Errorf(flow.CodeInputInvalid, "A revision must be a whole number.")
	}
	return rev, nil
}
