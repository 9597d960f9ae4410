package db

import (
	"context"
	"fmt"
	"time"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
	"sluice/flow/hooks"
	"sluice/flow/triggers"
)

// sealToken encrypts the secret of a trigger's URL. Of a trigger without one it returns an empty value.
func (s *Triggers) sealToken(t *triggers.Trigger) ([]byte, error) {
	if t.Token == "" {
		return []byte{}, nil
	}
	return s.DB.Seal([]byte(t.Token), t.WorkspaceID, t.ID, "token")
}

// settingsOf decodes the configuration of a trigger by its kind.
func settingsOf(r *gen.Trigger) (state triggers.HookState, config triggers.Config, err error) {
	if triggers.Kind(r.Kind) != triggers.Hook {
		config, err = dbconn.Decode[triggers.Config](r.Config)
		return state, config, err
	}
	state.Hook, err = dbconn.Decode[hooks.Config](r.Config)
	state.OldUntil, state.CaptureUntil = dbconn.TimeOf(r.OldUntil), dbconn.TimeOf(r.CaptureUntil)
	return state, config, err
}

// FindHook returns the trigger, of any workspace, whose URL has a token or had it before, and the hash of the live version of its
// flow. The hash is empty if the flow is archived or has no live version.
func (s *Triggers) FindHook(ctx context.Context, token string) (t *triggers.Trigger, liveHash string, err error) {
	hash := triggers.TokenHash(token)
	r, err := s.DB.Reads.FindTriggerByToken(ctx, hash)
	if dbconn.IsNoRows(err) {
		var old gen.FindTriggerByOldTokenRow
		old, err = s.DB.Reads.FindTriggerByOldToken(ctx, gen.FindTriggerByOldTokenParams{OldHash: hash, Now: s.DB.NowMicros()})
		r = gen.FindTriggerByTokenRow(old)
	}
	t, err = dbconn.ConvertRow(r.Trigger, err, "trigger", triggerOf)
	return t, r.LiveHash, err
}

// HookToken returns the secret of a trigger's URL, or "" if it has none.
func (s *Triggers) HookToken(ctx context.Context, ws flow.WorkspaceID, id string) (string, error) {
	r, err := s.DB.Reads.FindTrigger(ctx, gen.FindTriggerParams{ID: id, WorkspaceID: ws})
	if err != nil || len(r.Sealed) == 0 {
		return "", dbconn.NotFoundErr(err, "trigger")
	}
	text, err := s.DB.Unseal(r.Sealed, ws, id, "token")
	return string(text), err
}

// SetHookToken gives a trigger another secret of its URL, which it has. The one before works until a time; zero ends it.
func (s *Triggers) SetHookToken(ctx context.Context, t *triggers.Trigger, oldUntil time.Time) error {
	sealed, err := s.sealToken(t)
	if err != nil {
		return err
	}
	err = s.DB.Update(ctx, "trigger", func(tx *core.Tx) (int64, error) {
		return tx.Queries.SetTriggerToken(tx.Ctx, gen.SetTriggerTokenParams{
			ID: t.ID, WorkspaceID: t.WorkspaceID, Sealed: sealed, TokenHash: triggers.TokenHash(t.Token), OldUntil: dbconn.Micros(oldUntil), ChangedAt: s.DB.NowMicros(),
		})
	})
	if err == nil {
		t.Rev++
	}
	return err
}

// SetCapture makes the log of events keep every request until a time; zero ends it.
func (s *Triggers) SetCapture(ctx context.Context, t *triggers.Trigger, until time.Time) error {
	return s.DB.Update(ctx, "trigger", func(tx *core.Tx) (int64, error) {
		return tx.Queries.SetCapture(tx.Ctx, gen.SetCaptureParams{ID: t.ID, WorkspaceID: t.WorkspaceID, CaptureUntil: dbconn.Micros(until)})
	})
}

// TakeTriggerRun counts one more run of the day and reports whether the trigger may start it.
func (s *Triggers) TakeTriggerRun(ctx context.Context, id string, day, most int64) (taken bool, err error) {
	err = s.DB.Write(ctx, core.Relaxed, func(tx *core.Tx) error {
		n, err := tx.Queries.TakeTriggerRun(tx.Ctx, gen.TakeTriggerRunParams{ID: id, Day: day, Most: most})
		taken = n == 1
		return err
	})
	return taken, err
}

// ReturnTriggerRun reverts TakeTriggerRun for a run that was not started.
func (s *Triggers) ReturnTriggerRun(ctx context.Context, id string, day int64) error {
	return s.DB.Write(ctx, core.Relaxed, func(tx *core.Tx) error {
		return tx.Queries.ReturnTriggerRun(tx.Ctx, gen.ReturnTriggerRunParams{ID: id, Day: day})
	})
}

// SaveHookEvent records a request that started nothing. An earlier one of the same key that started nothing is replaced. It returns
// CodeStorageFull or CodeQuotaExceeded if the workspace has no space left for the request.
func (s *Triggers) SaveHookEvent(ctx context.Context, e *triggers.Event) error {
	return s.DB.Write(ctx, core.Relaxed, func(tx *core.Tx) error {
		before, err := tx.Queries.FindRequestBytes(tx.Ctx, gen.FindRequestBytesParams{TriggerID: e.TriggerID, EventKey: e.Key})
		if err != nil && !dbconn.IsNoRows(err) {
			return fmt.Errorf("find an event of %s: %w", e.TriggerID, err)
		}
		saved, err := tx.Queries.SaveHookEvent(tx.Ctx, gen.SaveHookEventParams{
			TriggerID: e.TriggerID, EventKey: e.Key, WorkspaceID: e.WorkspaceID, FlowID: e.FlowID, Position: s.DB.IDs().New(flow.PrefixEvent), CreatedAt: s.DB.NowMicros(),
			State: string(e.State), Code: string(e.Code), Detail: dbconn.ValidText(e.Detail), Request: dbconn.ValidText(e.Request), RequestBytes: int64(len(e.Request)),
		})
		if err != nil {
			return fmt.Errorf("save an event of %s: %w", e.TriggerID, err)
		}
		if saved == 0 || int64(len(e.Request)) == before {
			return nil
		}
		return tx.TrackWithinQuota(e.WorkspaceID, flow.Storage{Bytes: int64(len(e.Request)) - before})
	})
}

// CountRepeat counts that an event which started a run was sent again.
func (s *Triggers) CountRepeat(ctx context.Context, id, key string) error {
	return s.DB.Write(ctx, core.Relaxed, func(tx *core.Tx) error {
		_, err := tx.Queries.CountRepeat(tx.Ctx, gen.CountRepeatParams{TriggerID: id, EventKey: key})
		return err
	})
}

// RequestBytes returns how many bytes of requests the log of a trigger keeps.
func (s *Triggers) RequestBytes(ctx context.Context, id string) (int64, error) {
	return s.DB.Reads.SumRequestBytes(ctx, id)
}
