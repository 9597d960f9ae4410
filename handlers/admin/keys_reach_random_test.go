package admin_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sluice/flow"
)

// intruder sends random requests with a key that is limited to a list of flows, and with the keys
// that it creates or rotates.
type intruder struct {
	*reach
	r       *rand.Rand
	first   *flow.Key
	others  []*flow.Key // that a person created, within the rights of the first
	known   []string    // secrets
	ids     []string    // of keys that requests name
	runs    []string    // paths of runs in the list
	foreign []string    // paths of runs, files and deliveries of other flows
	asked   []string    // paths of questions of runs that known keys started
}

func (x *intruder) one(list ...string) string { return list[x.r.IntN(len(list))] }

// ref returns a name of any flow, or of none.
func (x *intruder) ref() string {
	return x.one(x.own, "own", "own", x.second, "second", "second", "drawn", "drawn", x.shared, "shared", x.reach.foreign, "foreign", "old-foreign", "renamed", "nothing")
}

// document returns a document with a random slug that may run another flow.
func (x *intruder) document() string {
	slug := x.one("own", "own", "second", "second", "drawn", "old-foreign", "foreign", "renamed", "shared", "fresh")
	if x.r.IntN(4) == 0 {
		return constant("Mine", slug, "mine")
	}
	return caller("Mine", slug, x.one("subflow", "map"), x.ref(), x.r.IntN(3) == 0)
}

// options returns random options of a start.
func (x *intruder) options() string {
	return x.one(`{}`, `{"run_options":{"version":1}}`, `{"run_options":{"version":2}}`, `{"run_options":{"version":3}}`, `{"run_options":{"version":"draft"}}`, `{"run_options":{"version":"draft","children":"draft"}}`)
}

// step sends one random request and returns what it was.
func (x *intruder) step() (what string, got *reply) {
	x.known = slices.DeleteFunc(x.known, func(text string) bool { return !x.valid(text) })
	key, id := x.one(x.known...), x.one(x.own, x.second, x.drawn, x.own, x.second, x.reach.foreign, x.shared)
	method, path, body := "POST", "", ""
	switch x.r.IntN(16) {
	case 0, 1:
		what = "PUT " + id
		return what, x.put(key, id, x.document(), x.one("", "?take_alias=true"))
	case 2, 3:
		path = "/v1/apply"
		body = fmt.Sprintf(`{"source":"s","publish":%s,"force":true,"allow_breaking":true,"take_alias":%s,"prune":%s,"documents":[%s]}`,
			x.one("true", "false"), x.one("true", "false"), x.one("true", "false"), x.document())
	case 4:
		path, body = "/v1/flow/"+x.ref()+"/publish", x.one(`{"allow_breaking":true}`, `{"version":1,"allow_breaking":true}`, `{"version":2,"allow_breaking":true}`)
	case 5:
		path = "/v1/flow/" + x.ref() + x.one("/archive", "/restore")
	case 6, 7:
		path, body = "/v1/flow/"+x.ref()+"/run", x.options()
	case 8:
		path, body = x.one(append(x.runs, x.foreign...)...)+x.one("/rerun", "/cancel"), x.one(`{}`, `{"children":"live"}`)
	case 9:
		path, body = x.one("/v1/flow", "/v1/flow/validate", "/v1/flow/import"), x.document()
		if strings.HasSuffix(path, "import") {
			body = `{"publish":true,"documents":[` + body + `]}`
		}
	case 10:
		arguments := fmt.Sprintf(`{"flow":%q,"etag":"\"rev-%d\"","document":%s}`, id, x.Rev(id), x.document())
		tool := x.one("edit_flow", "create_flow", "publish_flow", "run_flow", "get_document")
		switch tool {
		case "create_flow":
			arguments = `{"document":` + x.document() + `}`
		case "publish_flow":
			arguments = fmt.Sprintf(`{"flow":%q,"version":1,"allow_breaking":true}`, x.ref())
		case "run_flow", "get_document":
			arguments = fmt.Sprintf(`{"flow":%q,"version":%q}`, x.ref(), x.one("draft", "live", "1", "2"))
		}
		return "MCP " + tool + " " + arguments, x.tool(key, tool, arguments)
	case 11:
		path, body = "/v1/chat/completions", fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"hi"}]}`, x.ref())
	case 12:
		path = x.one(x.foreign...)
		if method = x.one("GET", "DELETE", "POST"); method == "POST" {
			body = `{}`
		}
	case 13:
		path, body = "/v1/keys", `{"name":"mine","scopes":["run","read","manage","edit","approve","admin"],"flows":`+x.one(`[]`, fmt.Sprintf(`[%q]`, x.reach.foreign), fmt.Sprintf(`[%q,%q,"ask"]`, x.own, x.drawn))+`}`
	case 14:
		path, body = "/v1/keys/"+x.one(x.ids...)+"/rotate", `{"overlap_s":3600}`
	case 15:
		if len(x.asked) == 0 || x.r.IntN(3) == 0 {
			x.asked = append(x.asked, x.ask(key))
		}
		path, body = x.one(append(x.asked, "/v1/kinds")...), `{"decision":"approved"}`
	}
	return method + " " + path + " " + body, x.send(key, method, path, body)
}

// valid reports whether a secret still works: rotations end it.
func (x *intruder) valid(text string) bool {
	_, err := x.Store.FindKeyByHash(context.Background(), flow.Hash([]byte(text)))
	return err == nil
}

// learn adds the keys and runs that a response shows.
func (x *intruder) learn(what string, got *reply) {
	x.T.Helper()
	if got.status >= 500 || strings.Contains(got.raw, "a foreign text") {
		x.T.Fatalf("%s: %d %s", what, got.status, got.raw)
	}
	if got.status >= 300 {
		return
	}
	if strings.Contains(what, "POST /v1/keys") {
		x.known = append(x.known, got.secret())
		x.ids = append(x.ids, got.id())
	}
	if id, is := got.body["run_id"].(string); is && len(x.runs) < 40 {
		x.runs = append(x.runs, fmt.Sprintf("/v1/flow/%v/run/%s", got.body["flow_id"], id))
	}
}

// check looks for effects on flows outside the list and for answers to own questions.
func (x *intruder) check(what string) {
	x.T.Helper()
	x.wantUntouched(what)
	shared, err := x.Store.FindFlow(context.Background(), flow.DefaultWorkspace, flow.FlowID(x.shared))
	if err != nil || shared.Slug != "shared" || shared.LiveVersion != 1 || !shared.ArchivedAt.IsZero() {
		x.T.Fatalf("after %s: the shared flow is %+v, %v", what, shared, err)
	}
	for _, path := range x.asked {
		id := flow.RunID(strings.Split(path, "/")[5])
		a, err := x.Store.FindApproval(context.Background(), flow.DefaultWorkspace, id, "ask")
		if err != nil || a.Decision != nil && a.Decision.Outcome != flow.OutcomeExpired {
			x.T.Fatalf("after %s: the question of %s has the answer %+v, %v", what, id, a, err)
		}
	}
}

// TestLimitedKey_random_calls_reach_no_other_flow sends random sequences of documents, publications,
// runs, copies, tools, approvals and keys. None of them runs, changes or shows a flow outside the
// list that no owner put into a flow of the list, and no key answers what its own chain asked.
func TestLimitedKey_random_calls_reach_no_other_flow(t *testing.T) {
	t.Parallel()
	accepted := map[string]int{}
	for seed := range uint64(6) {
		x := &intruder{reach: setupReach(t), r: rand.New(rand.NewPCG(seed, 26))}
		ask := x.PublishedFlow(asking(`,"audience":"members"`))
		list := []string{x.own, x.second, x.drawn, ask}
		first, text := x.env.key(flow.Key{Flows: list, Scopes: flow.Scopes})
		x.first, x.known, x.ids = first, []string{text}, []string{first.ID}
		for range 2 {
			k, _ := x.env.key(flow.Key{Flows: list, Scopes: flow.Scopes})
			x.others, x.ids = append(x.others, k), append(x.ids, k.ID)
		}
		_, owner := x.env.key(flow.Key{Scopes: flow.Scopes})
		started := x.send(owner, "POST", "/v1/flow/shared/run", `{}`).want(200, "")
		x.foreign = []string{fmt.Sprintf("/v1/flow/%s/run/%v", x.shared, started.body["run_id"]), fmt.Sprintf("/v1/flow/own/run/%v", started.body["run_id"]), "/v1/flow/foreign/document", "/v1/flow/foreign/runs", "/v1/flow/foreign/limits"}
		file := x.sendWith(owner, "POST", "/v1/files", "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f.txt\"\r\n\r\na foreign text\r\n--b--\r\n", "Content-Type", "multipart/form-data; boundary=b").want(201, "")
		x.foreign = append(x.foreign, fmt.Sprintf("/v1/files/%v", file.body["file"]))
		for range 300 {
			what, got := x.step()
			x.learn(what, got)
			if got.status < 300 {
				accepted[strings.Trim(strings.Join(strings.Fields(what)[:2], " "), "/")]++
			}
			x.check(what)
		}
	}
	runs := 0
	for what, n := range accepted {
		if strings.Contains(what, "/run") {
			runs += n
		}
	}
	if accepted["POST /v1/apply"] < 10 || accepted["POST /v1/keys"] < 10 || runs < 30 {
		t.Errorf("little was accepted, so little was tested: %v", accepted)
	}
}
