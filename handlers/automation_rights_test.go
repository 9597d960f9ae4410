package handlers_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/db"
	"sluice/db/dbtest"
	"sluice/flow"
	"sluice/flow/library"
	"sluice/flow/triggers"
	"sluice/handlers"
	"sluice/handlers/webtest"
)

// rightsEnv is a server with a clock, a published flow, and a member who has a key.
type rightsEnv struct {
	*webtest.Env
	flow   string
	member *flow.User
	by     *caller // the key of the member

	mu  sync.Mutex
	now time.Time
}

func newRightsEnv(t *testing.T) *rightsEnv {
	t.Helper()
	e := &rightsEnv{now: time.Now()}
	e.Env = webtest.SetupOn(t, dbtest.SQLite(t, func(c *db.Config) { c.Now = e.clock }), func(c *handlers.Config) { c.Now = e.clock })
	e.Add("founder@example.com", flow.DefaultWorkspace, flow.MemberOwner)
	e.member = e.Add("lin@example.com", flow.DefaultWorkspace, flow.MemberEditor)
	e.flow = e.PublishedFlow(webtest.PublishGreeting)
	if err := e.Store.SaveCredential(t.Context(), flow.Credential{WorkspaceID: flow.DefaultWorkspace, Name: "sender"}, "a shared token"); err != nil {
		t.Fatal(err)
	}
	k := &flow.Key{WorkspaceID: flow.DefaultWorkspace, Name: "program", Scopes: []flow.Scope{flow.ScopeEdit, flow.ScopeRead, flow.ScopeRun}}
	ring := library.Keyring{Store: e.Store, IDs: flow.NewIDs(), Now: e.clock}
	text, err := ring.Create(t.Context(), flow.Actor{ID: e.member.ID}, k)
	if err != nil {
		t.Fatal(err)
	}
	e.by = &caller{e.Env, k, text}
	return e
}

func (e *rightsEnv) clock() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.now
}

func (e *rightsEnv) advance(d time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.now = e.now.Add(d)
}

// until waits until a condition holds.
func (e *rightsEnv) until(what string, holds func() bool) {
	e.T.Helper()
	for late := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(late) {
			e.T.Fatalf("timed out waiting until %s", what)
		}
	}
}

// automation is something that acts for people who are not there.
type automation struct {
	// create creates it for a key, and returns the status, the code and the body of the response.
	create func(e *rightsEnv, by *caller) (status int, code, raw string)
	// works lets the time or the event for which it waits come, and reports whether it did what it is for.
	works func(e *rightsEnv, created string) bool
}

var automations = map[string]automation{
	"schedule": {
		func(e *rightsEnv, by *caller) (int, string, string) {
			return by.send("PUT", "/v1/flow/"+e.flow+"/triggers/daily", `{"every": "1h", "inputs": {"who": "Ada"}}`)
		},
		func(e *rightsEnv, _ string) bool {
			t, err := e.Store.FindTrigger(e.T.Context(), flow.DefaultWorkspace, flow.FlowID(e.flow), "daily")
			if err != nil {
				e.T.Fatal(err)
			}
			if t.Due.IsZero() {
				return false
			}
			e.advance(time.Hour)
			var events []triggers.Event
			e.until("the planned time is decided", func() bool {
				if events, err = e.Store.ListEvents(e.T.Context(), t, "", "", 10); err != nil {
					e.T.Fatal(err)
				}
				return len(events) > 0
			})
			return events[0].State == triggers.Started
		},
	},
	"hook": {
		func(e *rightsEnv, by *caller) (int, string, string) {
			return by.send("PUT", "/v1/flow/"+e.flow+"/hooks/inbox", `{"verify": {"scheme": "token", "header": "X-Token", "secrets": ["sender"]}}`)
		},
		func(e *rightsEnv, created string) bool {
			var o struct{ URL string }
			if err := json.Unmarshal([]byte(created), &o); err != nil {
				e.T.Fatal(err)
			}
			r, err := http.NewRequestWithContext(e.T.Context(), http.MethodPost, o.URL, strings.NewReader(`{"who": "Ada"}`))
			if err != nil {
				e.T.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("X-Token", "a shared token")
			answer, err := e.Http.Client().Do(r)
			if err != nil {
				e.T.Fatal(err)
			}
			answer.Body.Close()
			return answer.StatusCode == http.StatusOK
		},
	},
	"batch": {
		func(e *rightsEnv, by *caller) (int, string, string) {
			return by.send("POST", "/v1/flow/"+e.flow+"/batches", `{"rows": [{"who": "Ada"}, {"who": "Bo"}], "concurrency": 1}`)
		},
		func(e *rightsEnv, created string) bool {
			var b batchAnswer
			if err := json.Unmarshal([]byte(created), &b); err != nil {
				e.T.Fatal(err)
			}
			return e.Ended(b.Run.RunID).State == flow.RunSucceeded
		},
	},
	"alarm": {
		func(e *rightsEnv, by *caller) (int, string, string) {
			return by.send("PUT", "/v1/alarms/quiet", `{"kind": "silent", "over": "1h", "flow": "`+e.flow+`", "to": [{"webhook": "https://hooks.example.com/x"}]}`)
		},
		func(e *rightsEnv, _ string) bool {
			a, err := e.Store.FindAlarm(e.T.Context(), flow.DefaultWorkspace, "quiet")
			if err != nil {
				e.T.Fatal(err)
			}
			if !a.On {
				return false
			}
			e.advance(2 * time.Hour)
			e.until("the alarm fires", func() bool {
				a, err = e.Store.FindAlarm(e.T.Context(), flow.DefaultWorkspace, "quiet")
				return err != nil || !a.FiringSince.IsZero()
			})
			return err == nil
		},
	},
}

// TestAutomation_after_changes_of_people_and_flows: what a person has set up stays when the person leaves and their keys are revoked, and stops with
// an archived flow. What has begun ends.
func TestAutomation_after_changes_of_people_and_flows(t *testing.T) {
	t.Parallel()
	leave := func(e *rightsEnv) error {
		return e.Store.RemoveMember(e.T.Context(), flow.DefaultWorkspace, e.member.ID, flow.KeyHandover{By: flow.Actor{ID: "cli"}})
	}
	archive := func(e *rightsEnv) error {
		return e.Store.ArchiveFlow(e.T.Context(), flow.DefaultWorkspace, flow.FlowID(e.flow))
	}
	for _, tt := range []struct {
		name, kind string
		change     func(*rightsEnv) error
		works      bool
	}{
		{"a member who left", "schedule", leave, true}, {"a member who left", "hook", leave, true}, {"a member who left", "batch", leave, true}, {"a member who left", "alarm", leave, true},
		{"an archived flow", "schedule", archive, false}, {"an archived flow", "hook", archive, false}, {"an archived flow", "batch", archive, true}, {"an archived flow", "alarm", archive, false},
	} {
		t.Run(tt.kind+" of "+tt.name, func(t *testing.T) {
			t.Parallel()
			e := newRightsEnv(t)
			a := automations[tt.kind]
			status, _, raw := a.create(e, e.by)
			if status >= 300 {
				t.Fatalf("created: %d %s", status, raw)
			}
			if err := tt.change(e); err != nil {
				t.Fatal(err)
			}
			if works := a.works(e, raw); works != tt.works {
				t.Errorf("it works: %v, want %v", works, tt.works)
			}
			if tt.kind == "batch" { // a key that may read sees its results
				var b batchAnswer
				if err := json.Unmarshal([]byte(raw), &b); err != nil {
					t.Fatal(err)
				}
				path := "/v1/flow/" + e.flow + "/batches/" + string(b.Run.RunID)
				for _, path := range []string{path, path + "/results"} {
					if status, _, raw := newCaller(e.Env, nil, flow.Key{Scopes: []flow.Scope{flow.ScopeRead}}).send("GET", path, ""); status != http.StatusOK {
						t.Errorf("GET %s: %d %s", path, status, raw)
					}
				}
			}
			if status, _, raw := a.create(e, e.by); status < 400 {
				t.Errorf("created again: %d %s", status, raw)
			}
		})
	}
}

// TestAutomation_of_keys_without_the_right: what starts runs without a key needs one that may edit and has no limits. A batch counts against the limits of
// its key instead.
func TestAutomation_of_keys_without_the_right(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		key         flow.Key
		code, batch string // "" if it may
	}{
		"read":       {flow.Key{Scopes: []flow.Scope{flow.ScopeRead}}, "scope_missing", "scope_missing"},
		"run":        {flow.Key{Scopes: []flow.Scope{flow.ScopeRun}}, "scope_missing", ""},
		"limits":     {flow.Key{Scopes: flow.Scopes, RunsPerDay: 1}, "exceeds_key", ""},
		"a budget":   {flow.Key{Scopes: flow.Scopes, USDPerDay: flow.USD, AllowUnpriced: true}, "exceeds_key", ""},
		"an expiry":  {flow.Key{Scopes: flow.Scopes, ExpiresAt: time.Now().Add(24 * time.Hour)}, "exceeds_key", ""},
		"other flow": {flow.Key{Scopes: []flow.Scope{flow.ScopeEdit, flow.ScopeRun, flow.ScopeRead}, Flows: []string{"other"}}, "flow_not_allowed", "flow_not_allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newRightsEnv(t)
			if len(tt.key.Flows) > 0 {
				tt.key.Flows = []string{e.PublishedFlow(strings.Replace(webtest.PublishGreeting, "Greet", "Other", 1))}
			}
			by := newCaller(e.Env, nil, tt.key)
			for kind, a := range automations {
				want := tt.code
				if kind == "batch" {
					want = tt.batch
				}
				status, code, raw := a.create(e, by)
				if kind == "alarm" && name == "other flow" { // the flow is a member of the body
					want = "input_invalid"
				}
				if want != "" && code != want || want == "" && status >= 300 {
					t.Errorf("%s: %d %s, want %q", kind, status, raw, want)
				}
				if want != "" || kind != "batch" {
					continue
				}
				var b batchAnswer
				if err := json.Unmarshal([]byte(raw), &b); err != nil {
					t.Fatal(err)
				}
				if name == "limits" {
					e.until("one row has run", func() bool { // the other waits for the next day
						_, _, raw := by.send("GET", "/v1/flow/"+e.flow+"/batches/"+string(b.Run.RunID), "")
						return strings.Contains(raw, `"waiting_for":"budget"`) && strings.Contains(raw, `"succeeded":1`)
					})
				} else if run := e.Ended(b.Run.RunID); run.State != flow.RunSucceeded || run.KeyID != by.key.ID {
					t.Errorf("the batch is %s of %s", run.State, run.KeyID)
				}
			}
		})
	}
}

// TestAutomation_for_viewers: they see what there is, without the URLs of webhooks, and change nothing.
func TestAutomation_for_viewers(t *testing.T) {
	t.Parallel()
	e := newRightsEnv(t)
	token := ""
	for kind, a := range automations {
		status, _, raw := a.create(e, e.by)
		if status >= 300 {
			t.Fatalf("%s: %d %s", kind, status, raw)
		}
		if _, after, ok := strings.Cut(raw, triggers.HookPath("")); ok {
			token = after[:20]
		}
	}
	v := e.As(flow.MemberViewer)
	flowPath := "/flows/" + e.flow
	for path, shown := range map[string]string{flowPath + "/triggers": "Daily", flowPath + "/batches": "rows.jsonl", "/alarms": "quiet", "/triggers": "Inbox"} {
		if page := v.Get(path).Is(http.StatusOK).Has(shown); token == "" || strings.Contains(page.Body, token) {
			t.Errorf("%s shows the URL of the webhook to a viewer", path)
		}
	}
	hook, err := e.Store.FindTrigger(t.Context(), flow.DefaultWorkspace, flow.FlowID(e.flow), "inbox")
	if err != nil {
		t.Fatal(err)
	}
	one := flowPath + "/triggers/" + hook.ID
	if page := v.Get(one).Is(http.StatusOK); strings.Contains(page.Body, token) {
		t.Error("the page of the webhook shows its URL to a viewer")
	}
	for _, path := range []string{one + "/reveal", one + "/rotate", one + "/pause", one + "/now", one + "/delete", flowPath + "/triggers/schedule", flowPath + "/triggers/webhook", flowPath + "/batches", flowPath + "/batches/file", "/alarms/new/failed"} {
		v.Post(path, nil).Is(http.StatusForbidden)
	}
}
