package jobs_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/db"
	"sluice/db/backup"
	"sluice/db/dbtest"
	"sluice/flow"
	"sluice/flow/schedule"
	"sluice/flow/triggers"
	"sluice/flow/value"
	"sluice/jobs"
)

// schedulesAt begins on a whole hour, so that planned times are easy to read.
var schedulesAt = time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)

// scheduleFixture is a Runner whose clock stands at schedulesAt.
func scheduleFixture(t *testing.T, cfg db.Config, document string) *fixture {
	t.Helper()
	fx := &fixture{t: t, clock: &clock{t: schedulesAt}}
	fx.openStore(cfg)
	fx.newRunner()
	fx.publish(document)
	return fx
}

// addSchedule adds a schedule to the published flow.
func (fx *fixture) addSchedule(name string, c triggers.Config) *triggers.Trigger {
	fx.t.Helper()
	if c.Inputs == nil && c.Test == nil {
		c.Inputs = value.FromMap(map[string]any{"x": "hello"})
	}
	now := fx.clock.now()
	tr := &triggers.Trigger{ID: flow.NewIDs().New(flow.PrefixTrigger), WorkspaceID: flow.DefaultWorkspace, FlowID: fx.flowID, Name: name, Kind: triggers.Schedule, Config: c, On: true, Rev: 1, CreatedAt: now, ChangedAt: now}
	s, err := c.Schedule("")
	if err != nil {
		fx.t.Fatal(err)
	}
	tr.TriggerTimes = tr.Times(s, now)
	if err := fx.store.CreateTrigger(context.Background(), tr); err != nil {
		fx.t.Fatal(err)
	}
	return tr
}

// events returns the events of a trigger, oldest first, as "12:05 started".
func (fx *fixture) events(tr *triggers.Trigger) (list []string) {
	fx.t.Helper()
	all, err := fx.store.ListEvents(context.Background(), tr, "", "", 1000)
	if err != nil {
		fx.t.Fatal(err)
	}
	for _, e := range all {
		text := e.ScheduledAt().Format("15:04") + " " + string(e.State)
		if e.Code != "" {
			text += " " + string(e.Code)
		}
		list = append(list, text)
	}
	slices.Sort(list)
	return list
}

// wantEvents waits until a trigger has exactly these events.
func (fx *fixture) wantEvents(tr *triggers.Trigger, want ...string) {
	fx.t.Helper()
	deadline := time.Now().Add(waitTimeout)
	for got := fx.events(tr); !slices.Equal(got, want); got = fx.events(tr) {
		if time.Now().After(deadline) {
			fx.t.Fatalf("the events are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// runsOf returns the runs that a trigger has started, by planned time.
func (fx *fixture) runsOf(tr *triggers.Trigger) map[string]*flow.Run {
	fx.t.Helper()
	all, err := fx.store.ListEvents(context.Background(), tr, triggers.Started, "", 1000)
	if err != nil {
		fx.t.Fatal(err)
	}
	runs := map[string]*flow.Run{}
	for _, e := range all {
		run, err := fx.store.FindRun(context.Background(), flow.DefaultWorkspace, fx.flowID, e.RunID)
		if err != nil {
			fx.t.Fatal(err)
		}
		runs[e.ScheduledAt().Format("15:04")] = run
	}
	return runs
}

func every5m(set ...func(*triggers.Config)) triggers.Config {
	c := triggers.Config{Spec: schedule.Spec{Cron: "*/5 * * * *"}}
	for _, f := range set {
		f(&c)
	}
	return c
}

func TestSchedule_starts_each_time_once(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		fx := scheduleFixture(t, cfg, passThroughFlow)
		tr := fx.addSchedule("digest", every5m(func(c *triggers.Config) { c.Timezone = "Asia/Kathmandu" }))
		fx.start()
		fx.clock.advance(5 * time.Minute)
		fx.wantEvents(tr, "12:05 started")
		fx.awaitEnd(fx.runsOf(tr)["12:05"]) // a time at which it is in progress would be skipped
		fx.clock.advance(5 * time.Minute)
		fx.wantEvents(tr, "12:05 started", "12:10 started")
		run := fx.awaitEnd(fx.runsOf(tr)["12:10"])
		if run.Trigger != flow.TriggerSchedule || run.TriggerID != tr.ID || run.TriggerName != "digest" || run.KeyID != "" ||
			!run.ScheduledAt.Equal(schedulesAt.Add(10*time.Minute)) || run.EventKey != "2027-03-01T12:10:00Z" || run.State != flow.RunSucceeded {
			t.Errorf("the run is %+v", run)
		}
		if n := fx.queryInt(`SELECT count(*) FROM runs`); n != 2 {
			t.Errorf("there are %d runs", n)
		}
		found, err := fx.store.FindTrigger(context.Background(), flow.DefaultWorkspace, fx.flowID, "digest")
		if err != nil || found.LastRunID != run.ID || !found.Next.Equal(schedulesAt.Add(15*time.Minute)) {
			t.Errorf("the trigger is %+v, %v", found, err)
		}
	})
}

func TestSchedule_overlaps(t *testing.T) {
	t.Parallel()
	for policy, want := range map[triggers.Overlap][]string{
		triggers.OverlapSkip:    {"12:05 started", "12:10 skipped overlap", "12:15 skipped overlap", "12:20 started"},
		triggers.OverlapQueue:   {"12:05 started", "12:10 skipped replaced", "12:15 started", "12:20 waiting overlap"},
		triggers.OverlapReplace: {"12:05 started", "12:10 started", "12:15 started", "12:20 started"},
		triggers.OverlapAllow:   {"12:05 started", "12:10 started", "12:15 started", "12:20 started"},
	} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, cfg db.Config) {
				fx := scheduleFixture(t, cfg, gatedFlow)
				tr := fx.addSchedule("digest", every5m(func(c *triggers.Config) { c.Overlap = policy }))
				fx.start()
				last := func() string { e := fx.events(tr); return append(e, "")[max(0, len(e)-1)] }
				for _, at := range []string{"12:05", "12:10", "12:15"} {
					fx.clock.advance(5 * time.Minute)
					fx.waitUntil(at+" is decided", func() bool { return strings.HasPrefix(last(), at) })
				}
				runs := fx.runsOf(tr)
				switch policy {
				case triggers.OverlapReplace:
					if fx.awaitEnd(runs["12:05"]).State != flow.RunCanceled || fx.awaitEnd(runs["12:10"]).State != flow.RunCanceled {
						t.Error("the replaced runs were not canceled")
					}
				case triggers.OverlapAllow:
				default:
					fx.gate.release <- nil
					fx.awaitEnd(runs["12:05"])
				}
				if policy == triggers.OverlapQueue {
					fx.clock.advance(time.Second)
					fx.waitUntil("the waiting time starts", func() bool { return last() == "12:15 started" })
				}
				fx.clock.advance(5 * time.Minute)
				fx.wantEvents(tr, want...)
			})
		})
	}
}

func TestSchedule_catches_up_after_an_outage(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		set  func(*triggers.Config)
		down time.Duration
		want []string
	}{
		"one":          {func(*triggers.Config) {}, 16 * time.Minute, []string{"12:05 missed outage", "12:10 missed outage", "12:15 started"}},
		"none":         {func(c *triggers.Config) { c.CatchUp = triggers.CatchUpNone }, 17 * time.Minute, []string{"12:05 missed outage", "12:10 missed outage", "12:15 missed outage"}},
		"none in time": {func(c *triggers.Config) { c.CatchUp = triggers.CatchUpNone }, 15*time.Minute + 20*time.Second, []string{"12:05 missed outage", "12:10 missed outage", "12:15 started"}},
		"all":          {func(c *triggers.Config) { c.CatchUp = triggers.CatchUpAll; c.Overlap = triggers.OverlapAllow }, 16 * time.Minute, []string{"12:05 started", "12:10 started", "12:15 started"}},
		"too late": {func(c *triggers.Config) {
			c.CatchUp = triggers.CatchUpAll
			c.Overlap = triggers.OverlapAllow
			c.MaxLate = "7m"
		}, 16 * time.Minute, []string{"12:05 missed late", "12:10 started", "12:15 started"}},
		"all too late": {func(c *triggers.Config) { c.MaxLate = "1m" }, 12 * time.Minute, []string{"12:05 missed late", "12:10 missed late"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, cfg db.Config) {
				fx := scheduleFixture(t, cfg, passThroughFlow)
				tr := fx.addSchedule("digest", every5m(tt.set))
				fx.clock.advance(tt.down)
				fx.start()
				fx.wantEvents(tr, tt.want...)
			})
		})
	}
}

// With skip, times that were missed start one after the other: the first of them does not make the others overlap.
func TestSchedule_catches_up_one_after_the_other(t *testing.T) {
	t.Parallel()
	fx := scheduleFixture(t, sqliteConfig(t), gatedFlow)
	tr := fx.addSchedule("digest", every5m(func(c *triggers.Config) { c.CatchUp = triggers.CatchUpAll }))
	fx.clock.advance(12 * time.Minute)
	fx.start()
	<-fx.gate.started
	fx.wantEvents(tr, "12:05 started")
	fx.gate.release <- nil
	fx.awaitEnd(fx.runsOf(tr)["12:05"])
	fx.clock.advance(time.Second)
	fx.wantEvents(tr, "12:05 started", "12:10 started")
}

func TestSchedule_goes_on_after_many_missed_times(t *testing.T) {
	t.Parallel()
	fx := scheduleFixture(t, sqliteConfig(t), passThroughFlow)
	tr := fx.addSchedule("digest", triggers.Config{Spec: schedule.Spec{Every: "1m"}})
	fx.clock.advance(48 * time.Hour)
	fx.start()
	fx.waitUntil("the latest time starts", func() bool {
		return fx.queryInt(`SELECT count(*) FROM events WHERE state = 'started' AND event_key = '2027-03-03T12:00:00Z'`) == 1
	})
	if n := fx.queryInt(`SELECT count(*) FROM events WHERE state = 'missed'`); n != 48*60-1 {
		t.Errorf("%d times are missed, want %d", n, 48*60-1)
	}
	fx.awaitEnd(fx.runsOf(tr)["12:00"]) // a time at which it is in progress would be skipped
	fx.clock.advance(time.Minute)
	fx.waitUntil("the next time starts", func() bool { return fx.queryInt(`SELECT count(*) FROM events WHERE state = 'started'`) == 2 })
}

func TestSchedule_refused_starts(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		fx := scheduleFixture(t, cfg, gatedFlow)
		ctx := context.Background()
		wrong := fx.addSchedule("wrong", every5m(func(c *triggers.Config) { c.Inputs = value.FromMap(map[string]any{"x": "a", "y": 1}) }))
		full := fx.addSchedule("full", every5m(func(c *triggers.Config) { c.Overlap = triggers.OverlapAllow }))
		fx.start()
		// One run at work and one in the queue fill the flow.
		if err := fx.store.SetFlowLimits(ctx, flow.DefaultWorkspace, fx.flowID, flow.Limits{MaxRunning: 1, MaxQueued: 1}); err != nil {
			t.Fatal(err)
		}
		first := fx.startRun()
		second := fx.startRun()
		fx.clock.advance(5 * time.Minute)
		fx.wantEvents(wrong, "12:05 rejected input_invalid")
		fx.wantEvents(full, "12:05 waiting queue_full")
		fx.clock.advance(5 * time.Minute)
		fx.wantEvents(full, "12:05 rejected queue_full", "12:10 waiting queue_full")
		fx.gate.release <- nil
		fx.gate.release <- nil
		fx.awaitEnd(first)
		fx.awaitEnd(second)
		fx.clock.advance(time.Minute)
		fx.wantEvents(full, "12:05 rejected queue_full", "12:10 started")
	})
}

func TestSchedule_pauses_after_failures(t *testing.T) {
	t.Parallel()
	fx := scheduleFixture(t, sqliteConfig(t), gatedFlow)
	tr := fx.addSchedule("digest", every5m(func(c *triggers.Config) { c.PauseAfter = 2 }))
	fx.start()
	for _, at := range []string{"12:05", "12:10"} {
		fx.clock.advance(5 * time.Minute)
		<-fx.gate.started
		fx.gate.release <- flow.Errorf(flow.CodeHTTPFailed, "It failed.")
		fx.waitUntil(at+" has started", func() bool { return fx.runsOf(tr)[at] != nil })
		fx.awaitEnd(fx.runsOf(tr)[at])
	}
	fx.clock.advance(5 * time.Minute)
	fx.waitUntil("the schedule is off", func() bool {
		found, err := fx.store.FindTrigger(context.Background(), flow.DefaultWorkspace, fx.flowID, tr.ID)
		return err == nil && !found.On && found.Reason == triggers.ReasonFailed
	})
	fx.wantEvents(tr, "12:05 started", "12:10 started")
}

func TestSchedule_inputs_are_for_the_planned_day(t *testing.T) {
	t.Parallel()
	fx := scheduleFixture(t, sqliteConfig(t), passThroughFlow)
	fx.newRunnerWith(fx.store, func(c *jobs.Config) {
		c.Evaluate = func(_ context.Context, source string, v map[string]any) (any, error) {
			local := v["local"].(map[string]any)
			return fmt.Sprint(source, " ", v["scheduled_at"], " ", v["previous_at"], " ", local["date"], " ", local["time"], " ", local["weekday"]), nil
		}
	})
	tr := fx.addSchedule("digest", triggers.Config{Spec: schedule.Spec{Cron: "30 0 * * *", Timezone: "Europe/Berlin"}, Inputs: value.FromMap(map[string]any{"x": value.FromMap(map[string]any{"cel": "all"})})})
	fx.clock.advance(36 * time.Hour)
	fx.start()
	fx.wantEvents(tr, "23:30 missed late", "23:30 started")
	if got, want := fx.runsOf(tr)["23:30"].Inputs.Get("x"), "all 2027-03-02T23:30:00Z 2027-03-01T23:30:00Z 2027-03-03 00:30 Wednesday"; got != want {
		t.Errorf("the input is %q, want %q", got, want)
	}
}

func TestSchedule_clock_jumps(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		fx := scheduleFixture(t, cfg, passThroughFlow)
		tr := fx.addSchedule("digest", triggers.Config{Spec: schedule.Spec{Cron: "*/30 * * * *"}})
		fx.start()
		fx.clock.advance(30 * time.Minute)
		fx.wantEvents(tr, "12:30 started")
		fx.awaitEnd(fx.runsOf(tr)["12:30"])
		fx.clock.advance(time.Hour) // ahead: an outage
		fx.wantEvents(tr, "12:30 started", "13:00 missed outage", "13:30 started")
		fx.awaitEnd(fx.runsOf(tr)["13:30"])
		fx.clock.advance(-time.Hour) // back: nothing is decided again
		fx.newRunner()               // nor by a process that starts now
		fx.start()
		fx.clock.advance(time.Hour)
		if got := fx.events(tr); len(got) != 3 {
			t.Errorf("after a jump back, the events are %v", got)
		}
		fx.clock.advance(30 * time.Minute)
		fx.wantEvents(tr, "12:30 started", "13:00 missed outage", "13:30 started", "14:00 started")
	})
}

func TestSchedule_is_off_with_an_archived_flow(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		ctx := context.Background()
		fx := scheduleFixture(t, cfg, gatedFlow)
		tr := fx.addSchedule("digest", every5m(func(c *triggers.Config) { c.Overlap = triggers.OverlapQueue }))
		fx.start()
		fx.clock.advance(5 * time.Minute)
		fx.wantEvents(tr, "12:05 started")
		fx.clock.advance(5 * time.Minute)
		fx.wantEvents(tr, "12:05 started", "12:10 waiting overlap")
		if err := fx.store.ArchiveFlow(ctx, flow.DefaultWorkspace, fx.flowID); err != nil {
			t.Fatal(err)
		}
		fx.wantEvents(tr, "12:05 started", "12:10 skipped changed")
		if err := fx.store.RestoreFlow(ctx, flow.DefaultWorkspace, fx.flowID); err != nil {
			t.Fatal(err)
		}
		found, err := fx.store.FindTrigger(ctx, flow.DefaultWorkspace, fx.flowID, tr.ID)
		if err != nil || found.On || found.Reason != triggers.ReasonArchived || !found.Due.IsZero() {
			t.Errorf("the trigger of the restored flow is %+v, %v", found, err)
		}
	})
}

// Times between the backup and the restore may have started in the lost database.
func TestSchedule_passes_over_times_since_a_backup(t *testing.T) {
	t.Parallel()
	was := sqliteConfig(t)
	first := scheduleFixture(t, was, passThroughFlow)
	tr := first.addSchedule("digest", every5m())
	archive := filepath.Join(t.TempDir(), "now.backup")
	if _, err := backup.Create(context.Background(), first.store.DB, archive, "test", backup.Local); err != nil {
		t.Fatal(err)
	}
	first.start()
	first.clock.advance(5 * time.Minute)
	first.wantEvents(tr, "12:05 started")

	cfg := db.Config{DataDir: filepath.Join(t.TempDir(), "restored"), MasterKeyFile: filepath.Join(was.DataDir, db.KeyFile), Now: func() time.Time { return schedulesAt.Add(7 * time.Minute) }}
	if _, err := backup.Restore(context.Background(), cfg, archive, false); err != nil {
		t.Fatal(err)
	}
	again := &fixture{t: t, clock: &clock{t: schedulesAt.Add(8 * time.Minute)}, flowID: tr.FlowID}
	again.openStore(cfg)
	again.newRunner()
	again.start()
	again.wantEvents(tr, "12:05 missed outage")
	again.clock.advance(2 * time.Minute)
	again.wantEvents(tr, "12:05 missed outage", "12:10 started")
}

// A program may know other clock changes than the one that stored the next time: it computes that again when it starts.
func TestSchedule_gets_its_next_time_from_the_program_that_runs(t *testing.T) {
	t.Parallel()
	fx := scheduleFixture(t, sqliteConfig(t), passThroughFlow)
	tr := fx.addSchedule("digest", every5m())
	fx.exec("UPDATE triggers SET next_at = next_at + 3600000000, due_at = due_at + 3600000000") // an hour later, as with other data
	fx.start()
	fx.waitUntil("the next time is computed again", func() bool {
		now, err := fx.store.FindTrigger(t.Context(), tr.WorkspaceID, tr.FlowID, tr.ID)
		return err == nil && now.Next.Equal(schedulesAt.Add(5*time.Minute)) && now.Due.Equal(now.Next)
	})
	fx.clock.advance(5 * time.Minute)
	fx.wantEvents(tr, "12:05 started")
}

// Three processes find the same schedules due at once.
func TestSchedule_of_three_instances_starts_once(t *testing.T) {
	t.Parallel()
	cfg := dbtest.PostgresConfig(t)
	{
		fx := scheduleFixture(t, cfg, passThroughFlow)
		const n = 40
		for i := range n {
			fx.addSchedule(fmt.Sprint("s", i), every5m())
		}
		for _, other := range []*fixture{fx, fx.secondProcess(cfg), fx.secondProcess(cfg)} {
			if other != fx {
				other.newRunner()
			}
			other.start()
		}
		for i := range 3 {
			fx.clock.advance(5 * time.Minute)
			fx.waitUntil("all are decided", func() bool { return fx.queryInt(`SELECT count(*) FROM events`) == n*(i+1) })
			fx.waitUntil("all have ended", func() bool { return fx.queryInt(`SELECT count(*) FROM runs WHERE place > 0`) == 0 })
		}
		if events, runs := fx.queryInt(`SELECT count(*) FROM events WHERE state = 'started'`), fx.queryInt(`SELECT count(DISTINCT trigger_id || event_key) FROM runs`); events != 3*n || runs != 3*n {
			t.Errorf("%d events started and %d runs exist, want %d", events, runs, 3*n)
		}
		if runs := fx.queryInt(`SELECT count(*) FROM runs`); runs != 3*n {
			t.Errorf("%d runs exist, want %d", runs, 3*n)
		}
	}
}
