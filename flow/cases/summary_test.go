package cases

import (
	"strings"
	"testing"
)

func TestSummary_of_several_candidates_begins_with_what_got_worse(t *testing.T) {
	t.Parallel()
	file := &File{Cases: []Case{{ID: "a"}, {ID: "b"}}}
	test := &Test{Spec: Spec{Cases: []string{"a", "b"}, Baseline: 2, Candidates: []Candidate{{Label: "the draft"}, {Label: "the draft with answer.model = x/y. z"}, {Label: "version 7"}}}}
	states := [][]State{{Passed, Passed}, {Failed, Passed}, {Passed, Passed}}
	var verdicts []Verdict
	for k := range states {
		for i, s := range states[k] {
			verdicts = append(verdicts, Verdict{Candidate: k, Case: file.Cases[i].ID, State: s})
		}
	}
	report := NewReport(NewPlan(test, file), verdicts)
	got := report.Summary
	if !strings.HasPrefix(got, "The draft with answer.model = x/y. z: 1 case got worse than version 7 (a). 1 of 2 pass.") || !strings.Contains(got, " The draft: 2 of 2 pass.") {
		t.Error(got)
	}
	if first := report.Lines[0].Lead; first != "The draft with answer.model = x/y. z: 1 case got worse than version 7 (a)." {
		t.Errorf("the first line begins with %q", first)
	}
}

func TestJudgeOf_tells_judges_without_names_apart(t *testing.T) {
	t.Parallel()
	c := &Case{ID: "a", Checks: []Check{{Kind: Judge, Value: "It is polite.", Model: "m"}, {Kind: Judge, Value: "It is short.", Model: "m"}}}
	f := &File{Cases: []Case{*c}}
	v := Evaluate(t.Context(), f, c, &Result{State: "succeeded"}, Tools{}, map[int]Outcome{0: {State: Passed}, 1: {State: Failed}})
	for _, o := range v.Checks[1:] {
		want := map[State]any{Passed: "It is polite.", Failed: "It is short."}[o.State]
		if judge := f.JudgeOf(c, o.Check); judge == nil || judge.Value != want {
			t.Errorf("the judge %q that says %s is %+v", o.Check, o.State, judge)
		}
	}
}
