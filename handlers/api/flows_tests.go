package api

import (
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/cases"
)

// awaitTests performs an act that may need reports of tests. With Prefer: wait, it waits for tests that are in progress, and repeats the act.
func awaitTests(c *Call, act func() error) error {
	wait, err := preferWait(c.Request().Header)
	if err != nil {
		return err
	}
	err = act()
	until := c.s.Now().Add(wait)
	for wait > 0 && c.s.Library.Tests != nil {
		pending := testsOf(err)
		if len(pending) == 0 {
			break
		}
		release, held := c.Hold()
		if held != nil {
			return held
		}
		ended, failed := awaitEach(c, pending, until)
		release()
		if failed != nil {
			return failed
		}
		if !ended {
			break
		}
		err = act()
	}
	Waited(c, wait)
	return err
}

// testsOf returns the IDs of the tests in progress that an error names.
func testsOf(err error) (ids []string) {
	e := flow.AsError(err)
	if err == nil || e.Code != flow.CodeTestsRequired {
		return nil
	}
	for _, p := range e.Fields {
		if id, is := strings.CutPrefix(p.Pointer, "/tests/"); is && flow.ValidID(cases.PrefixTest, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// awaitEach waits for the ends of tests until a time. ended is false if one is still in progress then.
func awaitEach(c *Call, ids []string, until time.Time) (ended bool, err error) {
	ctx := c.Request().Context()
	for _, id := range ids {
		t, err := c.s.Library.Tests.Store.FindTest(ctx, c.Key.WorkspaceID, id)
		if err != nil {
			return false, err
		}
		left := until.Sub(c.s.Now())
		if left <= 0 {
			return false, nil
		}
		run, err := c.s.Runner.AwaitRun(ctx, t.WorkspaceID, t.FlowID, t.RunID, left)
		if err != nil {
			return false, err
		}
		if !run.State.Ended() {
			return false, nil
		}
	}
	return true, nil
}
