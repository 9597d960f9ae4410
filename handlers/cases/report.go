package cases

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/cases"
	"sluice/flow/document"
	"sluice/flow/library"
	"sluice/flow/textdiff"
	"sluice/flow/wording"
	view "sluice/views/cases"
	"sluice/views/components"
	"sluice/views/layout"
)

// Filters of a report besides states.
const (
	worse  = "worse"
	better = "better"
)

// maxDiff is how many bytes of an output are compared.
const maxDiff = 32 << 10

// reported is a test with what it found.
type reported struct {
	*cases.Report
	plan     *cases.Plan
	verdicts []cases.Verdict
	byRun    map[flow.RunID]*cases.Verdict
	worse    map[string]bool // cases, with any candidate
	better   map[string]bool
}

// report reads the report of a test.
func (c *call) report(t *cases.Test) (*reported, error) {
	plan, report, verdicts, err := c.tests().Report(c.Ctx(), t)
	if err != nil {
		return nil, err
	}
	r := &reported{Report: report, plan: plan, verdicts: verdicts, byRun: make(map[flow.RunID]*cases.Verdict, len(verdicts)), worse: map[string]bool{}, better: map[string]bool{}}
	for i := range verdicts {
		r.byRun[verdicts[i].RunID] = &verdicts[i]
	}
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
		FlowID: string(f.ID), Flow: f.Name, LiveVersion: f.LiveVersion, MayEdit: c.MayEdit(), ID: t.ID, RunID: string(t.RunID), State: string(run.State), Summary: r.Summary, At: t.CreatedAt, Now: c.s.Now(),
		Mode: string(t.Spec.Mode), Cases: len(r.Cases), Baseline: t.Spec.Baseline, Filter: c.reportFilter(),
	}
	if !run.State.Ended() {
		if page.Live, err = c.progress(t); err != nil {
			return err
		}
	}
	for i := range r.Candidates {
		page.Spent += r.Candidates[i].Spent.Micros()
		page.Candidates = append(page.Candidates, candidateCard(f, r, t.Spec.Baseline, i, page.MayEdit && run.State.Ended()))
	}
	ids := fillReport(r, page)
	if page.Filter.Open != "" {
		if page.Open, err = c.openCase(f, t, r, page, ids); err != nil {
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
var reportCases = []string{worse, string(cases.Stale), string(cases.Failed), string(cases.Errored), better, string(cases.Passed)}

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

// fillReport fills in the filters and the rows. It returns the IDs of all cases that match, in order.
func fillReport(r *reported, page *view.ReportPage) (ids []string) {
	counts, tags := map[string]int{}, map[string]int{}
	var rows []*cases.CaseReport
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
	for i, row := range rows {
		ids = append(ids, row.ID)
		if i < page.Filter.Show {
			page.Rows = append(page.Rows, r.row(row))
		}
	}
	return ids
}

// mostUsed returns the tags of most cases.
func mostUsed(tags map[string]int) []string {
	names := make([]string, 0, len(tags))
	for t := range tags {
		names = append(names, t)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(tags[b]-tags[a], cmp.Compare(a, b)) })
	return names[:min(len(names), shownTags)]
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
		if verdict := r.byRun[result.RunID]; verdict != nil {
			cell.Checks = len(verdict.Checks)
			for k := range verdict.Checks {
				if verdict.Checks[k].State == cases.Passed {
					cell.Passed++
				}
			}
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
	if was.USD > 0 {
		card.Cost = fmt.Sprintf("%+.0f %%", 100*(float64(k.USD)/float64(was.USD)-1))
	}
	if k.Timed > 0 && was.Timed > 0 {
		card.Time = fmt.Sprintf("%+.1f s", (k.P95 - was.P95).Seconds())
	}
	return card
}

// openCase shows a case with the outputs of a candidate beside those of the baseline, or beside the expected ones.
func (c *call) openCase(f *flow.Flow, t *cases.Test, r *reported, page *view.ReportPage, ids []string) (*view.OpenCase, error) {
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
	if i := slices.Index(ids, k.ID); i >= 0 {
		if i > 0 {
			o.Previous = ids[i-1]
		}
		if i+1 < len(ids) {
			o.Next = ids[i+1]
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
	return o, nil
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
	after := results(r.plan.File, k, r.byRun[of[with].RunID])
	var before []view.CheckResult
	if baseline >= 0 && baseline != with {
		before = results(r.plan.File, k, r.byRun[of[baseline].RunID])
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
	request, err := c.again(t)
	if err != nil {
		return err
	}
	request.Cases = ids
	started, err := c.start(f, *request)
	if err == nil {
		back = view.ReportPath(string(f.ID), started.ID)
	} else if err = c.refused(err); err != nil {
		return err
	}
	return c.Redirect(back)
}

// again returns a request for the candidates of a test, as they are now.
func (c *call) again(t *cases.Test) (*library.TestRequest, error) {
	r := &library.TestRequest{Mode: t.Spec.Mode, Allow: t.Spec.Allow, Repeat: t.Spec.Repeat, Concurrency: t.Spec.Concurrency, MaxUSD: t.Spec.MaxUSD}
	for i := range t.Spec.Candidates {
		k := &t.Spec.Candidates[i]
		request := library.CandidateRequest{Version: k.Version, Draft: k.Draft, Set: k.Set}
		if k.Version == 0 && !k.Draft {
			data, err := c.s.Store.FindDocument(c.Ctx(), t.WorkspaceID, k.Hash)
			if err != nil {
				return nil, err
			}
			request.Document, request.Set = data, nil
		}
		if i == t.Spec.Baseline {
			r.Baseline = &request
		} else {
			r.Candidates = append(r.Candidates, request)
		}
	}
	return r, nil
}

// expectResult is POST expect: the outputs of a candidate become the expected ones of a case.
func expectResult(c *call, f *flow.Flow, t *cases.Test, _ *flow.Run) error {
	r, err := c.report(t)
	if err != nil {
		return err
	}
	id, back := c.FormValue("case"), view.ReportPath(string(f.ID), t.ID)
	with, _ := strconv.Atoi(c.FormValue("candidate"))
	at := slices.IndexFunc(r.Cases, func(k cases.CaseReport) bool { return k.ID == id })
	file, _, err := c.s.Store.FindCaseFile(c.Ctx(), f.WorkspaceID, f.ID)
	if err != nil {
		return err
	}
	k := file.Find(id)
	if at < 0 || k == nil || with < 0 || with >= len(r.Candidates) {
		c.Toast(components.ToneBad, "The case was deleted.")
		return c.Redirect(back)
	}
	if err := c.refused(c.expect(f, k, r.Cases[at].Results[with].RunID)); err != nil {
		return err
	}
	return c.Redirect(back + "?" + url.Values{"case": {id}, "with": {strconv.Itoa(with)}}.Encode())
}

// draftCandidate is POST draft: the document of a candidate becomes the draft.
func draftCandidate(c *call, f *flow.Flow, t *cases.Test, _ *flow.Run) error {
	i, err := strconv.Atoi(c.FormValue("candidate"))
	back := view.ReportPath(string(f.ID), t.ID)
	if err != nil || i < 0 || i >= len(t.Spec.Candidates) {
		return c.Redirect(back)
	}
	k := &t.Spec.Candidates[i]
	if k.Version > 0 && len(k.Set) == 0 {
		_, err = c.s.Library.RestoreVersion(c.Ctx(), c.Actor(), f.WorkspaceID, f.ID, k.Version, rand.Text())
	} else {
		err = c.replaceDraft(f, t, k)
	}
	if err != nil {
		if err = c.refused(err); err != nil {
			return err
		}
		return c.Redirect(back)
	}
	c.Toast(components.ToneOK, candidateName(k)+" is the draft now.")
	return c.Redirect(components.FlowPath(string(f.ID)))
}

// replaceDraft sets the fields of a candidate in the draft. A candidate that was not the draft replaces it.
func (c *call) replaceDraft(f *flow.Flow, t *cases.Test, k *cases.Candidate) error {
	data := f.Draft
	if !k.Draft {
		found, err := c.s.Store.FindDocument(c.Ctx(), t.WorkspaceID, k.Hash)
		if err != nil {
			return err
		}
		data = found
	}
	d, _ := document.ParseDocument(data)
	if d == nil {
		return fmt.Errorf("read a document of %s", t.ID)
	}
	for name, v := range k.Set {
		id, field, _ := strings.Cut(name, ".")
		n := d.Node(id)
		if n == nil {
			return flow.Errorf(flow.CodeInputInvalid, "The draft has no node %s any more.", id)
		}
		if n.Config == nil {
			n.Config = map[string]any{}
		}
		n.Config[field] = v
	}
	return c.s.Library.ReplaceDraft(c.Ctx(), f, c.Actor(), f.Rev, d, false)
}

// downloadReport is GET download: the report in a format of the API.
func downloadReport(c *call, f *flow.Flow, t *cases.Test, _ *flow.Run) error {
	format := c.QueryParam("format")
	r, err := http.NewRequestWithContext(c.Ctx(), http.MethodGet, c.s.PublicURL+"/v1/flow/"+string(f.ID)+"/tests/"+t.ID+"?"+url.Values{"format": {format}}.Encode(), http.NoBody)
	if err != nil {
		return fmt.Errorf("make a request: %w", err)
	}
	r.RemoteAddr, r.RequestURI = c.Request().RemoteAddr, r.URL.RequestURI()
	name := "report." + map[string]string{"csv": "csv", "junit": "xml", "markdown": "md"}[format]
	if format == "json" || format == "" {
		name = "report.json"
	}
	c.Response().Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	c.s.API(&flow.Key{WorkspaceID: c.WorkspaceID(), Name: c.Member.Name, UserID: c.Member.UserID, Scopes: []flow.Scope{flow.ScopeRead}}, c.Response(), r)
	return nil
}
