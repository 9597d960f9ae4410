package automation_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/triggers"
)

// api sends a request to the API with a key that may do everything, and decodes the response.
func (e *env) api(method, path, body string) (status int, answer map[string]any) {
	e.T.Helper()
	r := httptest.NewRequestWithContext(e.T.Context(), method, e.Http.URL+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	e.Server.API.ServeAs(&flow.Key{WorkspaceID: flow.DefaultWorkspace, Scopes: flow.Scopes}, w, r)
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		e.T.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
	return w.Code, answer
}

func TestBackfill_runs_planned_times_that_started_nothing(t *testing.T) {
	t.Parallel()
	e := setup(t, october)
	path := "/v1/flow/" + e.flow + "/triggers/hourly"
	if status, a := e.api(http.MethodPut, path, `{"cron": "0 * * * *", "inputs": {"who": {"cel": "local.time"}}}`); status != http.StatusOK {
		t.Fatal(a)
	}
	s := e.only()
	event := s.Event(october.Add(-2*time.Hour), triggers.Started, "", "")
	if err := e.Store.DecideTrigger(t.Context(), s, s.TriggerTimes, []triggers.Event{event}); err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]int64{
		`{"from": "2026-10-22T15:00:00Z", "to": "2026-10-22T18:00:00Z"}`:                       3,
		`{"from": "2026-10-22T15:00:00Z", "to": "2026-10-30T18:00:00Z", "only_missed": false}`: 4,
	} {
		status, a := e.api(http.MethodPost, path+"/backfill", body)
		if status != http.StatusAccepted {
			t.Fatalf("%s: %d %v", body, status, a)
		}
		run, _ := a["run"].(map[string]any)
		id, _ := run["run_id"].(string)
		if ended := e.Ended(flow.RunID(id)); ended.State != flow.RunSucceeded {
			t.Errorf("%s: %+v", body, ended)
		}
		_, a = e.api(http.MethodGet, "/v1/flow/"+e.flow+"/batches/"+id, "")
		rows, _ := a["rows"].(map[string]any)
		if rows["total"] != float64(want) || rows["succeeded"] != float64(want) {
			t.Errorf("%s: %v, want %d rows", body, rows, want)
		}
	}
	for _, body := range []string{`{"from": "2026-10-22T15:30:00Z", "to": "2026-10-22T15:40:00Z"}`, `{"from": "2020-10-22T15:00:00Z", "to": "2026-10-22T15:40:00Z"}`, `{"from": "2026-10-22T15:30:00Z"}`} {
		if status, a := e.api(http.MethodPost, path+"/backfill", body); status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %v", body, status, a)
		}
	}
}

func TestResume_catches_up_with_one_planned_time_on_request(t *testing.T) {
	t.Parallel()
	e := setup(t, october)
	path := "/v1/flow/" + e.flow + "/triggers/hourly"
	e.api(http.MethodPut, path, `{"cron": "30 * * * *", "inputs": {"who": "Ada"}}`)
	now := october
	for _, c := range []struct {
		body   string
		events int
	}{{"", 0}, {`{"catch_up": "one"}`, 1}, {`{"catch_up": "none"}`, 1}} {
		e.api(http.MethodPost, path+"/pause", "")
		now = now.Add(3 * time.Hour)
		e.set(now)
		if status, a := e.api(http.MethodPost, path+"/resume", c.body); status != http.StatusOK || a["on"] != true {
			t.Fatalf("%s: %d %v", c.body, status, a)
		}
		list, err := e.Store.ListEvents(t.Context(), e.only(), triggers.Started, "", 10)
		if err != nil || len(list) != c.events {
			t.Errorf("resumed with %q: %+v %v", c.body, list, err)
		}
		if len(list) == 1 && !list[0].ScheduledAt().Equal(october.Add(6*time.Hour-30*time.Minute)) {
			t.Errorf("started the time %s", list[0].ScheduledAt())
		}
	}
	if status, _ := e.api(http.MethodPost, path+"/resume", `{"catch_up": "all"}`); status != http.StatusUnprocessableEntity {
		t.Errorf("catch_up all: %d", status)
	}
}

func TestTriggers_of_both_kinds_are_described_in_lists(t *testing.T) {
	t.Parallel()
	e := setup(t, time.Time{})
	path := "/v1/flow/" + e.flow
	e.api(http.MethodPut, path+"/triggers/daily", `{"cron": "0 9 * * *", "inputs": {"who": "Ada"}}`)
	e.api(http.MethodPut, path+"/hooks/open", `{"verify": {"scheme": "none"}, "when": "body.x == 1"}`)
	_, a := e.api(http.MethodGet, path+"/triggers", "")
	got := string(flow.EncodeJSON(a["triggers"]))
	for _, want := range []string{`"sentence":"Every day at 9:00 AM, UTC"`, `"sentence":"When body.x == 1, not verified"`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing in %s", want, got)
		}
	}
}

// TestTriggers_say_what_the_live_version_would_refuse stores schedules whose inputs do not fit, which is not refused: another version may
// be published before the next planned time.
func TestTriggers_say_what_the_live_version_would_refuse(t *testing.T) {
	t.Parallel()
	e := setup(t, time.Time{})
	path := "/v1/flow/" + e.flow + "/triggers/daily"
	for inputs, want := range map[string]string{
		`{"who": "Ada"}`:                 "",
		`{"who": {"cel": "local.date"}}`: "",
		`{}`:                             "/inputs/who required",
		`{"who": "Ada", "other": 1}`:     "/inputs/other unknown",
		`{"who": {"cel": "local.date + local.no"}}`: "/inputs invalid",
	} {
		status, a := e.api(http.MethodPut, path, `{"cron": "0 9 * * *", "inputs": `+inputs+`}`)
		var got []string
		list, _ := a["problems"].([]any)
		for _, p := range list {
			problem := p.(map[string]any)
			got = append(got, fmt.Sprint(problem["pointer"], " ", problem["code"]))
		}
		if status != http.StatusOK || strings.Join(got, ", ") != want {
			t.Errorf("%s: %d, problems %v, wanted %s", inputs, status, got, want)
		}
	}
}

func TestTimezone_moves_schedules_that_name_none(t *testing.T) {
	t.Parallel()
	e := setup(t, october)
	e.api(http.MethodPut, "/v1/flow/"+e.flow+"/triggers/own", `{"cron": "0 9 * * *", "timezone": "Asia/Tokyo", "inputs": {"who": "Ada"}}`)
	e.api(http.MethodPut, "/v1/flow/"+e.flow+"/triggers/shared", `{"cron": "0 9 * * *", "inputs": {"who": "Ada"}}`)
	if _, a := e.api(http.MethodGet, "/v1/timezone", ""); a["timezone"] != "UTC" {
		t.Error(a)
	}
	if status, a := e.api(http.MethodPut, "/v1/timezone", `{"timezone": "America/New_York"}`); status != http.StatusOK || a["timezone"] != "America/New_York" {
		t.Error(status, a)
	}
	for _, s := range e.list() {
		want := time.Date(2026, 10, 23, 13, 0, 0, 0, time.UTC) // 9:00 in New York
		if s.Name == "own" {
			want = time.Date(2026, 10, 23, 0, 0, 0, 0, time.UTC)
		}
		if !s.Next.Equal(want) {
			t.Errorf("%s comes at %s, want %s", s.Name, s.Next, want)
		}
	}
	if status, _ := e.api(http.MethodPut, "/v1/timezone", `{"timezone": "Nowhere"}`); status != http.StatusUnprocessableEntity {
		t.Error(status)
	}
	owner := e.As(flow.MemberOwner)
	owner.Get("/settings/workspace").Is(http.StatusOK).Has(`value="America/New_York" selected`)
	e.b.Post("/settings/timezone", dialog("timezone", "Europe/Berlin")).Is(http.StatusForbidden)
	owner.Post("/settings/timezone", dialog("timezone", "Nowhere")).Is(http.StatusUnprocessableEntity).Has("Choose a time zone.")
	owner.Post("/settings/timezone", dialog("timezone", "Europe/Berlin")).RedirectsTo("/settings/workspace")
	e.b.Get(e.path("/schedule")).Has("Workspace (Berlin)", "Weekdays at 9:00 AM, Berlin")
}
