package handlers_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"sluice/flow"
	"sluice/handlers/webtest"
)

// alarmEnv is a server with two flows, and keys with different rights.
type alarmEnv struct {
	*companionEnv
	other string // ID of the other flow
}

func newAlarmEnv(t *testing.T) *alarmEnv {
	t.Helper()
	e := newCompanionEnv(t)
	return &alarmEnv{e, e.h.PublishedFlow(strings.Replace(webtest.PublishGreeting, "Greet", "Other", 1))}
}

// as returns the same server with another key.
func (e *alarmEnv) as(k flow.Key) *companionEnv {
	return &companionEnv{newCaller(e.h, nil, k), e.id}
}

func TestAlarms_of_keys(t *testing.T) {
	t.Parallel()
	e := newAlarmEnv(t)
	hook := `"to": [{"webhook": "https://hooks.example.com/services/secret-path"}]`
	mine, others, all := `{"kind": "failed", "flow": "`+e.id+`", `+hook+`}`, `{"kind": "failed", "flow": "`+e.other+`", `+hook+`}`, `{"kind": "failed"}`
	e.do(200, "PUT", "/v1/alarms/mine", mine)
	e.do(200, "PUT", "/v1/alarms/others", others)
	e.do(200, "PUT", "/v1/alarms/all", all)

	editor := []flow.Scope{flow.ScopeEdit, flow.ScopeRead}
	limited := e.as(flow.Key{Scopes: flow.Scopes, RunsPerDay: 5})
	expiring := e.as(flow.Key{Scopes: flow.Scopes, ExpiresAt: time.Now().Add(time.Hour)})
	narrow := e.as(flow.Key{Scopes: editor, Flows: []string{e.id}})
	reader := e.as(flow.Key{Scopes: []flow.Scope{flow.ScopeRead}})
	plain := e.as(flow.Key{Scopes: editor})

	for name, by := range map[string]*companionEnv{"limits": limited, "an expiry": expiring} {
		for _, r := range [][3]string{{"PUT", "/v1/alarms/new", mine}, {"PUT", "/v1/alarms/mine", `{"kind": "failed", "flow": "` + e.id + `"}`}, {"POST", "/v1/alarms/mine/pause", ""}, {"POST", "/v1/alarms/mine/test", ""},
			{"DELETE", "/v1/alarms/mine", ""}, {"DELETE", "/v1/alarms/all", ""}, {"GET", "/v1/alarms/mine/secret", ""}, {"POST", "/v1/alarms/mine/rotate", ""}, {"POST", "/v1/apply", `{"documents": [], "companions": [{"content": {"schema": "sluice.alarms/v1", "alarms": [` +
				strings.Replace(mine, "{", `{"name": "applied", `, 1) + `]}}]}`}} {
			if raw, _ := by.do(403, r[0], r[1], strings.Replace(r[2], `"flow": "`+e.id, `"flow": "`+flowName(r[1], e.id), 1)); !strings.Contains(raw, `"exceeds_key"`) {
				t.Errorf("%s %s by a key with %s: %s", r[0], r[1], name, raw)
			}
		}
	}
	limited.do(200, "PUT", "/v1/alarms/harmless", `{"kind": "failed", "flow": "`+e.id+`"}`) // shows in the dashboard only

	raw, _ := narrow.do(200, "GET", "/v1/alarms", "")
	if !strings.Contains(raw, `"mine"`) || strings.Contains(raw, `"others"`) || strings.Contains(raw, `"name":"all"`) {
		t.Errorf("a key of one flow lists %s", raw)
	}
	narrow.do(404, "GET", "/v1/alarms/others", "")
	narrow.do(404, "DELETE", "/v1/alarms/all", "")
	narrow.do(422, "PUT", "/v1/alarms/new", others)
	narrow.do(403, "PUT", "/v1/alarms/new", all)
	narrow.do(403, "PUT", "/v1/alarms/others", mine) // takes over the alarm of another flow
	narrow.do(200, "PUT", "/v1/alarms/mine", mine)

	plain.do(403, "PUT", "/v1/alarms/new", all) // needs the scope admin
	if raw, _ := plain.do(200, "GET", "/v1/alarms/mine", ""); !strings.Contains(raw, "secret-path") {
		t.Errorf("an editor reads %s", raw)
	}
	reader.do(403, "PUT", "/v1/alarms/mine", mine)
	reader.do(403, "GET", "/v1/companions/alarms", "")
	reader.do(403, "GET", "/v1/alarms/mine/secret", "")
	reader.do(403, "POST", "/v1/alarms/mine/rotate", "")
	before, _ := plain.do(200, "GET", "/v1/alarms/mine/secret", "")
	rotated, _ := plain.do(200, "POST", "/v1/alarms/mine/rotate", `{"overlap_s": 60}`)
	if after, _ := plain.do(200, "GET", "/v1/alarms/mine/secret", ""); after != rotated || after == before || !strings.Contains(after, "whsec_") {
		t.Errorf("the secret was %s, rotation returned %s, and now it is %s", before, rotated, after)
	}
	plain.do(422, "POST", "/v1/alarms/mine/rotate", `{"overlap_s": -1}`)
	if raw, _ := reader.do(200, "GET", "/v1/alarms/mine", ""); strings.Contains(raw, "secret-path") || !strings.Contains(raw, "https://hooks.example.com/") {
		t.Errorf("a reader reads %s", raw)
	}
}

// flowName returns how a request names the flow: files have slugs.
func flowName(path, id string) string {
	if path == "/v1/apply" {
		return "greet"
	}
	return id
}

func TestAlarms_name_all_problems(t *testing.T) {
	t.Parallel()
	e := newAlarmEnv(t)
	for body, pointers := range map[string]string{
		`{"kind": "slow", "count": 3}`: "/count /over",
		`{"kind": "cost"}`:             "/usd",
		`{"kind": "failed", "to": [{"email": "ops@example.com"}, {"webhook": "ftp://example.com"}, {"flow": "none"}, {}]}`: "/to/3 /to/0/email /to/1/webhook /to/2/flow",
		`{"kind": "silent", "over": "10s"}`:                              "/over",
		`{"kind": "failed", "flow": "greet", "to": [{"flow": "greet"}]}`: "/to/0/flow",
	} {
		raw, _ := e.do(422, "PUT", "/v1/alarms/x", body)
		var o struct{ Errors []struct{ Pointer string } }
		_ = json.Unmarshal([]byte(raw), &o)
		var got []string
		for _, p := range o.Errors {
			got = append(got, p.Pointer)
		}
		if strings.Join(got, " ") != pointers {
			t.Errorf("%s has problems at %v, want %s", body, got, pointers)
		}
	}
}

func TestAlarms_in_git(t *testing.T) {
	t.Parallel()
	e := newAlarmEnv(t)
	file := `{"schema": "sluice.alarms/v1", "alarms": [{"name": "stopped", "flow": "greet", "kind": "silent", "over": "2h"}, {"name": "broken", "kind": "failed", "count": 3, "to": [{"webhook": "https://example.com/x"}]}]}`
	apply := func(content, more string) string {
		raw, _ := e.do(200, "POST", "/v1/apply", `{"documents": [], "companions": [{"content": `+content+`}]`+more+`}`)
		return raw
	}
	if raw := apply(file, `, "source": "repo"`); !strings.Contains(raw, `"created"`) || !strings.Contains(raw, "3 runs in a row failed") {
		t.Errorf("the apply says %s", raw)
	}
	e.do(200, "POST", "/v1/alarms/stopped/pause", "")
	if raw := apply(file, `, "source": "repo"`); !strings.Contains(raw, `"unchanged"`) {
		t.Errorf("the second apply says %s", raw)
	}
	text, _ := e.do(200, "GET", "/v1/companions/alarms", "")
	if raw := apply(text, `, "source": "repo", "prune": true`); !strings.Contains(raw, `"unchanged"`) {
		t.Errorf("applying the file that was read says %s", raw)
	}
	e.do(200, "PUT", "/v1/alarms/by-hand", `{"kind": "waiting", "over": "1d"}`)
	one := `{"schema": "sluice.alarms/v1", "alarms": [{"name": "stopped", "flow": "greet", "kind": "silent", "over": "3h"}]}`
	e.do(409, "POST", "/v1/apply", `{"documents": [], "companions": [{"content": `+one+`}], "source": "repo", "prune": true}`) // edited since
	if raw := apply(one, `, "source": "repo", "prune": true, "force": true`); !strings.Contains(raw, "Removes the alarm broken.") {
		t.Errorf("the pruning apply says %s", raw)
	}
	e.do(404, "GET", "/v1/alarms/broken", "")
	e.do(200, "GET", "/v1/alarms/by-hand", "")
	if raw, _ := e.do(200, "GET", "/v1/alarms/stopped", ""); !strings.Contains(raw, `"on":false`) || !strings.Contains(raw, `"over":"3h"`) {
		t.Errorf("the paused alarm is %s", raw)
	}
}
