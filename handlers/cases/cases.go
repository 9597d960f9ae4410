package cases

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/cases"
	"sluice/flow/document"
	view "sluice/views/cases"
	"sluice/views/components"
	"sluice/views/layout"
)

// Sizes of lists.
const (
	maxShown     = cases.MaxCases
	shownTests   = 8
	latestTests  = 50 // that may have the result of a case
	latestLoaded = 5  // of these, whose verdicts are read
	liveItems    = 1_000
	shownTags    = 6
	shownMessage = 140 // characters
	namedValue   = 40  // characters of a value that a candidate has
)

// listCases is GET tests: the page or, for the script, the part of it that changes.
func listCases(c *call, f *flow.Flow) error {
	if c.QueryParam("part") == "estimate" {
		text, err := c.estimate(f, c.request())
		if e, ok := c.problem(err); ok {
			text, err = e.Message, nil
		}
		if err != nil {
			return err
		}
		return c.Render(http.StatusOK, view.Estimate(text))
	}
	page, err := c.listPage(f)
	if err != nil {
		return err
	}
	if c.QueryParam("part") == "body" {
		return c.Render(http.StatusOK, view.ListBody(*page))
	}
	return c.Render(http.StatusOK, view.List(c.Page("Tests of "+f.Name, layout.SectionFlows), *page))
}

// listPage fills in the list of cases.
func (c *call) listPage(f *flow.Flow) (*view.ListPage, error) {
	file, _, err := c.s.Store.FindCaseFile(c.Ctx(), f.WorkspaceID, f.ID)
	if err != nil {
		return nil, err
	}
	page := &view.ListPage{FlowID: string(f.ID), Flow: f.Name, LiveVersion: f.LiveVersion, MayEdit: c.MayEdit(), Now: c.s.Now(), Total: len(file.Cases), Filter: c.filter(), Mode: string(flow.CaseFill), Writers: c.writers(f)}
	if file.Gate != nil {
		page.Gate = gateText(file.Gate)
	}
	tests, err := c.s.Store.ListTests(c.Ctx(), f.WorkspaceID, f.ID, "", latestTests)
	if err != nil {
		return nil, err
	}
	if len(tests) > 0 {
		page.Mode = string(tests[0].Spec.Mode)
	}
	found, err := c.latest(f, file, tests)
	if err != nil {
		return nil, err
	}
	if err := c.addLive(f, page, found); err != nil {
		return nil, err
	}
	if err := c.fillRows(f, file, page, found); err != nil {
		return nil, err
	}
	if page.MayEdit && page.Total > 0 && page.Live == nil {
		r := c.request()
		r.Mode, r.Cases = flow.CaseMode(page.Mode), nil
		page.AtMost, err = c.estimate(f, r)
		if e, ok := c.problem(err); ok {
			page.Problem, err = e.Message, nil
		}
		if err != nil {
			return nil, err
		}
	}
	for i := range tests[:min(len(tests), shownTests)] {
		row, err := c.reportRow(&tests[i])
		if err != nil {
			return nil, err
		}
		if row != nil {
			page.Reports = append(page.Reports, *row)
		}
	}
	return page, nil
}

// filter reads which cases are listed.
func (c *call) filter() view.Filter {
	f := view.Filter{State: c.QueryParam("state"), Tag: c.QueryParam("tag"), Open: c.QueryParam("case"), Show: view.ShownCases}
	if !slices.Contains([]string{string(cases.Passed), string(cases.Failed), string(cases.Errored), string(cases.Stale)}, f.State) {
		f.State = ""
	}
	if n, err := strconv.Atoi(c.QueryParam("show")); err == nil {
		f.Show = min(max(n, view.ShownCases), maxShown)
	}
	return f
}

// order sorts failed cases first, then stale ones.
var order = []string{string(cases.Failed), string(cases.Errored), string(cases.Stale)}

// fillRows fills in the filters and the cases that match.
func (c *call) fillRows(f *flow.Flow, file *cases.File, page *view.ListPage, found map[string]*latest) error {
	rates := map[string]map[string]cases.Rate{}
	hash := draftHash(f)
	if page.Live == nil {
		var err error
		if rates, err = c.flaky(f, file, "", []string{hash}); err != nil {
			return err
		}
	}
	counts, tags := map[string]int{}, map[string]int{}
	var rows []view.Row
	for i := range file.Cases {
		k := &file.Cases[i]
		row := caseRow(k, found[k.ID], rates[hash][k.ID])
		counts[row.State]++
		for _, t := range k.Tags {
			tags[t]++
		}
		if slices.Contains(order, row.State) {
			page.Failed++
		}
		if page.Filter.State != "" && row.State != page.Filter.State || page.Filter.Tag != "" && !slices.Contains(k.Tags, page.Filter.Tag) {
			continue
		}
		rows = append(rows, row)
	}
	rank := func(state string) int {
		if at := slices.Index(order, state); at >= 0 {
			return at
		}
		return len(order)
	}
	slices.SortStableFunc(rows, func(a, b view.Row) int { return rank(a.State) - rank(b.State) })
	page.Matching = len(rows)
	open := slices.IndexFunc(rows, func(r view.Row) bool { return r.ID == page.Filter.Open })
	page.Filter.Show = min(max(page.Filter.Show, open+1), maxShown)
	page.Rows = rows[:min(len(rows), page.Filter.Show)]
	if err := c.addChecks(page.Rows, found); err != nil {
		return err
	}
	if open >= 0 {
		page.Rows[open].Detail = c.detail(f, file, file.Find(page.Filter.Open), found[page.Filter.Open])
	}
	page.Pills = []view.Pill{{Label: "All", Count: len(file.Cases)}}
	for _, p := range []view.Pill{{Label: "Failed", State: string(cases.Failed)}, {Label: "Error", State: string(cases.Errored)}, {Label: "Stale", State: string(cases.Stale)}, {Label: "Passed", State: string(cases.Passed)}} {
		if p.Count = counts[p.State]; p.Count > 0 || p.State == page.Filter.State {
			page.Pills = append(page.Pills, p)
		}
	}
	for _, t := range mostUsed(tags) {
		page.Pills = append(page.Pills, view.Pill{Label: t, Tag: t, Count: tags[t]})
	}
	return nil
}

// caseRow returns the row of a case.
func caseRow(k *cases.Case, l *latest, r cases.Rate) view.Row {
	row := view.Row{ID: k.ID, Title: cmp.Or(k.Name, k.ID), Tags: k.Tags, FromRun: k.FromRun != ""}
	switch {
	case l == nil:
	case l.result == nil:
		row.State = l.state
	default:
		row.State, row.Old, row.Micros, row.Took = string(l.result.State), l.old, l.result.USD.Micros(), time.Duration(l.result.MS)*time.Millisecond
		row.Message = short(l.result.Message)
		if r.Flaky() {
			row.Flaky = flakyText(r)
		}
	}
	return row
}

// detail returns what an open case shows.
func (c *call) detail(f *flow.Flow, file *cases.File, k *cases.Case, l *latest) *view.Detail {
	d := &view.Detail{Notes: k.Notes, Source: string(k.FromRun)}
	d.Inputs = valuesOf(k.Inputs)
	var v *cases.Verdict
	if l != nil && l.result != nil {
		v = l.result.Verdict
	}
	d.Checks = results(file, k, v)
	if l != nil && l.result == nil {
		c.showLive(d, k, l)
		return d
	}
	if l == nil || l.result.RunID == "" {
		return d
	}
	run, err := c.s.Store.FindRun(c.Ctx(), f.WorkspaceID, f.ID, l.result.RunID)
	if err != nil { // it was deleted
		return d
	}
	d.RunID, d.TestID, d.Candidate = string(run.ID), l.test.ID, l.candidate
	d.Expect = c.MayEdit() && run.State == flow.RunSucceeded && run.Erased == "" && run.Outputs.Len() > 0
	d.Outputs = valuesOf(run.Outputs)
	d.Picture = c.picture(run, v)
	return d
}

// valuesOf returns the members of an object for a page.
func valuesOf(o *flow.Object) (list []components.ValueView) {
	values := map[string]any{}
	d := json.NewDecoder(bytes.NewReader(flow.EncodeJSON(o)))
	d.UseNumber()
	if o == nil || d.Decode(&values) != nil {
		return nil
	}
	for name := range o.All() {
		list = append(list, components.ValueView{Name: name, Value: values[name]})
	}
	return list
}

// picture draws the flow with the states of its nodes in a run. An output with a failed check is drawn as failed.
func (c *call) picture(run *flow.Run, v *cases.Verdict) components.Picture {
	data, err := c.s.Store.FindDocument(c.Ctx(), run.WorkspaceID, run.DocumentHash)
	if err != nil {
		return components.Picture{}
	}
	d, _ := document.ParseDocument(data)
	steps, err := c.s.Store.FindSteps(c.Ctx(), run.WorkspaceID, run.ID)
	if d == nil || err != nil {
		return components.Picture{}
	}
	states := map[string]string{}
	for i := range steps {
		states[steps[i].Path] = string(steps[i].State)
	}
	drawing := c.s.NewDrawing("The flow in this run, with the state of each step")
	for i := range d.Nodes {
		n := &d.Nodes[i]
		state, ran := states[n.ID]
		if !ran && run.State.Ended() {
			continue
		}
		if flow.RoleOf(c.s.Kinds, n) == flow.RoleOutput && v != nil && slices.ContainsFunc(v.Checks, func(o cases.Outcome) bool {
			return o.State == cases.Failed && strings.HasPrefix(o.Check+" ", flow.NameOf(n)+" ")
		}) {
			state = string(flow.StepFailed)
		}
		drawing.Node(n, state)
	}
	for _, e := range d.Edges {
		mark := "carried"
		to, from := flow.StepState(states[e.ToNode()]), flow.StepState(states[e.FromNode()])
		if to == flow.StepSkipped || from == flow.StepSkipped || !from.Ended() {
			mark = "idle"
		}
		drawing.Edge(e, mark)
	}
	return drawing.Done()
}

// reportRow returns a test in the list of reports; nil if its run was deleted.
func (c *call) reportRow(t *cases.Test) (*view.ReportRow, error) {
	run, err := c.s.Store.FindRun(c.Ctx(), t.WorkspaceID, t.FlowID, t.RunID)
	if flow.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	row := &view.ReportRow{ID: t.ID, Mode: string(t.Spec.Mode), Cases: len(t.Spec.Cases), At: t.CreatedAt, State: string(run.State)}
	if !run.State.Ended() { // also while it waits for the runs of its cases
		row.State = string(flow.RunRunning)
	}
	var parts []string
	for i := range t.Spec.Candidates {
		text := candidateName(&t.Spec.Candidates[i])
		total, _ := flow.Float(run.Outputs.Get(fmt.Sprintf("total-%d", i)))
		passed, counted := flow.Float(run.Outputs.Get(fmt.Sprintf("passed-%d", i)))
		if counted {
			text += fmt.Sprintf(" %d of %d", int(passed), int(total))
		}
		if counted && run.State == flow.RunSucceeded && i != t.Spec.Baseline {
			if passed < total {
				row.State = string(cases.Failed)
			} else if row.State == string(run.State) {
				row.State = string(cases.Passed)
			}
		}
		parts = append(parts, text)
	}
	row.Summary = strings.Join(parts, ", ")
	return row, nil
}

// candidateName names a candidate, such as Draft or v7.
func candidateName(k *cases.Candidate) string {
	name := "Draft"
	switch {
	case k.Version > 0:
		name = "v" + strconv.FormatInt(k.Version, 10)
	case !k.Draft && len(k.Set) == 0:
		name = "Document"
	}
	var values []string
	for _, field := range sortedKeys(k.Set) {
		values = append(values, shortValue(flow.Text(k.Set[field])))
	}
	if len(values) > 0 {
		name += " with " + strings.Join(values, ", ")
	}
	return name
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
