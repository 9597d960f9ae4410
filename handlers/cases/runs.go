package cases

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/cases"
	"sluice/flow/document"
	"sluice/flow/library"
	"sluice/handlers/web"
	view "sluice/views/cases"
	"sluice/views/components"
)

// runCases is POST tests: it runs one case, all, those with a tag, or those that did not pass, with the draft.
func runCases(c *call, f *flow.Flow) error {
	r, back := c.request(), url.Values{}
	for _, name := range []string{"case", "tag"} {
		if v := c.FormValue(name); v != "" {
			back.Set(name, v)
		}
	}
	if c.FormValue("only") == "failed" {
		ids, err := c.notPassed(f)
		if err != nil {
			return err
		}
		r.Cases = ids
	}
	_, err := c.start(f, r)
	return c.backToList(f, back, err)
}

// request reads which test of the draft a form or a query asks for.
func (c *call) request() library.TestRequest {
	r := library.TestRequest{Candidates: []library.CandidateRequest{{Draft: true}}, Mode: flow.CaseMode(c.FormValue("mode")), Tags: tagsOf(c.FormValue("tag"))}
	if !slices.Contains(flow.CaseModes, r.Mode) {
		r.Mode = flow.CaseFill
	}
	if r.Mode == flow.CaseLive {
		r.Allow = c.Request().Form["allow"]
	}
	if id := c.FormValue("case"); id != "" {
		r.Cases = []string{id}
	}
	return r
}

// writers returns the nodes of the draft that may change something outside. A live test executes those that a person allows.
func (c *call) writers(f *flow.Flow) (list []components.Option) {
	d, _ := document.ParseDocument(f.Draft)
	if d == nil {
		return nil
	}
	for i := range d.Nodes {
		n := &d.Nodes[i]
		if k := c.s.Kinds.Find(n.Kind); k != nil && !n.Disabled && flow.Writes(n, k) {
			list = append(list, components.Option{Value: n.ID, Label: web.NodeTitle(d, c.s.Kinds, n.ID)})
		}
	}
	return list
}

// tagsOf returns the tags of a text, separated by commas.
func tagsOf(text string) (list []string) {
	for t := range strings.SplitSeq(text, ",") {
		if t = strings.TrimSpace(t); t != "" {
			list = append(list, t)
		}
	}
	return list
}

// start starts a test of the signed-in person.
func (c *call) start(f *flow.Flow, r library.TestRequest) (*cases.Test, error) {
	t, _, err := c.tests().StartTest(c.Ctx(), c.Actor(), nil, c.Member.UserID, f, r)
	return t, err
}

// backToList redirects to the list, with a message if something was refused.
func (c *call) backToList(f *flow.Flow, query url.Values, err error) error {
	if err := c.refused(err); err != nil {
		return err
	}
	to := view.ListPath(string(f.ID))
	if len(query) > 0 {
		to += "?" + query.Encode()
	}
	return c.Redirect(to)
}

// refused shows an error that the person can do something about as a toast, and returns all others.
func (c *call) refused(err error) error {
	if e, ok := c.problem(err); ok {
		c.Toast(components.ToneBad, e.Message)
		return nil
	}
	return err
}

// problem returns an error that the person can do something about.
func (c *call) problem(err error) (*flow.Error, bool) {
	e, ok := errors.AsType[*flow.Error](err)
	if !ok || web.StatusOf(e.Code) >= 500 {
		return nil, false
	}
	if len(e.Fields) > 0 && e.Code == flow.CodeDocumentInvalid {
		e = flow.Errorf(e.Code, "The draft has problems. Fix them, then test it.")
	}
	return e, true
}

// notPassed returns the cases whose latest result with the draft did not pass.
func (c *call) notPassed(f *flow.Flow) (ids []string, err error) {
	file, _, err := c.s.Store.FindCaseFile(c.Ctx(), f.WorkspaceID, f.ID)
	if err != nil {
		return nil, err
	}
	tests, err := c.s.Store.ListTests(c.Ctx(), f.WorkspaceID, f.ID, "", latestTests)
	if err != nil {
		return nil, err
	}
	found, err := c.latest(f, file, tests)
	for id, l := range found {
		if l.result.State != cases.Passed {
			ids = append(ids, id)
		}
	}
	return ids, err
}

// cancelTest is POST cancel.
func cancelTest(c *call, f *flow.Flow, t *cases.Test, run *flow.Run) error {
	if !run.State.Ended() {
		if _, err := c.s.Runner.CancelRun(c.Ctx(), t.WorkspaceID, t.FlowID, t.RunID); err != nil {
			return err
		}
	}
	return c.Redirect(view.ListPath(string(f.ID)))
}

// rerunTest is POST rerun: it runs the cases that match the filter again, or those that did not pass, with the same candidates.
func rerunTest(c *call, f *flow.Flow, t *cases.Test, _ *flow.Run) error {
	r, err := c.report(t)
	if err != nil {
		return err
	}
	file, _, err := c.s.Store.FindCaseFile(c.Ctx(), f.WorkspaceID, f.ID)
	if err != nil {
		return err
	}
	filter, tag := c.FormValue("cases"), c.FormValue("tag")
	var ids []string
	for i := range r.Cases {
		row := &r.Cases[i]
		if !r.matches(row, filter, tag) || filter == "" && tag == "" && r.stateOf(row) == cases.Passed || file.Find(row.ID) == nil {
			continue
		}
		ids = append(ids, row.ID)
	}
	back := view.ReportPath(string(f.ID), t.ID)
	if len(ids) == 0 {
		c.Toast(components.ToneNone, "No case is left to run.")
		return c.Redirect(back)
	}
	request, err := c.tests().Again(c.Ctx(), t)
	if err != nil {
		return err
	}
	request.Cases = ids
	started, err := c.start(f, request)
	if err == nil {
		back = view.ReportPath(string(f.ID), started.ID)
	} else if err = c.refused(err); err != nil {
		return err
	}
	return c.Redirect(back)
}
