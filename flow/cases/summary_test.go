package cases

import (
	"strings"
	"testing"
)

func TestSummary_of_several_candidates_begins_with_what_got_worse(t *testing.T) {
	t.Parallel()
	file := &File{Cases: []Case{{ID: "a"}, {ID: "b"}}}
	test := &Test{Spec: Spec{Cases: []string{"a", "b"}, Baseline: 2, Candidates: []Candidate{{Label: "the draft"}, {Label: "the draft with answer.model"}, {Label: "version 7"}}}}
	states := [][]State{{Passed, Passed}, {Failed, Passed}, {Passed, Passed}}
	var verdicts []Verdict
	for k := range states {
		for i, s := range states[k] {
			verdicts = append(verdicts, Verdict{Candidate: k, Case: file.Cases[i].ID, State: s})
		}
	}
	got := NewReport(NewPlan(test, file), verdicts).Summary
	if !strings.HasPrefix(got, "The draft with answer.model: 1 case got worse than version 7 (a). 1 of 2 pass.") || !strings.Contains(got, " The draft: 2 of 2 pass.") {
		t.Error(got)
	}
}
