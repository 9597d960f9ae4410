package library

import (
	"context"
	"fmt"
	"time"

	"sluice/flow"
	"sluice/flow/hooks"
	"sluice/flow/triggers"
)

// HookStore stores incoming webhooks.
type HookStore interface {
	TriggerStore
	FindCredential(ctx context.Context, ws flow.WorkspaceID, name string) (flow.Credential, error)
	SetHookToken(ctx context.Context, t *triggers.Trigger, oldUntil time.Time) error
	SetCapture(ctx context.Context, t *triggers.Trigger, until time.Time) error
	HookToken(ctx context.Context, ws flow.WorkspaceID, id string) (string, error)
}

// Hooks changes incoming webhooks. Keys with limits or an expiry may not: see Triggers.MayChange.
type Hooks struct {
	Store   HookStore
	Now     func() time.Time
	IDs     flow.IDs
	Compile func(source string, names ...string) error // returns an error for a wrong expression over names
}

// Set creates a webhook of a flow, with a new URL, or replaces the configuration of the one with that name. One that is off stays
// off. The same configuration again changes nothing. Token is set only for a new one.
func (s *Hooks) Set(ctx context.Context, by flow.Actor, caller *flow.Key, f *flow.Flow, name string, c hooks.Config) (t *triggers.Trigger, err error) {
	if err := mayChangeTriggers(caller); err != nil {
		return nil, err
	}
	if err := s.check(ctx, f, name, &c); err != nil {
		return nil, err
	}
	return s.set(ctx, by, f, name, c, "")
}

// set is Set without checks. source is where the webhook was applied from; one that exists keeps its own if that is empty.
func (s *Hooks) set(ctx context.Context, by flow.Actor, f *flow.Flow, name string, c hooks.Config, source string) (t *triggers.Trigger, err error) {
	if err := allCanTrigger(ctx, s.Store); err != nil {
		return nil, err
	}
	t, err = s.Store.FindTrigger(ctx, f.WorkspaceID, f.ID, name)
	if flow.IsNotFound(err) && triggers.ValidName(name) {
		t = &triggers.Trigger{ID: s.IDs.New(flow.PrefixTrigger), WorkspaceID: f.WorkspaceID, FlowID: f.ID, Name: name, Kind: triggers.Hook, On: true, Rev: 1, MadeBy: by.ID, CreatedAt: s.Now(), Source: source}
		t.Hook, t.Token, t.ChangedAt = c, triggers.NewToken(), t.CreatedAt
		return t, recordTrigger(ctx, s.Store, by, t, "trigger.create", c.Verify.Scheme, func(ctx context.Context) error { return s.Store.CreateTrigger(ctx, t) })
	}
	if err == nil && t.Kind != triggers.Hook {
		err = flow.Errorf(flow.CodeInputInvalid, "The trigger %s is not a webhook. Choose another name.", t.Name)
	}
	if err != nil {
		return nil, err
	}
	was := triggers.EntryOf(t)
	if t.Hook, t.ChangedAt = c, s.Now(); source != "" {
		t.Source = source
	}
	if now := triggers.EntryOf(t); t.Unreadable == nil && now.Equal(&was) {
		return t, nil
	}
	return t, recordTrigger(ctx, s.Store, by, t, "trigger.change", c.Verify.Scheme, func(ctx context.Context) error { return s.Store.UpdateTrigger(ctx, t) })
}

// Rotate gives a webhook another URL. The one before works for the overlap too.
func (s *Hooks) Rotate(ctx context.Context, by flow.Actor, caller *flow.Key, t *triggers.Trigger, overlap time.Duration) error {
	if err := mayChangeTriggers(caller); err != nil {
		return err
	}
	var until time.Time
	if overlap > 0 {
		until = s.Now().Add(min(overlap, triggers.LongestOverlap))
	}
	t.Token = triggers.NewToken()
	return recordTrigger(ctx, s.Store, by, t, "trigger.rotate", "overlap "+overlap.String(), func(ctx context.Context) error { return s.Store.SetHookToken(ctx, t, until) })
}

// Reveal returns the secret of a webhook's URL.
func (s *Hooks) Reveal(ctx context.Context, by flow.Actor, t *triggers.Trigger) (token string, err error) {
	err = recordTrigger(ctx, s.Store, by, t, "trigger.reveal", "", func(ctx context.Context) error {
		token, err = s.Store.HookToken(ctx, t.WorkspaceID, t.ID)
		return err
	})
	return token, err
}

// Test returns the secret of a webhook's URL for a test request, which a person sends to it.
func (s *Hooks) Test(ctx context.Context, by flow.Actor, t *triggers.Trigger) (token string, err error) {
	err = recordTrigger(ctx, s.Store, by, t, "trigger.test", "", func(ctx context.Context) error {
		token, err = s.Store.HookToken(ctx, t.WorkspaceID, t.ID)
		return err
	})
	return token, err
}

// Capture makes the log of events keep every request for an hour, or ends that.
func (s *Hooks) Capture(ctx context.Context, by flow.Actor, t *triggers.Trigger, on bool) error {
	t.CaptureUntil = time.Time{}
	if on {
		t.CaptureUntil = s.Now().Add(triggers.CaptureFor)
	}
	return recordTrigger(ctx, s.Store, by, t, "trigger.capture", map[bool]string{true: "on", false: "off"}[on], func(ctx context.Context) error { return s.Store.SetCapture(ctx, t, t.CaptureUntil) })
}

// check checks the name and the settings of a webhook.
func (s *Hooks) check(ctx context.Context, f *flow.Flow, name string, c *hooks.Config) error {
	problems := c.Check(s.Compile)
	if !triggers.ValidName(name) && !flow.ValidID(flow.PrefixTrigger, name) {
		problems = append(problems, flow.Problem{Pointer: "/name", Code: "invalid", Detail: "must have lower-case letters, digits and hyphens, at most 64"})
	}
	missing, err := s.secretProblems(ctx, f.WorkspaceID, c)
	if err != nil {
		return err
	}
	if problems = append(problems, missing...); len(problems) > 0 {
		return &flow.Error{Code: flow.CodeInputInvalid, Message: fmt.Sprintf("The webhook has %s; see errors.", flow.Count(len(problems), "problem")), Fields: problems}
	}
	return nil
}

// secretProblems returns a problem for each credential that a webhook names and that does not exist.
func (s *Hooks) secretProblems(ctx context.Context, ws flow.WorkspaceID, c *hooks.Config) (problems []flow.Problem, err error) {
	names := c.Verify.Secrets
	if c.Verify.Challenge != "" {
		names = append([]string{c.Verify.Challenge}, names...)
	}
	for _, secret := range names {
		_, err := s.Store.FindCredential(ctx, ws, secret)
		if err != nil && !flow.IsNotFound(err) {
			return nil, err
		}
		if err != nil {
			problems = append(problems, flow.Problem{Pointer: "/verify/secrets", Code: "not_found", Detail: fmt.Sprintf("there is no credential %q", secret)})
		}
	}
	return problems, nil
}
