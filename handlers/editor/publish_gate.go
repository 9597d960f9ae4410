package editor

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"sluice/flow"
	"sluice/flow/library"
	"sluice/flow/wording"
	"sluice/handlers/web"
	editorview "sluice/views/editor"
)

// shownGateProblems is how many problems the dialog lists.
const shownGateProblems = 5

// publishGate returns what the tests of a flow say about publishing its draft, or nil if it needs none.
func publishGate(c *call, f *flow.Flow) (*editorview.PublishGate, error) {
	g, err := library.FindGate(c.Ctx(), c.s.Library, f)
	if g == nil || err != nil {
		return nil, err
	}
	v := &editorview.PublishGate{State: editorview.GateMissing, Pays: g.Gate.Mode != flow.CaseReplay, MayOverride: c.Member.Role.AtLeast(flow.MemberOwner), Reason: strings.TrimSpace(c.FormValue("reason"))}
	if g.Test == nil {
		return v, nil
	}
	v.Report = "/flows/" + url.PathEscape(string(f.ID)) + "/tests/reports/" + url.PathEscape(g.Test.ID)
	switch {
	case !g.Ended():
		v.State = editorview.GateRunning
		return v, countGate(c, g, v)
	case len(g.Problems) == 0:
		v.State = editorview.GatePassed
	default:
		v.State = editorview.GateFailed
	}
	v.More = max(0, len(g.Problems)-shownGateProblems)
	for _, p := range g.Problems[:len(g.Problems)-v.More] {
		problem := editorview.GateProblem{Text: wording.Sentence(strings.TrimPrefix(p.Detail, "failed: "))}
		if id, is := strings.CutPrefix(p.Pointer, "/cases/"); is {
			problem.Case, problem.Path = g.CaseName(id), v.Report+"?"+url.Values{"case": {id}}.Encode()
		}
		v.Problems = append(v.Problems, problem)
	}
	return v, nil
}

// countGate counts the runs of a test in progress.
func countGate(c *call, g *library.GateReport, v *editorview.PublishGate) error {
	set, err := c.s.Store.FindCaseSet(c.Ctx(), g.Test.WorkspaceID, g.Test.Spec.Set)
	if err != nil {
		return err
	}
	v.Total = len(g.Test.Spec.Items(set)) * len(g.Test.Spec.Candidates)
	list, err := c.s.Store.ListChildren(c.Ctx(), g.Test.WorkspaceID, g.Test.RunID)
	for i := range list {
		v.Done += list[i].Succeeded + list[i].Failed
	}
	return err
}

// testDraft starts the test that publishing the draft needs.
func testDraft(c *call, f *flow.Flow, form editorview.PublishForm) error {
	_, err := library.StartGate(c.Ctx(), c.s.Library, f, c.Actor())
	if e, ok := errors.AsType[*flow.Error](err); ok && web.StatusOf(e.Code) < 500 {
		form.Error = e.Message
		return refusePublish(c, http.StatusUnprocessableEntity, form)
	}
	if err != nil {
		return err
	}
	if form.Gate, err = publishGate(c, f); err != nil {
		return err
	}
	return refusePublish(c, http.StatusOK, form)
}

// publishAnyway publishes the draft of a flow in spite of its gate, for an owner with a reason.
func publishAnyway(c *call, f *flow.Flow, form *editorview.PublishForm) (flow.Version, bool, error) {
	if !c.Member.Role.AtLeast(flow.MemberOwner) {
		return flow.Version{}, false, flow.Errorf(flow.CodeInputInvalid, "Only an owner can publish without passing tests.")
	}
	return library.PublishAnyway(c.Ctx(), c.s.Library, f, c.Actor(), form.Note, c.FormValue("reason"))
}
