package db

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
	"sluice/flow/triggers"
)

// CreateTrigger adds a trigger to a flow. The name must be free in the flow.
func (s *Triggers) CreateTrigger(ctx context.Context, t *triggers.Trigger) error {
	sealed, err := s.sealToken(t)
	if err != nil {
		return err
	}
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		n, err := tx.Queries.CountTriggers(tx.Ctx, gen.CountTriggersParams{FlowID: t.FlowID, WorkspaceID: t.WorkspaceID})
		if err != nil {
			return fmt.Errorf("count triggers: %w", err)
		}
		if most := s.TriggerLimits(t.WorkspaceID).Most; n.OfFlow >= triggers.MaxPerFlow || n.Total >= most {
			return flow.Errorf(flow.CodeQuotaExceeded, "A flow may have %d triggers, and the workspace %d. Delete some that are no longer needed.", triggers.MaxPerFlow, most)
		}
		return tx.Queries.InsertTrigger(tx.Ctx, gen.InsertTriggerParams{
			ID: t.ID, WorkspaceID: t.WorkspaceID, FlowID: t.FlowID, Name: t.Name, Kind: string(t.Kind), Config: dbconn.EncodeAny(t.Settings()), Sealed: sealed, TokenHash: triggers.TokenHash(t.Token),
			IsOn: dbconn.BoolInt(t.On), Reason: t.Reason, NextAt: dbconn.Micros(t.Next), DueAt: dbconn.Micros(t.Due), Source: t.Source, MadeBy: t.MadeBy, CreatedAt: dbconn.Micros(t.CreatedAt),
		})
	})
}

// FlowCounts returns how many triggers a flow has, and how many of its runs have ended, counted up to most. Runs of steps of
// other flows and work runs are left out, as in lists of runs.
func (s *Triggers) FlowCounts(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, most int) (triggers, runs int, err error) {
	n, err := s.DB.Reads.CountOfFlow(ctx, gen.CountOfFlowParams{WorkspaceID: ws, FlowID: flowID, Most: int32(most)})
	return int(n.Triggers), int(n.Runs), err
}

// TriggerLimits returns the limits of a workspace.
func (s *Triggers) TriggerLimits(ws flow.WorkspaceID) triggers.Limits {
	return triggers.LimitsOf(ws, s.DB.Config.OpenSignup)
}

// UpdateTrigger stores a trigger that was read at its revision and increments that. A planned time that waits is skipped. It
// returns CodePreconditionFailed if the trigger has changed since.
func (s *Triggers) UpdateTrigger(ctx context.Context, t *triggers.Trigger) error {
	err := s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		n, err := tx.Queries.UpdateTrigger(tx.Ctx, gen.UpdateTriggerParams{
			ID: t.ID, WorkspaceID: t.WorkspaceID, Rev: t.Rev, Name: t.Name, Config: dbconn.EncodeAny(t.Settings()), IsOn: dbconn.BoolInt(t.On), Reason: t.Reason,
			NextAt: dbconn.Micros(t.Next), DueAt: dbconn.Micros(t.Due), Source: t.Source, ChangedAt: dbconn.Micros(t.ChangedAt),
		})
		if err == nil && n == 0 {
			err = flow.Errorf(flow.CodePreconditionFailed, "The trigger was changed in the meantime. Read it again.")
		}
		if err != nil {
			return err
		}
		return endWaiting(tx, t.FlowID, t.ID, "The trigger was changed or paused.")
	})
	if err == nil {
		t.Rev++
	}
	return err
}

// SetTriggerSource records where a trigger was applied from.
func (s *Triggers) SetTriggerSource(ctx context.Context, ws flow.WorkspaceID, id, source string) error {
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		return tx.Queries.SetTriggerSource(tx.Ctx, gen.SetTriggerSourceParams{ID: id, WorkspaceID: ws, Source: source})
	})
}

// endWaiting skips the times that wait: those of a trigger, or with an empty ID those of a flow.
func endWaiting(tx *core.Tx, flowID flow.FlowID, id, detail string) error {
	return tx.Queries.EndWaiting(tx.Ctx, gen.EndWaitingParams{FlowID: flowID, TriggerID: id, State: string(triggers.Skipped), Code: string(triggers.CodeChanged), Detail: detail})
}

// DeleteTrigger deletes a trigger with its events.
func (s *Triggers) DeleteTrigger(ctx context.Context, ws flow.WorkspaceID, id string) error {
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		n, err := tx.Queries.DeleteTrigger(tx.Ctx, gen.DeleteTriggerParams{ID: id, WorkspaceID: ws})
		if err := dbconn.MustAffect(n, err, "trigger"); err != nil {
			return err
		}
		kept, err := tx.Queries.SumRequestBytes(tx.Ctx, id)
		if err != nil {
			return fmt.Errorf("size of the events of %s: %w", id, err)
		}
		tx.TrackBytes(ws, -kept)
		return tx.Queries.DeleteEvents(tx.Ctx, id)
	})
}

// FindTrigger returns a trigger of a flow by its ID or name.
func (s *Triggers) FindTrigger(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, id string) (*triggers.Trigger, error) {
	if !flow.ValidID(flow.PrefixTrigger, id) {
		r, err := s.DB.Reads.FindTriggerByName(ctx, gen.FindTriggerByNameParams{FlowID: flowID, WorkspaceID: ws, Name: dbconn.ValidText(id)})
		return dbconn.ConvertRow(r, err, "trigger", triggerOf)
	}
	r, err := s.DB.Reads.FindTrigger(ctx, gen.FindTriggerParams{ID: id, WorkspaceID: ws})
	if err == nil && r.FlowID != flowID {
		err = sql.ErrNoRows
	}
	return dbconn.ConvertRow(r, err, "trigger", triggerOf)
}

// ListTriggers returns the triggers of a flow by name, or with an empty ID those of a workspace. In a transaction it sees what that wrote.
func (s *Triggers) ListTriggers(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID) ([]triggers.Trigger, error) {
	rows, err := s.DB.In(ctx).ListTriggers(ctx, gen.ListTriggersParams{WorkspaceID: ws, FlowID: flowID})
	return dbconn.ConvertRows(rows, err, triggerOf, "list triggers")
}

// TriggersAfter returns triggers of all workspaces after an ID, by ID.
func (s *Triggers) TriggersAfter(ctx context.Context, id string, limit int) ([]triggers.Trigger, error) {
	rows, err := s.DB.Reads.ListTriggersAfter(ctx, gen.ListTriggersAfterParams{After: id, MaxRows: int32(limit)})
	return dbconn.ConvertRows(rows, err, triggerOf, "list triggers")
}

// DueTriggers returns the triggers that are due, the earliest first, and when the earliest of the others is.
func (s *Triggers) DueTriggers(ctx context.Context, now time.Time, limit int) (list []triggers.Trigger, next time.Time, err error) {
	next, err = core.ReadRows(ctx, s.DB, "triggers", func(ctx context.Context) (time.Time, error) { return dbconn.Earliest(s.DB.Reads.NextDueTrigger(ctx)) })
	if err != nil || next.IsZero() || next.After(now) {
		return nil, next, err
	}
	rows, err := core.ReadRows(ctx, s.DB, "triggers", func(ctx context.Context) ([]gen.Trigger, error) {
		return s.DB.Reads.ListDueTriggers(ctx, gen.ListDueTriggersParams{Now: dbconn.Micros(now), MaxRows: int32(limit)})
	})
	list, err = dbconn.ConvertRows(rows, err, triggerOf, "list due triggers")
	return list, next, err
}

// DecideTrigger moves a trigger to other times and records events, in one transaction. It returns ErrFenced if another
// instance decided before, or if people changed the trigger.
func (s *Triggers) DecideTrigger(ctx context.Context, t *triggers.Trigger, after flow.TriggerTimes, events []triggers.Event) error {
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		if _, err := core.ClaimTrigger(tx, t.ID, t.Rev, t.TriggerTimes, after); err != nil {
			return err
		}
		for i := range events {
			e := &events[i]
			err := core.SaveEvent(tx, gen.SaveEventParams{
				TriggerID: e.TriggerID, EventKey: e.Key, WorkspaceID: e.WorkspaceID, FlowID: e.FlowID, Position: s.DB.IDs().New(flow.PrefixEvent),
				State: string(e.State), RunID: e.RunID, Code: string(e.Code), Detail: dbconn.ValidText(e.Detail),
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// FindEvent returns an event of a trigger.
func (s *Triggers) FindEvent(ctx context.Context, t *triggers.Trigger, key string) (*triggers.Event, error) {
	r, err := s.DB.Reads.FindEvent(ctx, gen.FindEventParams{TriggerID: t.ID, EventKey: key})
	return dbconn.ConvertRow(r, err, "event", eventOf)
}

// ListEvents returns the events of a trigger, newest first, below a position. An empty state means all.
func (s *Triggers) ListEvents(ctx context.Context, t *triggers.Trigger, state triggers.State, before string, limit int) ([]triggers.Event, error) {
	rows, err := s.DB.Reads.ListEvents(ctx, gen.ListEventsParams{TriggerID: t.ID, State: string(state), Before: dbconn.CursorOrEnd(before), MaxRows: int32(limit)})
	return dbconn.ConvertRows(rows, err, eventOf, "list events")
}

// ListEventsOfFlow is ListEvents for all triggers of a flow.
func (s *Triggers) ListEventsOfFlow(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, state triggers.State, before string, limit int) ([]triggers.Event, error) {
	rows, err := s.DB.Reads.ListEventsOfFlow(ctx, gen.ListEventsOfFlowParams{FlowID: flowID, WorkspaceID: ws, State: string(state), Before: dbconn.CursorOrEnd(before), MaxRows: int32(limit)})
	return dbconn.ConvertRows(rows, err, eventOf, "list events")
}

// TestsOfEvents returns the tests that some events of a flow started, newest first, by run.
func (s *Triggers) TestsOfEvents(ctx context.Context, list []triggers.Event) (map[flow.RunID]string, error) {
	tests := map[flow.RunID]string{}
	if len(list) == 0 {
		return tests, nil
	}
	newest, oldest := &list[0], &list[len(list)-1]
	rows, err := s.DB.Reads.ListTestsOfEvents(ctx, gen.ListTestsOfEventsParams{FlowID: newest.FlowID, WorkspaceID: newest.WorkspaceID, Oldest: oldest.Position, Newest: newest.Position})
	if err != nil {
		return nil, fmt.Errorf("list the tests of events: %w", err)
	}
	for _, r := range rows {
		tests[r.RunID] = r.ID
	}
	return tests, nil
}

// EndedRunsOfTrigger returns the IDs, states and durations of runs that a trigger has started since a time and that have ended, newest
// first. Of each run it returns nothing else.
func (s *Triggers) EndedRunsOfTrigger(ctx context.Context, id string, since time.Time, limit int) ([]flow.Run, error) {
	rows, err := s.DB.Reads.ListEndedRunsOfTrigger(ctx, gen.ListEndedRunsOfTriggerParams{TriggerID: id, Since: dbconn.Micros(since), MaxRows: int32(limit)})
	return dbconn.ConvertRows(rows, err, func(r gen.ListEndedRunsOfTriggerRow) flow.Run {
		return flow.Run{ID: r.ID, State: flow.RunState(r.State), StartedAt: dbconn.TimeOf(r.StartedAt), EndedAt: dbconn.TimeOf(r.EndedAt)}
	}, "list the runs of a trigger")
}

// AddTriggerKey records a key that changed a trigger or knows the secret of its URL.
func (s *Triggers) AddTriggerKey(ctx context.Context, t *triggers.Trigger, keyID string) error {
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		return tx.Queries.AddTriggerKey(tx.Ctx, gen.AddTriggerKeyParams{TriggerID: t.ID, KeyID: keyID, WorkspaceID: t.WorkspaceID})
	})
}

// PruneEvents deletes all but the newest triggers.MaxEvents events of a trigger that started or were ignored, and of the others.
func (s *Triggers) PruneEvents(ctx context.Context, id string) error {
	return s.DB.Write(ctx, core.Relaxed, func(tx *core.Tx) error {
		for plain := range int64(2) {
			rows, err := tx.Queries.PruneEvents(tx.Ctx, gen.PruneEventsParams{TriggerID: id, Plain: plain})
			if err != nil {
				return fmt.Errorf("prune the events of %s: %w", id, err)
			}
			for _, r := range rows {
				tx.TrackBytes(r.WorkspaceID, -r.RequestBytes)
			}
		}
		return nil
	})
}

// MissTriggers makes all times until now missed, after the database was restored.
func (s *Triggers) MissTriggers(ctx context.Context) error {
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error { return tx.Queries.MissTriggers(tx.Ctx, s.DB.NowMicros()) })
}

func triggerOf(r gen.Trigger) triggers.Trigger {
	state, config, err := settingsOf(&r)
	return triggers.Trigger{
		HookState: state,
		ID:        r.ID, WorkspaceID: r.WorkspaceID, FlowID: r.FlowID, Name: r.Name, Kind: triggers.Kind(r.Kind), Config: config, Unreadable: err, On: r.IsOn != 0, Reason: r.Reason,
		TriggerTimes: flow.TriggerTimes{Next: dbconn.TimeOf(r.NextAt), Due: dbconn.TimeOf(r.DueAt), Waiting: dbconn.TimeOf(r.WaitingAt), Decided: dbconn.TimeOf(r.DecidedAt)},
		MissedUntil:  dbconn.TimeOf(r.MissedUntil), LastRunID: r.LastRunID, Rev: r.Rev, Source: r.Source, MadeBy: r.MadeBy, CreatedAt: dbconn.TimeOf(r.CreatedAt), ChangedAt: dbconn.TimeOf(r.ChangedAt),
	}
}

func eventOf(r gen.Event) triggers.Event {
	return triggers.Event{
		TriggerID: r.TriggerID, Key: r.EventKey, WorkspaceID: r.WorkspaceID, FlowID: r.FlowID, Position: r.Position, CreatedAt: dbconn.TimeOf(r.CreatedAt),
		State: triggers.State(r.State), RunID: r.RunID, Code: flow.Code(r.Code), Detail: r.Detail, Repeats: r.Repeats, Request: r.Request,
	}
}
