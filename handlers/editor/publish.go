package editor

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/flow/sorting"
	"sluice/flow/wording"
	"sluice/handlers/web"
	"sluice/snippets"
	"sluice/views/components"
	editorview "sluice/views/editor"
	"sluice/views/layout"
)

// maxNote bounds the release notes of a version, in characters.
const maxNote = 200

// publishRoutes returns the routes of publishing. Viewers may open the dialog, because
// it shows the changes.
func (s *Server) publishRoutes() []route {
	return []route{
		{http.MethodGet, "/flows/:flow/publish", web.Viewer, web.OnFlow(showPublish)},
		{http.MethodPost, "/flows/:flow/publish", web.Editor, web.Posted(publish)},
		{http.MethodGet, "/flows/:flow/publish/button", web.Viewer, web.OnFlow(showHeader)},
	}
}

// publishState returns the state of a flow that the header of the builder shows.
func publishState(c *call, f *flow.Flow) (editorview.PublishState, error) {
	state := editorview.PublishState{FlowID: string(f.ID), Live: f.LiveVersion, Now: c.s.Now(), ReadOnly: !c.MayEdit()}
	state.Changed = f.LiveVersion == 0 || f.LiveHash != flow.DocumentHash(f.Draft)
	if err := setVersions(c, f, &state); err != nil {
		return state, err
	}
	state.Problems = len(publishProblems(c, f))
	succeeded, err := c.s.Store.ListRunRows(c.Ctx(), flow.RunQuery{WorkspaceID: f.WorkspaceID, FlowID: f.ID, States: []flow.RunState{flow.RunSucceeded}, Limit: 1})
	if err != nil {
		return state, fmt.Errorf("find a run of %s that succeeded: %w", f.ID, err)
	}
	state.Ran = len(succeeded.Rows) > 0
	if state.Changed && f.LiveVersion > 0 {
		changes, err := c.s.Library.Changes(c.Ctx(), f.WorkspaceID, f.ID)
		if err != nil {
			return state, err
		}
		state.Draft = diffOf(changes)
	}
	state.Widened, err = widenedTools(c, f)
	return state, err
}

// setVersions sets the live version, and the one that publishing the draft would make live. If
// the draft equals the newest version, that one becomes live again.
func setVersions(c *call, f *flow.Flow, state *editorview.PublishState) error {
	list, err := c.s.Store.ListVersions(c.Ctx(), f.WorkspaceID, f.ID)
	if err != nil {
		return err
	}
	state.Next = 1
	if len(list) > 0 {
		state.Next = list[0].Number
		if list[0].DocumentHash != flow.DocumentHash(f.Draft) {
			state.Next++
		}
	}
	for i := range list {
		if v := &list[i]; v.Number == f.LiveVersion {
			state.LiveAt, state.LiveBy, state.Summary = v.CreatedAt, c.UserNames()(v.By), v.Summary
		}
	}
	return nil
}

// fillPublish adds the state of the flow and the dialog that publishes it to the editor. An
// earlier document has neither.
func fillPublish(c *call, d *draft, f *editorview.BuilderFill) (editorview.PublishState, error) {
	if d.readOnlyVersion {
		return editorview.PublishState{}, nil
	}
	state, err := publishState(c, d.flow)
	if err == nil {
		f.State = &state
		f.Dialogs = append(f.Dialogs, editorview.PublishDialog())
	}
	return state, err
}

// publishProblems returns the problems that keep the draft from being published.
func publishProblems(c *call, f *flow.Flow) (list []editorview.PublishProblem) {
	_, err := c.s.Library.CheckDraft(c.Ctx(), f)
	return problemsOf(c, f, err)
}

// problemsOf returns the problems of the draft that an error lists.
func problemsOf(c *call, f *flow.Flow, err error) (list []editorview.PublishProblem) {
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
			list = append(list, editorview.PublishProblem{Node: node, Label: web.NodeTitle(d, c.s.Kinds, node), Text: wording.Sentence(p.Detail)})
		}
	}
	sortByDocument(d, list)
	return list
}

// publishForm returns the dialog: the changes, the nodes of other flows that follow
// the live version, and if changes are breaking, the recent callers.
func publishForm(c *call, f *flow.Flow) (form editorview.PublishForm, err error) {
	form = editorview.PublishForm{FlowID: string(f.ID), Name: f.Name, URL: c.startURL(f.ID), Draft: flow.DocumentHash(f.Draft)}
	if form.State, err = publishState(c, f); err != nil {
		return form, err
	}
	form.Problems = publishProblems(c, f)
	changes, err := c.s.Library.Changes(c.Ctx(), f.WorkspaceID, f.ID)
	if err != nil {
		return form, err
	}
	form.Diff = diffOf(changes)
	if d, _ := document.ParseDocument(f.Draft); d != nil {
		form.Inputs, form.Outputs, form.Webhooks = len(contract.Inputs(d, c.s.Kinds)), len(contract.Outputs(d, c.s.Kinds)), c.countWebhooks(&draft{Document: d})
		if form.Followers, err = followers(c, f, d); err != nil {
			return form, err
		}
		if form.Agents, err = agentWrites(c, d); err != nil {
			return form, err
		}
		if form.Widened, err = widenedCallers(c, f, d); err != nil {
			return form, err
		}
	}
	if len(form.Diff.Breaking) > 0 {
		if form.Callers, err = callers(c, f.ID); err != nil {
			return form, err
		}
	}
	if form.State.Changed && len(form.Problems) == 0 {
		form.Gate, err = publishGate(c, f)
	}
	return form, err
}

// followers returns the nodes of other flows that will run the draft once it is live.
func followers(c *call, f *flow.Flow, d *flow.Document) (list []editorview.Follower, err error) {
	if f.LiveVersion == 0 {
		return nil, nil
	}
	found, err := c.s.Library.Followers(c.Ctx(), f, d)
	for _, n := range found {
		v := editorview.Follower{FlowID: string(n.FlowID), Name: n.Name, Node: n.Node}
		for _, e := range n.Dropped {
			v.Dropped = append(v.Dropped, e.From+" → "+e.To)
		}
		list = append(list, v)
	}
	return list, err
}

// callers returns the keys that called a flow recently.
func callers(c *call, flowID flow.FlowID) (list []editorview.Caller, err error) {
	found, err := c.s.Store.ListCallers(c.Ctx(), c.WorkspaceID(), flowID, c.s.Now().Add(-flow.CallerPeriod))
	for _, k := range found {
		list = append(list, editorview.Caller{Name: k.Name, Prefix: k.Prefix, Runs: k.Runs, LastDay: k.LastDay})
	}
	return list, err
}

// startURL returns the URL of the API at which runs of a flow are started.
func (c *call) startURL(flowID flow.FlowID) string {
	return c.s.PublicURL + "/v1/flow/" + url.PathEscape(string(flowID)) + "/run"
}

// showPublish is GET /flows/{id}/publish. While a test runs, the dialog reloads the part with the gate.
func showPublish(c *call, f *flow.Flow) error {
	form, err := publishForm(c, f)
	if err != nil {
		return err
	}
	if c.QueryParam("part") == "gate" {
		return c.Render(http.StatusOK, editorview.PublishGateBody(form))
	}
	return renderPublish(c, http.StatusOK, form)
}

// renderPublish renders the form in the dialog, or without scripts as a page.
func renderPublish(c *call, status int, form editorview.PublishForm) error {
	if c.IsFragment() {
		return c.Render(status, editorview.PublishContent(form))
	}
	return c.Render(status, editorview.PublishPage(c.Page("Publish "+form.Name, layout.SectionFlows), form))
}

// showHeader is GET /flows/{id}/publish/button. Pages reload the state of the flow in their header
// after a change of the draft.
func showHeader(c *call, f *flow.Flow) error {
	state, err := publishState(c, f)
	if err != nil {
		return err
	}
	state.Beside = true
	return c.Render(http.StatusOK, editorview.FlowHeader(state))
}

// publish is POST /flows/{id}/publish. It publishes only the draft that the user
// saw: if the draft has changed since, the dialog is rendered again.
func publish(c *call) error {
	f, err := c.FindFlow()
	if err != nil {
		return err
	}
	form, err := publishForm(c, f)
	if err != nil {
		return err
	}
	form.Note = strings.TrimSpace(c.FormValue("note"))
	switch seen := c.FormValue("draft"); {
	case len(form.Problems) > 0:
		form.Error = "The draft has problems. Fix them, then publish again."
	case seen != "" && seen != form.Draft:
		form.Error = "The draft has changed since you opened this. Check the new changes, then publish again."
	case len([]rune(form.Note)) > maxNote:
		form.Error = "Use at most 200 characters for the release notes."
	}
	if form.Error == "" && c.FormValue("act") == "test" {
		return testDraft(c, f, form)
	}
	if form.Error != "" {
		return refusePublish(c, http.StatusUnprocessableEntity, form)
	}
	return publishDraft(c, f, form)
}

// refusePublish renders the form again.
func refusePublish(c *call, status int, form editorview.PublishForm) error {
	if c.IsFragment() {
		return c.Render(status, editorview.PublishBody(form))
	}
	return renderPublish(c, status, form)
}

// publishDraft publishes the draft of f, which the form describes, and notifies all
// pages.
func publishDraft(c *call, f *flow.Flow, form editorview.PublishForm) error {
	var v flow.Version
	var created bool
	var err error
	if c.FormValue("act") == "anyway" {
		v, created, err = publishAnyway(c, f, &form)
	} else {
		v, created, err = c.s.Library.PublishDraft(c.Ctx(), f, c.Actor(), form.Note)
	}
	if e, ok := errors.AsType[*flow.Error](err); ok {
		switch e.Code {
		case flow.CodeDocumentInvalid:
			if form.Problems = problemsOf(c, f, err); len(form.Problems) > 0 { // an owner must publish it
				form.Error = e.Message
				return refusePublish(c, http.StatusUnprocessableEntity, form)
			}
		case flow.CodeTestsRequired, flow.CodeTestsFailed:
			if form.Gate, err = publishGate(c, f); err == nil && form.Gate != nil {
				return refusePublish(c, http.StatusConflict, form)
			}
		case flow.CodeInputInvalid:
			form.Error = e.Message
			return refusePublish(c, http.StatusUnprocessableEntity, form)
		}
	}
	if err != nil {
		return err
	}
	message := editorview.VersionName(v.Number) + " was already live. Nothing changed."
	if !created && len(form.State.Widened) > 0 {
		message = "The tools of " + editorview.VersionName(v.Number) + " may do what they can do now."
	}
	if created || f.LiveVersion != v.Number {
		message = editorview.VersionName(v.Number) + " of “" + f.Name + "” is live."
	}
	c.s.AnnounceLive(f.ID, v.Number)
	form.Done, form.First = true, f.LiveVersion == 0
	if form.First {
		if err := fillFirst(c, f, &form); err != nil {
			return err
		}
	}
	published := *f
	published.LiveVersion, published.LiveHash = v.Number, v.DocumentHash
	if form.State, err = publishState(c, &published); err != nil {
		return err
	}
	form.State.Beside = true
	if !form.First || !c.IsFragment() { // the dialog shows the first publish
		c.Toast(components.ToneOK, message+" POST "+form.URL)
	}
	if !c.IsFragment() {
		return c.Redirect("/flows/" + url.PathEscape(string(f.ID)) + "/versions")
	}
	c.Trigger("flow:published", map[string]any{"flow": f.ID, "version": v.Number, "url": form.URL, "first": f.LiveVersion == 0})
	return c.Render(http.StatusOK, editorview.Published(form))
}

// fillFirst fills in the graph, the code sample and the test call, which are shown
// after the first publish.
func fillFirst(c *call, f *flow.Flow, form *editorview.PublishForm) error {
	d, _ := document.ParseDocument(f.Draft)
	if d == nil {
		return nil
	}
	form.Graph = web.Thumbnail(d, c.s.Kinds)
	form.Graph.Live = true
	form.Languages, form.Test = apiLanguages(), testCall(c, f, d)
	var err error
	form.Command, err = codeSample(c, f, d, form.Languages[0].ID, snippets.ModeWait)
	return err
}

// testCall returns the values of the code sample as fields of a form, or nil if the flow
// requires a file or a secret.
func testCall(c *call, f *flow.Flow, d *flow.Document) []components.RunField {
	inputs, fields := contract.Inputs(d, c.s.Kinds), []components.RunField{}
	for i, field := range sampleFields(c, f, inputs) {
		in := &inputs[i]
		if in.Required && (in.Type == flow.TypeFile || in.Secret) {
			return nil
		}
		if in.Type != flow.TypeFile && !in.Secret && (field.Value != "" && in.Type != flow.TypeBoolean || field.Checked) {
			fields = append(fields, field)
		}
	}
	return fields
}

// AnnounceLive notifies the pages of a flow, at all instances, that a version is live.
func (s *Server) AnnounceLive(flowID flow.FlowID, version int64) {
	s.Announce(flowID, "flow:live", map[string]any{"version": version})
}

// sortByDocument sorts problems by the order of the nodes in the document. Problems
// of the whole flow come first.
func sortByDocument(d *flow.Document, list []editorview.PublishProblem) {
	order := map[string]int{}
	for i := range d.Nodes {
		order[d.Nodes[i].ID] = i + 1
	}
	sorting.By(list, func(a, b editorview.PublishProblem) int {
		return cmp.Or(cmp.Compare(order[a.Node], order[b.Node]), cmp.Compare(a.Text, b.Text))
	})
}
