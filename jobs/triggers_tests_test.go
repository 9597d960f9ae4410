package jobs_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/db"
	"sluice/flow"
	"sluice/flow/alarms"
	"sluice/flow/cases"
	"sluice/flow/triggers"
	"sluice/flow/value"
	"sluice/jobs"
)

// testStarter starts tests of schedules, each with a verdict that is known before.
type testStarter struct {
	fx       *fixture
	mu       sync.Mutex
	verdicts []cases.State // of the next tests; "" stores none, as that of a run that failed
	tests    []string
}

// start is jobs.Config.StartTest.
func (s *testStarter) start(ctx context.Context, tr *triggers.Trigger, o *flow.Occurrence, claim string) (flow.Started, error) {
	file := &cases.File{Cases: []cases.Case{{ID: "one", Inputs: &flow.Object{}}}}
	set := file.Encode()
	t := &cases.Test{ID: flow.NewIDs().New(cases.PrefixTest), WorkspaceID: tr.WorkspaceID, FlowID: tr.FlowID, Spec: cases.Spec{
		Set: flow.Hash(set), Cases: []string{"one"}, Candidates: []cases.Candidate{{Label: "version 1"}}, Baseline: -1, Mode: flow.CaseReplay, Concurrency: 1,
	}}
	if err := s.fx.store.CreateTest(ctx, t, set, nil, nil); err != nil {
		return flow.Started{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if state := s.verdicts[len(s.tests)]; state != "" {
		if err := s.fx.store.SaveVerdicts(ctx, t, 0, []cases.Verdict{{Case: "one", State: state}}); err != nil {
			return flow.Started{}, err
		}
	}
	started, err := s.fx.runner.StartRun(ctx, flow.Start{
		WorkspaceID: tr.WorkspaceID, FlowID: tr.FlowID, Trigger: flow.TriggerTest, Given: value.FromMap(map[string]any{"x": "hello"}), IdempotencyKey: claim, Fingerprint: claim, Occurrence: o,
		Work: &flow.WorkStart{Document: []byte(passThroughFlow), Version: 1, Test: t.ID},
	})
	if err != nil || started.Replayed {
		if dropped := s.fx.store.DeleteTest(ctx, t); dropped != nil {
			return flow.Started{}, dropped
		}
		return started, err
	}
	s.tests = append(s.tests, t.ID)
	return started, nil
}

// testSchedule makes a schedule whose tests have these verdicts. It is not started yet.
func testSchedule(t *testing.T, cfg db.Config, set func(*triggers.Config), verdicts ...cases.State) (*fixture, *triggers.Trigger, *testStarter) {
	t.Helper()
	fx := scheduleFixture(t, cfg, passThroughFlow)
	s := &testStarter{fx: fx, verdicts: verdicts}
	fx.newRunnerWith(fx.store, func(c *jobs.Config) { c.StartTest = s.start })
	return fx, fx.addSchedule("canary", every5m(func(c *triggers.Config) { c.Test = &triggers.Test{} }, set)), s
}

func TestSchedule_starts_tests_once_each_time(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		fx, tr, s := testSchedule(t, cfg, func(*triggers.Config) {}, cases.Passed, cases.Failed)
		fx.start()
		fx.clock.advance(5 * time.Minute)
		fx.wantEvents(tr, "12:05 started")
		run := fx.awaitEnd(fx.runsOf(tr)["12:05"])
		if run.Trigger != flow.TriggerTest || run.TriggerID != tr.ID || run.TriggerName != "canary" || run.KeyID != "" || !run.ScheduledAt.Equal(schedulesAt.Add(5*time.Minute)) {
			t.Errorf("the run is %+v", run)
		}
		fx.clock.advance(5 * time.Minute)
		fx.wantEvents(tr, "12:05 started", "12:10 started")
		fx.awaitEnd(fx.runsOf(tr)["12:10"])
		events, err := fx.store.ListEvents(t.Context(), tr, "", "", 10)
		if err != nil {
			t.Fatal(err)
		}
		of, err := fx.store.TestsOfEvents(t.Context(), events)
		if err != nil || len(of) != 2 || of[run.ID] != s.tests[0] || of[events[0].RunID] != s.tests[1] {
			t.Errorf("the events lead to the tests %v, %v; want %v", of, err, s.tests)
		}
		found, err := fx.store.FindTestOfRun(t.Context(), flow.DefaultWorkspace, run.ID)
		if err != nil || found.ID != s.tests[0] {
			t.Errorf("the test of the run is %+v, %v", found, err)
		}
	})
}

func TestSchedule_pauses_after_tests_that_do_not_pass(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		fx, tr, _ := testSchedule(t, cfg, func(c *triggers.Config) { c.PauseAfter = 2 }, cases.Failed, cases.Passed, cases.Stale, cases.Errored)
		fx.start()
		for _, at := range []string{"12:05", "12:10", "12:15", "12:20"} {
			fx.clock.advance(5 * time.Minute)
			fx.waitUntil(at+" starts", func() bool { return fx.runsOf(tr)[at] != nil })
			fx.awaitEnd(fx.runsOf(tr)[at])
		}
		fx.clock.advance(5 * time.Minute)
		fx.waitUntil("the schedule pauses", func() bool {
			now, err := fx.store.FindTrigger(context.Background(), flow.DefaultWorkspace, fx.flowID, "canary")
			return err == nil && !now.On && now.Reason == triggers.ReasonFailed
		})
	})
}

func TestAlarm_tells_of_a_test_until_one_passes(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		fx, tr, s := testSchedule(t, cfg, func(*triggers.Config) {}, cases.Passed, cases.Stale, cases.Failed, "", cases.Passed)
		box := newPostbox(t)
		a := fx.addAlarm("canary", alarms.Config{Kind: alarms.FailedTest, To: []alarms.Receiver{{Webhook: box.URL}}})
		runsFail := fx.addAlarm("runs", alarms.Config{Kind: alarms.Failed})
		fx.start()
		next := func(at string) *flow.Run {
			fx.clock.advance(5 * time.Minute)
			fx.waitUntil(at+" starts", func() bool { return fx.runsOf(tr)[at] != nil })
			return fx.awaitEnd(fx.runsOf(tr)[at])
		}
		next("12:05")
		run := next("12:10")
		now := fx.firing(a, true)
		if len(now.Finding.Runs) != 1 || now.Finding.Runs[0] != run.ID || !strings.Contains(now.Finding.Text, s.tests[1]+" of the schedule canary is stale") {
			t.Errorf("the alarm says %+v of %s", now.Finding, run.ID)
		}
		run = next("12:15")
		fx.waitUntil("the alarm names the failed test", func() bool {
			fx.clock.advance(alarms.Interval / 300)
			f := fx.alarm(a).Finding
			return len(f.Runs) == 1 && f.Runs[0] == run.ID && strings.Contains(f.Text, " failed: 0 of 1 pass")
		})
		run = next("12:20") // no verdict: the test did not come to its end
		fx.waitUntil("the alarm names the test with errors", func() bool {
			fx.clock.advance(alarms.Interval / 300)
			f := fx.alarm(a).Finding
			return len(f.Runs) == 1 && f.Runs[0] == run.ID && strings.Contains(f.Text, "ended with errors")
		})
		next("12:25")
		fx.firing(a, false) // at once, not after 5 minutes
		fx.waitUntil("the messages arrive", func() bool { return box.types() == "alarm.started alarm.ended" })
		if !fx.alarm(runsFail).FiringSince.IsZero() {
			t.Error("a test that did not pass counts as a run that failed")
		}
	})
}
