package jobs

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/singleflight"

	"sluice/flow"
	"sluice/flow/cache"
	"sluice/flow/cases"
	"sluice/flow/contract"
)

// caseStore keeps tests, their cases and recorded results.
type caseStore interface {
	flow.RecordingStore
	FindTest(ctx context.Context, ws flow.WorkspaceID, id string) (*cases.Test, error)
	FindCaseSet(ctx context.Context, ws flow.WorkspaceID, hash string) (*cases.File, error)
	FindTestOfRun(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID) (*cases.Test, error)
	// ListVerdicts returns the verdicts without the outcomes of their checks, except those that a report counts.
	ListVerdicts(ctx context.Context, p *cases.Plan) ([]cases.Verdict, error)
	// DropRecordings deletes recordings that no test has used for a long time, at most limit.
	DropRecordings(ctx context.Context, limit int) error
	// DropReports deletes old tests with their verdicts, at most limit.
	DropReports(ctx context.Context, limit int) error
}

const (
	// testPlans is the number of tests whose plans are kept in memory.
	testPlans = 16
	// testOutcomes is the number of ended tests whose outcomes are.
	testOutcomes = 1000
	// droppedRecordings is how many recordings one pass deletes, every dropInterval.
	droppedRecordings = 500
	// droppedReports is how many tests one pass deletes; each has at most cases.MaxVerdicts verdicts.
	droppedReports = 5
	dropInterval   = 10 * time.Minute
)

// dropOldTests returns a pass that deletes recordings and reports that are past their time.
func dropOldTests(store caseStore) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		if err := store.DropRecordings(ctx, droppedRecordings); err != nil {
			return err
		}
		return store.DropReports(ctx, droppedReports)
	}
}

// testCache finds what tests run. A test never changes.
type testCache struct {
	store caseStore
	plans cache.Cache[string, *cases.Plan]
	reads singleflight.Group // of plans: all workers need that of a new test at the same time, and 1,000 cases take a while to read
	ended cache.Cache[flow.RunID, testOutcome]
}

func newTestCache(store caseStore) *testCache {
	return &testCache{store: store, plans: cache.New[string, *cases.Plan](testPlans), ended: cache.New[flow.RunID, testOutcome](testOutcomes)}
}

// testOutcome is what an ended test says. Without a test, as that of a run whose report was dropped, it is empty.
type testOutcome struct {
	Test    string
	State   cases.State
	Summary string
}

// Failed reports whether the test did not pass.
func (o *testOutcome) Failed() bool { return o.Test != "" && o.State != cases.Passed }

// outcome returns what the test of a run says that has ended and was not canceled.
func (c *testCache) outcome(ctx context.Context, ws flow.WorkspaceID, run *flow.Run) (o testOutcome, err error) {
	if o, ok := c.ended.Get(run.ID); ok {
		return o, nil
	}
	t, err := c.store.FindTestOfRun(ctx, ws, run.ID)
	if flow.IsNotFound(err) {
		return o, nil
	}
	if err != nil {
		return o, err
	}
	p, err := c.find(ctx, ws, t.ID)
	if err != nil {
		return o, err
	}
	verdicts, err := c.store.ListVerdicts(ctx, p)
	if err != nil {
		return o, err
	}
	r := cases.NewReport(p, verdicts)
	if o = (testOutcome{t.ID, r.State, r.Summary}); o.State == cases.Pending { // the run failed before its end
		o.State = cases.Errored
	}
	c.ended.Add(run.ID, o)
	return o, nil
}

// find returns the plan of a test.
func (c *testCache) find(ctx context.Context, ws flow.WorkspaceID, id string) (*cases.Plan, error) {
	key := string(ws) + "/" + id
	if p, ok := c.plans.Get(key); ok {
		return p, nil
	}
	shared := context.WithoutCancel(ctx) // others wait for it, too
	done := c.reads.DoChan(key, func() (any, error) {
		t, err := c.store.FindTest(shared, ws, id)
		if err != nil {
			return nil, err
		}
		f, err := c.store.FindCaseSet(shared, ws, t.Spec.Set)
		if err != nil {
			return nil, err
		}
		p := cases.NewPlan(t, f)
		c.plans.Add(key, p)
		return p, nil
	})
	select {
	case r := <-done:
		p, _ := r.Val.(*cases.Plan)
		return p, r.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// setting implements engine.Engine.Cases.
func (c *testCache) setting(ctx context.Context, run *flow.Run) (*flow.CaseSetting, error) {
	p, err := c.find(ctx, run.WorkspaceID, run.Case.Test)
	if flow.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find the test of %s: %w", run.ID, err)
	}
	if run.Case.Check > 0 {
		vote, _ := flow.Float(run.Inputs.Get("vote"))
		return p.CheckSetting(max(0, int(vote)-1)), nil
	}
	return p.Setting(run.Case), nil
}

// replaced returns the hash of the document that a flow below a case run executes instead of its live version, or "".
func (c *testCache) replaced(ctx context.Context, run *flow.Run, id flow.FlowID) (string, error) {
	if run.Case == nil {
		return "", nil
	}
	s, err := c.setting(ctx, run)
	if err != nil || s == nil {
		return "", err
	}
	return s.Replaced[id], nil
}

// originOfCase returns the origin of a step in a case run: it depends on the case only, so that code gives the same result every day.
func (r *Runner) originOfCase(ctx context.Context, run *flow.Run, path string) (flow.Origin, error) {
	s, err := r.tests.setting(ctx, run)
	if err != nil || s == nil {
		return flow.Origin{Time: cases.DefaultNow, Seed: path}, err
	}
	seed := path
	for run.Case.Below && run.Caller != nil {
		seed = fmt.Sprintf("%s[%d]/%s", run.Caller.Path, run.Caller.Item, seed)
		above, err := r.store.FindRun(ctx, run.WorkspaceID, "", run.Caller.RunID)
		if err != nil {
			return flow.Origin{}, fmt.Errorf("find the origin of %s: %w", run.ID, err)
		}
		if run = above; run.Case == nil {
			break
		}
	}
	if s.Seed != "" && s.Repeat == 0 {
		return flow.Origin{Time: s.Now, Seed: s.Seed + seed}, nil
	}
	return flow.Origin{Time: s.Now, Seed: fmt.Sprintf("%s[%d]:%s", s.Case, s.Repeat, seed)}, nil
}

// caseOf returns the case of the child runs of a step: of the items of a test, or that of its own run.
func (c *childRuns) caseOf(req flow.ChildRequest) *flow.CaseRun {
	if req.Case != nil {
		own := *req.Case
		own.Item = -1
		return &own
	}
	if c.run.Case == nil {
		return nil
	}
	below := *c.run.Case
	below.Below = true
	return &below
}

// caseSecret takes the place of the value of a secret input while the inputs of a case are checked.
const caseSecret = "case"

// hideSecrets replaces the secret inputs of a case, which name credentials, by references. Only the engine opens them.
func hideSecrets(inputs []contract.Input, values *flow.Object) {
	for i := range inputs {
		if name := inputs[i].Name; inputs[i].Secret && values.Has(name) {
			values.Set(name, flow.SecretInputRef(name, caseSecret))
		}
	}
}
