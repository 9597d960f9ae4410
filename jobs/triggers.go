package jobs

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"sluice/flow"
	"sluice/flow/schedule"
	"sluice/flow/triggers"
)

const (
	// triggersAtOnce bounds the triggers that an instance decides at once, so that their writes share syncs of the disk.
	triggersAtOnce = 32
	// overlapRetry is how often a planned time that waits for the last run is tried again, and internalRetry one whose start
	// failed with an internal error.
	overlapRetry  = time.Second
	internalRetry = 10 * time.Second
	// pruneOneIn is how many decisions there are for each search for events beyond those that are kept.
	pruneOneIn = 256
)

// triggerStore is the part of the store that decides the planned times of triggers.
type triggerStore interface {
	FindWorkspace(ctx context.Context, ws flow.WorkspaceID) (*flow.Workspace, error)
	DueTriggers(ctx context.Context, now time.Time, limit int) (list []triggers.Trigger, next time.Time, err error)
	TriggersAfter(ctx context.Context, id string, limit int) ([]triggers.Trigger, error)
	DecideTrigger(ctx context.Context, t *triggers.Trigger, after flow.TriggerTimes, events []triggers.Event) error
	UpdateTrigger(ctx context.Context, t *triggers.Trigger) error
	FindEvent(ctx context.Context, t *triggers.Trigger, key string) (*triggers.Event, error)
	EndedRunsOfTrigger(ctx context.Context, id string, since time.Time, limit int) ([]flow.Run, error)
	PruneEvents(ctx context.Context, id string) error
}

// scheduler decides the planned times of triggers for a Runner.
type scheduler struct{ *Runner }

// decideDueTriggers starts the runs of schedules that are due. It returns when the next one is. All instances do this; the
// transaction that accepts a run decides which of them was first.
func (r scheduler) decideDueTriggers(ctx context.Context) (next time.Time, err error) {
	for ctx.Err() == nil {
		if r.checkAccepting() != nil {
			return r.now().Add(time.Second), nil
		}
		list, next, err := r.store.DueTriggers(ctx, r.now(), dueBatch)
		if err != nil || len(list) == 0 {
			return next, err
		}
		if r.shared { // so that instances that found the same triggers seldom try the same one
			rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		}
		if err := r.decideTriggers(ctx, list); err != nil {
			return r.now().Add(time.Second), err
		}
	}
	return time.Time{}, nil
}

// decideTriggers decides triggers, several at once. One that fails does not stop the others.
func (r scheduler) decideTriggers(ctx context.Context, list []triggers.Trigger) error {
	var wg sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	next := make(chan *triggers.Trigger)
	for range min(triggersAtOnce, len(list)) {
		wg.Go(func() {
			for t := range next {
				if err := r.decideTrigger(ctx, t); err != nil && !errors.Is(err, flow.ErrFenced) {
					mu.Lock()
					errs = append(errs, fmt.Errorf("decide the trigger %s: %w", t.ID, err))
					mu.Unlock()
				}
			}
		})
	}
	for i := range list {
		next <- &list[i]
	}
	close(next)
	wg.Wait()
	return errors.Join(errs...)
}

// scheduleOf returns the schedule of a trigger. Without a time zone it has that of the workspace.
func (r scheduler) scheduleOf(ctx context.Context, t *triggers.Trigger) (*schedule.Schedule, error) {
	zone := ""
	if t.Config.Timezone == "" {
		w, err := r.store.FindWorkspace(ctx, t.WorkspaceID)
		if err != nil {
			return nil, err
		}
		zone = w.Timezone
	}
	return t.Config.Schedule(zone)
}

// decideTrigger decides what waits and what is due of a trigger.
func (r scheduler) decideTrigger(ctx context.Context, t *triggers.Trigger) error {
	s, err := r.scheduleOf(ctx, t)
	if t.Unreadable != nil || errors.Is(err, &flow.Error{Code: flow.CodeScheduleInvalid}) {
		r.log.Error("a trigger is turned off because its configuration cannot be read", "trigger", t.ID, "error", errors.Join(t.Unreadable, err))
		return r.turnOff(ctx, t, triggers.ReasonInvalid)
	}
	if err != nil {
		return err
	}
	if rand.IntN(pruneOneIn) == 0 {
		if err := r.store.PruneEvents(ctx, t.ID); err != nil {
			return err
		}
	}
	if done, err := r.decideWaiting(ctx, t, s); done || err != nil {
		return err
	}
	p := t.Plan(s, r.now())
	if len(p.Missed) > 0 || p.Start.IsZero() {
		after := t.TriggerTimes
		if after.Next = p.Start; p.Start.IsZero() {
			after.Next = p.Next
		}
		if n := len(p.Missed); n > 0 {
			after.Decided = p.Missed[n-1].ScheduledAt()
		}
		after.Due = t.DueAt(after.Next)
		if err := r.store.DecideTrigger(ctx, t, after, p.Missed); err != nil || p.Start.IsZero() {
			return err
		}
		t.TriggerTimes = after
	}
	if failed, err := r.failsAlways(ctx, t); failed || err != nil {
		if err != nil {
			return err
		}
		return r.turnOff(ctx, t, triggers.ReasonFailed)
	}
	after := flow.TriggerTimes{Next: p.Next, Due: t.DueAt(p.Next), Decided: p.Start}
	return r.startScheduled(ctx, t, s, p.Start, after, p.CatchingUp)
}

// turnOff turns a trigger off.
func (r scheduler) turnOff(ctx context.Context, t *triggers.Trigger, reason string) error {
	t.On, t.Reason, t.ChangedAt, t.TriggerTimes = false, reason, r.now(), flow.TriggerTimes{Decided: t.Decided}
	err := r.store.UpdateTrigger(ctx, t)
	if errors.Is(err, &flow.Error{Code: flow.CodePreconditionFailed}) {
		return flow.ErrFenced
	}
	return err
}

// failsAlways reports whether as many runs in a row have failed, or tests not passed, as the trigger allows.
func (r scheduler) failsAlways(ctx context.Context, t *triggers.Trigger) (bool, error) {
	n := int(t.Config.PauseAfter)
	if n == 0 {
		return false, nil
	}
	runs, err := r.store.EndedRunsOfTrigger(ctx, t.ID, t.ChangedAt, n)
	if err != nil || len(runs) < n {
		return false, err
	}
	for i := range runs {
		failed := runs[i].State == flow.RunFailed
		if t.Config.Test != nil && runs[i].State == flow.RunSucceeded {
			outcome, err := r.tests.outcome(ctx, t.WorkspaceID, &runs[i])
			if err != nil {
				return false, err
			}
			failed = outcome.Failed()
		}
		if !failed {
			return false, nil
		}
	}
	return true, nil
}

// decideWaiting starts the planned time that waits, or gives it up if a newer one is due or if it is too late. done means that
// nothing else is due.
func (r scheduler) decideWaiting(ctx context.Context, t *triggers.Trigger, s *schedule.Schedule) (done bool, err error) {
	at, now := t.Waiting, r.now()
	if at.IsZero() {
		return false, nil
	}
	after := flow.TriggerTimes{Next: t.Next, Due: t.DueAt(t.Next), Decided: t.Decided}
	newer := !after.Due.IsZero() && !after.Due.After(now)
	if !newer && !t.TooLate(at, now) {
		return true, r.startScheduled(ctx, t, s, at, after, false)
	}
	e, err := r.store.FindEvent(ctx, t, triggers.KeyOf(at))
	if err != nil {
		return false, err
	}
	switch {
	case e.Code != triggers.CodeOverlap:
		e.State = triggers.Rejected
	case newer:
		e.State, e.Code, e.Detail = triggers.Skipped, triggers.CodeReplaced, "A newer time waits instead."
	default:
		e.State = triggers.Skipped
	}
	if err := r.store.DecideTrigger(ctx, t, after, []triggers.Event{*e}); err != nil {
		return false, err
	}
	t.TriggerTimes = after
	return !newer, nil
}

// startScheduled starts the run of a planned time and moves the trigger to the times after it. While the last run is in progress,
// hold keeps the time due.
func (r scheduler) startScheduled(ctx context.Context, t *triggers.Trigger, s *schedule.Schedule, at time.Time, after flow.TriggerTimes, hold bool) error {
	key := triggers.KeyOf(at)
	policy := t.OverlapPolicy()
	started, err := r.startOccurrence(ctx, t, s, &flow.Occurrence{
		TriggerID: t.ID, TriggerName: t.Name, ScheduledAt: at, Key: key, Position: r.ids.New(flow.PrefixEvent), Detail: startDetail(r.now().Sub(t.DueAt(at))),
		Rev: t.Rev, Before: t.TriggerTimes, After: after, Overlap: policy == triggers.OverlapAllow, Replace: policy == triggers.OverlapReplace,
	})
	if overlap, ok := errors.AsType[*flow.OverlapError](err); ok {
		return r.overlapping(ctx, t, at, after, overlap.RunID, hold)
	}
	switch {
	case err != nil:
		return r.refused(ctx, t, at, after, err)
	case started.Replayed: // it was started before the trigger was restored or set back
		e := t.Event(at, triggers.Started, "", "")
		e.RunID = started.Run.ID
		return r.store.DecideTrigger(ctx, t, after, []triggers.Event{e})
	case policy == triggers.OverlapReplace && t.LastRunID != "":
		signalCancel(r.Runner, t.LastRunID)
	}
	return nil
}

// startOccurrence starts the run or the test of a schedule at a planned time, once.
func (r scheduler) startOccurrence(ctx context.Context, t *triggers.Trigger, s *schedule.Schedule, o *flow.Occurrence) (flow.Started, error) {
	claim := triggers.Claim(t.ID, o.Key)
	switch {
	case t.Config.Test != nil && r.cfg.StartTest == nil:
		return flow.Started{}, flow.Errorf(flow.CodeUnavailable, "This program starts no tests.")
	case t.Config.Test != nil:
		return r.cfg.StartTest(ctx, t, o, claim)
	}
	given, err := t.Values(ctx, s, o.ScheduledAt, r.cfg.Evaluate)
	if err != nil {
		return flow.Started{}, err
	}
	return r.StartRun(ctx, flow.Start{WorkspaceID: t.WorkspaceID, FlowID: t.FlowID, Trigger: flow.TriggerSchedule, Given: given, IdempotencyKey: claim, Fingerprint: claim, Occurrence: o})
}

// startDetail returns how late a run starts, or "".
func startDetail(late time.Duration) string {
	if late < time.Minute {
		return ""
	}
	return "Started " + late.Round(time.Minute).String()[:len(late.Round(time.Minute).String())-2] + " late."
}

// overlapping records that a planned time is due while the last run is in progress.
func (r scheduler) overlapping(ctx context.Context, t *triggers.Trigger, at time.Time, after flow.TriggerTimes, runID flow.RunID, hold bool) error {
	if hold || at.Equal(t.Waiting) {
		same := t.TriggerTimes
		if same.Due = r.now().Add(overlapRetry); !hold {
			same.Due = earlier(same.Due, after.Due)
		}
		return r.store.DecideTrigger(ctx, t, same, nil)
	}
	e := t.Event(at, triggers.Skipped, triggers.CodeOverlap, "The last run was in progress.")
	e.RunID = runID
	if t.OverlapPolicy() == triggers.OverlapQueue {
		e.State = triggers.Waiting
		after.Waiting, after.Due = at, earlier(r.now().Add(overlapRetry), after.Due)
	}
	return r.store.DecideTrigger(ctx, t, after, []triggers.Event{e})
}

// refused records that a start was refused. It is tried again if that may help.
func (r scheduler) refused(ctx context.Context, t *triggers.Trigger, at time.Time, after flow.TriggerTimes, cause error) error {
	if errors.Is(cause, flow.ErrFenced) || ctx.Err() != nil || r.Draining() {
		return flow.ErrFenced // another instance decides, or decided
	}
	refusal, public := errors.AsType[*flow.Error](cause)
	if !public {
		r.log.Error("a schedule could not start a run", "trigger", t.ID, "error", cause)
		refusal = &flow.Error{Code: flow.CodeInternal, Message: "The run could not be started because of an internal error."}
	}
	e := t.Event(at, triggers.Rejected, refusal.Code, refusal.Error())
	wait, again := triggers.Retries(refusal)
	if !public {
		wait, again = internalRetry, true
	}
	if again {
		e.State = triggers.Waiting
		after.Waiting, after.Due = at, earlier(r.now().Add(wait), after.Due)
	}
	return r.store.DecideTrigger(ctx, t, after, []triggers.Event{e})
}

// earlier returns the earlier of a time and one that may be zero.
func earlier(t, other time.Time) time.Time {
	if !other.IsZero() && other.Before(t) {
		return other
	}
	return t
}

// retimeTriggers computes the next times of all schedules again: this program may know other clock changes than the one that
// stored them. Times that are due are decided as they are.
func (r scheduler) retimeTriggers(ctx context.Context) {
	for after := ""; ctx.Err() == nil; {
		list, err := r.store.TriggersAfter(ctx, after, dueBatch)
		if err != nil {
			r.logLoopError(ctx, fmt.Errorf("compute the times of schedules: %w", err))
			return
		}
		for i := range list {
			t := &list[i]
			if err := r.retime(ctx, t); err != nil && !errors.Is(err, flow.ErrFenced) {
				r.logLoopError(ctx, fmt.Errorf("compute the times of the trigger %s: %w", t.ID, err))
			}
			after = t.ID
		}
		if len(list) < dueBatch {
			return
		}
	}
}

// retime computes the next time of a schedule again.
func (r scheduler) retime(ctx context.Context, t *triggers.Trigger) error {
	now := r.now()
	if !t.On || t.Unreadable != nil || !t.Waiting.IsZero() || !t.Next.After(now) {
		return nil
	}
	s, err := r.scheduleOf(ctx, t)
	if err != nil {
		return err
	}
	times := t.Times(s, now)
	if times.Next.Equal(t.Next) && times.Due.Equal(t.Due) {
		return nil
	}
	return r.store.DecideTrigger(ctx, t, times, nil)
}
