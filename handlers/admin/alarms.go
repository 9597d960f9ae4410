package admin

import (
	"net/http"
	"reflect"

	"sluice/flow"
	"sluice/flow/alarms"
	"sluice/flow/library"
	"sluice/handlers/api"
	"sluice/handlers/api/openapi"
)

// alarmNames maps the Go types of responses to the names of their schemas in the OpenAPI document.
var alarmNames = map[reflect.Type]string{
	reflect.TypeFor[Alarm]():         "Alarm",
	reflect.TypeFor[AlarmList]():     "AlarmList",
	reflect.TypeFor[AlarmMessage]():  "AlarmMessage",
	reflect.TypeFor[AlarmMessages](): "AlarmMessageList",
	reflect.TypeFor[AlarmSecret]():   "AlarmSecret",
}

var alarmParams = map[string]map[string]any{
	"alarm": {"name": "alarm", "in": "path", "required": true, "description": "Name or ID of the alarm.", "schema": schema{"type": "string"}},
}

// alarmRequest is what an alarm is set with.
type alarmRequest struct {
	alarms.Config
	flow string
}

var (
	receiverBody = api.Body[alarms.Receiver]{Of: "a receiver", Unknown: "unknown", Fields: []api.Field[alarms.Receiver]{
		api.Member("webhook", "URL that gets a signed, retried and logged delivery. It may name a credential for its host, such as {{credential:slack}}.", api.TextType, func(r *alarms.Receiver) *string { return &r.Webhook }),
		api.Member("format", "Of a webhook: json, slack or teams. Default: json.", textOf("json", "slack", "teams"), func(r *alarms.Receiver) *string { return &r.Format }),
		api.Member("email", "Address. The operator must have set a mail server.", api.TextType, func(r *alarms.Receiver) *string { return &r.Email }),
		api.Member("flow", "ID or slug of a flow that runs with the inputs message, subject, kind, alarm and flow, as far as it has them.", api.TextType, func(r *alarms.Receiver) *string { return &r.Flow }),
	}}
	receiverType   = api.BodyType(&receiverBody)
	receiversType  = api.Type[[]alarms.Receiver]{Schema: schema{"type": "array", "items": receiverType.Schema, "maxItems": alarms.MaxReceivers}, Read: readReceivers}
	alarmCountType = api.Type[int64]{Schema: schema{"type": "integer", "minimum": 1, "maximum": alarms.MaxRuns}, Wanted: "a whole number", As: func(v any) (int64, bool) { return api.AsWhole(v, 1, alarms.MaxRuns) }}
	alarmFloatType = api.Type[float64]{Schema: schema{"type": "number", "minimum": 0}, Wanted: "a number", As: func(v any) (float64, bool) { return flow.Float(v) }}
)

// alarmBody declares the configuration of an alarm.
var alarmBody = api.Body[alarmRequest]{Name: "SetAlarm", Of: "an alarm", Example: schema{"kind": "failed", "to": []any{schema{"webhook": "https://example.com/alarms"}}}, Fields: []api.Field[alarmRequest]{
	api.SetMember("kind", "failed: runs fail. slow: runs take long. cost: money. silent: no run succeeds. skipped: triggers start nothing. deliveries: receivers of webhooks fail. waiting: questions to people are open. test: a test that a schedule started did not pass.",
		textOf("failed", "slow", "cost", "silent", "skipped", "deliveries", "waiting", "test"), func(r *alarmRequest, v string) { r.Kind = alarms.Kind(v) }).Required("say what the alarm looks for"),
	api.Member("flow", "ID or slug of the flow. Without it the alarm is of the workspace, which needs the scope admin: each flow is looked at on its own, except for cost and silence.", api.TextType, func(r *alarmRequest) *string { return &r.flow }),
	api.Member("count", "failed: failures in a row, by default 1. skipped: events in window, by default 1.", alarmCountType, func(r *alarmRequest) *int64 { return &r.Count }),
	api.Member("percent", "failed: instead of count, the share of failures in window.", alarmCountType, func(r *alarmRequest) *int64 { return &r.Percent }),
	api.Member("least", "failed with percent, and slow: how many runs the window must have. Default: 20.", alarmCountType, func(r *alarmRequest) *int64 { return &r.Least }),
	api.Member("window", "failed with percent, slow, skipped: how far to look back, such as 15m. With slow: 5 % of the runs in the window took longer than over; without: one run takes longer.", api.TextType, func(r *alarmRequest) *string { return &r.Window }),
	api.Member("over", "slow, silent, deliveries, waiting: a duration such as 30s, 15m or 2d.", api.TextType, func(r *alarmRequest) *string { return &r.Over }),
	api.Member("usd", "cost: an amount in dollars.", alarmFloatType, func(r *alarmRequest) *float64 { return &r.USD }),
	api.Member("per", "cost: day or run. Default: day, of UTC.", textOf("day", "run"), func(r *alarmRequest) *string { return &r.Per }),
	api.Member("factor", "cost: instead of usd, a multiple of the mean of the last 7 days.", alarmFloatType, func(r *alarmRequest) *float64 { return &r.Factor }),
	api.Member("clear_after", "How long the condition must not have held before the alarm ends. Default: 5m.", api.TextType, func(r *alarmRequest) *string { return &r.ClearAfter }),
	api.Member("to", "Receivers. Each gets a message when the alarm starts, one a day while it continues, and one when it ends. Without receivers it shows in the dashboard only.", receiversType, func(r *alarmRequest) *[]alarms.Receiver { return &r.To }),
}}

// readReceivers reads the list of receivers.
func readReceivers(v any) (list []alarms.Receiver, problems []flow.Problem) {
	items, ok := v.([]any)
	if !ok {
		return nil, []flow.Problem{{Code: "wrong_type", Detail: "wanted a list, got " + flow.TypeOf(v)}}
	}
	for i, item := range items {
		r, wrong := receiverType.Read(item)
		for _, p := range wrong {
			p.Pointer = flow.Pointer(i) + p.Pointer
			problems = append(problems, p)
		}
		if len(wrong) == 0 {
			list = append(list, *r)
		}
	}
	return list, problems
}

// alarmServer serves the routes of alarms.
type alarmServer struct {
	*Server
	alarms library.Alarms
}

// routes returns the routes of alarms.
func (s alarmServer) routes() api.Extension {
	const list, tag = "/v1/alarms", "Alarms"
	const path = list + "/:alarm"
	reads, edits := []flow.Scope{flow.ScopeRead, flow.ScopeEdit}, []flow.Scope{flow.ScopeEdit}
	changed := []flow.Code{flow.CodeFlowNotAllowed, flow.CodeExceedsKey, flow.CodeStorageFull, flow.CodePreconditionFailed}
	const limited = "webhooks and flows, or of the workspace"
	return api.Extension{Names: alarmNames, Params: alarmParams, Routes: []api.Route{{
		Method: get, Path: list, Scopes: reads, Handle: s.listAlarms, Role: flow.MemberViewer, Commands: []string{"alarm list"},
		Doc: openapi.Operation{ID: "listAlarms", Tag: tag, Summary: "List the alarms of the workspace", Text: "A key with a list of flows sees those of its flows.", Answers: openapi.OK("The alarms, by name.", AlarmList{})},
	}, {
		Method: get, Path: path, Scopes: reads, Handle: s.showAlarm, Role: flow.MemberViewer, Commands: []string{"alarm show"},
		Doc: openapi.Operation{ID: "showAlarm", Tag: tag, Summary: "Show an alarm", Answers: openapi.OK("The alarm.", Alarm{})},
	}, {
		Method: http.MethodPut, Path: path, Scopes: edits, Handle: s.setAlarm, Role: flow.MemberEditor, Audit: []string{"alarm.create", "alarm.change"}, Commands: []string{"alarm set"}, Limited: limited,
		Doc: openapi.Operation{ID: "setAlarm", Tag: tag, Summary: "Create an alarm or replace its configuration",
			Text: "What is left out gets its default. What happened before the change does not count. An alarm that is paused stays paused.",
			Body: alarmBody.Doc(), Problems: append([]flow.Code{flow.CodeInputInvalid, flow.CodeQuotaExceeded, flow.CodeUpgradeInProgress}, changed...), Answers: openapi.OK("The alarm.", Alarm{})},
	}, {
		Method: http.MethodDelete, Path: path, Scopes: edits, Handle: s.deleteAlarm, Role: flow.MemberEditor, Audit: []string{"alarm.delete"}, Commands: []string{"alarm delete"}, Limited: limited,
		Doc: openapi.Operation{ID: "deleteAlarm", Tag: tag, Summary: "Delete an alarm with its messages", Problems: changed, Answers: openapi.NoContent("Deleted.")},
	}, {
		Method: http.MethodPost, Path: path + "/pause", Scopes: edits, Handle: s.switchAlarm(false), Role: flow.MemberEditor, Audit: []string{"alarm.pause"}, Commands: []string{"alarm pause"}, Limited: limited,
		Doc: openapi.Operation{ID: "pauseAlarm", Tag: tag, Summary: "Pause an alarm", Text: "One that fires ends without a message.", Problems: changed, Answers: openapi.OK("The alarm.", Alarm{})},
	}, {
		Method: http.MethodPost, Path: path + "/resume", Scopes: edits, Handle: s.switchAlarm(true), Role: flow.MemberEditor, Audit: []string{"alarm.resume"}, Commands: []string{"alarm resume"}, Limited: limited,
		Doc: openapi.Operation{ID: "resumeAlarm", Tag: tag, Summary: "Resume an alarm", Text: "It watches from now.", Problems: changed, Answers: openapi.OK("The alarm.", Alarm{})},
	}, {
		Method: http.MethodPost, Path: path + "/test", Scopes: edits, Handle: s.testAlarm, Role: flow.MemberEditor, Audit: []string{"alarm.test"}, Commands: []string{"alarm test"}, Limited: limited,
		Doc: openapi.Operation{ID: "testAlarm", Tag: tag, Summary: "Send a test message to each receiver", Problems: append([]flow.Code{flow.CodeInputInvalid, flow.CodeRateLimited}, changed...), Answers: openapi.OK("The messages, which are being sent.", AlarmMessages{})},
	}, {
		Method: get, Path: path + "/messages", Scopes: reads, Handle: s.listMessages, Role: flow.MemberViewer, Commands: []string{"alarm messages"},
		Doc: openapi.Operation{ID: "listAlarmMessages", Tag: tag, Summary: "List the messages of an alarm", Text: "Latest first, of the last 30 days.", Params: []string{"limit", "cursor"}, Problems: []flow.Code{flow.CodeInputInvalid}, Answers: openapi.OK("A page of messages.", AlarmMessages{})},
	}, {
		Method: get, Path: path + "/secret", Scopes: edits, Handle: s.showSecret, Role: flow.MemberEditor, Commands: []string{"alarm secret"}, Limited: limited,
		Doc: openapi.Operation{ID: "showAlarmSecret", Tag: tag, Summary: "Read the secret that signs the webhooks of an alarm", Problems: changed, Answers: openapi.OK("The secret.", AlarmSecret{})},
	}, {
		Method: http.MethodPost, Path: path + "/rotate", Scopes: edits, Handle: s.rotateSecret, Role: flow.MemberEditor, Audit: []string{"alarm.rotate"}, Commands: []string{"alarm secret"}, Limited: limited,
		Doc: openapi.Operation{ID: "rotateAlarmSecret", Tag: tag, Summary: "Replace the secret that signs the webhooks of an alarm", Text: "The old one signs too for overlap_s seconds, so that receivers can switch at any time.",
			Body: rotateAlarmBody.Doc(), Problems: append([]flow.Code{flow.CodeInputInvalid}, changed...), Answers: openapi.OK("The new secret.", AlarmSecret{})},
	}}}
}

// Alarm is the JSON of an alarm.
type Alarm struct {
	ID          string        `json:"id"`
	Name        string        `json:"name"`
	FlowID      *flow.FlowID  `json:"flow_id" doc:"null for all flows."`
	Config      alarms.Config `json:"config" doc:"As it was set. Keys without the scope edit see only the hosts of webhooks."`
	Sentence    string        `json:"sentence" doc:"When it fires, in words."`
	On          bool          `json:"on"`
	Reason      *string       `json:"reason" doc:"Why it is off: paused or archived; otherwise null."`
	FiringSince api.Time      `json:"firing_since" doc:"null while it does not fire."`
	Finding     *string       `json:"finding" doc:"Why it fires."`
	Runs        []flow.RunID  `json:"runs" doc:"Some of the runs that made it fire."`
	CreatedAt   api.Time      `json:"created_at"`
	ChangedAt   api.Time      `json:"changed_at"`
}

// AlarmList is the JSON of the alarms of a workspace.
type AlarmList struct {
	Alarms []Alarm `json:"alarms"`
}

// AlarmMessage is the JSON of a message to one receiver.
type AlarmMessage struct {
	ID         string      `json:"id"`
	Kind       string      `json:"kind" doc:"started, continues, ended or test."`
	Channel    string      `json:"channel" doc:"webhook, email or flow."`
	Target     string      `json:"target"`
	State      string      `json:"state" doc:"pending, sent, delivered or failed."`
	Tries      int64       `json:"tries" doc:"Of webhooks see the delivery."`
	Error      *string     `json:"error"`
	DeliveryID *string     `json:"delivery_id"`
	RunID      *flow.RunID `json:"run_id" doc:"The run of a flow that was started."`
	At         api.Time    `json:"at"`
}

// AlarmMessages is a page of messages.
type AlarmMessages struct {
	Messages   []AlarmMessage `json:"messages"`
	NextCursor *string        `json:"next_cursor"`
}

// AlarmSecret is the JSON of a signing secret.
type AlarmSecret struct {
	Secret string `json:"secret" doc:"Signs as Standard Webhooks define it, like the webhooks of runs."`
}

// alarmObject returns the JSON of an alarm, as a key may see it.
func alarmObject(c *api.Call, a *alarms.Alarm) Alarm {
	o := Alarm{
		ID: a.ID, Name: a.Name, FlowID: orNull(a.FlowID), Config: a.Config, Sentence: a.Config.Sentence(), On: a.On, Reason: orNull(a.Reason), FiringSince: api.Time(a.FiringSince),
		Runs: []flow.RunID{}, CreatedAt: api.Time(a.CreatedAt), ChangedAt: api.Time(a.ChangedAt),
	}
	if !a.FiringSince.IsZero() {
		o.Finding, o.Runs = orNull(a.Finding.Text), append(o.Runs, a.Finding.Runs...)
	}
	if !c.Key.Has(flow.ScopeEdit) {
		o.Config = a.Config.WithoutURLs()
	}
	return o
}

// findAlarm finds the alarm of the path, if the key may see it.
func (s alarmServer) findAlarm(c *api.Call) (*alarms.Alarm, error) {
	a, err := s.Store.FindAlarm(c.Request().Context(), c.Key.WorkspaceID, c.Param("alarm"))
	if err == nil && !s.alarms.MaySee(c.Key, a) {
		err = flow.Errorf(flow.CodeNotFound, "There is no such alarm.")
	}
	return a, err
}

// listAlarms is GET alarms.
func (s alarmServer) listAlarms(c *api.Call) error {
	list, err := s.Store.ListAlarms(c.Request().Context(), c.Key.WorkspaceID)
	if err != nil {
		return err
	}
	o := AlarmList{Alarms: []Alarm{}}
	for i := range list {
		if s.alarms.MaySee(c.Key, &list[i]) {
			o.Alarms = append(o.Alarms, alarmObject(c, &list[i]))
		}
	}
	return c.WriteJSON(http.StatusOK, o)
}

// showAlarm is GET alarms/alarm.
func (s alarmServer) showAlarm(c *api.Call) error {
	a, err := s.findAlarm(c)
	if err != nil {
		return err
	}
	return c.WriteJSON(http.StatusOK, alarmObject(c, a))
}

// setAlarm is PUT alarms/alarm.
func (s alarmServer) setAlarm(c *api.Call) error {
	set, err := alarmBody.ReadFrom(c)
	if err != nil {
		return err
	}
	var r alarmRequest
	set(&r)
	ctx := c.Request().Context()
	var flowID flow.FlowID
	if r.flow != "" {
		if flowID, err = s.alarms.FindFlowID(ctx, c.Key.WorkspaceID, r.flow); err != nil {
			return err
		}
		if flowID == "" || !c.Key.Allows(flowID) {
			return api.Invalid(flow.Problem{Pointer: "/flow", Code: "unknown", Detail: "names no flow that the key may call"})
		}
	}
	a, err := s.alarms.Set(ctx, c.Actor(), c.Key, c.Key.WorkspaceID, c.Param("alarm"), flowID, r.Config)
	if err != nil {
		return err
	}
	return c.WriteJSON(http.StatusOK, alarmObject(c, a))
}

// deleteAlarm is DELETE alarms/alarm.
func (s alarmServer) deleteAlarm(c *api.Call) error {
	a, err := s.findAlarm(c)
	if err != nil {
		return err
	}
	if err := s.alarms.Delete(c.Request().Context(), c.Actor(), c.Key, a); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// switchAlarm returns the handler that pauses or resumes an alarm.
func (s alarmServer) switchAlarm(on bool) func(*api.Call) error {
	return func(c *api.Call) error {
		a, err := s.findAlarm(c)
		if err == nil {
			err = s.alarms.Switch(c.Request().Context(), c.Actor(), c.Key, a, on)
		}
		if err != nil {
			return err
		}
		return c.WriteJSON(http.StatusOK, alarmObject(c, a))
	}
}

// testAlarm is POST alarms/alarm/test.
func (s alarmServer) testAlarm(c *api.Call) error {
	a, err := s.findAlarm(c)
	if err != nil {
		return err
	}
	list, err := s.alarms.Test(c.Request().Context(), c.Actor(), c.Key, a, a.URL(s.publicURL))
	if err != nil {
		return err
	}
	o := AlarmMessages{Messages: []AlarmMessage{}}
	for i := range list {
		list[i].State = alarms.StatePending
		o.Messages = append(o.Messages, messageObject(&list[i]))
	}
	return c.WriteJSON(http.StatusOK, o)
}

// messageObject returns the JSON of a message.
func messageObject(m *alarms.Sent) AlarmMessage {
	target := m.Target
	if m.Channel == alarms.Webhook {
		target = alarms.ShownURL(target)
	}
	return AlarmMessage{m.ID, m.Kind, m.Channel, target, m.State, m.Tries, orNull(m.Error), orNull(m.DeliveryID), orNull(m.RunID), api.Time(m.CreatedAt)}
}

// listMessages is GET alarms/alarm/messages.
func (s alarmServer) listMessages(c *api.Call) error {
	a, err := s.findAlarm(c)
	if err != nil {
		return err
	}
	before, limit, err := c.QueryPage(flow.PrefixMessage)
	if err != nil {
		return err
	}
	list, err := s.Store.ListAlarmMessages(c.Request().Context(), a.ID, before, limit+1)
	if err != nil {
		return err
	}
	o := AlarmMessages{Messages: []AlarmMessage{}}
	list, o.NextCursor = api.Page(list, limit, func(m *alarms.Sent) string { return m.ID })
	for i := range list {
		o.Messages = append(o.Messages, messageObject(&list[i]))
	}
	return c.WriteJSON(http.StatusOK, o)
}

// showSecret is GET alarms/alarm/secret.
func (s alarmServer) showSecret(c *api.Call) error {
	a, err := s.findAlarm(c)
	if err != nil {
		return err
	}
	secret, err := s.alarms.Secret(c.Request().Context(), c.Key, a)
	if err != nil {
		return err
	}
	return c.WriteJSON(http.StatusOK, AlarmSecret{secret})
}

// rotateAlarmBody declares the body of a rotation.
var rotateAlarmBody = rotationBody("RotateAlarmSecret", "Seconds for which the old secret signs too.", flow.LongestOverlap)

// rotateSecret is POST alarms/alarm/rotate.
func (s alarmServer) rotateSecret(c *api.Call) error {
	a, err := s.findAlarm(c)
	if err != nil {
		return err
	}
	overlap, err := readOverlap(c, &rotateAlarmBody)
	if err != nil {
		return err
	}
	secret, err := s.alarms.RotateSecret(c.Request().Context(), c.Actor(), c.Key, a, overlap)
	if err != nil {
		return err
	}
	return c.WriteJSON(http.StatusOK, AlarmSecret{secret})
}
