package editor

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/handlers/web"
	"sluice/views/components"
	editorview "sluice/views/editor"
	"sluice/views/layout"
)

// callersSpan is how far back people are told who used a flow.
const callersSpan = 30 * 24 * time.Hour

// maxNote bounds what a person says about a version, in characters.
const maxNote = 200

func (s *Server) publishRoutes() []route {
	return []route{
		{http.MethodGet, "/flows/:flow/publish", web.Viewer, web.OnFlow((*call).showPublish)},
		{http.MethodPost, "/flows/:flow/publish", web.Editor, web.Posted((*call).publish)},
		{http.MethodGet, "/flows/:flow/publish/button", web.Viewer, web.OnFlow((*call).showPublishButton)},
	}
}

// publishState is what the button says.
func (c *call) publishState(f *flow.Flow) (editorview.PublishState, error) {
	state := editorview.PublishState{FlowID: f.ID, Live: f.LiveVersion, ReadOnly: !c.MayEdit()}
	state.Changed = f.LiveVersion == 0 || f.LiveHash != flow.Hash(f.Draft)
	var err error
	if state.Next, err = c.nextVersion(f); err != nil {
		return state, err
	}
	state.Problems = len(c.publishProblems(f))
	return state, nil
}

// nextVersion is the version that publishing the draft makes live. A draft that
// equals the newest version makes that one live again.
func (c *call) nextVersion(f *flow.Flow) (int64, error) {
	list, err := c.s.Store.ListVersions(c.Ctx(), f.WorkspaceID, f.ID)
	switch {
	case err != nil:
		return 0, err
	case len(list) == 0:
		return 1, nil
	case list[0].DocumentHash == flow.Hash(f.Draft):
		return list[0].Number, nil
	}
	return list[0].Number + 1, nil
}

// fillPublish puts the button and its dialog into the builder.
func (c *call) fillPublish(d *draft, f *editorview.BuilderFill) (editorview.PublishState, error) {
	state, err := c.publishState(d.flow)
	if err == nil {
		f.PublishButton = editorview.PublishButton(state)
		f.Dialogs = append(f.Dialogs, editorview.PublishDialog())
	}
	return state, err
}

// publishProblems are what keeps the draft from being published.
func (c *call) publishProblems(f *flow.Flow) (list []editorview.PublishProblem) {
	_, err := c.s.Library.CheckDraft(c.Ctx(), f)
	e, ok := errors.AsType[*flow.Error](err)
	if !ok {
		return nil
	}
	d, _ := document.ParseDocument(f.Draft)
	if d == nil {
		return []editorview.PublishProblem{{Text: e.Message}}
	}
	for node, problems := range document.ByNode(d, e.Fields) {
		for _, p := range problems {
			list = append(list, editorview.PublishProblem{Node: node, Label: web.NodeLabel(d, node), Text: web.Sentence(p.Detail)})
		}
	}
	sortByDocument(d, list)
	return list
}

// publishForm gathers all that is said before the draft is published.
func (c *call) publishForm(f *flow.Flow) (form editorview.PublishForm, err error) {
	form = editorview.PublishForm{FlowID: f.ID, Name: f.Name, URL: c.startURL(f.ID), Draft: flow.Hash(f.Draft)}
	if form.State, err = c.publishState(f); err != nil {
		return form, err
	}
	form.Problems = c.publishProblems(f)
	if form.Diff, err = c.s.Library.Changes(c.Ctx(), f.WorkspaceID, f.ID); err != nil {
		return form, err
	}
	if len(form.Diff.Breaking) > 0 {
		form.Callers, err = c.callers(f.ID)
	}
	return form, err
}

func (c *call) callers(flowID string) ([]flow.Caller, error) {
	return c.s.Store.ListCallers(c.Ctx(), c.WorkspaceID(), flowID, c.s.Now().Add(-callersSpan))
}

// startURL is where programs start runs of a flow.
func (c *call) startURL(flowID string) string {
	return c.s.PublicURL + "/v1/flow/" + url.PathEscape(flowID) + "/run"
}

// showPublish is GET publish: what would change, and who would notice.
func (c *call) showPublish(f *flow.Flow) error {
	form, err := c.publishForm(f)
	if err != nil {
		return err
	}
	return c.answerPublish(http.StatusOK, form)
}

// answerPublish shows the form in the dialog, or without a script as a page.
func (c *call) answerPublish(status int, form editorview.PublishForm) error {
	if c.IsFragment() {
		return c.Render(status, editorview.PublishContent(form))
	}
	return c.Render(status, editorview.PublishPage(c.Page("Publish "+form.Name, layout.SectionFlows), form))
}

// showPublishButton is GET publish/button: the button after the draft changed.
func (c *call) showPublishButton(f *flow.Flow) error {
	state, err := c.publishState(f)
	if err != nil {
		return err
	}
	return c.Render(http.StatusOK, editorview.PublishButton(state))
}

// publish is POST publish: the draft that was shown becomes the live version.
func (c *call) publish() error {
	f, err := c.FindFlow()
	if err != nil {
		return err
	}
	form, err := c.publishForm(f)
	if err != nil {
		return err
	}
	form.Note = strings.TrimSpace(c.FormValue("note"))
	switch seen := c.FormValue("draft"); {
	case len(form.Problems) > 0:
		form.Error = "The draft has problems. Nothing was published."
	case seen != "" && seen != form.Draft:
		form.Error = "The draft was changed since you looked. Nothing was published; this is what it changes now."
	case len([]rune(form.Note)) > maxNote:
		form.Error = "Say what is new in 200 characters at most."
	}
	if form.Error != "" && c.IsFragment() {
		return c.Render(http.StatusUnprocessableEntity, editorview.PublishBody(form))
	}
	if form.Error != "" {
		return c.answerPublish(http.StatusUnprocessableEntity, form)
	}
	return c.release(f, form)
}

// release makes the draft live, writes down who did it, and tells the page.
func (c *call) release(f *flow.Flow, form editorview.PublishForm) error {
	v, created, err := c.s.Library.PublishNoted(c.Ctx(), c.WorkspaceID(), f.ID, c.Member.UserID, form.Note)
	if err != nil {
		return err
	}
	said := editorview.VersionName(v.Number) + " was live already. Nothing changed."
	if created || f.LiveVersion != v.Number {
		detail := editorview.VersionName(v.Number) + ": " + v.Summary
		if err := c.Audit("flow.publish", f.ID, detail); err != nil {
			return err
		}
		said = editorview.VersionName(v.Number) + " of “" + f.Name + "” is live."
	}
	c.s.AnnounceLive(f.ID, v.Number)
	form.Done = true
	form.State.Live, form.State.Next, form.State.Changed, form.State.Beside = v.Number, v.Number, false, true
	c.Toast(components.ToneOK, said+" POST "+form.URL)
	if !c.IsFragment() {
		return c.Redirect("/flows/" + url.PathEscape(f.ID) + "/versions")
	}
	c.Trigger("flow:published", map[string]any{"flow": f.ID, "version": v.Number, "url": form.URL, "first": f.LiveVersion == 0})
	return c.Render(http.StatusOK, editorview.Published(form))
}

// AnnounceLive tells all pages that show a flow which version programs get now.
func (s *Server) AnnounceLive(flowID string, version int64) {
	s.Announce(flowID, "flow:live", map[string]any{"version": version})
}

// sortByDocument puts problems in the order of the nodes; those of the whole
// flow come first.
func sortByDocument(d *flow.Document, list []editorview.PublishProblem) {
	place := map[string]int{}
	for i := range d.Nodes {
		place[d.Nodes[i].ID] = i + 1
	}
	slices.SortStableFunc(list, func(a, b editorview.PublishProblem) int {
		return cmp.Or(cmp.Compare(place[a.Node], place[b.Node]), cmp.Compare(a.Text, b.Text))
	})
}
