package admin

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"

	"sluice/flow"
	"sluice/flow/hooks"
	"sluice/flow/triggers"
	"sluice/handlers/api"
	"sluice/handlers/api/openapi"
)

// hookNames maps the Go types of responses to the names of their schemas in the OpenAPI document.
var hookNames = map[reflect.Type]string{reflect.TypeFor[Hook](): "Hook", reflect.TypeFor[HookRequest](): "HookRequest", reflect.TypeFor[HookRequests](): "HookRequestList",
	reflect.TypeFor[triggers.Received](): "ReceivedRequest", reflect.TypeFor[hooks.Config](): "HookConfig", reflect.TypeFor[hooks.Verify](): "HookVerify", reflect.TypeFor[hooks.Response](): "HookResponse"}

// hookParams are the parameters that routes name in their Params.
var hookParams = map[string]map[string]any{
	"hook": {"name": "hook", "in": "path", "required": true, "description": "Name or ID of the webhook.", "schema": schema{"type": "string"}},
}

// Hook is the JSON of an incoming webhook.
type Hook struct {
	ID           string       `json:"id"`
	FlowID       flow.FlowID  `json:"flow_id"`
	Name         string       `json:"name" doc:"Unique among the triggers of the flow."`
	On           bool         `json:"on"`
	Reason       *string      `json:"reason" doc:"Why it is off; otherwise null."`
	Config       *flow.Object `json:"config" doc:"As it was set."`
	URL          *string      `json:"url" doc:"Where its sender sends requests."`
	OldUntil     api.Time     `json:"old_until" doc:"Until then, the URL before the present one works too; null if it does not."`
	CaptureUntil api.Time     `json:"capture_until" doc:"Until then, every request is kept; null if they are not."`
	CreatedAt    api.Time     `json:"created_at"`
}

// HookRequest is the JSON of a request to a webhook.
type HookRequest struct {
	Key     string             `json:"key" doc:"The sender's ID of the event."`
	State   triggers.State     `json:"state" doc:"started, ignored or rejected."`
	RunID   *flow.RunID        `json:"run_id"`
	Code    *flow.Code         `json:"code"`
	Detail  string             `json:"detail" doc:"Why no run was started."`
	Repeats int64              `json:"repeats" doc:"How often the sender sent it again."`
	Request *triggers.Received `json:"request" doc:"Of rejected and captured requests: what was received, without headers that may hold secrets."`
	At      api.Time           `json:"at"`
}

// HookRequests is the JSON of the newest requests to a webhook.
type HookRequests struct {
	Requests []HookRequest `json:"requests"`
}

// settingsType returns the type of objects that are settings of a Go type.
func settingsType[V any](wanted string) api.Type[V] {
	return api.Type[V]{Schema: schema{"type": "object"}, Wanted: wanted, As: func(v any) (of V, ok bool) {
		d := json.NewDecoder(strings.NewReader(string(flow.EncodeJSON(v))))
		d.DisallowUnknownFields()
		return of, d.Decode(&of) == nil
	}}
}

var (
	waitType  = api.Type[int64]{Schema: schema{"type": "integer", "minimum": 1, "maximum": hooks.MaxWait}, Wanted: "a whole number from 1 to 60", As: func(v any) (int64, bool) { return api.AsWhole(v, 1, hooks.MaxWait) }}
	bytesType = api.Type[int64]{Schema: schema{"type": "integer", "minimum": 1, "maximum": hooks.MaxBody}, Wanted: "a whole number from 1 to 33554432", As: func(v any) (int64, bool) { return api.AsWhole(v, 1, hooks.MaxBody) }}
	rateType  = api.Type[*int64]{Schema: schema{"type": "integer", "minimum": 0}, Wanted: "a whole number; 0 is unlimited", As: func(v any) (*int64, bool) { n, ok := api.AsWhole(v, 0, 1e7); return &n, ok }}
)

// hookBody declares the body of a webhook.
var hookBody = api.Body[hooks.Config]{Name: "SetHook", Of: "a webhook", Example: schema{"verify": schema{"scheme": "github", "secrets": []any{"github-hook"}}},
	Fields: []api.Field[hooks.Config]{
		api.Member("verify", "How requests are checked: scheme, secrets (names of at most two credentials) and, for hmac and token, what the service does.", settingsType[hooks.Verify]("an object such as {\"scheme\": \"github\", \"secrets\": [\"github-hook\"]}"),
			func(c *hooks.Config) *hooks.Verify { return &c.Verify }).Required("Set its scheme, such as github or none."),
		api.Member("when", "Expression over body, headers, query and method. A request for which it is false starts nothing.", api.TextType, func(c *hooks.Config) *string { return &c.When }),
		api.Member("inputs", "Values by input, or expressions as {\"cel\": \"body.issue.title\"}. Without any, members of the body by name.", api.ObjectType, func(c *hooks.Config) **flow.Object { return &c.Inputs }),
		api.Member("once", "What makes two events the same: body, never, or an expression. Default: the ID that the scheme has.", api.TextType, func(c *hooks.Config) *string { return &c.Once }),
		api.Member("reply", "accepted (default), or outputs: wait for the outputs of the response.", api.TextType, func(c *hooks.Config) *string { return &c.Reply }),
		api.Member("wait_s", "Seconds that a reply waits for outputs. Default: 10.", waitType, func(c *hooks.Config) *int64 { return &c.WaitS }),
		api.Member("on_late", "Reply when the outputs are late: accepted (default) or timeout.", api.TextType, func(c *hooks.Config) *string { return &c.OnLate }),
		api.Member("response", "Outputs with the body and the status of the response, and its media type.", settingsType[*hooks.Response]("an object such as {\"body\": \"twiml\", \"type\": \"text/xml\"}"), func(c *hooks.Config) **hooks.Response { return &c.Response }),
		api.Member("max_body", "Bytes of a body, at most. Default: 1 MiB.", bytesType, func(c *hooks.Config) *int64 { return &c.MaxBody }),
		api.Member("per_minute", "Requests a minute. Default: 600.", rateType, func(c *hooks.Config) **int64 { return &c.PerMinute }),
		api.Member("per_day", "Runs a day. Default: unlimited, or 1000 without verification.", rateType, func(c *hooks.Config) **int64 { return &c.PerDay }),
	}}

// captureBody declares the body of POST capture.
var captureBody = api.Body[bool]{Name: "CaptureRequests", Of: "a capture", Example: schema{"on": true}, Fields: []api.Field[bool]{
	api.Member("on", "Keep every request for an hour, or stop.", api.BoolType, func(on *bool) *bool { return on }).Required("Set it to true or false."),
}}

// rotateHookBody declares the body of a rotation.
var rotateHookBody = rotationBody("RotateHook", "Seconds for which the old URL works too.", triggers.LongestOverlap)

// hookRoutes returns the routes of incoming webhooks.
func (s *Server) hookRoutes() api.Extension {
	const path, tag, limited = "/v1/flow/:flow_id/hooks/:hook", "Triggers", "no"
	edit := []flow.Scope{flow.ScopeEdit}
	change := []flow.Code{flow.CodeInputInvalid, flow.CodeExceedsKey, flow.CodeStorageFull}
	return api.Extension{Names: hookNames, Params: hookParams, Routes: []api.Route{{
		Method: http.MethodPut, Path: path, Scopes: edit, Handle: s.setHook, Tool: "set_webhook", Role: flow.MemberEditor, Audit: []string{"trigger.create", "trigger.change"}, Limited: limited,
		Doc: openapi.Operation{ID: "setHook", Tag: tag, Summary: "Create an incoming webhook or replace its configuration", Body: hookBody.Doc(), Problems: append([]flow.Code{flow.CodeQuotaExceeded, flow.CodePreconditionFailed}, change...),
			Text: "What is left out gets its default. The URL stays. A key with limits or an expiry may not change triggers.", Answers: openapi.OK("The webhook.", Hook{})},
	}, {
		Method: get, Path: path, Scopes: edit, Handle: s.showHook, Commands: []string{"trigger url"}, Role: flow.MemberEditor, Audit: []string{"trigger.reveal"},
		Doc: openapi.Operation{ID: "showHook", Tag: tag, Summary: "Show an incoming webhook with its URL", Answers: openapi.OK("The webhook.", Hook{})},
	}, {
		Method: get, Path: path + "/requests", Scopes: edit, Handle: s.listRequests, Role: flow.MemberEditor,
		Doc: openapi.Operation{ID: "listHookRequests", Tag: tag, Summary: "List the newest requests to an incoming webhook", Answers: openapi.OK("At most 100 requests, newest first.", HookRequests{})},
	}, {
		Method: http.MethodPost, Path: path + "/rotate", Scopes: edit, Handle: s.rotateHook, Commands: []string{"trigger rotate"}, Role: flow.MemberEditor, Audit: []string{"trigger.rotate"}, Limited: limited,
		Doc: openapi.Operation{ID: "rotateHook", Tag: tag, Summary: "Give an incoming webhook another URL", Text: "The old one works too for overlap_s seconds.", Body: rotateHookBody.Doc(), Problems: change, Answers: openapi.OK("The webhook with its new URL.", Hook{})},
	}, {
		Method: http.MethodPost, Path: path + "/capture", Scopes: edit, Handle: s.captureRequests, Role: flow.MemberEditor, Audit: []string{"trigger.capture"},
		Doc: openapi.Operation{ID: "captureHook", Tag: tag, Summary: "Keep every request to an incoming webhook for an hour", Body: captureBody.Doc(), Problems: change, Answers: openapi.OK("The webhook.", Hook{})},
	}}}
}

// findHook finds the webhook of the path.
func (s *Server) findHook(c *api.Call) (*triggers.Trigger, error) {
	f, err := c.FindFlow()
	if err != nil {
		return nil, err
	}
	t, err := s.Store.FindTrigger(c.Request().Context(), f.WorkspaceID, f.ID, c.Param("hook"))
	if err == nil && t.Kind != triggers.Hook {
		err = flow.Errorf(flow.CodeNotFound, "The flow has no such webhook.")
	}
	return t, err
}

// writeHook responds with a webhook.
func (s *Server) writeHook(c *api.Call, t *triggers.Trigger, token string) error {
	config, err := flow.DecodeJSON(flow.EncodeJSON(&t.Hook))
	if err != nil {
		return err
	}
	settings, _ := flow.AsObject(config)
	url := s.publicURL + triggers.HookPath(token)
	return c.WriteJSON(http.StatusOK, Hook{ID: t.ID, FlowID: t.FlowID, Name: t.Name, On: t.On, Reason: orNull(t.Reason), Config: settings, URL: &url,
		OldUntil: api.Time(t.OldUntil), CaptureUntil: api.Time(t.CaptureUntil), CreatedAt: api.Time(t.CreatedAt)})
}

// writeStored responds with a webhook as it is stored.
func (s *Server) writeStored(c *api.Call, t *triggers.Trigger) error {
	token, err := s.Store.HookToken(c.Request().Context(), t.WorkspaceID, t.ID)
	if err != nil {
		return err
	}
	return s.writeHook(c, t, token)
}

// setHook is PUT flow/hooks/hook.
func (s *Server) setHook(c *api.Call) error {
	f, err := c.FindFlow()
	if err != nil {
		return err
	}
	set, err := hookBody.ReadFrom(c)
	if err != nil {
		return err
	}
	var config hooks.Config
	set(&config)
	t, err := s.hooks.Set(c.Request().Context(), c.Actor(), c.Key, f, c.Param("hook"), config)
	if err != nil {
		return err
	}
	return s.writeStored(c, t)
}

// showHook is GET flow/hooks/hook.
func (s *Server) showHook(c *api.Call) error {
	t, err := s.findHook(c)
	if err != nil {
		return err
	}
	token, err := s.hooks.Reveal(c.Request().Context(), c.Actor(), t)
	if err != nil {
		return err
	}
	return s.writeHook(c, t, token)
}

// rotateHook is POST flow/hooks/hook/rotate.
func (s *Server) rotateHook(c *api.Call) error {
	t, err := s.findHook(c)
	if err != nil {
		return err
	}
	overlap, err := readOverlap(c, &rotateHookBody)
	if err != nil {
		return err
	}
	if err := s.hooks.Rotate(c.Request().Context(), c.Actor(), c.Key, t, overlap); err != nil {
		return err
	}
	return s.writeHook(c, t, t.Token)
}

// captureRequests is POST flow/hooks/hook/capture.
func (s *Server) captureRequests(c *api.Call) error {
	t, err := s.findHook(c)
	if err != nil {
		return err
	}
	set, err := captureBody.ReadFrom(c)
	if err != nil {
		return err
	}
	on := false
	set(&on)
	if err := s.hooks.Capture(c.Request().Context(), c.Actor(), t, on); err != nil {
		return err
	}
	return s.writeStored(c, t)
}

// listRequests is GET flow/hooks/hook/requests.
func (s *Server) listRequests(c *api.Call) error {
	t, err := s.findHook(c)
	if err != nil {
		return err
	}
	list, err := s.Store.ListEvents(c.Request().Context(), t, "", "", 100)
	if err != nil {
		return err
	}
	o := HookRequests{Requests: []HookRequest{}}
	for i := range list {
		e := &list[i]
		r := HookRequest{Key: e.Key, State: e.State, RunID: orNull(e.RunID), Code: orNull(e.Code), Detail: e.Detail, Repeats: e.Repeats, At: api.Time(e.CreatedAt)}
		if e.Request != "" {
			r.Request = &triggers.Received{}
			if err := json.Unmarshal([]byte(e.Request), r.Request); err != nil {
				return err
			}
		}
		o.Requests = append(o.Requests, r)
	}
	return c.WriteJSON(http.StatusOK, o)
}
