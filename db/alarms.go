package db

import (
	"context"
	"fmt"
	"time"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
	"sluice/flow/alarms"
)

// CreateAlarm adds an alarm. The name must be free in the workspace.
func (s *Alarms) CreateAlarm(ctx context.Context, a *alarms.Alarm) error {
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		most := int64(alarms.MaxPerWorkspace)
		if s.MailsMembersOnly(a.WorkspaceID) {
			most = alarms.PerStranger
		}
		n, err := tx.Queries.CountAlarms(tx.Ctx, a.WorkspaceID)
		if err != nil {
			return fmt.Errorf("count alarms: %w", err)
		}
		if n >= most {
			return flow.Errorf(flow.CodeQuotaExceeded, "A workspace may have %d alarms. Delete some that are no longer needed.", most)
		}
		return tx.Queries.InsertAlarm(tx.Ctx, gen.InsertAlarmParams{
			ID: a.ID, WorkspaceID: a.WorkspaceID, FlowID: a.FlowID, Name: a.Name, Config: dbconn.EncodeAny(&a.Config), Source: a.Source, MadeBy: a.MadeBy, CreatedAt: dbconn.Micros(a.CreatedAt),
		})
	})
}

// MailsMembersOnly reports whether alarms of a workspace, which anyone may create, send mail only to its members.
func (s *Alarms) MailsMembersOnly(ws flow.WorkspaceID) bool {
	return s.DB.Config.OpenSignup && ws != flow.DefaultWorkspace
}

// UpdateAlarm stores an alarm that was read at its revision, increments that and resets the state. It returns
// CodePreconditionFailed if the alarm has changed since.
func (s *Alarms) UpdateAlarm(ctx context.Context, a *alarms.Alarm) error {
	err := s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		n, err := tx.Queries.UpdateAlarm(tx.Ctx, gen.UpdateAlarmParams{
			ID: a.ID, WorkspaceID: a.WorkspaceID, Rev: a.Rev, FlowID: a.FlowID, Config: dbconn.EncodeAny(&a.Config), IsOn: dbconn.BoolInt(a.On), Reason: a.Reason,
			Source: a.Source, ChangedAt: dbconn.Micros(a.ChangedAt),
		})
		if err == nil && n == 0 {
			err = flow.Errorf(flow.CodePreconditionFailed, "The alarm was changed in the meantime. Read it again.")
		}
		return err
	})
	if err == nil {
		a.Rev++
		a.WatchedFrom, a.State = a.ChangedAt, alarms.State{Step: a.Step + 1, CountedTo: a.ChangedAt}
	}
	return err
}

// SetAlarmSource records where an alarm was applied from.
func (s *Alarms) SetAlarmSource(ctx context.Context, ws flow.WorkspaceID, id, source string) error {
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		return tx.Queries.SetAlarmSource(tx.Ctx, gen.SetAlarmSourceParams{ID: id, WorkspaceID: ws, Source: source})
	})
}

// DeleteAlarm deletes an alarm with its messages. Deliveries stay.
func (s *Alarms) DeleteAlarm(ctx context.Context, ws flow.WorkspaceID, id string) error {
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		n, err := tx.Queries.DeleteAlarm(tx.Ctx, gen.DeleteAlarmParams{ID: id, WorkspaceID: ws})
		if err := dbconn.MustAffect(n, err, "alarm"); err != nil {
			return err
		}
		return tx.Queries.DeleteAlarmMessages(tx.Ctx, id)
	})
}

// FindAlarm returns an alarm by its ID or name.
func (s *Alarms) FindAlarm(ctx context.Context, ws flow.WorkspaceID, id string) (*alarms.Alarm, error) {
	if flow.ValidID(flow.PrefixAlarm, id) {
		r, err := s.DB.In(ctx).FindAlarm(ctx, gen.FindAlarmParams{ID: id, WorkspaceID: ws})
		return dbconn.ConvertRow(r, err, "alarm", alarmOf)
	}
	r, err := s.DB.In(ctx).FindAlarmByName(ctx, gen.FindAlarmByNameParams{WorkspaceID: ws, Name: dbconn.ValidText(id)})
	return dbconn.ConvertRow(r, err, "alarm", alarmOf)
}

// ListAlarms returns the alarms of a workspace by name. In a transaction it sees what that wrote.
func (s *Alarms) ListAlarms(ctx context.Context, ws flow.WorkspaceID) ([]alarms.Alarm, error) {
	rows, err := s.DB.In(ctx).ListAlarms(ctx, ws)
	return dbconn.ConvertRows(rows, err, alarmOf, "list alarms")
}

// AlarmsAfter returns alarms of all workspaces that are on after an ID, by ID.
func (s *Alarms) AlarmsAfter(ctx context.Context, id string, limit int) ([]alarms.Alarm, error) {
	rows, err := s.DB.Reads.ListAlarmsAfter(ctx, gen.ListAlarmsAfterParams{After: id, MaxRows: int32(limit)})
	return dbconn.ConvertRows(rows, err, alarmOf, "list alarms")
}

// StepAlarm stores the state of an alarm that was read before, with the messages that are due, in one transaction. It returns
// ErrFenced if another instance was first, or if people changed the alarm.
func (s *Alarms) StepAlarm(ctx context.Context, a *alarms.Alarm, next alarms.State, messages []alarms.Sent) error {
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		n, err := tx.Queries.StepAlarm(tx.Ctx, gen.StepAlarmParams{
			ID: a.ID, Step: a.Step, FiringSince: dbconn.Micros(next.FiringSince), BadAt: dbconn.Micros(next.BadAt), CountedTo: dbconn.Micros(next.CountedTo),
			ToldAt: dbconn.Micros(next.ToldAt), Finding: dbconn.EncodeAny(&next.Finding),
		})
		if err == nil && n == 0 {
			return flow.ErrFenced
		}
		if err != nil {
			return fmt.Errorf("store the state of the alarm %s: %w", a.ID, err)
		}
		return addMessages(tx, a, messages)
	})
}

// AddAlarmMessages stores messages that are due, without a change of the state.
func (s *Alarms) AddAlarmMessages(ctx context.Context, a *alarms.Alarm, messages []alarms.Sent) error {
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error { return addMessages(tx, a, messages) })
}

// addMessages stores messages. Those to webhooks are deliveries.
func addMessages(tx *core.Tx, a *alarms.Alarm, list []alarms.Sent) error {
	for i := range list {
		m := &list[i]
		row := gen.InsertAlarmMessageParams{
			ID: m.ID, AlarmID: a.ID, WorkspaceID: a.WorkspaceID, Kind: m.Kind, Channel: m.Channel, Target: dbconn.ValidText(m.Target), Body: string(m.Body),
			CreatedAt: dbconn.Micros(m.CreatedAt), DueAt: dbconn.Micros(m.CreatedAt),
		}
		if m.Channel == alarms.Webhook {
			d, err := tx.Store.DeliveryRow(&flow.Run{WorkspaceID: a.WorkspaceID, FlowID: a.FlowID}, &flow.NewDelivery{Node: flow.AlarmNode(a.ID), URL: m.Target, Body: m.Body})
			if err != nil {
				return err
			}
			if err := tx.AddDelivery(d); err != nil {
				return err
			}
			row.DeliveryID, row.DueAt, row.Body = d.ID, 0, ""
		}
		if err := tx.Queries.InsertAlarmMessage(tx.Ctx, row); err != nil {
			return fmt.Errorf("store a message of the alarm %s: %w", a.ID, err)
		}
	}
	return nil
}

// AlarmSecret returns the secret that signs the webhooks of an alarm, and creates it if necessary.
func (s *Alarms) AlarmSecret(ctx context.Context, a *alarms.Alarm) (secret string, err error) {
	err = s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		row, err := tx.WebhookSecret(flow.WebhookOwner{WorkspaceID: a.WorkspaceID, FlowID: a.FlowID, Node: flow.AlarmNode(a.ID)})
		if err != nil {
			return err
		}
		text, err := s.DB.Unseal(row.Signing, row.WorkspaceID, row.ID, "signing")
		secret = string(text)
		return err
	})
	return secret, err
}

// ListAlarmMessages returns the messages of an alarm, the latest first, below an ID.
func (s *Alarms) ListAlarmMessages(ctx context.Context, alarmID, before string, limit int) ([]alarms.Sent, error) {
	rows, err := s.DB.Reads.ListAlarmMessages(ctx, gen.ListAlarmMessagesParams{AlarmID: alarmID, Before: dbconn.CursorOrEnd(before), MaxRows: int32(limit)})
	return dbconn.ConvertRows(rows, err, func(r gen.ListAlarmMessagesRow) alarms.Sent {
		return sentOf(&gen.AlarmMessage{ID: r.ID, AlarmID: r.AlarmID, Kind: r.Kind, Channel: r.Channel, Target: r.Target, Body: r.Body, State: r.State, Tries: r.Tries, DueAt: r.DueAt,
			Error: r.Error, DeliveryID: r.DeliveryID, RunID: r.RunID, CreatedAt: r.CreatedAt})
	}, "list the messages of an alarm")
}

// DueAlarmMessages returns messages that are due, and when the earliest of the others is.
func (s *Alarms) DueAlarmMessages(ctx context.Context, now time.Time, limit int) (list []alarms.Sent, workspaces []flow.WorkspaceID, next time.Time, err error) {
	next, err = core.ReadRows(ctx, s.DB, "alarm_messages", func(ctx context.Context) (time.Time, error) { return dbconn.Earliest(s.DB.Reads.NextAlarmMessage(ctx)) })
	if err != nil || next.IsZero() || next.After(now) {
		return nil, nil, next, err
	}
	rows, err := core.ReadRows(ctx, s.DB, "alarm_messages", func(ctx context.Context) ([]gen.AlarmMessage, error) {
		return s.DB.Reads.ListDueAlarmMessages(ctx, gen.ListDueAlarmMessagesParams{Now: dbconn.Micros(now), MaxRows: int32(limit)})
	})
	for i := range rows {
		list, workspaces = append(list, sentOf(&rows[i])), append(workspaces, rows[i].WorkspaceID)
	}
	return list, workspaces, next, err
}

// TakeAlarmMessage takes a message for one attempt: no other instance tries before until. It returns ErrFenced if another did.
func (s *Alarms) TakeAlarmMessage(ctx context.Context, m *alarms.Sent, until time.Time) error {
	err := s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		n, err := tx.Queries.TakeAlarmMessage(tx.Ctx, gen.TakeAlarmMessageParams{ID: m.ID, Tries: m.Tries, DueAt: dbconn.Micros(until)})
		if err == nil && n == 0 {
			err = flow.ErrFenced
		}
		return err
	})
	if err == nil {
		m.Tries++
	}
	return err
}

// FinishAlarmMessage stores the result of an attempt.
func (s *Alarms) FinishAlarmMessage(ctx context.Context, m *alarms.Sent) error {
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		return tx.Queries.FinishAlarmMessage(tx.Ctx, gen.FinishAlarmMessageParams{ID: m.ID, Tries: m.Tries, State: m.State, DueAt: dbconn.Micros(m.Due), Error: dbconn.ValidText(m.Error), RunID: m.RunID})
	})
}

// TakeLease reports whether this instance may do some work until a time. Without other instances it always may.
func (s *Alarms) TakeLease(ctx context.Context, name, instance string, until time.Time) (mine bool, err error) {
	if !s.DB.IsPostgres() {
		return true, nil
	}
	err = s.DB.Write(ctx, core.Relaxed, func(tx *core.Tx) error {
		n, err := tx.Queries.TakeLease(tx.Ctx, gen.TakeLeaseParams{Name: name, InstanceID: instance, UntilAt: dbconn.Micros(until), Now: s.DB.NowMicros()})
		mine = n > 0
		return err
	})
	return mine, err
}

func alarmOf(r gen.Alarm) alarms.Alarm {
	a := alarms.Alarm{
		ID: r.ID, WorkspaceID: r.WorkspaceID, FlowID: r.FlowID, Name: r.Name, On: r.IsOn != 0, Reason: r.Reason, WatchedFrom: dbconn.TimeOf(r.WatchedFrom), Rev: r.Rev,
		Source: r.Source, MadeBy: r.MadeBy, CreatedAt: dbconn.TimeOf(r.CreatedAt), ChangedAt: dbconn.TimeOf(r.ChangedAt),
		State: alarms.State{Step: r.Step, FiringSince: dbconn.TimeOf(r.FiringSince), BadAt: dbconn.TimeOf(r.BadAt), CountedTo: dbconn.TimeOf(r.CountedTo), ToldAt: dbconn.TimeOf(r.ToldAt)},
	}
	a.Config, _ = dbconn.Decode[alarms.Config](r.Config) // only this program writes it
	if r.Finding != "" {
		a.Finding, _ = dbconn.Decode[alarms.Finding](r.Finding)
	}
	return a
}

func sentOf(r *gen.AlarmMessage) alarms.Sent {
	return alarms.Sent{
		ID: r.ID, AlarmID: r.AlarmID, Kind: r.Kind, Channel: r.Channel, Target: r.Target, Body: []byte(r.Body), State: r.State, Tries: r.Tries, Due: dbconn.TimeOf(r.DueAt),
		Error: r.Error, DeliveryID: r.DeliveryID, RunID: r.RunID, CreatedAt: dbconn.TimeOf(r.CreatedAt),
	}
}
