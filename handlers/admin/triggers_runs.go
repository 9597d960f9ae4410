package admin

import (
	"bytes"
	"fmt"
	"net/http"
	"reflect"
	"time"

	"sluice/flow"
	"sluice/flow/triggers"
	"sluice/handlers/api"
	"sluice/handlers/api/openapi"
)

// triggerRuns serves what starts runs of schedules outside of their times, and the time zone of a workspace.
type triggerRuns struct{ *Server }

// backfill is what a backfill repeats.
type backfill struct {
	from, until time.Time
	all         bool
}

var backfillBody = api.Body[backfill]{Name: "Backfill", Of: "a backfill", Example: schema{"from": "2026-11-01T00:00:00Z", "to": "2026-11-08T00:00:00Z"}, Fields: []api.Field[backfill]{
	api.Member("from", "First planned time, such as 2026-11-01T00:00:00Z.", timeType, func(b *backfill) *time.Time { return &b.from }).Required("Set it to a time such as 2026-11-01T00:00:00Z."),
	api.Member("to", "Last planned time.", timeType, func(b *backfill) *time.Time { return &b.until }).Required("Set it to a time such as 2026-11-08T00:00:00Z."),
	api.SetMember("only_missed", "Whether planned times that started a run are left out. Default: true.", api.BoolType, func(b *backfill, only bool) { b.all = !only }),
}}

// resumeBody declares the body of POST resume, which is optional.
var resumeBody = api.Body[string]{Name: "ResumeTrigger", Of: "a resumption", Example: schema{"catch_up": "one"}, Fields: []api.Field[string]{
	api.Member("catch_up", "one: the latest planned time that passed meanwhile starts. Default: none.", textOf("one", "none"), func(s *string) *string { return s }),
}}

// timezoneBody declares the body of PUT timezone.
var timezoneBody = api.Body[string]{Name: "SetTimezone", Of: "a time zone", Example: schema{"timezone": "Europe/Berlin"}, Fields: []api.Field[string]{
	api.Member("timezone", "IANA name.", api.TextType, func(s *string) *string { return s }).Required("Set it to a name such as Europe/Berlin."),
}}

// WorkspaceTimezone is the JSON of the time zone of a workspace.
type WorkspaceTimezone struct {
	Timezone string `json:"timezone" doc:"IANA name; UTC if it was not set."`
}

// routes returns the routes of the time zone of a workspace, and of backfills.
func (s triggerRuns) routes() api.Extension {
	const path = "/v1/timezone"
	return api.Extension{Names: map[reflect.Type]string{reflect.TypeFor[WorkspaceTimezone](): "WorkspaceTimezone"}, Routes: []api.Route{{
		Method: get, Path: path, Scopes: []flow.Scope{flow.ScopeRead, flow.ScopeAdmin}, Handle: s.showTimezone, Commands: []string{"workspace timezone"}, Role: flow.MemberViewer,
		Doc: openapi.Operation{ID: "showTimezone", Tag: "Workspaces", Summary: "Show the time zone of the workspace", Answers: openapi.OK("The time zone.", WorkspaceTimezone{})},
	}, {
		Method: http.MethodPut, Path: path, Scopes: []flow.Scope{flow.ScopeAdmin}, Handle: s.setTimezone, Audit: []string{"workspace.timezone"}, Commands: []string{"workspace timezone"}, Limited: "no", Role: flow.MemberOwner,
		Doc: openapi.Operation{ID: "setTimezone", Tag: "Workspaces", Summary: "Set the time zone of the workspace", Text: "Schedules that name no time zone follow it, from now on.", Body: timezoneBody.Doc(),
			Problems: []flow.Code{flow.CodeInputInvalid, flow.CodeExceedsKey, flow.CodeStorageFull, flow.CodePreconditionFailed, flow.CodeFlowNotAllowed}, Answers: openapi.OK("The time zone.", WorkspaceTimezone{})},
	}, {
		Method: http.MethodPost, Path: "/v1/flow/:flow_id/triggers/:trigger/backfill", Scopes: []flow.Scope{flow.ScopeEdit}, Handle: s.backfillTrigger, Commands: []string{"trigger backfill"},
		Doc: openapi.Operation{ID: "backfillTrigger", Tag: "Triggers", Summary: "Run a flow for planned times that have passed",
			Text: "Starts a batch with a row for each planned time, of the key in the request, which needs the scopes edit and run. At most 10,000 planned times.", Body: backfillBody.Doc(),
			Problems: []flow.Code{flow.CodeInputInvalid, flow.CodeScheduleInvalid, flow.CodeNotPublished, flow.CodeExceedsKey, flow.CodeBatchInvalid, flow.CodeScopeMissing},
			Answers:  []openapi.Answer{{Status: 202, Text: "The batch is stored; see startBatch.", Headers: []string{"Location"}}}},
	}}}
}

// showTimezone is GET timezone.
func (s triggerRuns) showTimezone(c *api.Call) error {
	w, err := s.Store.FindWorkspace(c.Request().Context(), c.Key.WorkspaceID)
	if err != nil {
		return err
	}
	o := WorkspaceTimezone{w.Timezone}
	if o.Timezone == "" {
		o.Timezone = "UTC"
	}
	return c.WriteJSON(http.StatusOK, o)
}

// setTimezone is PUT timezone.
func (s triggerRuns) setTimezone(c *api.Call) error {
	if err := requireAllFlows(c, "the time zone"); err != nil {
		return err
	}
	if err := s.triggers.MayChange(c.Key); err != nil {
		return err
	}
	set, err := timezoneBody.ReadFrom(c)
	if err != nil {
		return err
	}
	zone := ""
	set(&zone)
	if err := s.triggers.SetTimezone(c.Request().Context(), c.Actor(), c.Key, c.Key.WorkspaceID, zone); err != nil {
		return err
	}
	return s.showTimezone(c)
}

// backfillTrigger is POST backfill: it starts a batch, as a request of the same key would.
func (s triggerRuns) backfillTrigger(c *api.Call) error {
	f, t, err := s.findTrigger(c)
	if err != nil {
		return err
	}
	set, err := backfillBody.ReadFrom(c)
	if err != nil {
		return err
	}
	b, ctx := backfill{}, c.Request().Context()
	set(&b)
	rows, err := s.triggers.Planned(ctx, t, b.from, b.until, !b.all)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return flow.Errorf(flow.CodeInputInvalid, "No planned time in this range is left to run.")
	}
	list := make([]any, len(rows))
	for i := range rows {
		list[i] = rows[i]
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.publicURL+"/v1/flow/"+string(f.ID)+"/batches", bytes.NewReader(flow.EncodeJSON(map[string]any{"rows": list, "metadata": map[string]any{"backfill": t.Name}})))
	if err != nil {
		return fmt.Errorf("backfill %s: %w", t.ID, err)
	}
	r.RemoteAddr, r.RequestURI = c.Request().RemoteAddr, r.URL.RequestURI()
	r.Header.Set("Content-Type", "application/json")
	s.serveAs(c.Key, c.Response(), r)
	return nil
}

// resume is POST flow/triggers/trigger/resume. Its body is optional.
func (s triggerRuns) resume(c *api.Call, t *triggers.Trigger) error {
	catchUp := ""
	if c.Request().ContentLength != 0 {
		set, err := resumeBody.ReadFrom(c)
		if err != nil {
			return err
		}
		set(&catchUp)
		if catchUp != string(triggers.CatchUpOne) && catchUp != string(triggers.CatchUpNone) {
			return api.Invalid(flow.Problem{Pointer: "/catch_up", Code: "invalid", Detail: "must be one or none"})
		}
	}
	err := s.triggers.Resume(c.Request().Context(), c.Actor(), c.Key, "", t, catchUp == string(triggers.CatchUpOne))
	return s.writeTrigger(c, t, err)
}
