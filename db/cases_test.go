package db_test

import (
	"fmt"
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/cases"
)

// newTest stores a test of a flow with one case.
func (w *fixture) newTest(flowID flow.FlowID, c cases.Case, backtest bool) *cases.Test {
	w.t.Helper()
	if c.Inputs == nil {
		c.Inputs = &flow.Object{}
	}
	file := &cases.File{Cases: []cases.Case{c}}
	t := &cases.Test{ID: flow.NewIDs().New(cases.PrefixTest), WorkspaceID: ws, FlowID: flowID, Spec: cases.Spec{Set: flow.Hash(file.Encode()), Cases: []string{c.ID}, Baseline: -1}}
	var runs []flow.RunID
	if backtest {
		runs = append(runs, c.FromRun)
	}
	w.must(w.CreateTest(w.ctx, t, file.Encode(), nil, runs))
	return t
}

// startTest starts the run of a test.
func (w *fixture) startTest(t *cases.Test) *flow.Run {
	w.t.Helper()
	return w.start(func(n *flow.NewRun) { n.Run.FlowID, n.Test = t.FlowID, t.ID })
}

func (w *fixture) storedBytes() int64 {
	w.t.Helper()
	s, err := w.Quotas.FindStorage(w.ctx, ws)
	w.must(err)
	return s.Used.Bytes
}

// TestDropReports_erases_what_is_400_days_old_or_never_ran deletes a test after 400 days with its verdicts and the version of the cases that no other test ran, and one without a run
// after a day.
func TestDropReports_erases_what_is_400_days_old_or_never_ran(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		flowID := w.start().FlowID
		before := w.storedBytes()
		never, old := w.newTest(flowID, cases.Case{ID: "never"}, false), w.newTest(flowID, cases.Case{ID: "old"}, false)
		tests := w.storedBytes() - before
		run := w.startTest(old)
		grown := w.storedBytes() - before - tests
		found, err := w.FindTestOfRun(w.ctx, ws, run.ID)
		w.must(err)
		wantEqual(t, "the test of the run", found.ID, old.ID)
		w.must(w.SaveVerdicts(w.ctx, old, 0, []cases.Verdict{{Case: "old", State: cases.Passed}}))
		exist := func(wantNever, wantOld bool) {
			t.Helper()
			for test, want := range map[*cases.Test]bool{never: wantNever, old: wantOld} {
				_, err := w.FindTest(w.ctx, ws, test.ID)
				wantEqual(t, "exists", err == nil, want)
				_, err = w.FindCaseSet(w.ctx, ws, test.Spec.Set)
				wantEqual(t, "its cases exist", err == nil, want)
			}
		}
		for _, step := range []struct {
			by         time.Duration
			never, old bool
		}{{23 * time.Hour, true, true}, {2 * time.Hour, false, true}, {398 * 24 * time.Hour, false, true}} {
			w.clock.move(step.by)
			w.must(w.DropReports(w.ctx, 10))
			exist(step.never, step.old)
		}
		w.clock.move(24 * time.Hour)
		same := w.newTest(flowID, cases.Case{ID: "old"}, false)
		w.must(w.DropReports(w.ctx, 10))
		if _, err := w.FindCaseSet(w.ctx, ws, same.Spec.Set); err != nil {
			t.Errorf("cases that another test runs: %v", err)
		}
		verdicts, err := w.ListVerdicts(w.ctx, cases.NewPlan(old, &cases.File{}))
		w.must(err)
		wantEqual(t, "verdicts", len(verdicts), 0)
		w.clock.move(25 * time.Hour)
		w.must(w.DropReports(w.ctx, 10))
		exist(false, false)
		wantEqual(t, "bytes", w.storedBytes()-before-grown, 0)
	})
}

// TestEraseRun_clears_backtests removes the content of a run from the version of cases that a backtest made of it, and not from another.
func TestEraseRun_clears_backtests(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		r := w.startAndFinish()
		c := cases.Case{ID: cases.IDOfRun(r.ID), FromRun: r.ID, Tags: []string{"must"}, Inputs: &flow.Object{}}
		c.Inputs.Set("word", "secret words")
		saved, back := w.newTest(r.FlowID, c, false), w.newTest(r.FlowID, cases.Case{ID: c.ID, FromRun: r.ID, Inputs: c.Inputs, Name: "of a backtest"}, true)
		before := w.storedBytes()
		w.must(w.EraseRun(w.ctx, ws, r.FlowID, r.ID, flow.CodeRunExpired))
		has := func(of *cases.Test, want bool) {
			t.Helper()
			f, err := w.FindCaseSet(w.ctx, ws, of.Spec.Set)
			w.must(err)
			wantEqual(t, "cases", len(f.Cases), 1)
			wantEqual(t, "has the input", f.Cases[0].Inputs.Has("word"), want)
		}
		has(saved, true)
		has(back, false)
		if grown := w.storedBytes() - before; grown >= 0 {
			t.Errorf("erasing added %d bytes", grown)
		}
		// A person erases the other, too. The same cases again are another version of the same.
		w.must(w.EraseCopies(w.ctx, ws, r.FlowID, r.ID))
		has(saved, false)
		has(w.newTest(r.FlowID, c, false), true)
	})
}

// TestVerdicts_have_the_checks_that_are_asked_for reads the checks of chosen verdicts only, and of those that a report counts.
func TestVerdicts_have_the_checks_that_are_asked_for(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		found := cases.Case{ID: "found", Inputs: &flow.Object{}, Checks: []cases.Check{{Kind: cases.FindsCheck, Value: flow.Ordered(map[string]any{"source": "a.pdf"})}}}
		test := w.newTest(w.start().FlowID, found, false)
		test.Spec.Cases = []string{"found", "plain"}
		p := cases.NewPlan(test, &cases.File{Cases: []cases.Case{found, {ID: "plain"}}})
		checks := func(kind, reason string) []cases.Outcome {
			return []cases.Outcome{{Check: kind, Kind: kind, State: cases.Failed, Reason: reason, Top: 5}}
		}
		for candidate := range 2 {
			w.must(w.SaveVerdicts(w.ctx, test, 0, []cases.Verdict{{Candidate: candidate, Case: "found", State: cases.Failed, Checks: checks(cases.FindsCheck, "no hit")}, {Candidate: candidate, Case: "plain", State: cases.Failed, Message: "wrong", Score: 0.25, Checks: checks(cases.Equals, fmt.Sprint("wrong ", candidate))}}))
		}
		list, err := w.ListVerdicts(w.ctx, p)
		w.must(err)
		wantEqual(t, "verdicts", len(list), 4)
		wantEqual(t, "the counted checks", list[2].Checks[0].Top, 5)
		wantEqual(t, "other checks", len(list[1].Checks)+len(list[3].Checks), 0)
		wantEqual(t, "the message", list[1].Message, "wrong")
		wantEqual(t, "the score", list[1].Score, 0.25)
		w.must(w.AddChecks(w.ctx, test, []*cases.Verdict{&list[3]}))
		wantEqual(t, "the checks that were asked for", list[3].Checks[0].Reason, "wrong 1")
		wantEqual(t, "those that were not", len(list[1].Checks), 0)
	})
}

// TestCountFlaky_leaves_out_cases_that_always_end_in_one_way counts over candidates of several tests.
func TestCountFlaky_leaves_out_cases_that_always_end_in_one_way(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		flowID := w.start().FlowID
		var columns []cases.Column
		for i, states := range [][]map[string]cases.State{
			{{"passes": cases.Passed, "fails": cases.Failed, "flaky": cases.Passed, "outage": cases.Errored}, {"passes": cases.Passed, "fails": cases.Failed, "flaky": cases.Passed, "outage": cases.Passed}},
			{{"passes": cases.Passed, "fails": cases.Failed, "flaky": cases.Failed, "outage": cases.Stale}},
		} {
			test := w.newTest(flowID, cases.Case{ID: fmt.Sprint("c", i)}, false)
			for candidate, of := range states {
				item := 0
				for id, state := range of {
					w.must(w.SaveVerdicts(w.ctx, test, item, []cases.Verdict{{Candidate: candidate, Case: id, State: state}}))
					item++
				}
				columns = append(columns, cases.Column{Test: test, Candidate: candidate})
			}
		}
		rates, err := w.CountFlaky(w.ctx, columns)
		w.must(err)
		for i, want := range []cases.Rate{{Passed: 1, Runs: 1}, {Passed: 1, Runs: 1}, {Passed: 0, Runs: 1}} {
			wantEqual(t, "cases", len(rates[i]), 1)
			wantEqual(t, "rate", rates[i]["flaky"], want)
		}
		rates, err = w.CountFlaky(w.ctx, columns[:2])
		w.must(err)
		wantEqual(t, "without the last test", len(rates[0])+len(rates[1]), 0)
		rates, err = w.CountFlaky(w.ctx, nil)
		w.must(err)
		wantEqual(t, "without columns", len(rates), 0)
	})
}

// TestSaveTestDigest_keeps_what_a_test_found stores a digest and reads it with the test, alone and in the list.
func TestSaveTestDigest_keeps_what_a_test_found(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		test := w.newTest(w.start().FlowID, cases.Case{ID: "one"}, false)
		w.startTest(test)
		found, err := w.FindTest(w.ctx, ws, test.ID)
		w.must(err)
		if found.Digest != nil {
			t.Errorf("a test that has not ended has the digest %+v", found.Digest)
		}
		test.Digest = &cases.Digest{State: cases.Failed, Summary: "1 of 2 pass.", Runs: 2, Done: 2, Candidates: []cases.CandidateReport{{
			Candidate: cases.Candidate{Label: "v7", Version: 7, Set: map[string]any{"a.b": "c"}}, Passed: 1, Failed: 1, Low: 0.1, High: 0.9, USD: 5, P95: 3 * time.Second, Worse: []string{"one"}, Finds: []cases.FindsRate{{Top: 5, Found: 1, Of: 2}}, Clear: true,
		}}}
		w.must(w.SaveTestDigest(w.ctx, test))
		list, err := w.ListTests(w.ctx, ws, test.FlowID, "", 10)
		w.must(err)
		wantEqual(t, "the digest in the list", fmt.Sprintf("%+v", *list[0].Digest), fmt.Sprintf("%+v", *test.Digest))
	})
}
