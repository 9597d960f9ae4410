// Package reports writes the report of a test as CSV, as JUnit XML, and as Markdown. It only formats; package cases computes.
package reports

import (
	"encoding/csv"
	"fmt"
	"strings"

	"sluice/flow"
	"sluice/flow/cases"
	"sluice/flow/value"
)

// Formats are the formats besides JSON.
var Formats = []string{"csv", "junit", "markdown"}

// Report is the report of a test with what the formats show of it.
type Report struct {
	Flow   string // slug
	Plan   *cases.Plan
	Report *cases.Report // with the checks of the verdicts in Explained
	// Outputs has the outputs of runs that Shown names. Those without content are missing.
	Outputs map[flow.RunID]*flow.Object
	// URL returns the address of a run on its page; nil for none.
	URL func(flow.RunID) string
}

// Write returns the report in one of the formats, and the media type.
func (r *Report) Write(format string) (text []byte, mime string) {
	switch format {
	case "csv":
		return r.csv(), "text/csv; charset=utf-8"
	case "junit":
		return r.junit(), "application/xml; charset=utf-8"
	}
	return r.markdown(), "text/markdown; charset=utf-8"
}

// csv returns a row for each case and candidate.
func (r *Report) csv() []byte {
	var b strings.Builder
	w := csv.NewWriter(&b)
	w.UseCRLF = true
	write := func(cells ...string) { _ = w.Write(cells) } // a builder does not fail
	write("case", "name", "tags", "candidate", "baseline", "state", "passes", "runs", "score", "usd", "ms", "message", "run_id")
	for i := range r.Report.Cases {
		c := &r.Report.Cases[i]
		for k := range c.Results {
			v := &c.Results[k]
			write(value.SafeCell(c.ID), value.SafeCell(c.Name), value.SafeCell(strings.Join(c.Tags, " ")), value.SafeCell(r.Report.Candidates[k].Label), fmt.Sprint(k == r.Plan.Spec.Baseline), string(v.State),
				fmt.Sprint(v.Passes), fmt.Sprint(v.Runs), flow.FormatNumber(v.Score), flow.FormatNumber(v.USD.Dollars()), fmt.Sprint(v.MS), value.SafeCell(v.Message), string(v.RunID))
		}
	}
	w.Flush()
	return []byte(b.String())
}

// isBaseline reports whether a candidate only serves to compare the others with it.
func (r *Report) isBaseline(candidate int) bool {
	return candidate == r.Plan.Spec.Baseline && len(r.Report.Candidates) > 1
}

// reasons returns what the checks of a case say against a candidate, one text for each check of the run in its result that does not pass.
func reasons(result *cases.CaseResult) (list []string) {
	v := result.Verdict
	if v == nil || v.State == cases.Passed {
		return nil
	}
	for _, o := range v.Checks {
		if o.State != cases.Passed && !o.Watch {
			list = append(list, strings.TrimSuffix(o.Check+": "+o.Reason, ": "))
		}
	}
	if len(list) == 0 && v.Message != "" {
		list = append(list, v.Message)
	}
	return list
}

// Explained returns the verdicts whose checks a format explains.
func (r *Report) Explained(format string) (list []*cases.Verdict) {
	add := func(result *cases.CaseResult) {
		if v := result.Verdict; v != nil && v.State != cases.Passed {
			list = append(list, v)
		}
	}
	switch format {
	case "junit":
		for i := range r.Report.Cases {
			for k := range r.Report.Candidates {
				if !r.isBaseline(k) {
					add(&r.Report.Cases[i].Results[k])
				}
			}
		}
	case "markdown":
		for _, d := range r.details() {
			add(d.result)
		}
	}
	return list
}

// Shown returns the runs whose outputs the Markdown compares: those of cases that got worse or failed, and those of the baseline.
func (r *Report) Shown() (ids []flow.RunID) {
	for _, d := range r.details() {
		ids = append(ids, d.result.RunID)
		if d.was != nil {
			ids = append(ids, d.was.RunID)
		}
	}
	return ids
}
