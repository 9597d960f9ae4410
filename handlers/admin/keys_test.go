package admin_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/flow"
	"sluice/handlers/webtest"
)

// id returns the ID of the key in a response.
func (r *reply) id() string { return fmt.Sprint(r.body["id"]) }

// secret returns the secret of the key in a response.
func (r *reply) secret() string {
	r.t.Helper()
	text, _ := r.body["key"].(string)
	if !flow.ValidKeyText(text) {
		r.t.Fatalf("%s: no key is shown: %s", r.what, r.raw)
	}
	return text
}

// pointers returns where a response says that the request is wrong.
func (r *reply) pointers() (list []string) {
	problems, _ := r.body["errors"].([]any)
	for _, p := range problems {
		list = append(list, fmt.Sprint(p.(map[string]any)["pointer"]))
	}
	slices.Sort(list)
	return list
}

func TestKeys(t *testing.T) {
	t.Parallel()
	e := setup(t)
	live := e.PublishedFlow(webtest.Greeting)
	top, admin := e.key(flow.Key{Name: "ops", Scopes: flow.Scopes})

	made := e.send(admin, "POST", "/v1/keys", `{"name": "deploy", "scopes": ["read", "run"], "flows": ["`+live+`"], "rpm": 600, "usd_per_day": 2.5, "expires_at": "2999-01-31T12:00:00Z"}`).want(201, "")
	path := "/v1/keys/" + made.id()
	if made.body["created_by"] != top.ID || made.body["state"] != "active" || made.body["usd_per_day"] != 2.5 || made.body["concurrency"] != nil || made.body["expires_at"] != "2999-01-31T12:00:00.000Z" {
		t.Errorf("made %s", made.raw)
	}
	if secret, _ := made.body["webhook_secret"].(string); !strings.HasPrefix(secret, "whsec_") {
		t.Errorf("no webhook secret: %s", made.raw)
	}
	key := made.secret()
	e.send(key, "POST", "/v1/flow/"+live+"/run", `{"who": "Ada"}`).want(200, "")
	e.send(key, "GET", path, "").want(403, flow.CodeScopeMissing)

	changed := e.send(admin, "PATCH", path, `{"name": "deploy 2", "rpm": null, "concurrency": 3, "expires_at": null}`).want(200, "")
	if changed.body["name"] != "deploy 2" || changed.body["rpm"] != nil || changed.body["concurrency"] != 3.0 || changed.body["expires_at"] != nil || changed.body["usd_per_day"] != 2.5 {
		t.Errorf("changed to %s", changed.raw)
	}

	rotated := e.send(admin, "POST", path+"/rotate", `{"overlap_s": 60}`).want(200, "")
	second := rotated.secret()
	if previous := rotated.body["previous"].(map[string]any); second == key || !strings.HasPrefix(key, fmt.Sprint(previous["prefix"])) {
		t.Errorf("rotated: %s", rotated.raw)
	}
	e.send(key, "GET", "/v1/flow", "").want(200, "")
	third := e.send(admin, "POST", path+"/rotate", `{"overlap_s": 0}`).want(200, "").secret()
	e.send(key, "GET", "/v1/flow", "").want(401, flow.CodeKeyInvalid)
	e.send(second, "GET", "/v1/flow", "").want(401, flow.CodeKeyRevoked)
	e.send(third, "GET", "/v1/flow", "").want(200, "")
	fourth := e.send(admin, "POST", path+"/rotate", "").want(200, "").secret() // for a day
	e.send(third, "GET", "/v1/flow", "").want(200, "")

	for _, a := range []*reply{e.send(admin, "GET", path, ""), e.send(admin, "GET", "/v1/keys", "")} {
		a.want(200, "")
		for _, text := range []string{admin, key, second, third, fourth, flow.Hash([]byte(fourth)), "whsec_"} {
			if strings.Contains(a.raw, text) {
				t.Errorf("%s shows %s", a.what, text)
			}
		}
	}

	for range 2 { // revoking again changes nothing
		e.send(admin, "DELETE", path, "").want(204, "")
	}
	e.send(fourth, "GET", "/v1/flow", "").want(401, flow.CodeKeyRevoked)
	if a := e.send(admin, "GET", path, "").want(200, ""); a.body["state"] != "revoked" {
		t.Errorf("revoked: %s", a.raw)
	}
	e.send(admin, "PATCH", path, `{"name": "again"}`).want(422, flow.CodeInputInvalid)
	e.send(admin, "POST", path+"/rotate", "").want(422, flow.CodeInputInvalid)
	for _, id := range []string{flow.NewIDs().New(flow.PrefixKey), "key_x", live, "%00"} {
		e.send(admin, "GET", "/v1/keys/"+id, "").want(404, flow.CodeNotFound)
	}

	log, err := e.Store.ListAudit(t.Context(), flow.DefaultWorkspace, "", 100)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, entry := range log {
		if entry.Actor == top.ID && strings.HasPrefix(entry.Detail, made.id()) && entry.Person == "ops" && entry.IP != "" {
			count[entry.Action]++
		}
	}
	if want := map[string]int{"key.create": 1, "key.change": 1, "key.roll": 3, "key.revoke": 1}; !maps.Equal(count, want) {
		t.Errorf("the audit log has %v of the acting key, want %v", count, want)
	}
}

func TestKeysAreListed(t *testing.T) {
	t.Parallel()
	e := setup(t)
	one, two := e.PublishedFlow(webtest.Greeting), e.PublishedFlow(webtest.Greeting)
	_, admin := e.key(flow.Key{Scopes: []flow.Scope{flow.ScopeAdmin}})
	listed, narrow := e.key(flow.Key{Scopes: []flow.Scope{flow.ScopeAdmin}, Flows: []string{one}})
	for i := range 5 {
		e.key(flow.Key{Name: fmt.Sprint(i), Scopes: []flow.Scope{flow.ScopeRun}, Flows: [][]string{{one}, {two}, nil, {one, two}, {one}}[i]})
	}
	names := func(key string) (list []string) {
		for path := "/v1/keys?limit=2"; ; {
			a := e.send(key, "GET", path, "").want(200, "")
			for _, k := range a.body["keys"].([]any) {
				list = append(list, k.(map[string]any)["name"].(string))
			}
			next, more := a.body["next_cursor"].(string)
			if !more {
				slices.Sort(list) // keys of one millisecond have no order
				return list
			}
			path = "/v1/keys?limit=2&cursor=" + next
		}
	}
	if got := names(admin); !slices.Equal(got, []string{"0", "1", "2", "3", "4", "test", "test"}) {
		t.Errorf("all keys: %v", got)
	}
	if got := names(narrow); !slices.Equal(got, []string{"0", "4", "test"}) {
		t.Errorf("keys of one flow: %v", got)
	}
	e.send(narrow, "GET", "/v1/keys/"+listed.ID, "").want(200, "")
	for _, query := range []string{"limit=0", "limit=101", "cursor=x"} {
		e.send(admin, "GET", "/v1/keys?"+query, "").want(422, flow.CodeInputInvalid)
	}
}

func TestKeysAreChecked(t *testing.T) {
	t.Parallel()
	e := setup(t)
	_, admin := e.key(flow.Key{Scopes: flow.Scopes})
	for body, want := range map[string]string{
		`{}`:                                                     "/name",
		`{"name": ""}`:                                           "/name",
		`{"name": 1}`:                                            "/name",
		`{"name": "x", "scopes": []}`:                            "/scopes",
		`{"name": "x", "scopes": ["all"]}`:                       "/scopes",
		`{"name": "x", "scopes": null}`:                          "/scopes",
		`{"name": "x", "flows": ["flow_x"]}`:                     "/flows",
		`{"name": "x", "flows": ["none"]}`:                       "/flows",
		`{"name": "x", "flows": "greet"}`:                        "/flows",
		`{"name": "x", "expires_at": "2020-01-01T00:00:00Z"}`:    "/expires_at",
		`{"name": "x", "expires_at": "tomorrow"}`:                "/expires_at",
		`{"name": "x", "rpm": 0}`:                                "/rpm",
		`{"name": "x", "concurrency": 1.5, "runs_per_day": "3"}`: "/concurrency /runs_per_day",
		`{"name": "x", "usd_per_day": -1}`:                       "/usd_per_day",
		`{"name": "x", "usd_per_day": 1e9}`:                      "/usd_per_day",
		`{"name": "x", "allow_unpriced": null}`:                  "/allow_unpriced",
		`{"name": "x", "trusted": true, "created_by": "cli"}`:    "/created_by /trusted",
	} {
		if got := strings.Join(e.send(admin, "POST", "/v1/keys", body).want(422, flow.CodeInputInvalid).pointers(), " "); got != want {
			t.Errorf("%s: wrong at %q, want %q", body, got, want)
		}
	}
	k, _ := e.key(flow.Key{Scopes: []flow.Scope{flow.ScopeRun}})
	path := "/v1/keys/" + k.ID
	for _, r := range [][3]string{
		{"PATCH", path, `{"scopes": ["run"]}`}, {"PATCH", path, `{"rpm": 0}`}, {"PATCH", path, `{"name": null}`}, {"POST", path + "/rotate", `{"overlap_s": -1}`},
		{"POST", path + "/rotate", `{"overlap_s": 2592001}`}, {"POST", path + "/rotate", `{"overlap": 1}`}, {"DELETE", path + "?cascade=yes", ""}, {"DELETE", path + "?cascade=true&cascade=true", ""},
	} {
		e.send(admin, r[0], r[1], r[2]).want(422, flow.CodeInputInvalid)
	}
	e.send(admin, "PATCH", path, "{").want(400, flow.CodeInvalidJSON)
	if now := e.send(admin, "GET", path, "").want(200, ""); now.body["state"] != "active" || now.body["previous"] != nil || now.body["rpm"] != nil {
		t.Errorf("refused requests changed the key: %s", now.raw)
	}
}

// TestKeysStayWithinTheCaller checks each right alone: a key that has less than another
// neither makes such a key nor changes, rotates or revokes it.
func TestKeysStayWithinTheCaller(t *testing.T) {
	t.Parallel()
	e := setup(t)
	one, two := e.PublishedFlow(webtest.Greeting), e.PublishedFlow(webtest.Greeting)
	end := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	later := end.Add(time.Second).Format(time.RFC3339)
	admin := []flow.Scope{flow.ScopeAdmin}
	for name, test := range map[string]struct {
		caller flow.Key
		body   string // of a key that exceeds it
		at     string
	}{
		"scopes":      {flow.Key{Scopes: admin}, `"scopes": ["admin", "run", "edit"]`, "/scopes"},
		"all flows":   {flow.Key{Scopes: admin, Flows: []string{one}}, `"flows": []`, "/flows"},
		"other flows": {flow.Key{Scopes: admin, Flows: []string{one}}, `"flows": ["` + one + `", "` + two + `"]`, "/flows"},
		"expiry":      {flow.Key{Scopes: admin, ExpiresAt: end}, `"expires_at": "` + later + `"`, "/expires_at"},
		"no expiry":   {flow.Key{Scopes: admin, ExpiresAt: end}, `"expires_at": null`, "/expires_at"},
		"rpm":         {flow.Key{Scopes: admin, RPM: 1000}, `"rpm": 1001`, "/rpm"},
		"no rpm":      {flow.Key{Scopes: admin, RPM: 1000}, `"rpm": null`, "/rpm"},
		"concurrency": {flow.Key{Scopes: admin, Concurrency: 2}, `"concurrency": 3`, "/concurrency"},
		"runs":        {flow.Key{Scopes: admin, RunsPerDay: 2}, `"runs_per_day": 3`, "/runs_per_day"},
		"dollars":     {flow.Key{Scopes: admin, USDPerDay: 2e9}, `"usd_per_day": 2.000001`, "/usd_per_day"},
		"no dollars":  {flow.Key{Scopes: admin, USDPerDay: 2e9}, `"usd_per_day": null`, "/usd_per_day"},
		"unpriced":    {flow.Key{Scopes: admin, USDPerDay: 2e9}, `"allow_unpriced": true`, "/allow_unpriced"},
	} {
		t.Run(name, func(t *testing.T) {
			e := &env{e.Env}
			_, caller := e.key(test.caller)
			base := `{"name": "x", "scopes": ["admin"]}`
			made := e.send(caller, "POST", "/v1/keys", base).want(201, "") // what is left out is the caller's
			body := strings.Replace(base, `"scopes": ["admin"]`, test.body, 1)
			if name != "scopes" {
				body = strings.TrimSuffix(base, "}") + ", " + test.body + "}"
			}
			if got := e.send(caller, "POST", "/v1/keys", body).want(403, flow.CodeExceedsKey).pointers(); !slices.Equal(got, []string{test.at}) {
				t.Errorf("exceeds at %v, want %s", got, test.at)
			}
			if name != "scopes" {
				if got := e.send(caller, "PATCH", "/v1/keys/"+made.id(), "{"+test.body+"}").want(403, flow.CodeExceedsKey).pointers(); !slices.Equal(got, []string{test.at}) {
					t.Errorf("changed, exceeds at %v, want %s", got, test.at)
				}
			}
			// A key of somebody else that exceeds the caller is out of its reach.
			_, all := e.key(flow.Key{Scopes: flow.Scopes})
			foreign := "/v1/keys/" + e.send(all, "POST", "/v1/keys", body).want(201, "").id()
			code := flow.CodeExceedsKey
			if test.at == "/flows" {
				code = flow.CodeFlowNotAllowed
			}
			for _, r := range [][3]string{{"GET", foreign}, {"PATCH", foreign, `{"name": "y"}`}, {"POST", foreign + "/rotate"}, {"DELETE", foreign}} {
				e.send(caller, r[0], r[1], r[2]).want(403, code)
			}
			if now := e.send(all, "GET", foreign, "").want(200, ""); now.body["name"] != "x" || now.body["state"] != "active" || now.body["rotated_at"] != nil {
				t.Errorf("changed to %s", now.raw)
			}
		})
	}
}

// TestKeys_gain_nothing_by_rotation checks that no key gets a budget besides its own, or a look at
// runs of others, by rotating a key that it did not make.
func TestKeys_gain_nothing_by_rotation(t *testing.T) {
	t.Parallel()
	e := setup(t)
	scopes := []flow.Scope{flow.ScopeRun, flow.ScopeAdmin}
	foreign, _ := e.key(flow.Key{Scopes: []flow.Scope{flow.ScopeRun}, RPM: 1, Concurrency: 1, RunsPerDay: 1, USDPerDay: 1, ExpiresAt: time.Now().Add(time.Hour)})
	path := "/v1/keys/" + foreign.ID
	for name, caller := range map[string]flow.Key{
		"rpm": {RPM: 10_000}, "concurrency": {Concurrency: 5}, "runs": {RunsPerDay: 5}, "dollars": {USDPerDay: 5e9},
	} {
		caller.Scopes = append(scopes, flow.ScopeRead)
		k, text := e.key(caller)
		e.send(text, "POST", path+"/rotate", "").want(403, flow.CodeExceedsKey)
		e.send(text, "PATCH", path, `{"`+map[string]string{"rpm": "rpm", "concurrency": "concurrency", "runs": "runs_per_day", "dollars": "usd_per_day"}[name]+`": 5}`).want(403, flow.CodeExceedsKey)
		e.send(text, "PATCH", path, `{"name": "tighter"}`).want(200, "")
		made := e.send(text, "POST", "/v1/keys", `{"name": "own"}`).want(201, "")
		e.send(text, "POST", "/v1/keys/"+made.id()+"/rotate", "").want(200, "")
		e.send(text, "POST", "/v1/keys/"+k.ID+"/rotate", "").want(200, "")
	}
	_, blind := e.key(flow.Key{Scopes: scopes})
	e.send(blind, "POST", path+"/rotate", "").want(403, flow.CodeExceedsKey)
	_, seeing := e.key(flow.Key{Scopes: append(scopes, flow.ScopeRead)})
	e.send(seeing, "POST", path+"/rotate", "").want(200, "").secret()

	// A new term is not longer than that of the caller.
	end := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	short, text := e.key(flow.Key{Scopes: scopes, ExpiresAt: end})
	if a := e.send(text, "POST", "/v1/keys/"+short.ID+"/rotate", "").want(200, ""); a.body["expires_at"] != end.Format("2006-01-02T15:04:05.000Z") {
		t.Errorf("the term of a key that rotates itself: %s, had %s", a.body["expires_at"], end)
	}
}

func TestKeysCascade(t *testing.T) {
	t.Parallel()
	e := setup(t)
	top, text := e.key(flow.Key{Scopes: flow.Scopes})
	create := func(by string) (*reply, string) {
		a := e.send(by, "POST", "/v1/keys", `{"name": "made", "scopes": ["admin", "read"]}`).want(201, "")
		return a, a.secret()
	}
	middle, middleText := create(text)
	_, lowText := create(middleText)
	e.send(text, "DELETE", "/v1/keys/"+middle.id()+"?cascade=false", "").want(204, "")
	e.send(lowText, "GET", "/v1/flow", "").want(200, "")
	e.send(text, "DELETE", "/v1/keys/"+top.ID+"?cascade=true", "").want(204, "")
	for _, key := range []string{text, middleText, lowText} {
		e.send(key, "GET", "/v1/flow", "").want(401, flow.CodeKeyRevoked)
	}
}

func TestKeys_limit_the_depth_of_makers(t *testing.T) {
	t.Parallel()
	e := setup(t)
	_, text := e.key(flow.Key{Scopes: flow.Scopes})
	for range flow.MaxKeyMakers {
		text = e.send(text, "POST", "/v1/keys", `{"name": "made", "scopes": ["admin"]}`).want(201, "").secret()
	}
	e.send(text, "POST", "/v1/keys", `{"name": "made", "scopes": ["admin"]}`).want(403, flow.CodeExceedsKey)
}

// TestKeys_share_the_rate_limit_of_their_maker sends requests with two keys of one maker.
func TestKeys_share_the_rate_limit_of_their_maker(t *testing.T) {
	t.Parallel()
	e := setup(t)
	_, text := e.key(flow.Key{Scopes: flow.Scopes, RPM: 6})
	var made []string
	for range 2 {
		made = append(made, e.send(text, "POST", "/v1/keys", `{"name": "made"}`).want(201, "").secret())
	}
	for i := range 4 {
		e.send(made[i%2], "GET", "/v1/flow", "").want(200, "")
	}
	for _, key := range append(made, text) {
		e.send(key, "GET", "/v1/flow", "").want(429, flow.CodeRateLimited)
	}
}
