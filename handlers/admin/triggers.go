package admin

import (
	"net/http"
	"reflect"
	"time"

	"sluice/flow"
	"sluice/flow/cases"
	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/flow/schedule"
	"sluice/flow/triggers"
	"sluice/handlers/api"
	"sluice/handlers/api/openapi"
)

// triggerNames maps the Go types of responses to the names of their schemas in the OpenAPI
// document.
var triggerNames = map[reflect.Type]string{
	reflect.TypeFor[Trigger]():         "Trigger",
	reflect.TypeFor[TriggerList]():     "TriggerList",
	reflect.TypeFor[TriggerEvent]():    "TriggerEvent",
	reflect.TypeFor[TriggerEvents]():   "TriggerEventList",
	reflect.TypeFor[TriggerStarted]():  "TriggerStarted",
	reflect.TypeFor[SchedulePreview](): "SchedulePreview",
	reflect.TypeFor[ClockChange]():     "ClockChange",
}

var triggerParams = map[string]map[string]any{
	"trigger": {"name": "trigger", "in": "path", "required": true, "description": "Name or ID of the trigger.", "schema": schema{"type": "string"}},
}

// nextTimes is how many next times a response has.
const nextTimes = 5

var countType = api.Type[int64]{Schema: schema{"type": "integer", "minimum": 0, "maximum": 3600}, Wanted: "a whole number from 0 to 3600", As: func(v any) (int64, bool) { return api.AsWhole(v, 0, 3600) }}

// scheduleBody declares the configuration of a schedule.
var scheduleBody = api.Body[triggers.Config]{Name: "SetSchedule", Of: "a schedule", Example: schema{"cron": "0 9 * * 1-5", "timezone": "Europe/Berlin"}, Fields: []api.Field[triggers.Config]{
	api.Member("cron", "Crontab expression of five fields, also with L, 5#2 and 5L, or a name such as @daily. Exactly one of cron, every and at.", api.TextType, func(c *triggers.Config) *string { return &c.Cron }),
	api.Member("every", "Interval such as 65m, 13h or 2d, at least one minute.", api.TextType, func(c *triggers.Config) *string { return &c.Every }),
	api.Member("anchor", "Where the grid of every begins. Default: 1970-01-01T00:00.", api.TextType, func(c *triggers.Config) *string { return &c.Anchor }),
	api.Member("at", "Local time of a single start, such as 2026-12-24T18:00.", api.TextType, func(c *triggers.Config) *string { return &c.At }),
	api.Member("timezone", "IANA name of the time zone. Default: that of the workspace.", api.TextType, func(c *triggers.Config) *string { return &c.Timezone }),
	api.Member("from", "First local date or time.", api.TextType, func(c *triggers.Config) *string { return &c.From }),
	api.Member("until", "Last local date or time.", api.TextType, func(c *triggers.Config) *string { return &c.Until }),
	api.Member("except", "Local dates without starts, or ranges such as 2026-12-24/2027-01-01.", textsType, func(c *triggers.Config) *[]string { return &c.Except }),
	api.Member("jitter_s", "Delays each schedule by a fixed number of seconds up to this.", countType, func(c *triggers.Config) *int64 { return &c.Jitter }),
	api.Member("inputs", "Inputs by name: values, or objects with an expression, such as {\"cel\": \"local.date\"}.", api.ObjectType, func(c *triggers.Config) **flow.Object { return &c.Inputs }),
	api.Member("test", "A test that is started instead of a run: the members of a request for a test, without documents. cases may have the latest runs that succeeded, such as {\"runs\": {\"limit\": 50, \"newer\": \"24h\"}}. The key needs the scopes that it needs to start the test.", scheduledTestType.OrAbsent(), func(c *triggers.Config) **triggers.Test { return &c.Test }),
	api.SetMember("overlap", "What happens while the last run is in progress. Default: skip.", textOf("skip", "queue", "replace", "allow"), func(c *triggers.Config, v string) { c.Overlap = triggers.Overlap(v) }),
	api.SetMember("catch_up", "Which missed times start after downtime. Default: one, the latest.", textOf("one", "none", "all"), func(c *triggers.Config, v string) { c.CatchUp = triggers.CatchUp(v) }),
	api.Member("max_late", "How late a time may start. Default: 6h.", api.TextType, func(c *triggers.Config) *string { return &c.MaxLate }),
	api.Member("pause_after", "Pause after this many failed runs in a row. Default: 0, never.", countType, func(c *triggers.Config) *int64 { return &c.PauseAfter }),
}}

// scheduledTestType has tests of schedules.
var scheduledTestType = api.Type[*triggers.Test]{Read: triggers.ParseTest, Schema: schema{"type": "object", "properties": schema{
	"mode": schema{"type": "string", "enum": []any{flow.CaseReplay, flow.CaseFill, flow.CaseLive}}, "candidates": schema{"type": "array", "items": scheduledCandidate, "maxItems": cases.MaxCandidates}, "baseline": scheduledCandidate,
	"tags": textsType.Schema, "cases": triggers.TestedCases{}.JSONSchema(), "allow": textsType.Schema, "repeat": repeatType.Schema, "concurrency": concurrencyType.Schema, "children": childrenType.Schema, "max_usd": schema{"type": "number", "minimum": 0},
}}}

var scheduledCandidate = schema{"type": "object", "properties": schema{"version": candidateVersion.Schema, "set": schema{"type": "object"}}}

// textOf returns the type of a text that is one of some values.
func textOf(values ...string) api.Type[string] { return api.TextType.With("enum", values) }

// triggerRoutes returns the routes of triggers.
func (s *Server) triggerRoutes() api.Extension {
	const list, tag = "/v1/flow/:flow_id/triggers", "Triggers"
	const path = list + "/:trigger"
	reads, edits := []flow.Scope{flow.ScopeRead, flow.ScopeEdit}, []flow.Scope{flow.ScopeEdit}
	changed := []flow.Code{flow.CodeExceedsKey, flow.CodeStorageFull, flow.CodePreconditionFailed}
	const limited = "no"
	return api.Extension{Names: triggerNames, Params: triggerParams, Routes: []api.Route{{
		Method: get, Path: list, Scopes: reads, Handle: s.listTriggers, Commands: []string{"trigger list"}, Tool: "list_triggers",
		Doc: openapi.Operation{ID: "listTriggers", Tag: tag, Summary: "List the triggers of a flow", Answers: openapi.OK("The triggers, by name.", TriggerList{})},
	}, {
		Method: get, Path: path, Scopes: reads, Handle: s.showTrigger, Commands: []string{"trigger show"},
		Doc: openapi.Operation{ID: "showTrigger", Tag: tag, Summary: "Show a trigger", Answers: openapi.OK("The trigger.", Trigger{})},
	}, {
		Method: http.MethodPut, Path: path, Scopes: edits, Handle: s.setTrigger, Audit: []string{"trigger.create", "trigger.change"}, Tool: "set_trigger", Limited: limited,
		Doc: openapi.Operation{ID: "setTrigger", Tag: tag, Summary: "Create a schedule or replace its configuration",
			Text: "What is left out gets its default. This starts nothing: the schedule continues from now. One that is paused stays paused. A key with limits or an expiry may not change triggers.",
			Body: scheduleBody.Doc(), Problems: append([]flow.Code{flow.CodeScheduleInvalid, flow.CodeInputInvalid, flow.CodeScopeMissing, flow.CodeFlowNotAllowed, flow.CodeQuotaExceeded, flow.CodeUpgradeInProgress}, changed...),
			Answers: openapi.OK("The trigger.", Trigger{})},
	}, {
		Method: http.MethodDelete, Path: path, Scopes: edits, Handle: s.deleteTrigger, Audit: []string{"trigger.delete"}, Limited: limited,
		Doc: openapi.Operation{ID: "deleteTrigger", Tag: tag, Summary: "Delete a trigger with its events", Problems: changed, Answers: openapi.NoContent("Deleted.")},
	}, {
		Method: http.MethodPost, Path: path + "/pause", Scopes: edits, Handle: s.switchTrigger(false), Audit: []string{"trigger.pause"}, Commands: []string{"trigger pause"},
		Doc: openapi.Operation{ID: "pauseTrigger", Tag: tag, Summary: "Pause a trigger", Problems: changed, Answers: openapi.OK("The trigger.", Trigger{})},
	}, {
		Method: http.MethodPost, Path: path + "/resume", Scopes: edits, Handle: s.switchTrigger(true), Audit: []string{"trigger.resume"}, Commands: []string{"trigger resume"}, Limited: limited,
		Doc: openapi.Operation{ID: "resumeTrigger", Tag: tag, Summary: "Resume a trigger", Text: "It continues from now; times that passed meanwhile do not start, unless catch_up is one.", Body: resumeBody.Doc(), Problems: changed, Answers: openapi.OK("The trigger.", Trigger{})},
	}, {
		Method: http.MethodPost, Path: path + "/now", Scopes: []flow.Scope{flow.ScopeRun}, Handle: s.startTrigger, Audit: []string{"trigger.now"}, Commands: []string{"trigger now"},
		Doc: openapi.Operation{ID: "startTrigger", Tag: tag, Summary: "Start a trigger now", Text: "The run belongs to the key in the request and counts against its limits.",
			Problems: []flow.Code{flow.CodeTriggerPaused, flow.CodeNotPublished, flow.CodeInputInvalid, flow.CodeBudgetExceeded, flow.CodePriceUnknown, flow.CodeQuotaExceeded, flow.CodeConcurrencyLimited, flow.CodeQueueFull, flow.CodeDraining, flow.CodeStorageFull},
			Answers:  openapi.OK("The run was started.", TriggerStarted{})},
	}, {
		Method: get, Path: path + "/events", Scopes: reads, Handle: s.listTriggerEvents, Commands: []string{"trigger events"},
		Doc: openapi.Operation{ID: "listTriggerEvents", Tag: tag, Summary: "List the events of a trigger", Text: "Newest first. One for each time at which the trigger acted or should have acted.", Params: []string{"limit", "cursor"},
			Problems: []flow.Code{flow.CodeInputInvalid}, Answers: openapi.OK("A page of events.", TriggerEvents{})},
	}, {
		Method: http.MethodPost, Path: "/v1/schedules/preview", Scopes: reads, Handle: s.previewSchedule, Tool: "preview_schedule",
		Doc: openapi.Operation{ID: "previewSchedule", Tag: tag, Summary: "Show the next times of a schedule", Text: "Stores nothing.",
			Body: scheduleBody.Doc(), Problems: []flow.Code{flow.CodeScheduleInvalid}, Answers: openapi.OK("The schedule in words, and its next times.", SchedulePreview{})},
	}}}
}

// Trigger is the JSON of a trigger.
type Trigger struct {
	ID        string          `json:"id"`
	FlowID    flow.FlowID     `json:"flow_id"`
	Name      string          `json:"name"`
	Kind      triggers.Kind   `json:"kind"`
	On        bool            `json:"on"`
	Reason    *string         `json:"reason" doc:"Why it is off: paused, failed, archived or invalid; otherwise null."`
	Config    triggers.Config `json:"config" doc:"As it was set."`
	Sentence  string          `json:"sentence" doc:"When it runs, in words."`
	Timezone  string          `json:"timezone" doc:"The time zone that applies."`
	NextAt    api.Time        `json:"next_at" doc:"The planned time that comes next; null if it is off or over."`
	Next      []api.Time      `json:"next" doc:"The next five planned times."`
	WaitingAt api.Time        `json:"waiting_at" doc:"A planned time that waits for its start, or null."`
	LastRunID *flow.RunID     `json:"last_run_id"`
	Problems  []flow.Problem  `json:"problems,omitempty" doc:"Why the live version would refuse the inputs of the next planned time. Only of a single schedule; nothing refuses to store it, because another version may be published first."`
	CreatedAt api.Time        `json:"created_at"`
	ChangedAt api.Time        `json:"changed_at"`
}

// TriggerList is the JSON of the triggers of a flow.
type TriggerList struct {
	Triggers []Trigger `json:"triggers"`
}

// TriggerEvent is the JSON of an event.
type TriggerEvent struct {
	Key         string         `json:"key" doc:"Unique in the trigger; the planned time of a schedule."`
	State       triggers.State `json:"state" doc:"started, skipped, missed, ignored, rejected or waiting."`
	ScheduledAt api.Time       `json:"scheduled_at"`
	At          api.Time       `json:"at" doc:"When it was decided."`
	RunID       *flow.RunID    `json:"run_id" doc:"The run that was started, or that was still in progress."`
	TestID      *string        `json:"test_id" doc:"The test that this run executes, or null."`
	Code        *flow.Code     `json:"code"`
	Detail      string         `json:"detail"`
}

// TriggerEvents is a page of events.
type TriggerEvents struct {
	Events     []TriggerEvent `json:"events"`
	NextCursor *string        `json:"next_cursor"`
}

// TriggerStarted is the response to a start by hand.
type TriggerStarted struct {
	RunID  flow.RunID `json:"run_id"`
	TestID *string    `json:"test_id" doc:"The test that this run executes, or null."`
}

// SchedulePreview is the JSON of what a schedule would do.
type SchedulePreview struct {
	Sentence string        `json:"sentence"`
	Timezone string        `json:"timezone"`
	Next     []api.Time    `json:"next"`
	Changes  []ClockChange `json:"clock_changes" doc:"Changes of the clocks before the last of the next times."`
}

// ClockChange is the JSON of a change of clocks.
type ClockChange struct {
	At     api.Time `json:"at"`
	Before int64    `json:"offset_before_s" doc:"From UTC."`
	After  int64    `json:"offset_after_s"`
}

// findTrigger finds the trigger of the path, and its flow.
func (s *Server) findTrigger(c *api.Call) (*flow.Flow, *triggers.Trigger, error) {
	f, err := c.FindFlow()
	if err != nil {
		return nil, nil, err
	}
	t, err := s.Store.FindTrigger(c.Request().Context(), f.WorkspaceID, f.ID, c.Param("trigger"))
	return f, t, err
}

// triggerObject returns the JSON of a trigger.
func (s *Server) triggerObject(t *triggers.Trigger, zone string) Trigger {
	o := Trigger{
		ID: t.ID, FlowID: t.FlowID, Name: t.Name, Kind: t.Kind, On: t.On, Reason: orNull(t.Reason), Config: t.Config, NextAt: api.Time(t.Next), Next: []api.Time{},
		WaitingAt: api.Time(t.Waiting), LastRunID: orNull(t.LastRunID), CreatedAt: api.Time(t.CreatedAt), ChangedAt: api.Time(t.ChangedAt),
	}
	if t.Kind == triggers.Hook {
		o.Sentence = t.HookSentence()
		return o
	}
	plan, err := t.Config.Schedule(zone)
	if err != nil {
		return o
	}
	o.Sentence, o.Timezone = plan.Sentence(), plan.Timezone()
	if t.On {
		o.Next = times(plan, t.Times(plan, s.now()).Next)
	}
	return o
}

// times returns the JSON of a planned time and of those after it.
func times(plan *schedule.Schedule, next time.Time) []api.Time {
	list := []api.Time{}
	for ; !next.IsZero() && len(list) < nextTimes; next = plan.Next(next) {
		list = append(list, api.Time(next))
	}
	return list
}

// writeTrigger responds with a trigger.
func (s *Server) writeTrigger(c *api.Call, t *triggers.Trigger, err error) error {
	if err != nil {
		return err
	}
	w, err := s.Store.FindWorkspace(c.Request().Context(), t.WorkspaceID)
	if err != nil {
		return err
	}
	o := s.triggerObject(t, w.Timezone)
	o.Problems, err = triggerRuns{s}.inputProblems(c, t, w.Timezone)
	if err != nil {
		return err
	}
	return c.WriteJSON(http.StatusOK, o)
}

// inputProblems returns why the live version would refuse the inputs of a trigger at its next planned time.
func (s triggerRuns) inputProblems(c *api.Call, t *triggers.Trigger, zone string) ([]flow.Problem, error) {
	f, err := c.FindFlow()
	if err != nil || f.LiveHash == "" || t.Kind != triggers.Schedule {
		return nil, err
	}
	content, err := s.Store.FindDocument(c.Request().Context(), t.WorkspaceID, f.LiveHash)
	if err != nil {
		return nil, err
	}
	doc, _ := document.ParseDocument(content)
	if doc == nil {
		return nil, nil
	}
	return s.triggers.InputProblems(c.Request().Context(), t, zone, contract.Inputs(doc, s.kinds)), nil
}

// listTriggers is GET flow/triggers.
func (s *Server) listTriggers(c *api.Call) error {
	f, err := c.FindFlow()
	if err != nil {
		return err
	}
	w, err := s.Store.FindWorkspace(c.Request().Context(), f.WorkspaceID)
	if err != nil {
		return err
	}
	list, err := s.Store.ListTriggers(c.Request().Context(), f.WorkspaceID, f.ID)
	if err != nil {
		return err
	}
	o := TriggerList{Triggers: []Trigger{}}
	for i := range list {
		o.Triggers = append(o.Triggers, s.triggerObject(&list[i], w.Timezone))
	}
	return c.WriteJSON(http.StatusOK, o)
}

// showTrigger is GET flow/triggers/trigger.
func (s *Server) showTrigger(c *api.Call) error {
	_, t, err := s.findTrigger(c)
	return s.writeTrigger(c, t, err)
}

// setTrigger is PUT flow/triggers/trigger.
func (s *Server) setTrigger(c *api.Call) error {
	f, err := c.FindFlow()
	if err != nil {
		return err
	}
	set, err := scheduleBody.ReadFrom(c)
	if err != nil {
		return err
	}
	var config triggers.Config
	set(&config)
	t, _, err := s.triggers.Set(c.Request().Context(), c.Actor(), c.Key, f, c.Param("trigger"), config)
	return s.writeTrigger(c, t, err)
}

// deleteTrigger is DELETE flow/triggers/trigger.
func (s *Server) deleteTrigger(c *api.Call) error {
	_, t, err := s.findTrigger(c)
	if err != nil {
		return err
	}
	if err := s.triggers.Delete(c.Request().Context(), c.Actor(), c.Key, t); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// switchTrigger returns the handler that pauses or resumes a trigger.
func (s *Server) switchTrigger(on bool) func(*api.Call) error {
	return func(c *api.Call) error {
		_, t, err := s.findTrigger(c)
		if err == nil && on {
			return triggerRuns{s}.resume(c, t)
		}
		if err == nil {
			err = s.triggers.Switch(c.Request().Context(), c.Actor(), c.Key, t, on)
		}
		return s.writeTrigger(c, t, err)
	}
}

// startTrigger is POST flow/triggers/trigger/now.
func (s *Server) startTrigger(c *api.Call) error {
	_, t, err := s.findTrigger(c)
	if err != nil {
		return err
	}
	started, err := s.triggers.StartNow(c.Request().Context(), c.Actor(), c.Key, "", t)
	if err != nil {
		return err
	}
	o := TriggerStarted{RunID: started.Run.ID}
	if t.Config.Test != nil {
		test, err := s.Store.FindTestOfRun(c.Request().Context(), t.WorkspaceID, o.RunID)
		if err != nil {
			return err
		}
		o.TestID = &test.ID
	}
	return c.WriteJSON(http.StatusOK, o)
}

// listTriggerEvents is GET flow/triggers/trigger/events.
func (s *Server) listTriggerEvents(c *api.Call) error {
	_, t, err := s.findTrigger(c)
	if err != nil {
		return err
	}
	before, limit, err := c.QueryPage(flow.PrefixEvent)
	if err != nil {
		return err
	}
	list, err := s.Store.ListEvents(c.Request().Context(), t, "", before, limit+1)
	if err != nil {
		return err
	}
	o := TriggerEvents{Events: []TriggerEvent{}}
	list, o.NextCursor = api.Page(list, limit, func(e *triggers.Event) string { return e.Position })
	tests, err := s.Store.TestsOfEvents(c.Request().Context(), list)
	if err != nil {
		return err
	}
	for i := range list {
		e := &list[i]
		o.Events = append(o.Events, TriggerEvent{e.Key, e.State, api.Time(e.ScheduledAt()), api.Time(e.CreatedAt), orNull(e.RunID), orNull(tests[e.RunID]), orNull(e.Code), e.Detail})
	}
	return c.WriteJSON(http.StatusOK, o)
}

// previewSchedule is POST schedules/preview.
func (s *Server) previewSchedule(c *api.Call) error {
	set, err := scheduleBody.ReadFrom(c)
	if err != nil {
		return err
	}
	w, err := s.Store.FindWorkspace(c.Request().Context(), c.Key.WorkspaceID)
	if err != nil {
		return err
	}
	var config triggers.Config
	set(&config)
	plan, err := config.Schedule(w.Timezone)
	if err != nil {
		return err
	}
	now := s.now()
	o := SchedulePreview{Sentence: plan.Sentence(), Timezone: plan.Timezone(), Next: times(plan, plan.Next(now)), Changes: []ClockChange{}}
	if n := len(o.Next); n > 0 {
		for _, change := range schedule.Changes(plan.Location(), now, time.Time(o.Next[n-1])) {
			o.Changes = append(o.Changes, ClockChange{api.Time(change.At), change.Before, change.After})
		}
	}
	return c.WriteJSON(http.StatusOK, o)
}
