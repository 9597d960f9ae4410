package handlers_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"sluice/flow"
	"sluice/handlers/webtest"
)

// dueNow makes the next planned time of a schedule due, and waits until it is decided. It returns the newest event.
func (c *testClient) dueNow(name string) (event struct {
	State, Code, Detail string
	RunID               flow.RunID `json:"run_id"`
	TestID              *string    `json:"test_id"`
}) {
	c.h.T.Helper()
	tr, err := c.h.Store.FindTrigger(c.h.T.Context(), flow.DefaultWorkspace, flow.FlowID(c.flow), name)
	if err != nil {
		c.h.T.Fatal(err)
	}
	at := c.h.Store.Now().Truncate(time.Second)
	if !at.After(tr.Decided) {
		at = tr.Decided.Add(time.Second)
	}
	times := flow.TriggerTimes{Next: at, Due: at, Decided: tr.Decided}
	if err := c.h.Store.DecideTrigger(c.h.T.Context(), tr, times, nil); err != nil {
		c.h.T.Fatal(err)
	}
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		now, err := c.h.Store.FindTrigger(c.h.T.Context(), flow.DefaultWorkspace, flow.FlowID(c.flow), name)
		if err != nil {
			c.h.T.Fatal(err)
		}
		if now.Decided.Equal(at) && now.Waiting.IsZero() {
			break
		}
	}
	var list struct{ Events []json.RawMessage }
	if err := json.Unmarshal([]byte(c.must(200, "GET", "/triggers/"+name+"/events", "")), &list); err != nil || len(list.Events) == 0 {
		c.h.T.Fatalf("there are no events: %v", err)
	}
	if err := json.Unmarshal(list.Events[0], &event); err != nil {
		c.h.T.Fatal(err)
	}
	return event
}

func TestSchedules_start_tests(t *testing.T) {
	onBothStores(t, func(t *testing.T, h *webtest.Env) {
		c := &testClient{newCaller(h, nil, flow.Key{Scopes: flow.Scopes}), h.PublishedFlow(echoFlow)}
		c.must(200, "PUT", "/cases/one", `{"inputs":{"word":"yes"},"tags":["must"],"checks":[{"output":"answer","equals":"yes"}]}`)
		c.must(200, "PUT", "/cases/two", `{"inputs":{"word":"no"},"checks":[{"output":"answer","equals":"yes"}]}`)
		const config = `{"cron":"0 3 * * *","test":{"mode":"live","candidates":[{"version":"draft"}],"baseline":{"version":"live"},"tags":["must"],"max_usd":1.5}}`
		if raw := c.must(200, "PUT", "/triggers/canary", config); !strings.Contains(raw, `"test":{"mode":"live","candidates":[{"version":"draft"}],"baseline":{},"tags":["must"],"max_usd":1.5}`) {
			t.Errorf("the schedule is %s", raw)
		}
		e := c.dueNow("canary")
		if e.State != "started" || e.TestID == nil {
			t.Fatalf("the event is %+v", e)
		}
		r := c.ended(testReport{ID: *e.TestID, RunID: e.RunID})
		if r.State != "passed" || r.Runs != 2 || len(r.Candidates) != 2 || r.RunID != e.RunID {
			t.Errorf("the report is %+v", r)
		}
		tested, err := h.Store.FindRun(t.Context(), flow.DefaultWorkspace, flow.FlowID(c.flow), e.RunID)
		if err != nil || tested.Trigger != flow.TriggerTest || tested.TriggerName != "canary" || tested.KeyID != "" || tested.ScheduledAt.IsZero() || tested.MaxUSD != flow.USDOf(1.5) {
			t.Errorf("the run is %+v, %v", tested, err)
		}
		// A test never publishes, and a gate decides as before.
		if f, err := h.Store.FindFlow(t.Context(), flow.DefaultWorkspace, flow.FlowID(c.flow)); err != nil || f.LiveVersion != 1 {
			t.Errorf("the flow is at version %d, %v", f.LiveVersion, err)
		}
		c.must(200, "PUT", "/triggers/canary", `{"cron":"0 3 * * *","test":{"cases":["two"]}}`)
		e = c.dueNow("canary")
		if r := c.ended(testReport{ID: *e.TestID, RunID: e.RunID}); r.State != "failed" || r.Runs != 1 {
			t.Errorf("the report is %+v", r)
		}
		// By hand it belongs to its caller.
		var now struct {
			RunID  flow.RunID `json:"run_id"`
			TestID string     `json:"test_id"`
		}
		if err := json.Unmarshal([]byte(c.must(200, "POST", "/triggers/canary/now", "")), &now); err != nil || now.TestID == "" {
			t.Fatalf("now gives %+v, %v", now, err)
		}
		c.ended(testReport{ID: now.TestID, RunID: now.RunID})
		if run, err := h.Store.FindRun(t.Context(), flow.DefaultWorkspace, flow.FlowID(c.flow), now.RunID); err != nil || run.KeyID != c.key.ID {
			t.Errorf("the run is %+v, %v", run, err)
		}
		// Recent runs instead of cases. At first there are no runs, which the event says.
		c.must(200, "PUT", "/triggers/canary", `{"cron":"0 3 * * *","test":{"cases":{"runs":{"limit":5,"newer":"24h"}}}}`)
		if e = c.dueNow("canary"); e.State != "rejected" || e.Code != "input_invalid" || e.TestID != nil {
			t.Errorf("the event is %+v", e)
		}
		var run struct {
			ID flow.RunID `json:"run_id"`
		}
		if err := json.Unmarshal([]byte(c.must(202, "POST", "/run", `{"word":"maybe"}`)), &run); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Runner.AwaitRun(t.Context(), flow.DefaultWorkspace, flow.FlowID(c.flow), run.ID, 5*time.Minute); err != nil {
			t.Fatal(err)
		}
		e = c.dueNow("canary")
		if r := c.ended(testReport{ID: *e.TestID, RunID: e.RunID}); r.State != "passed" || r.Runs != 1 {
			t.Errorf("the report is %+v", r)
		}
		if raw := c.must(422, "POST", "/triggers/canary/backfill", `{"from":"2026-01-01T00:00:00Z","to":"2026-01-02T00:00:00Z"}`); !strings.Contains(raw, "Start it now instead") {
			t.Errorf("a backfill gets %s", raw)
		}
	})
}

func TestSchedules_of_tests_are_checked_when_they_are_set(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	c := &testClient{newCaller(h, nil, flow.Key{Scopes: flow.Scopes}), h.PublishedFlow(echoFlow)}
	for body, want := range map[string]string{
		`{"mode":"all"}`:                      "/test/mode",
		`{"modes":"live"}`:                    "/test/modes",
		`{"allow":["post"]}`:                  "/test/allow",
		`{"candidates":[{"version":0}]}`:      "/test/candidates",
		`{"candidates":[{"document":{}}]}`:    "/test/candidates",
		`{"cases":{"runs":{"newer":"soon"}}}`: "/test/cases/runs/newer",
		`{"cases":{"run":{}}}`:                "/test/cases",
		`{"repeat":11}`:                       "/test/repeat",
		`{"max_usd":-1}`:                      "/test/max_usd",
	} {
		if raw := c.must(422, "PUT", "/triggers/canary", `{"cron":"@daily","test":`+body+`}`); !strings.Contains(raw, `"`+want+`"`) {
			t.Errorf("%s gets %s", body, raw)
		}
	}
	if raw := c.must(422, "PUT", "/triggers/canary", `{"cron":"@daily","inputs":{"word":"x"},"test":{}}`); !strings.Contains(raw, "either inputs") {
		t.Errorf("inputs and a test get %s", raw)
	}
	// A schedule needs the rights of its test, because no person is asked later.
	for _, tt := range []struct {
		key    flow.Key
		test   string
		status int
		code   string
	}{
		{flow.Key{Scopes: []flow.Scope{flow.ScopeEdit}}, `{}`, 200, ""},
		{flow.Key{Scopes: []flow.Scope{flow.ScopeEdit}}, `{"mode":"live"}`, 403, "scope_missing"},
		{flow.Key{Scopes: []flow.Scope{flow.ScopeEdit}}, `{"candidates":[{"version":"draft"}]}`, 403, "scope_missing"},
		{flow.Key{Scopes: []flow.Scope{flow.ScopeEdit}}, `{"cases":{"runs":{}}}`, 403, "scope_missing"},
		{flow.Key{Scopes: []flow.Scope{flow.ScopeEdit, flow.ScopeManage}}, `{"mode":"live","candidates":[{"version":"draft","set":{"words.template":"{{word}}!"}}]}`, 200, ""},
		{flow.Key{Scopes: []flow.Scope{flow.ScopeEdit, flow.ScopeManage}, Flows: []string{c.flow}}, `{"candidates":[{"set":{"words.template":"{{word}}!"}}]}`, 403, "flow_not_allowed"},
		{flow.Key{Scopes: flow.Scopes, RPM: 10}, `{}`, 403, "exceeds_key"},
	} {
		k := newCaller(h, nil, tt.key)
		status, code, raw := k.send("PUT", "/v1/flow/"+c.flow+"/triggers/canary", `{"cron":"@daily","test":`+tt.test+`}`)
		if status != tt.status || code != tt.code {
			t.Errorf("%s with %+v: %d %s", tt.test, tt.key, status, raw)
		}
		file := `{"schema":"sluice.triggers/v1","triggers":[{"name":"other","kind":"schedule","cron":"@daily","test":` + tt.test + `}]}`
		status, code, raw = k.send("POST", "/v1/apply", `{"documents":[],"companions":[{"slug":"echo","content":`+file+`}],"force":true}`)
		if status != tt.status || code != tt.code {
			t.Errorf("a file with %s and %+v: %d %s", tt.test, tt.key, status, raw)
		}
	}
}

func TestSchedules_of_tests_in_files(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	c := &testClient{newCaller(h, nil, flow.Key{Scopes: flow.Scopes}), h.PublishedFlow(echoFlow)}
	const file = `{"schema":"sluice.triggers/v1","triggers":[{"name":"canary","kind":"schedule","cron":"@daily","test":{"mode":"live","candidates":[{"version":"draft"},{"version":1,"set":{"words.template":"{{word}}!"}}],"cases":{"runs":{"limit":20,"newer":"1d","spread":"switch"}},"repeat":2,"children":"draft","max_usd":0.5}},{"name":"plain","kind":"schedule","every":"1h","test":{}}]}`
	apply := func(status int, file string) string {
		t.Helper()
		got, _, raw := c.send("POST", "/v1/apply", `{"documents":[],"companions":[{"slug":"echo","content":`+file+`}]}`)
		if got != status {
			t.Fatalf("apply: %d %s, wanted %d", got, raw, status)
		}
		return raw
	}
	apply(200, file)
	first := c.must(200, "GET", "/companions/triggers", "")
	for _, part := range []string{`{"version":"draft"},{"version":1,"set":{"words.template":"{{word}}!"}}`, `"cases":{"runs":{"limit":20,"newer":"1d","spread":"switch"}}`, `"every":"1h","test":{}`} {
		if !strings.Contains(strings.NewReplacer(" ", "", "\n", "").Replace(first), part) {
			t.Errorf("the file lacks %s: %s", part, first)
		}
	}
	if raw := apply(200, first); !strings.Contains(raw, `"changes":[]`) {
		t.Errorf("the file that is read changes something: %s", raw)
	}
	raw := apply(422, `{"schema":"sluice.triggers/v1","triggers":[{"name":"canary","kind":"schedule","cron":"@daily","test":{"mode":"all","cases":{"runs":{"limit":5000}}}}]}`)
	if !strings.Contains(raw, "/triggers/0/test/mode") || !strings.Contains(raw, "/triggers/0/test/cases/runs/limit") {
		t.Errorf("a wrong file gets %s", raw)
	}
}
