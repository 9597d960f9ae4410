package handlers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/triggers"
	"sluice/handlers/webtest"
)

func TestTriggers_through_the_API(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.PublishedFlow(webtest.PublishGreeting)
	p := newCaller(h, nil, flow.Key{Scopes: flow.Scopes})
	path := "/v1/flow/" + id + "/triggers/daily"
	type trigger struct {
		On       bool
		Reason   string
		Sentence string
		Next     []time.Time
	}
	do := func(method, path, body string, want int) (o trigger, code, raw string) {
		t.Helper()
		status, code, raw := p.send(method, path, body)
		if status != want {
			t.Fatalf("%s %s: %d %s, want %d", method, path, status, raw, want)
		}
		_ = json.Unmarshal([]byte(raw), &o)
		return o, code, raw
	}
	config := `{"cron": "0 9 * * 1-5", "timezone": "Europe/Berlin", "inputs": {"who": "Ada"}}`
	if o, _, raw := do("PUT", path, config, http.StatusOK); !o.On || o.Sentence != "Weekdays at 9:00 AM, Berlin" || len(o.Next) != 5 {
		t.Errorf("the trigger is %s", raw)
	}
	do("PUT", path, config, http.StatusOK)
	if _, code, raw := do("PUT", path, `{"cron": "0 25 * * *", "overlap": "never"}`, http.StatusUnprocessableEntity); code != "schedule_invalid" || !strings.Contains(raw, "/cron") || !strings.Contains(raw, "/overlap") {
		t.Errorf("a wrong schedule gets %s", raw)
	}
	if o, _, raw := do("POST", path+"/pause", "", http.StatusOK); o.On || o.Reason != "paused" || len(o.Next) != 0 {
		t.Errorf("the paused trigger is %s", raw)
	}
	if o, _, raw := do("PUT", path, `{"every": "2d", "inputs": {"who": "Ada"}}`, http.StatusOK); o.On || o.Sentence != "Every 2 days" {
		t.Errorf("a change resumes the trigger: %s", raw)
	}
	if _, code, raw := do("POST", path+"/now", "", http.StatusConflict); code != "trigger_paused" {
		t.Errorf("a paused trigger gets %s", raw)
	}
	do("POST", path+"/resume", "", http.StatusOK)
	_, _, raw := do("POST", path+"/now", "", http.StatusOK)
	var started struct {
		RunID flow.RunID `json:"run_id"`
	}
	if err := json.Unmarshal([]byte(raw), &started); err != nil {
		t.Fatal(err)
	}
	if run, err := h.Store.FindRun(t.Context(), flow.DefaultWorkspace, flow.FlowID(id), started.RunID); err != nil || run.KeyID != p.key.ID || run.TriggerName != "daily" || run.Inputs.Get("who") != "Ada" {
		t.Errorf("the run is %+v, %v", run, err)
	}
	if _, _, raw := do("GET", path+"/events", "", http.StatusOK); !strings.Contains(raw, string(started.RunID)) || !strings.Contains(raw, `"state":"started"`) {
		t.Errorf("the events are %s", raw)
	}
	if _, _, raw := do("POST", "/v1/schedules/preview", `{"cron": "30 2 * * *", "timezone": "Australia/Lord_Howe"}`, http.StatusOK); !strings.Contains(raw, "Every day at 2:30 AM, Lord Howe") {
		t.Errorf("the preview is %s", raw)
	}
	do("DELETE", path, "", http.StatusNoContent)
	do("GET", path, "", http.StatusNotFound)
}

// Triggers start runs without a key, so a key with limits could spend beyond them.
func TestTriggers_of_a_limited_key(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.PublishedFlow(webtest.PublishGreeting)
	path := "/v1/flow/" + id + "/triggers/daily"
	all := newCaller(h, nil, flow.Key{Scopes: flow.Scopes})
	if status, _, raw := all.send("PUT", path, `{"cron": "@daily", "inputs": {"who": "Ada"}}`); status != http.StatusOK {
		t.Fatal(raw)
	}
	for _, k := range []flow.Key{{RunsPerDay: 5}, {RPM: 100}, {ExpiresAt: time.Now().Add(time.Hour)}} {
		k.Scopes = flow.Scopes
		p := newCaller(h, nil, k)
		for _, r := range []struct{ method, path, body string }{{"PUT", path, `{"cron": "@hourly"}`}, {"DELETE", path, ""}, {"POST", path + "/resume", ""}} {
			if status, code, raw := p.send(r.method, r.path, r.body); status != http.StatusForbidden || code != "exceeds_key" {
				t.Errorf("%s %s with %+v: %d %s", r.method, r.path, k, status, raw)
			}
		}
		if status, _, raw := p.send("POST", path+"/now", ""); status != http.StatusOK {
			t.Errorf("now with a limited key: %d %s", status, raw)
		}
	}
}

// TestTriggers_list_all_pages_of_events reads the events of a trigger and the messages of an alarm page by page.
func TestTriggers_list_all_pages_of_events(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.PublishedFlow(webtest.PublishGreeting)
	p := newCaller(h, nil, flow.Key{Scopes: flow.Scopes})
	send := func(method, path, body string) (o struct {
		Events     []struct{ Key string }
		Messages   []struct{ ID string }
		NextCursor *string `json:"next_cursor"`
	}) {
		t.Helper()
		status, _, raw := p.send(method, path, body)
		if status/100 != 2 || raw != "" && json.Unmarshal([]byte(raw), &o) != nil {
			t.Fatalf("%s %s: %d %s", method, path, status, raw)
		}
		return o
	}
	path := "/v1/flow/" + id + "/triggers/daily"
	send("PUT", path, `{"cron": "0 9 * * 1-5", "inputs": {"who": "Ada"}}`)
	trigger, err := h.Store.FindTrigger(t.Context(), flow.DefaultWorkspace, flow.FlowID(id), "daily")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"a", "b", "c", "d", "e"} {
		e := &triggers.Event{TriggerID: trigger.ID, Key: key, WorkspaceID: trigger.WorkspaceID, FlowID: trigger.FlowID, State: triggers.Rejected, Code: flow.CodeInputInvalid}
		if err := h.Store.SaveHookEvent(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	var to []string
	for i := range 5 {
		to = append(to, fmt.Sprintf(`{"webhook": "https://hooks.example.com/%d"}`, i))
	}
	send("PUT", "/v1/alarms/fails", `{"flow": "`+id+`", "kind": "failed", "to": [`+strings.Join(to, ", ")+`]}`)
	send("POST", "/v1/alarms/fails/test", "")
	for _, list := range []string{path + "/events?limit=2", "/v1/alarms/fails/messages?limit=2"} {
		var got []string
		for at, pages := list, 0; ; pages++ {
			o := send("GET", at, "")
			for _, e := range o.Events {
				got = append(got, e.Key)
			}
			for _, m := range o.Messages {
				got = append(got, m.ID)
			}
			if o.NextCursor == nil {
				break
			}
			if pages == 5 {
				t.Fatalf("%s has no last page", list)
			}
			at = list + "&cursor=" + *o.NextCursor
		}
		slices.Sort(got)
		if len(got) != 5 || len(slices.Compact(got)) != 5 {
			t.Errorf("%s: the pages have %q, want 5", list, got)
		}
	}
}
