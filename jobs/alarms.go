package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"sluice/flow"
	"sluice/flow/alarms"
	"sluice/flow/triggers"
)

const (
	// alarmLease is how long an instance looks at alarms before another may.
	alarmLease = 3 * alarms.Interval
	// messageAttempt is how long one attempt to send a message may take, with the write of its result.
	messageAttempt = time.Minute
	// messagesAtOnce is how many messages are sent at the same time.
	messagesAtOnce = 8
	// openRunsSeen bounds the runs in progress that a look reads.
	openRunsSeen = 100
)

// Mailer sends mail.
type Mailer interface {
	// Attempt makes one attempt. A message with the same ID is the same for mail programs. again reports that another may succeed.
	Attempt(ctx context.Context, id, to, subject, text string) (again bool, err error)
}

// alarmStore stores alarms and their messages, and answers their questions about runs.
type alarmStore interface {
	AlarmsAfter(ctx context.Context, id string, limit int) ([]alarms.Alarm, error)
	TakeLease(ctx context.Context, name, instance string, until time.Time) (bool, error)
	StepAlarm(ctx context.Context, a *alarms.Alarm, next alarms.State, messages []alarms.Sent) error
	DueAlarmMessages(ctx context.Context, now time.Time, limit int) ([]alarms.Sent, []flow.WorkspaceID, time.Time, error)
	TakeAlarmMessage(ctx context.Context, m *alarms.Sent, until time.Time) error
	FinishAlarmMessage(ctx context.Context, m *alarms.Sent) error

	ListTriggers(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID) ([]triggers.Trigger, error)
	ListFlowHeads(ctx context.Context, ws flow.WorkspaceID) ([]flow.Flow, error)
	RunEnds(ctx context.Context, flowID flow.FlowID, since time.Time, limit int) ([]alarms.End, error)
	LastSuccess(ctx context.Context, flowID flow.FlowID, since time.Time) (time.Time, error)
	OpenRuns(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, before time.Time, least flow.NanoUSD, limit int) ([]alarms.End, error)
	CostOf(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, now time.Time) (today, before flow.NanoUSD, err error)
	Troubles(ctx context.Context, flowID flow.FlowID, since time.Time, limit int) ([]alarms.Trouble, error)
	FailingHosts(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, before time.Time, limit int) ([]string, error)
	OldQuestions(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, before time.Time, limit int) ([]flow.RunID, error)
}

// alarmWatcher looks at the flows of alarms for a Runner.
type alarmWatcher struct {
	*Runner
	last time.Time // by the clock of the store, of the last look
}

// lookAtAlarms looks at all alarms, if the time has come. One instance does this at a time; the state of each alarm has a number that
// fences another.
func (r *alarmWatcher) lookAtAlarms(ctx context.Context) (next time.Time, err error) {
	now := r.now()
	if due := r.last.Add(alarms.Interval); !r.last.IsZero() && due.After(now) && due.Sub(now) <= alarms.Interval {
		return due, nil
	}
	list, err := r.store.AlarmsAfter(ctx, "", dueBatch)
	if err != nil {
		return time.Time{}, err
	}
	if len(list) == 0 {
		return time.Time{}, nil // a write wakes this poller
	}
	r.last = now
	mine, err := r.store.TakeLease(ctx, "alarms", r.cfg.Instance, now.Add(alarmLease))
	if err != nil || !mine {
		return now.Add(alarms.Interval), err
	}
	var errs []error
	for len(list) > 0 && ctx.Err() == nil {
		for i := range list {
			if err := r.look(ctx, &list[i]); err != nil && !errors.Is(err, flow.ErrFenced) {
				errs = append(errs, fmt.Errorf("look at the alarm %s: %w", list[i].ID, err))
			}
		}
		after := list[len(list)-1].ID
		if len(list) < dueBatch {
			break
		}
		if list, err = r.store.AlarmsAfter(ctx, after, dueBatch); err != nil {
			errs = append(errs, err)
			break
		}
	}
	return now.Add(alarms.Interval), errors.Join(errs...)
}

// look looks at the flows of one alarm and stores what follows.
func (r *alarmWatcher) look(ctx context.Context, a *alarms.Alarm) error {
	flows, err := r.flowsOf(ctx, a)
	if err != nil || len(flows) == 0 {
		return err
	}
	now := r.now()
	found, err := r.find(ctx, a, flows, now)
	if err != nil {
		return err
	}
	next, kind := a.Next(found, alarms.Counted(now), now)
	if kind == "" && found == nil {
		return nil
	}
	slug := ""
	if a.FlowID != "" {
		slug = flows[0].Slug
	}
	var messages []alarms.Sent
	if kind != "" {
		messages = a.Messages(r.ids, a.NewMessage(kind, &next, slug, a.URL(r.cfg.PublicURL), now))
	}
	return r.store.StepAlarm(ctx, a, next, messages)
}

// flowsOf returns the flows of an alarm that are not archived.
func (r *alarmWatcher) flowsOf(ctx context.Context, a *alarms.Alarm) ([]flow.Flow, error) {
	if a.FlowID == "" {
		return r.store.ListFlowHeads(ctx, a.WorkspaceID)
	}
	f, err := r.store.FindFlow(ctx, a.WorkspaceID, a.FlowID)
	if flow.IsNotFound(err) || err == nil && !f.ArchivedAt.IsZero() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return []flow.Flow{*f}, nil
}

// find returns why an alarm fires, or nil. An alarm of a workspace looks at each flow on its own, except for its cost and for
// silence, which is that of all flows.
func (r *alarmWatcher) find(ctx context.Context, a *alarms.Alarm, flows []flow.Flow, now time.Time) (*alarms.Finding, error) {
	c := &a.Config
	switch c.Kind {
	case alarms.Deliveries:
		hosts, err := r.store.FailingHosts(ctx, a.WorkspaceID, a.FlowID, a.Before(now), openRunsSeen)
		return c.Receivers(hosts), err
	case alarms.Waiting:
		runs, err := r.store.OldQuestions(ctx, a.WorkspaceID, a.FlowID, a.Before(now), openRunsSeen)
		return c.Questions(runs), err
	case alarms.Cost:
		if c.Per != "run" {
			today, before, err := r.store.CostOf(ctx, a.WorkspaceID, a.FlowID, now)
			return c.CostOfDay(today, before), err
		}
	case alarms.Slow:
		if c.Window == "" {
			open, err := r.store.OpenRuns(ctx, a.WorkspaceID, a.FlowID, a.Before(now), 0, openRunsSeen)
			return c.LongRuns(open), err
		}
	case alarms.Silent:
		var last time.Time
		for i := range flows {
			at, err := r.store.LastSuccess(ctx, flows[i].ID, a.WatchedFrom)
			if err != nil {
				return nil, err
			}
			if at.After(last) {
				last = at
			}
		}
		return c.Quiet(last, a.WatchedFrom, now), nil
	}
	var found *alarms.Finding
	for i := range flows {
		f, err := r.findInFlow(ctx, a, flows[i].ID, now)
		if err != nil {
			return nil, err
		}
		if a.FlowID != "" {
			return f, nil
		}
		found = found.Merge(flows[i].Slug, f)
	}
	return found, nil
}

// findInFlow is find for one flow.
func (r *alarmWatcher) findInFlow(ctx context.Context, a *alarms.Alarm, flowID flow.FlowID, now time.Time) (*alarms.Finding, error) {
	c, since := &a.Config, a.Since(now)
	if c.Kind == alarms.FailedTest {
		list, err := r.failedTests(ctx, a, flowID)
		return c.FailedTests(list), err
	}
	if c.Kind == alarms.Skipped {
		list, err := r.store.Troubles(ctx, flowID, since, alarms.RecentRuns)
		return c.Troubles(list), err
	}
	limit := alarms.MaxRuns
	if c.Kind == alarms.Failed && c.Percent == 0 || c.Kind == alarms.Cost {
		limit = alarms.RecentRuns
	}
	ends, err := r.store.RunEnds(ctx, flowID, since, limit)
	if err != nil {
		return nil, err
	}
	switch {
	case c.Kind == alarms.Slow:
		return c.SlowRuns(ends), nil
	case c.Kind == alarms.Cost:
		open, err := r.store.OpenRuns(ctx, a.WorkspaceID, flowID, now, flow.USDOf(c.USD), openRunsSeen)
		return c.CostOfRuns(append(open, ends...), a.CountedTo), err
	case c.Percent != 0:
		return c.FailedShare(ends), nil
	}
	return c.FailedInRow(ends, a.CountedTo), nil
}

// testsSeen is how many ended runs of a schedule are read to find its latest test that was not canceled.
const testsSeen = 20

// failedTests returns the schedules of a flow whose latest test did not pass. One that was canceled says nothing.
func (r *alarmWatcher) failedTests(ctx context.Context, a *alarms.Alarm, flowID flow.FlowID) (list []alarms.TestEnd, err error) {
	all, err := r.store.ListTriggers(ctx, a.WorkspaceID, flowID)
	for i := range all {
		t := &all[i]
		if err != nil || t.Config.Test == nil {
			continue
		}
		var runs []flow.Run
		runs, err = r.store.EndedRunsOfTrigger(ctx, t.ID, a.WatchedFrom, testsSeen)
		at := slices.IndexFunc(runs, func(run flow.Run) bool { return run.State != flow.RunCanceled })
		if err != nil || at < 0 {
			continue
		}
		var o testOutcome
		if o, err = r.tests.outcome(ctx, a.WorkspaceID, &runs[at]); err == nil && o.Failed() {
			list = append(list, alarms.TestEnd{Trigger: t.Name, Test: o.Test, RunID: runs[at].ID, State: string(o.State), Summary: o.Summary})
		}
	}
	return list, err
}

// messenger sends the messages of alarms that are no webhooks for a Runner.
type messenger struct{ *Runner }

// sendDueMessages sends what is due.
func (r messenger) sendDueMessages(ctx context.Context) (next time.Time, err error) {
	for ctx.Err() == nil && r.checkAccepting() == nil {
		list, workspaces, next, err := r.store.DueAlarmMessages(ctx, r.now(), dueBatch)
		if err != nil || len(list) == 0 {
			return next, err
		}
		if err := r.sendMessages(ctx, workspaces, list); err != nil {
			return r.now().Add(time.Second), err
		}
	}
	return r.now().Add(time.Second), nil
}

// sendMessages sends messages, several at once: a mail server that does not answer delays the others little.
func (r messenger) sendMessages(ctx context.Context, workspaces []flow.WorkspaceID, list []alarms.Sent) error {
	var group errgroup.Group
	group.SetLimit(messagesAtOnce)
	for i := range list {
		group.Go(func() error {
			err := r.sendMessage(ctx, workspaces[i], &list[i])
			if errors.Is(err, flow.ErrFenced) {
				return nil
			}
			return err
		})
	}
	return group.Wait()
}

// sendMessage makes one attempt at a message and stores the result.
func (r messenger) sendMessage(ctx context.Context, ws flow.WorkspaceID, m *alarms.Sent) error {
	if err := r.store.TakeAlarmMessage(ctx, m, r.now().Add(messageAttempt)); err != nil {
		return err
	}
	var note alarms.Note
	again, err := false, json.Unmarshal(m.Body, &note)
	switch {
	case err != nil:
	case m.Channel == alarms.Email && r.cfg.Mail == nil:
		err = errors.New("this server sends no mail: SLUICE_SMTP_URL is not set")
	case m.Channel == alarms.Email:
		again, err = r.cfg.Mail.Attempt(ctx, m.ID, m.Target, note.Subject, note.Text)
	default:
		again, err = r.startAlarmFlow(ctx, ws, m, &note)
	}
	m.State, m.Due, m.Error = alarms.StateSent, time.Time{}, ""
	if err != nil {
		m.State, m.Error = alarms.StateFailed, err.Error()
		if pause, more := alarms.Pause(m.Tries); again && more {
			m.State, m.Due = alarms.StatePending, r.now().Add(pause)
		}
	}
	return r.store.FinishAlarmMessage(context.WithoutCancel(ctx), m)
}

// startAlarmFlow starts the flow that an alarm has among its receivers. It fills the inputs that have names of the message's parts.
func (r messenger) startAlarmFlow(ctx context.Context, ws flow.WorkspaceID, m *alarms.Sent, note *alarms.Note) (again bool, err error) {
	id := flow.FlowID(m.Target)
	if !flow.ValidID(flow.PrefixFlow, m.Target) {
		if id, err = r.store.FindFlowID(ctx, ws, m.Target); err != nil {
			return false, err
		}
	}
	f, err := r.store.FindFlow(ctx, ws, id)
	if err != nil {
		return false, err
	}
	given := &flow.Object{}
	if f.LiveHash != "" {
		c, err := r.documents.find(ctx, ws, f.LiveHash)
		if err != nil {
			return true, err
		}
		parts := map[string]any{"message": note.Text, "subject": note.Subject, "kind": note.Kind, "alarm": note.Alarm, "flow": note.Flow}
		for _, in := range requiredInputs(c, nil) {
			if v, known := parts[in.Name]; known {
				given.Set(in.Name, v)
			}
		}
	}
	key := "\x01" + m.ID
	started, err := r.StartRun(ctx, flow.Start{WorkspaceID: ws, FlowID: id, Trigger: flow.TriggerAlarm, Given: given, IdempotencyKey: key, Fingerprint: key})
	if err == nil {
		m.RunID = started.Run.ID
		return false, nil
	}
	refusal, public := errors.AsType[*flow.Error](err)
	if !public {
		r.log.Error("an alarm could not start a flow", "message", m.ID, "error", err)
		return true, errors.New("the run could not be started because of an internal error")
	}
	return refusal.After > 0 || refusal.Code == flow.CodeQueueFull || refusal.Code == flow.CodeUnavailable || refusal.Code == flow.CodeDraining, errors.New(cmp.Or(refusal.Message, string(refusal.Code)))
}
