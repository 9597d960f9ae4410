package cases

import (
	"slices"

	"sluice/flow"
	"sluice/flow/cases"
	"sluice/flow/document"
	"sluice/flow/items"
	view "sluice/views/cases"
)

// latest is the newest result of a case.
type latest struct {
	test      *cases.Test
	result    *cases.CaseResult
	candidate int
	old       bool
	state     string // of a run in progress; "" otherwise
}

// latest returns the newest result of each case with the draft.
func (c *call) latest(f *flow.Flow, file *cases.File, tests []cases.Test) (map[string]*latest, error) {
	found := map[string]*latest{}
	hash, loaded := draftHash(f), 0
	for i := range tests {
		t := &tests[i]
		unseen := slices.ContainsFunc(t.Spec.Cases, func(id string) bool { return found[id] == nil && file.Find(id) != nil })
		k := candidateOfDraft(t, hash)
		if loaded == latestLoaded || len(found) == len(file.Cases) {
			break
		}
		if t.RunID == "" || k < 0 || !unseen {
			continue
		}
		loaded++
		plan, report, _, err := c.tests().Report(c.Ctx(), t)
		if flow.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		sameSettings := file.SameSettings(&cases.File{Defaults: plan.File.Defaults, Gate: file.Gate})
		for r := range report.Cases {
			row := &report.Cases[r]
			now, then := file.Find(row.ID), plan.File.Find(row.ID)
			if now == nil || found[row.ID] != nil || row.Results[k].State == cases.Pending {
				continue
			}
			found[row.ID] = &latest{test: t, result: &row.Results[k], candidate: k, old: t.Spec.Candidates[k].Hash != hash || !now.Same(then) || !sameSettings}
		}
	}
	return found, nil
}

// addChecks reads the checks of the latest results that rows show.
func (c *call) addChecks(rows []view.Row, found map[string]*latest) error {
	byTest := map[*cases.Test][]*cases.Verdict{}
	for i := range rows {
		if l := found[rows[i].ID]; l != nil && l.result != nil && l.result.Verdict != nil {
			byTest[l.test] = append(byTest[l.test], l.result.Verdict)
		}
	}
	for t, list := range byTest {
		if err := c.s.Store.AddChecks(c.Ctx(), t, list); err != nil {
			return err
		}
	}
	for i := range rows {
		if l := found[rows[i].ID]; l != nil && l.result != nil && l.result.Verdict != nil {
			rows[i].Passed, rows[i].Checks = l.result.Verdict.PassedChecks(), len(l.result.Verdict.Checks)
		}
	}
	return nil
}

// draftHash returns the hash by which tests name the draft.
func draftHash(f *flow.Flow) string {
	d, _ := document.ParseDocument(f.Draft)
	if d == nil {
		return ""
	}
	return flow.DocumentHash(d.Compact())
}

// candidateOfDraft returns which candidate of a test is the draft, or was it at that time; -1 for none.
func candidateOfDraft(t *cases.Test, hash string) int {
	if i := slices.IndexFunc(t.Spec.Candidates, func(c cases.Candidate) bool { return c.Hash == hash }); i >= 0 {
		return i
	}
	return slices.IndexFunc(t.Spec.Candidates, func(c cases.Candidate) bool { return c.Draft && len(c.Set) == 0 })
}

// addLive adds the test in progress, with the states of its runs.
func (c *call) addLive(f *flow.Flow, page *view.ListPage, found map[string]*latest) error {
	runs, err := c.s.Store.ListRuns(c.Ctx(), flow.RunFilter{WorkspaceID: f.WorkspaceID, FlowID: f.ID, Trigger: flow.TriggerTest, States: []flow.RunState{flow.RunQueued, flow.RunRunning, flow.RunWaiting}, Limit: 1})
	if err != nil || len(runs) == 0 {
		return err
	}
	t, err := c.s.Store.FindTestOfRun(c.Ctx(), f.WorkspaceID, runs[0].ID)
	if flow.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	p, err := c.progress(t)
	if err != nil {
		return err
	}
	page.Live = &p.Progress
	k := max(0, candidateOfDraft(t, draftHash(f)))
	states, err := c.itemStates(p, k)
	for id, state := range states {
		if l := found[id]; l == nil || l.test.ID != t.ID {
			found[id] = &latest{test: t, candidate: k, state: state}
		}
	}
	return err
}

// progress is a test that has not ended.
type progress struct {
	view.Progress
	items    []cases.Item
	children []flow.Children
}

// progress returns how far a test is.
func (c *call) progress(t *cases.Test) (*progress, error) {
	set, err := c.s.Store.FindCaseSet(c.Ctx(), t.WorkspaceID, t.Spec.Set)
	if err != nil {
		return nil, err
	}
	p := &progress{items: t.Spec.Items(set)}
	p.TestID, p.Total = t.ID, len(p.items)*len(t.Spec.Candidates)
	p.children, err = c.s.Store.ListChildren(c.Ctx(), t.WorkspaceID, t.RunID)
	for i := range p.children {
		p.Done += p.children[i].Succeeded + p.children[i].Failed
	}
	return p, err
}

// showLive shows the run of a case in the test in progress, with the states of its nodes.
func (c *call) showLive(d *view.Detail, k *cases.Case, l *latest) {
	p, err := c.progress(l.test)
	if err != nil { // the next poll asks again
		return
	}
	at := slices.IndexFunc(p.children, func(k flow.Children) bool { return k.Caller.Path == cases.Step(l.candidate) })
	item := slices.IndexFunc(p.items, func(i cases.Item) bool { return i.Case.ID == k.ID })
	if at < 0 || item < 0 {
		return
	}
	runs, err := c.s.Store.ReadChildren(c.Ctx(), l.test.WorkspaceID, p.children[at].Caller, item, item+1)
	if err != nil || len(runs) == 0 || runs[0].RunID == "" {
		return
	}
	run, err := c.s.Store.FindRun(c.Ctx(), l.test.WorkspaceID, "", runs[0].RunID)
	if err != nil {
		return
	}
	d.RunID, d.Live, d.Picture = string(run.ID), true, c.picture(run, nil)
}

// itemStates returns the states of the cases of a candidate whose runs are in progress.
func (c *call) itemStates(p *progress, candidate int) (map[string]string, error) {
	states := map[string]string{}
	for i := range p.items {
		states[p.items[i].Case.ID] = "pending"
	}
	at := slices.IndexFunc(p.children, func(k flow.Children) bool { return k.Caller.Path == cases.Step(candidate) })
	if at < 0 || len(p.items) > liveItems {
		return states, nil
	}
	cells, err := c.s.Store.Strip(c.Ctx(), p.children[at].Caller, 1)
	for i := range min(len(cells), len(p.items)) {
		switch cells[i].State() {
		case items.Waiting:
		case items.Running:
			states[p.items[i].Case.ID] = "running"
		default:
			states[p.items[i].Case.ID] = "ended"
		}
	}
	return states, err
}
