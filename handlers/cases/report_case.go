package cases

import (
	"cmp"
	"slices"

	"sluice/flow"
	"sluice/flow/cases"
	"sluice/flow/textdiff"
	"sluice/flow/wording"
	view "sluice/views/cases"
)

// maxDiff is how many bytes of an output are compared.
const maxDiff = 32 << 10

// openCase shows a case with the outputs of a candidate beside those of the baseline, or beside the expected ones.
func (c *call) openCase(f *flow.Flow, t *cases.Test, r *reported, page *view.ReportPage, rows []*cases.CaseReport) (*view.OpenCase, error) {
	at := slices.IndexFunc(r.Cases, func(k cases.CaseReport) bool { return k.ID == page.Filter.Open })
	k := r.plan.File.Find(page.Filter.Open)
	if at < 0 || k == nil {
		return nil, nil
	}
	with := chosenCandidate(r, at, t.Spec.Baseline, c.QueryParam("with"), page.Filter.With)
	result := &r.Cases[at].Results[with]
	o := &view.OpenCase{
		ID: k.ID, Title: cmp.Or(k.Name, k.ID), Tags: k.Tags, Inputs: valuesOf(k.Inputs), After: page.Candidates[with].Label, AfterRun: string(result.RunID), State: string(result.State), Message: wording.Sentence(result.Message), Candidate: with,
	}
	for i := range r.Candidates {
		if i != t.Spec.Baseline {
			o.Choices = append(o.Choices, view.Choice{Label: page.Candidates[i].Label, Candidate: i, Current: i == with})
		}
	}
	if i := slices.Index(rows, &r.Cases[at]); i >= 0 {
		if i > 0 {
			o.Previous = rows[i-1].ID
		}
		if i+1 < len(rows) {
			o.Next = rows[i+1].ID
		}
	}
	file, _, err := c.s.Store.FindCaseFile(c.Ctx(), f.WorkspaceID, f.ID)
	if err != nil {
		return nil, err
	}
	o.Exists = file.Find(k.ID) != nil
	after := c.outputsOf(f, result.RunID)
	before := k.Expected
	if base := t.Spec.Baseline; base >= 0 && base != with {
		o.Before, o.BeforeRun = page.Candidates[base].Label, string(r.Cases[at].Results[base].RunID)
		before = c.outputsOf(f, r.Cases[at].Results[base].RunID)
	} else if before.Len() > 0 {
		o.Before = "Expected"
	}
	o.Expect = o.Exists && after.Len() > 0
	o.Outputs = diffOutputs(before, after, o.Before != "")
	o.Checks = checkPairs(r, k, r.Cases[at].Results, with, t.Spec.Baseline)
	o.Judges, err = c.judgeVerdicts(t, r.plan.File, k, result.Verdict)
	return o, err
}

// chosenCandidate returns which candidate an open case shows: the chosen one, otherwise the first in which it got worse, otherwise the first.
func chosenCandidate(r *reported, at, baseline int, given string, with int) int {
	if given != "" && with < len(r.Candidates) {
		return with
	}
	first := -1
	for i := range r.Candidates {
		if i == baseline {
			continue
		}
		if slices.Contains(r.Candidates[i].Worse, r.Cases[at].ID) {
			return i
		}
		if first < 0 {
			first = i
		}
	}
	return max(first, 0)
}

// outputsOf returns the outputs of a run, or nil if it was deleted.
func (c *call) outputsOf(f *flow.Flow, id flow.RunID) *flow.Object {
	if id == "" {
		return nil
	}
	run, err := c.s.Store.FindRun(c.Ctx(), f.WorkspaceID, f.ID, id)
	if err != nil {
		return nil
	}
	return run.Outputs
}

// diffOutputs compares outputs by name, with marked differences. Without compare all is unmarked.
func diffOutputs(before, after *flow.Object, compare bool) (list []view.OutputDiff) {
	var names []string
	for _, o := range []*flow.Object{before, after} {
		for name := range o.All() {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	for _, name := range names {
		d := view.OutputDiff{Name: name}
		was, is := outputText(before, name), outputText(after, name)
		if !compare || len(was)+len(is) > 2*maxDiff {
			d.Before, d.After = unmarked(was), unmarked(is)
			list = append(list, d)
			continue
		}
		for _, p := range textdiff.Words(was, is) {
			if p.Change != textdiff.Added {
				d.Before = append(d.Before, view.Piece{Text: p.Text, Changed: p.Change == textdiff.Removed})
			}
			if p.Change != textdiff.Removed {
				d.After = append(d.After, view.Piece{Text: p.Text, Changed: p.Change == textdiff.Added})
			}
		}
		list = append(list, d)
	}
	return list
}

func unmarked(text string) []view.Piece {
	return []view.Piece{{Text: wording.Fit(text, maxDiff)}}
}

// outputText returns an output as text.
func outputText(o *flow.Object, name string) string {
	v, has := o.Lookup(name)
	if !has {
		return ""
	}
	if s, ok := v.(string); ok {
		return s
	}
	return string(flow.EncodeJSON(v))
}

// checkPairs compares the checks of a case with the baseline and a candidate.
func checkPairs(r *reported, k *cases.Case, of []cases.CaseResult, with, baseline int) (list []view.CheckPair) {
	after := results(r.plan.File, k, of[with].Verdict)
	var before []view.CheckResult
	if baseline >= 0 && baseline != with {
		before = results(r.plan.File, k, of[baseline].Verdict)
	}
	for i := range after {
		pair := view.CheckPair{Subject: after[i].Subject, Text: after[i].Text, After: &after[i]}
		if at := slices.IndexFunc(before, func(b view.CheckResult) bool { return b.Subject == after[i].Subject && b.Text == after[i].Text }); at >= 0 {
			pair.Before = &before[at]
		}
		list = append(list, pair)
	}
	return list
}
