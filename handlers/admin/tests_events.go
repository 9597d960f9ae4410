package admin

import (
	"errors"
	"net/http"

	"sluice/flow"
	"sluice/flow/cases"
	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/flow/triggers"
	"sluice/handlers/api"
	"sluice/handlers/api/openapi"
)

// CaseFromEvent is the response to a request for a case from an event of a webhook.
type CaseFromEvent struct {
	ID      *string      `json:"id" doc:"Of the case; null if none was made."`
	Created bool         `json:"created" doc:"The case was stored."`
	Skipped string       `json:"skipped" doc:"Why no case was made, such as another case with the same inputs; empty if one was."`
	LeftOut []string     `json:"left_out" doc:"Inputs without a value in the case, because they come from headers of the request, which only editors see."`
	Case    *flow.Object `json:"case" doc:"As in a file sluice.tests/v1; null if none was made."`
}

// eventCase asks for a case from an event.
type eventCase struct {
	hook, event string
	secrets     map[string]string
	tags        []string
	preview     bool
}

// fromEventBody declares the request for a case from an event.
var fromEventBody = api.Body[eventCase]{Name: "CaseFromEvent", Of: "a request for a case", Example: schema{"hook": "github", "event": "72d3162e-cc78-11e3-81ab-4c9367dc0958"}, Fields: []api.Field[eventCase]{
	api.Member("hook", "Name or ID of the incoming webhook.", api.TextType, func(r *eventCase) *string { return &r.hook }).Required("name the webhook"),
	api.Member("event", "Key of the event, whose request was kept.", api.TextType, func(r *eventCase) *string { return &r.event }).Required("name the event"),
	api.SetMember("secrets", "By secret input: the name of the credential that stands for its value. Default: the name of the input.", api.ObjectType.OrAbsent(), func(r *eventCase, o *flow.Object) {
		r.secrets = map[string]string{}
		for name, v := range o.All() {
			r.secrets[name], _ = v.(string)
		}
	}),
	api.Member("tags", "Tags of the case.", textsType.OrAbsent(), func(r *eventCase) *[]string { return &r.tags }),
	api.Member("preview", "Shows the case and stores nothing.", api.BoolType.OrAbsent(), func(r *eventCase) *bool { return &r.preview }),
}}

// fromEventRoute returns the route that makes a case from an event.
func (s testServer) fromEventRoute(list, tag string) api.Route {
	return api.Route{
		Method: http.MethodPost, Path: list + "/from-event", Scopes: []flow.Scope{flow.ScopeEdit}, Handle: s.caseFromEvent, Tool: "save_event_as_case", Role: flow.MemberEditor, Audit: []string{"case.change"}, Commands: []string{"case from-event"},
		Doc: openapi.Operation{ID: "caseFromEvent", Tag: tag, Summary: "Make a test case from a request to an incoming webhook",
			Text: "The case has the inputs that the request gives to the draft, and counts once it has expected outputs. Secret inputs name a credential, texts under names of secrets are removed, and inputs that come from headers are left out.",
			Body: fromEventBody.Doc(), Problems: []flow.Code{flow.CodeInputInvalid, flow.CodeCaseInvalid, flow.CodeQuotaExceeded, flow.CodeStorageFull, flow.CodeUpgradeInProgress}, Answers: openapi.OK("The case.", CaseFromEvent{})},
	}
}

// caseFromEvent is POST from-event.
func (s testServer) caseFromEvent(c *api.Call) error {
	f, err := c.FindFlow()
	if err != nil {
		return err
	}
	set, err := fromEventBody.ReadFrom(c)
	if err != nil {
		return err
	}
	var r eventCase
	set(&r)
	ctx := c.Request().Context()
	t, err := s.Server.Store.FindTrigger(ctx, f.WorkspaceID, f.ID, r.hook)
	if err == nil && t.Kind != triggers.Hook {
		err = flow.Errorf(flow.CodeNotFound, "The flow has no such webhook.")
	}
	if err != nil {
		return err
	}
	e, err := s.Server.Store.FindEvent(ctx, t, r.event)
	if err != nil {
		return err
	}
	o := CaseFromEvent{LeftOut: []string{}}
	made, left, err := s.ofEvent(c, f, t, e, &r)
	if err != nil {
		return err
	}
	file, _, err := s.Store.FindCaseFile(ctx, f.WorkspaceID, f.ID)
	if err != nil {
		return err
	}
	if same := file.FindInputs(made); same != "" {
		o.Skipped = "The case " + same + " is made from this request, or has the same inputs."
		return c.WriteJSON(http.StatusOK, o)
	}
	if !r.preview {
		if o.Created, err = s.SetCase(ctx, c.Actor(), f, made); err != nil {
			return err
		}
	}
	o.ID, o.Case, o.LeftOut = &made.ID, made.Object(), append(o.LeftOut, left...)
	return c.WriteJSON(http.StatusOK, o)
}

// ofEvent returns the case that an event gives, and the inputs that come from headers. Viewers see cases, but not what was received.
func (s testServer) ofEvent(c *api.Call, f *flow.Flow, t *triggers.Trigger, e *triggers.Event, r *eventCase) (made *cases.Case, left []string, err error) {
	received, err := triggers.ReceivedIn(e)
	if err == nil && received.Left {
		err = flow.Errorf(flow.CodeNotFound, "The body of the request was not kept. Let the webhook listen, and send it again.")
	}
	if err != nil {
		return nil, nil, err
	}
	m, err := received.Message()
	if err != nil {
		return nil, nil, err
	}
	d, _ := document.ParseDocument(f.Draft)
	if d == nil {
		return nil, nil, flow.Errorf(flow.CodeDocumentInvalid, "The draft cannot be read.")
	}
	inputs := contract.Inputs(d, s.kinds)
	config, left := t.Hook.WithoutHeaders(s.Compile)
	values := &flow.Object{}
	if config.Inputs.Len() > 0 || len(left) == 0 {
		if values, _, err = config.Map(m, s.Scope).Inputs(c.Request().Context(), inputs); err != nil {
			if e, is := errors.AsType[*flow.Error](err); is && e.Code == flow.CodeExpressionFailed { // which is the error of a run
				err = flow.Errorf(flow.CodeInputInvalid, "The webhook cannot map the request to inputs: %s", e.Message)
			}
			return nil, nil, err
		}
	}
	clean, _ := flow.AsObject(flow.WithoutSecrets(values, func(string) {}))
	for i := range inputs {
		in := &inputs[i]
		if _, given := values.Lookup(in.Name); !given || !in.Secret {
			continue
		}
		name := r.secrets[in.Name]
		if name == "" {
			name = in.Name
		}
		clean.Set(in.Name, map[string]any{"credential": name})
	}
	made = cases.FromEvent(t.Name, e.Key, clean)
	made.Tags = r.tags
	_, problems := cases.ParseCase(made.Object(), nil)
	if err := api.Invalid(problems...); err != nil {
		return nil, nil, err
	}
	return made, left, nil
}
