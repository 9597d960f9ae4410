package library

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/schedule"
	"sluice/flow/triggers"
)

// TriggerStore stores triggers.
type TriggerStore interface {
	companionRows
	triggerLister
	featureStore
	FindWorkspace(ctx context.Context, ws flow.WorkspaceID) (*flow.Workspace, error)
	SetTimezone(ctx context.Context, ws flow.WorkspaceID, timezone string) error
	ListTriggers(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID) ([]triggers.Trigger, error)
	FindTrigger(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, id string) (*triggers.Trigger, error)
	CreateTrigger(ctx context.Context, t *triggers.Trigger) error
	UpdateTrigger(ctx context.Context, t *triggers.Trigger) error
	DeleteTrigger(ctx context.Context, ws flow.WorkspaceID, id string) error
	FindEvent(ctx context.Context, t *triggers.Trigger, key string) (*triggers.Event, error)
	TriggerLimits(ws flow.WorkspaceID) triggers.Limits
	TriggerKeyStore
}

// TriggerKeyStore stores which keys changed a trigger or know the secret of its URL.
type TriggerKeyStore interface {
	// AddTriggerKey records such a key. Its runs count as started by all of them: none may answer their questions.
	AddTriggerKey(ctx context.Context, t *triggers.Trigger, keyID string) error
}

// Triggers changes the triggers of flows. No change starts anything, or makes up for missed times.
type Triggers struct {
	Store TriggerStore
	IDs   flow.IDs
	Now   func() time.Time
	Start func(ctx context.Context, s flow.Start) (flow.Started, error)
	// CheckExpression returns an error for a wrong expression over variables, and Evaluate evaluates one.
	CheckExpression func(source string, names ...string) error
	Evaluate        func(ctx context.Context, source string, variables map[string]any) (any, error)
	// Tests starts the tests of schedules; nil if nothing is started.
	Tests *Tests
}

// MayChange returns an error for a key with limits or an expiry, whose triggers would spend beyond these. caller is the key in the
// request, or nil.
func (s *Triggers) MayChange(caller *flow.Key) error { return mayChangeTriggers(caller) }

// mayChangeTriggers returns an error for a key that has, itself or above it, limits or an expiry.
func mayChangeTriggers(caller *flow.Key) error {
	expires := func(k flow.Key) bool { return !k.ExpiresAt.IsZero() }
	if caller != nil && (Limited(caller) || expires(*caller) || slices.ContainsFunc(caller.Makers, expires)) {
		return flow.Errorf(flow.CodeExceedsKey, "The key in the request, or a key that made it, has limits or expires, so it may not change triggers: these start runs without a key. Use a key without limits.")
	}
	return nil
}

// errTestBackfill is returned for a backfill of tests.
var errTestBackfill = flow.Errorf(flow.CodeScheduleInvalid, "A schedule of tests has nothing to make up for: a test says how the flow is now. Start it now instead.")

// errNoSchedule is returned for an act on a trigger of another kind that only schedules have.
var errNoSchedule = flow.Errorf(flow.CodeScheduleInvalid, "The trigger with this name is not a schedule. Choose another name.")

// Set creates a trigger of a flow or replaces the configuration of the one with that name. A trigger that is off stays off. The same
// configuration again changes nothing.
func (s *Triggers) Set(ctx context.Context, by flow.Actor, caller *flow.Key, f *flow.Flow, name string, c triggers.Config) (t *triggers.Trigger, created bool, err error) {
	if err := s.MayChange(caller); err != nil {
		return nil, false, err
	}
	return s.set(ctx, by, caller, f, name, c, "")
}

// set is Set without the check of the limits of the caller. source is where the trigger was applied from; one that exists keeps its own if that is
// empty.
func (s *Triggers) set(ctx context.Context, by flow.Actor, caller *flow.Key, f *flow.Flow, name string, c triggers.Config, source string) (t *triggers.Trigger, created bool, err error) {
	if err := maySchedule(caller, f, c.Test); err != nil {
		return nil, false, err
	}
	if err := s.check(ctx, f, name, &c); err != nil {
		return nil, false, err
	}
	t, err = s.Store.FindTrigger(ctx, f.WorkspaceID, f.ID, name)
	action := "trigger.change"
	switch {
	case flow.IsNotFound(err) && !triggers.ValidName(name):
		return nil, false, flow.Errorf(flow.CodeNotFound, "There is no such trigger. The name of a new one has lower-case letters, digits and hyphens.")
	case flow.IsNotFound(err):
		created, action = true, "trigger.create"
		t = &triggers.Trigger{ID: s.IDs.New(flow.PrefixTrigger), WorkspaceID: f.WorkspaceID, FlowID: f.ID, Name: name, Kind: triggers.Schedule, On: true, Rev: 1, MadeBy: by.ID, CreatedAt: s.Now()}
	case err != nil:
		return nil, false, err
	case t.Kind != triggers.Schedule:
		return nil, false, errNoSchedule
	}
	if was, now := triggers.EntryOf(t), (triggers.Entry{Name: t.Name, Kind: t.Kind, Config: c}); !created && t.Unreadable == nil && now.Equal(&was) {
		return t, false, nil
	}
	if t.Config = c; source != "" {
		t.Source = source
	}
	return t, created, s.save(ctx, by, t, action, created)
}

// check returns an error with all problems of a configuration.
func (s *Triggers) check(ctx context.Context, f *flow.Flow, name string, c *triggers.Config) error {
	if err := allCanTrigger(ctx, s.Store); err != nil {
		return err
	}
	if err := allCanScheduleTests(ctx, s.Store, c.Test != nil); err != nil {
		return err
	}
	w, err := s.Store.FindWorkspace(ctx, f.WorkspaceID)
	if err != nil {
		return err
	}
	problems := c.Check(s.CheckExpression)
	plan, err := c.Schedule(w.Timezone)
	if limits := s.Store.TriggerLimits(f.WorkspaceID); err == nil && limits.TooOften(plan, s.Now()) {
		field := "cron"
		if c.Every != "" {
			field = "every"
		}
		problems = append(problems, flow.Problem{Pointer: flow.Pointer(field), Code: "invalid", Detail: "has times less than 5 minutes apart, which this server allows only in the workspace of its operator"})
	}
	invalid, _ := errors.AsType[*flow.Error](err)
	if invalid == nil && len(problems) == 0 {
		return err
	}
	if invalid == nil {
		invalid = &flow.Error{Code: flow.CodeScheduleInvalid, Message: "The schedule of " + name + " has problems; see errors."}
	}
	invalid.Fields = append(invalid.Fields, problems...)
	return invalid
}

// InputProblems returns why a flow with these inputs would refuse those of a schedule at its next planned time. zone is the time zone of
// the workspace. Problems of the schedule itself are not among them.
func (s *Triggers) InputProblems(ctx context.Context, t *triggers.Trigger, zone string, inputs []contract.Input) []flow.Problem {
	plan, err := t.Config.Schedule(zone)
	if err != nil || t.Kind != triggers.Schedule || t.Config.Test != nil {
		return nil
	}
	at := t.Next
	if at.IsZero() {
		at = s.Now()
	}
	given, err := t.Values(ctx, plan, at, s.Evaluate)
	if err != nil {
		return []flow.Problem{{Pointer: "/inputs", Code: "invalid", Detail: flow.AsError(err).Message}}
	}
	_, problems := contract.Check(inputs, given, false)
	for i := range problems {
		problems[i].Pointer = "/inputs" + problems[i].Pointer
	}
	return problems
}

// featureStore knows what all instances understand.
type featureStore interface {
	AllCan(ctx context.Context, feature flow.Feature) (bool, error)
}

// allCanTrigger returns an error while an instance of a release runs that does not know triggers.
func allCanTrigger(ctx context.Context, s featureStore) error {
	can, err := s.AllCan(ctx, flow.FeatureTriggers)
	if err == nil && !can {
		err = flow.Errorf(flow.CodeUpgradeInProgress, "An instance of an earlier release is running, which does not know triggers. Try again when all instances have been upgraded.")
	}
	return err
}

// allCanScheduleTests returns an error while an instance of a release runs that does not know schedules of tests, if they are needed: it would start runs.
func allCanScheduleTests(ctx context.Context, s featureStore, needed bool) error {
	if !needed {
		return nil
	}
	can, err := s.AllCan(ctx, flow.FeatureTestSchedules)
	if err == nil && !can {
		err = flow.Errorf(flow.CodeUpgradeInProgress, "An instance of an earlier release is running, which does not know schedules of tests. Try again when all instances have been upgraded.")
	}
	return err
}

// recordTrigger is record for an act on a trigger of a flow. A key that does it is recorded among the keys of the trigger. An act that
// changes the file of the flow's triggers makes a revision of that.
func recordTrigger(ctx context.Context, s TriggerStore, by flow.Actor, t *triggers.Trigger, action, detail string, act func(ctx context.Context) error) error {
	e := entry(t.WorkspaceID, action, string(t.FlowID), strings.TrimSuffix(t.Name+", "+detail, ", "))
	f := &flow.Flow{WorkspaceID: t.WorkspaceID, ID: t.FlowID}
	do := act
	act = func(ctx context.Context) error {
		if err := do(ctx); err != nil || !strings.HasPrefix(by.ID, flow.PrefixKey) {
			return err
		}
		return s.AddTriggerKey(ctx, t, by.ID)
	}
	switch action {
	case "trigger.create", "trigger.change", "trigger.delete":
		read := func(ctx context.Context) (any, error) { return readTriggers(ctx, s, f) }
		return recordCompanion(ctx, s, FindCompanion(triggersFile), CompanionOwner{t.WorkspaceID, f}, by, e, read, act)
	}
	return record(ctx, s, by, e, act)
}

// save computes the times of a trigger and stores it with its audit entry.
func (s *Triggers) save(ctx context.Context, by flow.Actor, t *triggers.Trigger, action string, created bool) error {
	w, err := s.Store.FindWorkspace(ctx, t.WorkspaceID)
	if err != nil {
		return err
	}
	t.ChangedAt, t.TriggerTimes = s.Now(), flow.TriggerTimes{Decided: t.Decided}
	if t.On && t.Kind == triggers.Schedule {
		schedule, err := t.Config.Schedule(w.Timezone)
		if err != nil {
			return err
		}
		t.TriggerTimes = t.Times(schedule, t.ChangedAt)
	}
	return recordTrigger(ctx, s.Store, by, t, action, "", func(ctx context.Context) error {
		if created {
			return s.Store.CreateTrigger(ctx, t)
		}
		return s.Store.UpdateTrigger(ctx, t)
	})
}

// Switch pauses a trigger or resumes it: it then continues from now. A trigger that is in that state already stays as it is.
func (s *Triggers) Switch(ctx context.Context, by flow.Actor, caller *flow.Key, t *triggers.Trigger, on bool) error {
	action := "trigger.pause"
	if on {
		action = "trigger.resume"
		if err := s.MayChange(caller); err != nil {
			return err
		}
	}
	if t.On == on {
		return nil
	}
	if t.On, t.Reason = on, ""; !on {
		t.Reason = triggers.ReasonPaused
	}
	return s.save(ctx, by, t, action, false)
}

// Delete deletes a trigger with its events.
func (s *Triggers) Delete(ctx context.Context, by flow.Actor, caller *flow.Key, t *triggers.Trigger) error {
	if err := s.MayChange(caller); err != nil {
		return err
	}
	return recordTrigger(ctx, s.Store, by, t, "trigger.delete", "", func(ctx context.Context) error {
		return s.Store.DeleteTrigger(ctx, t.WorkspaceID, t.ID)
	})
}

// StartNow starts a run of a trigger for its caller, whose limits count, also while its last run is in progress.
func (s *Triggers) StartNow(ctx context.Context, by flow.Actor, caller *flow.Key, userID string, t *triggers.Trigger) (flow.Started, error) {
	if t.Kind != triggers.Schedule {
		return flow.Started{}, errNoSchedule
	}
	if !t.On {
		return flow.Started{}, flow.Errorf(flow.CodeTriggerPaused, "The trigger is paused. Resume it, then start it.")
	}
	w, err := s.Store.FindWorkspace(ctx, t.WorkspaceID)
	if err != nil {
		return flow.Started{}, err
	}
	schedule, err := t.Config.Schedule(w.Timezone)
	if err != nil {
		return flow.Started{}, err
	}
	at := s.Now().Truncate(time.Microsecond)
	position := s.IDs.New(flow.PrefixEvent)
	started, err := s.start(ctx, by, caller, userID, t, schedule, &flow.Occurrence{ScheduledAt: at, Key: position, Position: position, Detail: "Started by hand."})
	if err != nil {
		return started, err
	}
	return started, recordTrigger(ctx, s.Store, by, t, "trigger.now", "", nothing)
}

// Resume is Switch to on. With catchUp, the latest planned time that passed while a schedule was paused starts once, for the caller, if it
// is not later than the schedule allows.
func (s *Triggers) Resume(ctx context.Context, by flow.Actor, caller *flow.Key, userID string, t *triggers.Trigger, catchUp bool) error {
	since, wasOn := t.ChangedAt, t.On
	if err := s.Switch(ctx, by, caller, t, true); err != nil || wasOn || !catchUp || t.Kind != triggers.Schedule {
		return err
	}
	w, err := s.Store.FindWorkspace(ctx, t.WorkspaceID)
	if err != nil {
		return err
	}
	plan, err := t.Config.Schedule(w.Timezone)
	if err != nil {
		return err
	}
	at := t.LastPlanned(plan, since, s.Now())
	if at.IsZero() {
		return nil
	}
	_, err = s.start(ctx, by, caller, userID, t, plan, &flow.Occurrence{ScheduledAt: at, Key: triggers.KeyOf(at), Position: s.IDs.New(flow.PrefixEvent), Detail: "Passed while the trigger was paused."})
	return err
}

// start starts the run of a schedule, or its test, for a caller, also while the last one is in progress.
func (s *Triggers) start(ctx context.Context, by flow.Actor, caller *flow.Key, userID string, t *triggers.Trigger, plan *schedule.Schedule, o *flow.Occurrence) (flow.Started, error) {
	o.TriggerID, o.TriggerName, o.Overlap = t.ID, t.Name, true
	if t.Config.Test != nil {
		return s.Tests.startScheduled(ctx, by, caller, userID, t, o, "")
	}
	given, err := t.Values(ctx, plan, o.ScheduledAt, s.Evaluate)
	if err != nil {
		return flow.Started{}, err
	}
	return s.Start(ctx, flow.Start{WorkspaceID: t.WorkspaceID, FlowID: t.FlowID, Key: caller, UserID: userID, Trigger: flow.TriggerSchedule, Given: given, Occurrence: o})
}

// MaxBackfill bounds the planned times of a backfill.
const MaxBackfill = 10_000

// Planned returns the inputs of the runs at the planned times of a schedule from one time until another that have passed. With onlyMissed,
// times that started a run are left out.
func (s *Triggers) Planned(ctx context.Context, t *triggers.Trigger, from, until time.Time, onlyMissed bool) (rows []*flow.Object, err error) {
	if now := s.Now(); until.After(now) {
		until = now
	}
	switch {
	case t.Kind != triggers.Schedule:
		return nil, errNoSchedule
	case t.Config.Test != nil:
		return nil, errTestBackfill
	}
	w, err := s.Store.FindWorkspace(ctx, t.WorkspaceID)
	if err != nil {
		return nil, err
	}
	plan, err := t.Config.Schedule(w.Timezone)
	if err != nil {
		return nil, err
	}
	for at := plan.Next(from.Add(-time.Second)); !at.IsZero() && !at.After(until); at = plan.Next(at) {
		if onlyMissed {
			e, err := s.Store.FindEvent(ctx, t, triggers.KeyOf(at))
			if err != nil && !flow.IsNotFound(err) {
				return nil, err
			}
			if err == nil && e.State == triggers.Started {
				continue
			}
		}
		if len(rows) == MaxBackfill {
			return nil, flow.Errorf(flow.CodeInputInvalid, "There are more than %d planned times in this range. Choose a shorter one.", MaxBackfill)
		}
		row, err := t.Values(ctx, plan, at, s.Evaluate)
		if err != nil {
			return nil, err
		}
		row.Set("scheduled_at", triggers.KeyOf(at))
		rows = append(rows, row)
	}
	return rows, nil
}

// SetTimezone sets the time zone of a workspace, which its schedules follow that name none. They continue from now.
func (s *Triggers) SetTimezone(ctx context.Context, by flow.Actor, caller *flow.Key, ws flow.WorkspaceID, timezone string) error {
	if err := s.MayChange(caller); err != nil {
		return err
	}
	if _, err := schedule.Zone(timezone); err != nil {
		return &flow.Error{Code: flow.CodeInputInvalid, Message: "The time zone must be the IANA name of one, such as Europe/Berlin.",
			Fields: []flow.Problem{{Pointer: "/timezone", Code: "invalid", Detail: "must be the IANA name of a time zone, such as Europe/Berlin"}}}
	}
	list, err := s.Store.ListTriggers(ctx, ws, "")
	if err != nil {
		return err
	}
	return record(ctx, s.Store, by, entry(ws, "workspace.timezone", timezone, ""), func(ctx context.Context) error {
		if err := s.Store.SetTimezone(ctx, ws, timezone); err != nil {
			return err
		}
		for i := range list {
			t := &list[i]
			if !t.On || t.Kind != triggers.Schedule || t.Config.Timezone != "" || t.Unreadable != nil {
				continue
			}
			plan, err := t.Config.Schedule(timezone)
			if err != nil {
				return err
			}
			t.ChangedAt, t.TriggerTimes = s.Now(), flow.TriggerTimes{Decided: t.Decided}
			t.TriggerTimes = t.Times(plan, t.ChangedAt)
			if err := s.Store.UpdateTrigger(ctx, t); err != nil {
				return err
			}
		}
		return nil
	})
}
