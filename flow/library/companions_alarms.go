package library

import (
	"context"
	"fmt"
	"slices"

	"sluice/flow"
	"sluice/flow/alarms"
)

// The file with the alarms of a workspace. Whether an alarm is paused or fires is not in it.
var _ = RegisterCompanion(&Companion{
	Name: alarmsFile, Schema: alarms.FileSchema, Title: "Alarms", OfWorkspace: true, ForEditors: true,
	Parse: func(o *flow.Object, _ func(source string, names ...string) error) (any, []flow.Problem) {
		return parsed(alarms.ParseFile(o))
	},
	Write: func(content any) *flow.Object { return alarms.WriteFile(content.([]alarms.Entry)) },
	Read: func(ctx context.Context, s *Companions, of *CompanionOwner) (any, error) {
		return readAlarms(ctx, s.Store, of.WorkspaceID)
	},
	Plan: planAlarms,
	Apply: func(ctx context.Context, s *Companions, r *CompanionRequest, c *CompanionChange) error {
		return c.Value.(func(context.Context) error)(ctx)
	},
	MayChange:   func(*flow.Key) error { return nil }, // each change is checked on its own
	MarkApplied: markAlarms,
})

// alarmsFile is the name of the companion.
const alarmsFile = "alarms"

// readAlarms returns the alarms of a workspace as files have them.
func readAlarms(ctx context.Context, s alarmLister, ws flow.WorkspaceID) ([]alarms.Entry, error) {
	list, err := s.ListAlarms(ctx, ws)
	if err != nil {
		return nil, err
	}
	entries := make([]alarms.Entry, 0, len(list))
	for i := range list {
		e, err := alarmEntry(ctx, s, &list[i])
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// alarmEntry returns an alarm as files have it.
func alarmEntry(ctx context.Context, s alarmLister, a *alarms.Alarm) (alarms.Entry, error) {
	e := alarms.Entry{Name: a.Name, Config: a.Config}
	if a.FlowID == "" {
		return e, nil
	}
	f, err := s.FindFlow(ctx, a.WorkspaceID, a.FlowID)
	if err == nil {
		e.Flow = f.Slug
	}
	return e, err
}

// planAlarms compares the alarms of a file with those of the workspace.
func planAlarms(ctx context.Context, s *Companions, r *CompanionRequest, _, wanted any) (changes []CompanionChange, problems []flow.Problem, err error) {
	list, err := s.Store.ListAlarms(ctx, r.Owner.WorkspaceID)
	if err != nil {
		return nil, nil, err
	}
	entries := wanted.([]alarms.Entry)
	for i := range entries {
		e := &entries[i]
		var was *alarms.Alarm
		if at := slices.IndexFunc(list, func(a alarms.Alarm) bool { return a.Name == e.Name }); at >= 0 {
			was = &list[at]
		}
		change, wrong, err := s.planAlarm(ctx, r, was, e)
		if err != nil {
			return nil, nil, err
		}
		for _, p := range wrong {
			p.Pointer = flow.Pointer("alarms", i) + p.Pointer
			problems = append(problems, p)
		}
		if change != nil {
			changes = append(changes, *change)
		}
	}
	for i := range list {
		a := &list[i]
		if !r.prunes(a.Source) || slices.ContainsFunc(entries, func(e alarms.Entry) bool { return e.Name == a.Name }) {
			continue
		}
		if err := s.alarms().mayChange(r.Caller, a); err != nil {
			return nil, nil, err
		}
		changes = append(changes, CompanionChange{Change: companionRemoved, Entry: a.Name, Text: fmt.Sprintf("Removes the alarm %s.", a.Name),
			Value: func(ctx context.Context) error { return s.alarms().Delete(ctx, r.By, r.Caller, a) }})
	}
	return changes, problems, nil
}

// planAlarm compares an entry of a file with the alarm of its name, which may be nil. An equal one needs no change.
func (s *Companions) planAlarm(ctx context.Context, r *CompanionRequest, was *alarms.Alarm, e *alarms.Entry) (*CompanionChange, []flow.Problem, error) {
	if was != nil {
		old, err := alarmEntry(ctx, s.Store, was)
		if err != nil || old.Equal(e) {
			return nil, nil, err
		}
		if err := s.alarms().mayChange(r.Caller, was); err != nil {
			return nil, nil, err
		}
	}
	var flowID flow.FlowID
	if e.Flow != "" {
		id, err := s.alarms().FindFlowID(ctx, r.Owner.WorkspaceID, e.Flow)
		if err != nil {
			return nil, nil, err
		}
		if flowID = id; id == "" {
			return nil, []flow.Problem{{Pointer: "/flow", Code: "unknown", Detail: fmt.Sprintf("%q is the slug of no flow; apply the flow first", e.Flow)}}, nil
		}
	}
	problems, err := s.alarms().check(ctx, r.Owner.WorkspaceID, flowID, &e.Config)
	if err != nil || len(problems) > 0 {
		return nil, problems, err
	}
	if err := mayChangeAlarm(r.Caller, flowID, e.Config.Spends()); err != nil {
		return nil, nil, err
	}
	c := &CompanionChange{Change: AppliedCreated, Entry: e.Name, Text: fmt.Sprintf("Adds the alarm %s: %s.", e.Name, e.Config.Sentence())}
	source := ""
	if was != nil {
		source = was.Source
		c.Change, c.Text = AppliedChanged, fmt.Sprintf("Changes the alarm %s: %s.", e.Name, e.Config.Sentence())
	}
	if r.Apply {
		source = r.Source
	}
	c.Value = func(ctx context.Context) error {
		_, err := s.alarms().set(ctx, r.By, r.Caller, r.Owner.WorkspaceID, e.Name, flowID, e.Config, source)
		return err
	}
	return c, nil, nil
}

// markAlarms records that alarms were applied from the source of the request, which then prunes them.
func markAlarms(ctx context.Context, s *Companions, r *CompanionRequest, wanted any) error {
	list, err := s.Store.ListAlarms(ctx, r.Owner.WorkspaceID)
	for i := range list {
		a := &list[i]
		named := slices.ContainsFunc(wanted.([]alarms.Entry), func(e alarms.Entry) bool { return e.Name == a.Name })
		if err == nil && named && a.Source != r.Source {
			err = s.Store.SetAlarmSource(ctx, a.WorkspaceID, a.ID, r.Source)
		}
	}
	return err
}

// alarms returns the acts on alarms, with their rules.
func (s *Companions) alarms() *Alarms {
	return &Alarms{Store: s.Store, IDs: s.IDs, Now: s.Now, Mails: s.Mails}
}
