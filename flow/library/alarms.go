package library

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/alarms"
	"sluice/flow/document"
)

// AlarmStore stores alarms.
type AlarmStore interface {
	companionRows
	featureStore
	alarmLister
	FindAlarm(ctx context.Context, ws flow.WorkspaceID, id string) (*alarms.Alarm, error)
	CreateAlarm(ctx context.Context, a *alarms.Alarm) error
	UpdateAlarm(ctx context.Context, a *alarms.Alarm) error
	DeleteAlarm(ctx context.Context, ws flow.WorkspaceID, id string) error
	SetAlarmSource(ctx context.Context, ws flow.WorkspaceID, id, source string) error
	AddAlarmMessages(ctx context.Context, a *alarms.Alarm, messages []alarms.Sent) error
	AlarmSecret(ctx context.Context, a *alarms.Alarm) (string, error)
	RotateWebhookSecret(ctx context.Context, o flow.WebhookOwner, overlap time.Duration) (secret string, err error)
	ListAlarmMessages(ctx context.Context, alarmID, before string, limit int) ([]alarms.Sent, error)
	FindFlowID(ctx context.Context, ws flow.WorkspaceID, slug string) (flow.FlowID, error)
	ListMembers(ctx context.Context, ws flow.WorkspaceID) ([]flow.Member, error)
	// MailsMembersOnly reports whether alarms of a workspace, which anyone may create, send mail only to its members.
	MailsMembersOnly(ws flow.WorkspaceID) bool
}

// alarmLister lists the alarms of a workspace, and finds their flows. In a transaction it sees what that wrote.
type alarmLister interface {
	ListAlarms(ctx context.Context, ws flow.WorkspaceID) ([]alarms.Alarm, error)
	FindFlow(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID) (*flow.Flow, error)
}

// Alarms changes alarms.
type Alarms struct {
	Store AlarmStore
	IDs   flow.IDs
	Now   func() time.Time
	Mails bool // the operator set a mail server
}

// MaySee reports whether a key may see an alarm: one with a list of flows only those of these flows. caller is nil for people.
func (s *Alarms) MaySee(caller *flow.Key, a *alarms.Alarm) bool {
	return caller == nil || len(caller.Flows) == 0 || a.FlowID != "" && caller.Allows(a.FlowID)
}

// mayChangeAlarm returns an error for a key that may not change an alarm of a flow, or of a workspace with an empty flow.
func mayChangeAlarm(caller *flow.Key, flowID flow.FlowID, spends bool) error {
	switch {
	case caller == nil:
		return nil
	case flowID == "" && len(caller.Flows) > 0:
		return flow.Errorf(flow.CodeFlowNotAllowed, "The key in the request is for some flows, so it may not change alarms of the workspace.")
	case flowID != "" && !caller.Allows(flowID):
		return flow.Errorf(flow.CodeFlowNotAllowed, "The key in the request may not call this flow.")
	case flowID == "" && !caller.Has(flow.ScopeAdmin):
		return flow.Errorf(flow.CodeExceedsKey, "An alarm of the workspace needs a key with the scope admin. Name a flow, or use another key.")
	case flowID == "" || spends:
		if err := mayChangeTriggers(caller); err != nil {
			return flow.Errorf(flow.CodeExceedsKey, "The key in the request, or a key that made it, has limits or expires, so it may only change alarms of flows that send mail. Use a key without limits.")
		}
	}
	return nil
}

// Set creates an alarm or replaces the configuration of the one with that name. An alarm that is off stays off. The same configuration again
// changes nothing; with any other the alarm starts again.
func (s *Alarms) Set(ctx context.Context, by flow.Actor, caller *flow.Key, ws flow.WorkspaceID, name string, flowID flow.FlowID, c alarms.Config) (*alarms.Alarm, error) {
	return s.set(ctx, by, caller, ws, name, flowID, c, "")
}

// set is Set with where the alarm was applied from; one that exists keeps its own if that is empty.
func (s *Alarms) set(ctx context.Context, by flow.Actor, caller *flow.Key, ws flow.WorkspaceID, name string, flowID flow.FlowID, c alarms.Config, source string) (*alarms.Alarm, error) {
	if err := allCanScheduleTests(ctx, s.Store, c.Kind == alarms.FailedTest); err != nil { // it would look for runs that fail
		return nil, err
	}
	problems, err := s.check(ctx, ws, flowID, &c)
	if err == nil && len(problems) > 0 {
		err = &flow.Error{Code: flow.CodeInputInvalid, Message: fmt.Sprintf("The alarm has %s: %s %s.", flow.Count(len(problems), "problem"), strings.TrimPrefix(problems[0].Pointer, "/"), problems[0].Detail), Fields: problems}
	}
	if err == nil {
		err = mayChangeAlarm(caller, flowID, c.Spends())
	}
	if err != nil {
		return nil, err
	}
	a, err := s.Store.FindAlarm(ctx, ws, name)
	if flow.IsNotFound(err) && !alarms.ValidName(name) {
		return nil, flow.Errorf(flow.CodeNotFound, "There is no such alarm. The name of a new one has lower-case letters, digits and hyphens.")
	}
	if flow.IsNotFound(err) {
		a = &alarms.Alarm{ID: s.IDs.New(flow.PrefixAlarm), WorkspaceID: ws, FlowID: flowID, Name: name, Config: c, On: true, Rev: 1, Source: source, MadeBy: by.ID, CreatedAt: s.Now(), ChangedAt: s.Now()}
		return a, s.record(ctx, by, a, "alarm.create", func(ctx context.Context) error { return s.Store.CreateAlarm(ctx, a) })
	}
	if err != nil {
		return nil, err
	}
	if err := s.mayChange(caller, a); err != nil {
		return nil, err
	}
	if same := (alarms.Entry{Config: c}); a.FlowID == flowID && same.Equal(&alarms.Entry{Config: a.Config}) {
		return a, nil
	}
	a.FlowID, a.Config, a.ChangedAt = flowID, c, s.Now()
	if source != "" {
		a.Source = source
	}
	return a, s.record(ctx, by, a, "alarm.change", func(ctx context.Context) error { return s.Store.UpdateAlarm(ctx, a) })
}

// mayChange returns an error for a key that may not see or change an alarm as it is.
func (s *Alarms) mayChange(caller *flow.Key, a *alarms.Alarm) error {
	if !s.MaySee(caller, a) {
		return flow.Errorf(flow.CodeFlowNotAllowed, "The alarm with this name is not one of the flows of the key in the request.")
	}
	return mayChangeAlarm(caller, a.FlowID, a.Config.Spends())
}

// check returns all problems of a configuration.
func (s *Alarms) check(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, c *alarms.Config) ([]flow.Problem, error) {
	problems := c.Check()
	fail := func(detail string, path ...any) {
		problems = append(problems, flow.Problem{Pointer: flow.Pointer(path...), Code: "invalid", Detail: detail})
	}
	for i := range c.To {
		r := &c.To[i]
		switch {
		case r.Email != "" && !s.Mails:
			fail("needs a mail server, which the operator sets with SLUICE_SMTP_URL", "to", i, "email")
		case r.Email != "" && s.Store.MailsMembersOnly(ws):
			members, err := s.Store.ListMembers(ctx, ws)
			if err != nil {
				return nil, err
			}
			if !slices.ContainsFunc(members, func(m flow.Member) bool { return strings.EqualFold(m.Email, r.Email) }) {
				fail("must be the address of a member: on this server, alarms write only to members", "to", i, "email")
			}
		case r.Webhook != "":
			if u, err := url.Parse(flow.WithSampleSecrets(r.Webhook)); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil {
				fail("must be a URL such as https://example.com/alarms, without a password", "to", i, "webhook")
			}
		case r.Flow != "":
			id, err := s.FindFlowID(ctx, ws, r.Flow)
			if err != nil {
				return nil, err
			}
			if id == "" {
				fail("names no flow of the workspace", "to", i, "flow")
			} else if id == flowID {
				fail("is the flow that the alarm is of; choose another", "to", i, "flow")
			}
		}
	}
	return problems, nil
}

// FindFlowID returns the ID of a flow that is named by slug or ID and not archived, or "".
func (s *Alarms) FindFlowID(ctx context.Context, ws flow.WorkspaceID, name string) (flow.FlowID, error) {
	id := flow.FlowID(name)
	var err error
	if !flow.ValidID(flow.PrefixFlow, name) {
		id, err = s.Store.FindFlowID(ctx, ws, name)
	}
	var f *flow.Flow
	if err == nil {
		f, err = s.Store.FindFlow(ctx, ws, id)
	}
	if flow.IsNotFound(err) || err == nil && !f.ArchivedAt.IsZero() {
		return "", nil
	}
	return id, err
}

// record performs an act on an alarm that changes the file of the workspace's alarms, and makes a revision of that.
func (s *Alarms) record(ctx context.Context, by flow.Actor, a *alarms.Alarm, action string, act func(ctx context.Context) error) error {
	e := entry(a.WorkspaceID, action, a.Name, a.Config.Sentence())
	read := func(ctx context.Context) (any, error) { return readAlarms(ctx, s.Store, a.WorkspaceID) }
	return recordCompanion(ctx, s.Store, FindCompanion(alarmsFile), CompanionOwner{WorkspaceID: a.WorkspaceID}, by, e, read, act)
}

// Switch pauses an alarm or resumes it: it then watches from now. One that is in that state already stays as it is. A pause ends an
// alarm that fires without a message.
func (s *Alarms) Switch(ctx context.Context, by flow.Actor, caller *flow.Key, a *alarms.Alarm, on bool) error {
	if err := s.mayChange(caller, a); err != nil {
		return err
	}
	if a.On == on {
		return nil
	}
	action := "alarm.resume"
	if a.On, a.Reason, a.ChangedAt = on, "", s.Now(); !on {
		action, a.Reason = "alarm.pause", alarms.ReasonPaused
	}
	return record(ctx, s.Store, by, entry(a.WorkspaceID, action, a.Name, ""), func(ctx context.Context) error { return s.Store.UpdateAlarm(ctx, a) })
}

// Delete deletes an alarm with its messages.
func (s *Alarms) Delete(ctx context.Context, by flow.Actor, caller *flow.Key, a *alarms.Alarm) error {
	if err := s.mayChange(caller, a); err != nil {
		return err
	}
	return s.record(ctx, by, a, "alarm.delete", func(ctx context.Context) error { return s.Store.DeleteAlarm(ctx, a.WorkspaceID, a.ID) })
}

// testGap is how long after a test the next one may follow.
const testGap = 10 * time.Second

// Test sends a message to each receiver of an alarm, and returns the messages.
func (s *Alarms) Test(ctx context.Context, by flow.Actor, caller *flow.Key, a *alarms.Alarm, url string) ([]alarms.Sent, error) {
	if err := s.mayChange(caller, a); err != nil {
		return nil, err
	}
	if len(a.Config.To) == 0 {
		return nil, flow.Errorf(flow.CodeInputInvalid, "The alarm has no receivers. Add one, then test it.")
	}
	now := s.Now()
	last, err := s.Store.ListAlarmMessages(ctx, a.ID, "", 1)
	if err != nil {
		return nil, err
	}
	if len(last) > 0 && last[0].Kind == alarms.Test && now.Sub(last[0].CreatedAt) < testGap {
		e := flow.Errorf(flow.CodeRateLimited, "The alarm was tested a moment ago. Look at its messages, and test it again in 10 seconds.")
		e.After = testGap
		return nil, e
	}
	slug := ""
	if a.FlowID != "" {
		f, err := s.Store.FindFlow(ctx, a.WorkspaceID, a.FlowID)
		if err != nil {
			return nil, err
		}
		slug = f.Slug
	}
	messages := a.Messages(s.IDs, a.NewMessage(alarms.Test, &a.State, slug, url, now))
	return messages, record(ctx, s.Store, by, entry(a.WorkspaceID, "alarm.test", a.Name, ""), func(ctx context.Context) error {
		return s.Store.AddAlarmMessages(ctx, a, messages)
	})
}

// Secret returns the secret that signs the webhooks of an alarm.
func (s *Alarms) Secret(ctx context.Context, caller *flow.Key, a *alarms.Alarm) (string, error) {
	if err := s.mayChange(caller, a); err != nil {
		return "", err
	}
	return s.Store.AlarmSecret(ctx, a)
}

// RotateSecret replaces the secret that signs the webhooks of an alarm. The old one signs too for the overlap.
func (s *Alarms) RotateSecret(ctx context.Context, by flow.Actor, caller *flow.Key, a *alarms.Alarm, overlap time.Duration) (secret string, err error) {
	if err := s.mayChange(caller, a); err != nil {
		return "", err
	}
	owner := flow.WebhookOwner{WorkspaceID: a.WorkspaceID, FlowID: a.FlowID, Node: flow.AlarmNode(a.ID)}
	err = record(ctx, s.Store, by, entry(a.WorkspaceID, "alarm.rotate", a.Name, "overlap "+overlap.String()), func(ctx context.Context) error {
		secret, err = s.Store.RotateWebhookSecret(ctx, owner, overlap)
		return err
	})
	if errors.Is(err, &flow.Error{Code: document.CodeEditsMissed}) {
		return "", flow.Errorf(flow.CodeInputInvalid, "Another request is replacing this secret. Read the secret and try again.")
	}
	return secret, err
}
