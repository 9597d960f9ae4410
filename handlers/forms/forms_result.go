package forms

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"sluice/flow"
	"sluice/flow/codes"
	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/flow/filelinks"
	"sluice/handlers/web"
	"sluice/views/components"
	formsview "sluice/views/forms"
)

// resultCall is a request with a valid ticket for the result of a run.
type resultCall struct {
	*formCall
	run     *flow.Run
	doc     *flow.Document // of the run
	expires time.Time      // of the ticket
}

// findResult finds the run that the ticket in the path names. A ticket that was
// changed, has expired or belongs to another form is not found.
func (v *formCall) findResult() (*resultCall, error) {
	runID, expires, ok := v.s.seals.VerifyTicket(v.flow.ID, v.Param("ticket"), v.s.Now())
	if !ok || !flow.ValidID(flow.PrefixRun, runID) {
		return nil, web.ErrNotFound
	}
	v.setPrivateHeaders()
	v.Response().Header().Set("Referrer-Policy", "no-referrer")
	t := &resultCall{formCall: v, expires: expires}
	if err := t.find(runID); err != nil {
		return nil, err
	}
	data, err := v.s.Store.FindDocument(v.Ctx(), v.flow.WorkspaceID, t.run.DocumentHash)
	if err != nil && !flow.IsNotFound(err) {
		return nil, fmt.Errorf("find the document of %s: %w", runID, err)
	}
	if t.doc, _ = document.ParseDocument(data); t.doc == nil {
		t.doc = v.doc
	}
	return t, nil
}

// find reads the current state of the run.
func (t *resultCall) find(runID flow.RunID) (err error) {
	t.run, err = t.s.Store.FindRun(t.Ctx(), t.flow.WorkspaceID, t.flow.ID, runID)
	if err == nil && t.run.Trigger != flow.TriggerForm {
		return web.ErrNotFound
	}
	return err
}

// showResult is GET result: the state of the run and its outputs. Without
// scripts, the page reloads itself until the run has ended.
func (v *formCall) showResult() error {
	t, err := v.findResult()
	if err != nil {
		return err
	}
	p := v.publicPage(v.title())
	p.Unlisted, p.Refresh = true, !t.run.State.Ended()
	return v.Render(http.StatusOK, formsview.FormResult(p, t.result()))
}

// result converts the run to what visitors may see of it: outputs, progress,
// and a general reason if it failed.
func (t *resultCall) result() formsview.FormRun {
	r := formsview.FormRun{
		Title: t.title(), Path: t.runPath(t.Param("ticket")), Again: t.path() + "?again=" + t.Param("ticket"), URL: t.s.PublicURL + t.runPath(t.Param("ticket")),
		State: string(t.run.State), Done: t.run.Progress.Done, All: t.run.Progress.Total, Until: t.expires, Reference: string(t.run.ID),
		Erased: t.run.Erased != "",
	}
	if earlier, err := t.continued(t.Param("ticket")); err == nil && earlier != nil {
		r.Continue = t.path() + "?continue=" + t.Param("ticket")
	}
	if t.run.State == flow.RunFailed {
		r.Problem = failureText(t.run.Error)
	}
	sources, cited := web.RunCitations(t.run.Outputs), false
	for _, o := range contract.Outputs(t.doc, t.s.Kinds) {
		value, given := t.run.Outputs.Lookup(o.Name)
		if !given && t.run.State.Ended() {
			continue // a branch that was not taken
		}
		html := web.Footnotes(value, sources)
		cited = cited || html != ""
		r.Outputs = append(r.Outputs, formsview.FormOutput{
			Name: o.Name, Pending: !given, Rendered: html,
			View: components.ValueView{Name: nodeLabel(t.doc, o.Node, o.Name), Value: value, All: true, Files: t.fileURL},
		})
	}
	if cited { // the sources are below the text
		r.Outputs = slices.DeleteFunc(r.Outputs, func(o formsview.FormOutput) bool { return web.Citations(o.View.Value) != nil })
	}
	return r
}

// fileURL returns a signed link to a file that expires with the ticket.
func (t *resultCall) fileURL(id string) string {
	return t.s.fileURL(t.flow.WorkspaceID, id, t.expires)
}

// fileURL returns a signed link to a file, or "" if links are not configured. The link
// has no host, because the page may be reachable by several.
func (s *Server) fileURL(ws flow.WorkspaceID, id string, expires time.Time) string {
	if s.Links == nil {
		return ""
	}
	signer := filelinks.Signer{Key: s.Links.Key}
	return signer.URL(ws, id, expires)
}

// failureText explains a failure to a visitor. It does not disclose the provider, the
// model or the node.
func failureText(e *flow.Error) string {
	if e == nil {
		return "Something went wrong."
	}
	if text := codes.Of(e.Code).FormFailure; text != "" {
		return text
	}
	return "Something went wrong. Try again. If it happens again, tell the person who gave you the link to this form."
}

// cancel is POST cancel. Closing the page does not cancel a run.
func (v *formCall) cancel() error {
	t, err := v.findResult()
	if err != nil {
		return err
	}
	if !t.run.State.Ended() {
		if _, err := v.s.Runner.CancelRun(v.Ctx(), v.flow.WorkspaceID, v.flow.ID, t.run.ID); err != nil {
			return err
		}
	}
	return v.Redirect(v.runPath(v.Param("ticket")))
}
