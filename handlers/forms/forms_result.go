package forms

import (
	"fmt"
	"net/http"
	"time"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/handlers/web"
	"sluice/views/components"
	formsview "sluice/views/forms"
)

// ticketed is the run that a visitor has a ticket for.
type ticketed struct {
	*visit
	run     *flow.Run
	doc     *flow.Document // of the run
	expires time.Time
}

// findTicketed finds the run of the ticket. One that was tampered with, has
// expired or is for another form is no different from one that never was.
func (v *visit) findTicketed() (*ticketed, error) {
	runID, expires, ok := v.s.seals.Admits(v.flow.ID, v.Param("ticket"), v.s.Now())
	if !ok || !flow.ValidID(flow.PrefixRun, runID) {
		return nil, web.ErrNotFound
	}
	v.hide()
	v.Response().Header().Set("Referrer-Policy", "no-referrer")
	t := &ticketed{visit: v, expires: expires}
	if err := t.find(runID); err != nil {
		return nil, err
	}
	data, err := v.s.Store.FindDocument(v.Ctx(), v.flow.WorkspaceID, t.run.DocumentHash)
	if err != nil && !web.IsNotFound(err) {
		return nil, fmt.Errorf("find the document of %s: %w", runID, err)
	}
	if t.doc, _ = document.ParseDocument(data); t.doc == nil {
		t.doc = v.doc
	}
	return t, nil
}

// find reads the run as it is now.
func (t *ticketed) find(runID string) (err error) {
	t.run, err = t.s.Store.FindRun(t.Ctx(), t.flow.WorkspaceID, t.flow.ID, runID)
	if err == nil && t.run.Trigger != flow.TriggerForm {
		return web.ErrNotFound
	}
	return err
}

// showResult is GET result: where the run stands, and what it gave.
func (v *visit) showResult() error {
	t, err := v.findTicketed()
	if err != nil {
		return err
	}
	p := v.public(v.title())
	p.Unlisted, p.Refresh = true, !t.run.State.Ended()
	return v.Render(http.StatusOK, formsview.FormResult(p, t.result()))
}

// result is the run as visitors see it.
func (t *ticketed) result() formsview.FormRun {
	r := formsview.FormRun{
		Title: t.title(), Path: t.runPath(t.Param("ticket")), Again: t.path() + "?again=" + t.Param("ticket"), URL: t.s.PublicURL + t.runPath(t.Param("ticket")),
		State: string(t.run.State), Done: t.run.Progress.Done, All: t.run.Progress.Total, Until: t.expires, Reference: t.run.ID,
		Erased: t.run.Erased != "",
	}
	if t.run.State == flow.RunFailed {
		r.Trouble = failureWords(t.run.Error)
	}
	for _, o := range t.doc.Outputs(t.s.Kinds) {
		value, given := t.run.Outputs[o.Name]
		if !given && t.run.State.Ended() {
			continue // a branch that was not taken
		}
		r.Outputs = append(r.Outputs, formsview.FormOutput{
			Name: o.Name, Pending: !given,
			View: components.ValueView{Name: labelIn(t.doc, o.Node, o.Name), Value: value, All: true, Files: t.fileAddress},
		})
	}
	return r
}

// fileAddress is where a file can be fetched for as long as the ticket holds.
func (t *ticketed) fileAddress(id string) string {
	if t.s.Links == nil {
		return ""
	}
	here := flow.FileLinks{Key: t.s.Links.Key} // without a host: the page may be reached by several
	return here.URL(t.flow.WorkspaceID, id, t.expires)
}

// failureWords say what a visitor may know of a failure: what it means for them.
func failureWords(e *flow.Error) string {
	if e == nil {
		return "Something went wrong."
	}
	switch e.Code {
	case flow.CodeProviderRateLimited, flow.CodeProviderUnavailable, flow.CodeHTTPFailed:
		return "A service that this form relies on did not answer. Try again in a few minutes."
	case flow.CodeStepTimeout, flow.CodeRunTimeout:
		return "It took too long and was stopped. Try again, with less if you can."
	case flow.CodeBudgetExceeded:
		return "The budget of this form is used up. Try again later."
	case flow.CodeInputInvalid, flow.CodeProviderRejected:
		return "What you gave could not be worked with. Change it and try again."
	}
	return "Something went wrong. Try again; if it happens once more, tell whoever gave you the address of this form."
}

// cancel is POST cancel. Closing the page cancels nothing.
func (v *visit) cancel() error {
	t, err := v.findTicketed()
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
