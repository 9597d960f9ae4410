package cases

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"time"

	"sluice/flow"
	"sluice/flow/cases"
	"sluice/flow/wording"
	view "sluice/views/cases"
	"sluice/views/layout"
)

// Filters of a report besides states.
const (
	worse  = "worse"
	better = "better"
	flaky  = "flaky"
)

// reported is a test with what it found.
type reported struct {
	*cases.Report
	plan   *cases.Plan
	worse  map[string]bool // cases, with any candidate
	better map[string]bool
	flaky  map[string]map[string]cases.Rate // by the hash of the document, in the last reports
}

// report reads the report of a test.
func (c *call) report(t *cases.Test) (*reported, error) {
	plan, report, _, err := c.tests().Report(c.Ctx(), t)
	if err != nil {
		return nil, err
	}
	r := &reported{Report: report, plan: plan, worse: map[string]bool{}, better: map[string]bool{}}
	for i := range report.Candidates {
		for _, id := range report.Candidates[i].Worse {
			r.worse[id] = true
		}
		for _, id := range report.Candidates[i].Better {
			r.better[id] = true
		}
	}
	return r, nil
}

// showReport is GET report: the page or, for the script, the part of it that changes.
func showReport(c *call, f *flow.Flow, t *cases.Test, run *flow.Run) error {
	r, err := c.report(t)
	if err != nil {
		return err
	}
	page := &view.ReportPage{
		FlowID: string(f.ID), Flow: f.Name, LiveVersion: f.LiveVersion, MayEdit: c.MayEdit(), ID: t.ID, RunID: string(t.RunID), State: string(run.State), At: t.CreatedAt, Now: c.s.Now(),
		Mode: string(t.Spec.Mode), Cases: len(r.Cases), Baseline: t.Spec.Baseline, Filter: c.reportFilter(), Notes: t.Notes, MaxNotes: cases.MaxNotes,
	}
	if !run.State.Ended() {
		p, err := c.progress(t)
		if err != nil {
			return err
		}
		page.Live = &p.Progress
	}
	if run.State.Ended() {
		var hashes []string
		for i := range r.Candidates {
			hashes = append(hashes, r.Candidates[i].Hash)
		}
		if r.flaky, err = c.flaky(f, r.plan.File, t.Spec.Set, hashes); err != nil {
			return err
		}
	}
	for _, l := range r.Lines {
		page.Lines = append(page.Lines, view.ReportLine(l))
	}
	for i := range r.Candidates {
		page.Spent += r.Candidates[i].Spent.Micros()
		page.Candidates = append(page.Candidates, candidateCard(f, r, t.Spec.Baseline, i, page.MayEdit && run.State.Ended()))
	}
	rows := fillReport(r, page)
	if err := c.addRows(t, r, page, rows); err != nil {
		return err
	}
	if page.Filter.Open != "" {
		if page.Open, err = c.openCase(f, t, r, page, rows); err != nil {
			return err
		}
	}
	if c.QueryParam("part") == "body" {
		return c.Render(http.StatusOK, view.ReportBody(*page))
	}
	return c.Render(http.StatusOK, view.Report(c.Page("Report of "+f.Name, layout.SectionFlows), *page))
}

// reportFilter reads which cases a report lists.
func (c *call) reportFilter() view.ReportFilter {
	f := view.ReportFilter{Cases: c.QueryParam("cases"), Tag: c.QueryParam("tag"), Open: c.QueryParam("case"), Show: view.ShownCases}
	if !slices.Contains(reportCases, f.Cases) {
		f.Cases = ""
	}
	if n, err := strconv.Atoi(c.QueryParam("show")); err == nil {
		f.Show = min(max(n, view.ShownCases), maxShown)
	}
	if n, err := strconv.Atoi(c.QueryParam("with")); err == nil {
		f.With = min(max(n, 0), cases.MaxCandidates)
	}
	return f
}

// reportCases are the filters of a report, in order.
var reportCases = []string{worse, string(cases.Stale), string(cases.Failed), string(cases.Errored), better, string(cases.Passed), flaky}

// matches reports whether a case is among those of a filter.
func (r *reported) matches(row *cases.CaseReport, filter, tag string) bool {
	if tag != "" && !slices.Contains(row.Tags, tag) {
		return false
	}
	switch filter {
	case "":
		return true
	case worse:
		return r.worse[row.ID]
	case better:
		return r.better[row.ID]
	case string(cases.Passed):
		return r.stateOf(row) == cases.Passed
	case flaky:
		return slices.ContainsFunc(r.Candidates, func(k cases.CandidateReport) bool { return r.flaky[k.Hash][row.ID].Flaky() })
	}
	for i := range row.Results {
		if row.Results[i].State == cases.State(filter) && (i != r.plan.Spec.Baseline || len(row.Results) == 1) {
			return true
		}
	}
	return false
}

// stateOf returns the worst state of a case with candidates other than the baseline.
func (r *reported) stateOf(row *cases.CaseReport) cases.State {
	for _, s := range []cases.State{cases.Pending, cases.Failed, cases.Errored, cases.Stale} {
		for i := range row.Results {
			if row.Results[i].State == s && (i != r.plan.Spec.Baseline || len(row.Results) == 1) {
				return s
			}
		}
	}
	return cases.Passed
}

// rank sorts regressions first, then stale cases, then failed ones.
func (r *reported) rank(row *cases.CaseReport) int {
	if r.worse[row.ID] {
		return 0
	}
	switch r.stateOf(row) {
	case cases.Stale:
		return 1
	case cases.Failed:
		return 2
	case cases.Errored:
		return 3
	case cases.Pending:
		return 4
	}
	if r.better[row.ID] {
		return 5
	}
	return 6
}

// fillReport fills in the filters. It returns all cases that match, in order.
func fillReport(r *reported, page *view.ReportPage) (rows []*cases.CaseReport) {
	counts, tags := map[string]int{}, map[string]int{}
	for i := range r.Cases {
		row := &r.Cases[i]
		for _, filter := range reportCases {
			if r.matches(row, filter, "") {
				counts[filter]++
			}
		}
		for _, t := range row.Tags {
			tags[t]++
		}
		if r.matches(row, page.Filter.Cases, page.Filter.Tag) {
			rows = append(rows, row)
			if page.Filter.Cases != "" || page.Filter.Tag != "" || r.stateOf(row) != cases.Passed {
				page.Again++
			}
		}
	}
	ranks := make(map[string]int, len(rows))
	for _, row := range rows {
		ranks[row.ID] = r.rank(row)
	}
	slices.SortStableFunc(rows, func(a, b *cases.CaseReport) int { return ranks[a.ID] - ranks[b.ID] })
	page.Pills = []view.ReportPill{{Label: "All", Count: len(r.Cases)}}
	for _, filter := range reportCases {
		if counts[filter] > 0 || filter == page.Filter.Cases {
			page.Pills = append(page.Pills, view.ReportPill{Label: wording.Capitalize(filter), Cases: filter, Count: counts[filter]})
		}
	}
	for _, t := range mostUsed(tags) {
		page.Pills = append(page.Pills, view.ReportPill{Label: t, Tag: t, Count: tags[t]})
	}
	page.Matching = len(rows)
	return rows
}

// addRows fills in the first rows of the table, and reads the checks that the page shows.
func (c *call) addRows(t *cases.Test, r *reported, page *view.ReportPage, rows []*cases.CaseReport) error {
	rows = rows[:min(len(rows), page.Filter.Show)]
	read := rows
	if open := r.Find(page.Filter.Open); open != nil && !slices.Contains(rows, open) {
		read = append(slices.Clone(rows), open)
	}
	var shown []*cases.Verdict
	for _, row := range read {
		for i := range row.Results {
			if v := row.Results[i].Verdict; v != nil {
				shown = append(shown, v)
			}
		}
	}
	if err := c.s.Store.AddChecks(c.Ctx(), t, shown); err != nil {
		return err
	}
	for _, row := range rows {
		page.Rows = append(page.Rows, r.row(row))
	}
	return nil
}

// row returns a row of the table.
func (r *reported) row(row *cases.CaseReport) view.ReportCase {
	v := view.ReportCase{ID: row.ID, Title: cmp.Or(row.Name, row.ID), Tags: row.Tags}
	switch {
	case r.worse[row.ID]:
		v.Change = worse
	case r.better[row.ID]:
		v.Change = better
	}
	for i := range row.Results {
		result := &row.Results[i]
		cell := view.ReportCell{State: string(result.State), Took: time.Duration(result.MS) * time.Millisecond, Micros: result.USD.Micros()}
		if result.Verdict != nil {
			cell.Passed, cell.Checks = result.Verdict.PassedChecks(), len(result.Verdict.Checks)
		}
		if rate := r.flaky[r.Candidates[i].Hash][row.ID]; rate.Flaky() {
			cell.Flaky = flakyText(rate)
		}
		v.Cells = append(v.Cells, cell)
	}
	return v
}

// candidateCard sums up a candidate.
func candidateCard(f *flow.Flow, r *reported, baseline, i int, mayEdit bool) view.CandidateCard {
	k := &r.Candidates[i]
	card := view.CandidateCard{Label: candidateName(&k.Candidate), Passed: k.Passed, Total: len(r.Cases), Worse: len(k.Worse), Better: len(k.Better), Clear: k.Clear, Micros: k.USD.Micros(), P95: k.P95, Recorded: k.Recorded}
	card.MayDraft = mayEdit && k.Hash != draftHash(f) && (k.Version > 0 || len(k.Set) > 0)
	switch {
	case k.Version > 0 && k.Version == f.LiveVersion && i == baseline:
		card.About = "live, baseline"
	case k.Version > 0 && k.Version == f.LiveVersion:
		card.About = "live"
	case i == baseline:
		card.About = "baseline"
	}
	if baseline < 0 || i == baseline {
		return card
	}
	was := &r.Candidates[baseline]
	card.Compared = true
	card.Cost, card.Time = cases.CostChange(k, was), cases.TimeChange(k, was)
	return card
}
