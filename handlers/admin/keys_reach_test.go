package admin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"sluice/flow"
)

// constant returns a document without inputs that outputs a text.
func constant(name, slug, text string) string {
	return fmt.Sprintf(`{"schema":"sluice.flow/v1","name":%q,"slug":%q,"nodes":[
 {"id":"words","kind":"template","config":{"template":%q}},{"id":"out","kind":"output","config":{"name":"text"}}],
 "edges":[{"from":"words.text","to":"out.value"}]}`, name, slug, text)
}

// caller returns a document with a node that runs another flow: a subflow, or a map over two
// items, as it is or disabled.
func caller(name, slug, kind, ref string, disabled bool) string {
	config := fmt.Sprintf(`{"flow":%q}`, ref)
	port := "outputs"
	if kind == "map" {
		config, port = fmt.Sprintf(`{"flow":%q,"over":["n"],"input.n":[1,2]}`, ref), "results"
	}
	return fmt.Sprintf(`{"schema":"sluice.flow/v1","name":%q,"slug":%q,"nodes":[
 {"id":"call","kind":%q,"config":%s,"disabled":%t},{"id":"words","kind":"template","config":{"template":"own"}},
 {"id":"own","kind":"output","config":{"name":"own"}},{"id":"out","kind":"output","config":{"name":"text"}}],
 "edges":[{"from":"call.%s","to":"out.value"},{"from":"words.text","to":"own.value"}]}`, name, slug, kind, config, disabled, port)
}

// reach is a workspace with flows inside and outside the list of a key.
type reach struct {
	*env
	own, second     string // flows in the list
	drawn           string // in the list; its owner lets it run shared
	shared, foreign string // flows outside the list
	key             string // may do everything with the flows of its list
}

// setupReach creates the flows and a key. The foreign flow has a former slug, "old-foreign".
func setupReach(t *testing.T) *reach {
	t.Helper()
	r := &reach{env: setup(t)}
	r.own = r.PublishedFlow(constant("Own", "own", "own"))
	r.second = r.PublishedFlow(constant("Second", "second", "second"))
	r.shared = r.PublishedFlow(constant("Shared", "shared", "shared"))
	r.foreign = r.PublishedFlow(constant("Foreign", "old-foreign", "a foreign text"))
	if err := r.Store.RenameSlug(t.Context(), flow.DefaultWorkspace, flow.FlowID(r.foreign), "foreign", false); err != nil {
		t.Fatal(err)
	}
	r.drawn = r.PublishedFlow(caller("Drawn", "drawn", "subflow", r.shared, false))
	_, r.key = r.env.key(flow.Key{Flows: []string{r.own, r.second, r.drawn}, Scopes: []flow.Scope{flow.ScopeRun, flow.ScopeRead, flow.ScopeManage, flow.ScopeEdit, flow.ScopeApprove}})
	return r
}

// put sends PUT for a flow with the current ETag.
func (r *reach) put(key, id, body, query string) *reply {
	r.T.Helper()
	return r.sendWith(key, "PUT", "/v1/flow/"+id+query, body, "If-Match", fmt.Sprintf(`"rev-%d"`, r.Rev(id)))
}

// sendWith is send with one more header.
func (r *reach) sendWith(key, method, path, body, header, value string) *reply {
	r.T.Helper()
	req, err := http.NewRequestWithContext(r.T.Context(), method, r.Http.URL+path, strings.NewReader(body))
	if err != nil {
		r.T.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(header, value)
	got, err := http.DefaultClient.Do(req)
	if err != nil {
		r.T.Fatal(err)
	}
	defer got.Body.Close()
	data, err := io.ReadAll(got.Body)
	if err != nil {
		r.T.Fatal(err)
	}
	out := &reply{t: r.T, what: method + " " + path, status: got.StatusCode, header: got.Header, raw: string(data)}
	_ = json.Unmarshal(data, &out.body)
	return out
}

// tool calls an authoring tool over MCP.
func (r *reach) tool(key, name, arguments string) *reply {
	r.T.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, name, arguments)
	return r.sendWith(key, "POST", "/mcp?tools=authoring", body, "Accept", "application/json, text/event-stream")
}

// runs returns how many runs a flow has.
func (r *reach) runs(id string) int {
	r.T.Helper()
	list, err := r.Store.ListRuns(context.Background(), flow.RunFilter{WorkspaceID: flow.DefaultWorkspace, FlowID: flow.FlowID(id), Limit: 1000})
	if err != nil {
		r.T.Fatal(err)
	}
	return len(list)
}

// wantUntouched checks that the foreign flow has not run and still has its names and its draft.
func (r *reach) wantUntouched(after string) {
	r.T.Helper()
	if n := r.runs(r.foreign); n > 0 {
		r.T.Fatalf("after %s: %d runs of a flow outside the list", after, n)
	}
	for _, slug := range []string{"foreign", "old-foreign"} {
		if id, err := r.Store.FindFlowID(context.Background(), flow.DefaultWorkspace, slug); err != nil || id != flow.FlowID(r.foreign) {
			r.T.Fatalf("after %s: %s names %s, %v", after, slug, id, err)
		}
	}
	if d := r.Draft(r.foreign); d == nil || d.Name != "Foreign" {
		r.T.Fatalf("after %s: the draft of the foreign flow is %v", after, d)
	}
}

// TestLimitedKey_cannot_write_other_flows_into_a_document sends documents that run a flow outside the
// list, by each of its names, with each kind, through each route.
func TestLimitedKey_cannot_write_other_flows_into_a_document(t *testing.T) {
	t.Parallel()
	r := setupReach(t)
	for _, kind := range []string{"subflow", "map"} {
		for _, ref := range []string{r.foreign, "foreign", "old-foreign", " foreign ", "no-such-flow", "flow_00000000000000000000000000"} {
			for _, disabled := range []bool{false, true} {
				document := caller("Own", "own", kind, ref, disabled)
				what := fmt.Sprintf("%s %q disabled %t", kind, ref, disabled)
				got := r.put(r.key, r.own, document, "").want(403, flow.CodeFlowNotAllowed)
				if strings.Contains(got.raw, "Foreign") || !strings.Contains(got.raw, `"/nodes/0/config/flow"`) {
					t.Errorf("PUT, %s: %s", what, got.raw)
				}
				got = r.send(r.key, "POST", "/v1/apply", `{"publish":true,"force":true,"documents":[`+constant("Second", "second", "second")+`,`+document+`]}`).want(403, flow.CodeFlowNotAllowed)
				if !strings.Contains(got.raw, `"/documents/1/nodes/0/config/flow"`) {
					t.Errorf("apply, %s: %s", what, got.raw)
				}
				if got := r.send(r.key, "POST", "/v1/flow/validate", document).want(200, ""); got.body["valid"] != false || !strings.Contains(got.raw, "flow_not_allowed") {
					t.Errorf("validate, %s: %s", what, got.raw)
				}
				got = r.tool(r.key, "edit_flow", fmt.Sprintf(`{"flow":%q,"etag":"\"rev-%d\"","document":%s}`, r.own, r.Rev(r.own), document))
				if !strings.Contains(got.raw, `"code":"flow_not_allowed"`) {
					t.Errorf("MCP, %s: %s", what, got.raw)
				}
				r.send(r.key, "POST", "/v1/flow", document).want(403, flow.CodeFlowNotAllowed)
				r.send(r.key, "POST", "/v1/flow/import", `{"documents":[`+document+`]}`).want(403, flow.CodeFlowNotAllowed)
			}
		}
	}
	if got := r.put(r.key, r.own, caller("Own", "own", "subflow", "second", false), "").want(200, ""); got.body["slug"] != "own" {
		t.Errorf("a flow of the list: %s", got.raw)
	}
	r.send(r.key, "POST", "/v1/flow/own/publish", `{"allow_breaking":true}`).want(200, "")
	r.send(r.key, "POST", "/v1/flow/own/run", `{}`).want(200, "")
	r.wantUntouched("all documents")
	_, all := r.env.key(flow.Key{Scopes: []flow.Scope{flow.ScopeEdit}})
	r.put(all, r.own, caller("Own", "own", "subflow", "foreign", false), "").want(200, "")
}

// TestLimitedKey_keeps_what_the_draft_runs lets a key change a flow that already runs a flow outside
// the list, but not enable a node, and not bring it back from an older version.
func TestLimitedKey_keeps_what_the_draft_runs(t *testing.T) {
	t.Parallel()
	r := setupReach(t)
	r.send(r.key, "POST", "/v1/flow/drawn/run", `{}`).want(200, "")
	byID, bySlug := caller("Drawn", "drawn", "subflow", r.shared, false), caller("Drawn again", "drawn", "map", "shared", false)
	if got := r.send(r.key, "POST", "/v1/flow/validate", bySlug).want(200, ""); got.body["valid"] != true {
		t.Errorf("validate: %s", got.raw)
	}
	r.put(r.key, r.drawn, bySlug, "").want(200, "")
	r.put(r.key, r.drawn, byID, "").want(200, "")
	r.put(r.key, r.drawn, caller("Drawn", "drawn", "subflow", "foreign", false), "").want(403, flow.CodeFlowNotAllowed)

	r.put(r.key, r.drawn, caller("Drawn", "drawn", "subflow", r.shared, true), "").want(200, "")
	r.put(r.key, r.drawn, byID, "").want(403, flow.CodeFlowNotAllowed) // the node is disabled now
	r.send(r.key, "POST", "/v1/flow/drawn/run", `{"run_options":{"version":"draft"}}`).want(200, "")
	r.put(r.key, r.drawn, constant("Drawn", "drawn", "alone"), "").want(200, "")
	r.put(r.key, r.drawn, byID, "").want(403, flow.CodeFlowNotAllowed)
	started := r.send(r.key, "POST", "/v1/flow/drawn/run", `{}`).want(200, "") // the live version still runs it
	run := fmt.Sprint(started.body["run_id"])
	r.send(r.key, "POST", "/v1/flow/drawn/publish", `{"allow_breaking":true}`).want(200, "")
	before := r.runs(r.shared)
	r.send(r.key, "POST", "/v1/flow/drawn/publish", `{"version":1,"allow_breaking":true}`).want(403, flow.CodeFlowNotAllowed)
	r.send(r.key, "POST", "/v1/flow/drawn/run", `{"run_options":{"version":1}}`).want(403, flow.CodeFlowNotAllowed)
	r.send(r.key, "POST", "/v1/flow/drawn/run/"+run+"/rerun", `{"children":"live"}`).want(403, flow.CodeFlowNotAllowed)
	r.send(r.key, "POST", "/v1/flow/drawn/run", `{"run_options":{"version":7}}`).want(422, flow.CodeInputInvalid)
	if n := r.runs(r.shared); n != before {
		t.Errorf("%d runs of a flow outside the list that nothing runs any more", n-before)
	}
}

// TestLimitedKey_runs_no_drafts_of_other_flows asks for the drafts of the flows below a draft.
func TestLimitedKey_runs_no_drafts_of_other_flows(t *testing.T) {
	t.Parallel()
	r := setupReach(t)
	const drafts = `{"run_options":{"version":"draft","children":"draft"}}`
	r.put(r.key, r.own, caller("Own", "own", "subflow", "second", false), "").want(200, "")
	r.send(r.key, "POST", "/v1/flow/own/run", drafts).want(200, "")
	r.send(r.key, "POST", "/v1/flow/drawn/run", drafts).want(403, flow.CodeFlowNotAllowed)
	r.put(r.key, r.own, caller("Own", "own", "subflow", "drawn", false), "").want(200, "")
	r.send(r.key, "POST", "/v1/flow/own/run", drafts).want(403, flow.CodeFlowNotAllowed) // two levels below
	_, all := r.env.key(flow.Key{Scopes: []flow.Scope{flow.ScopeRun, flow.ScopeManage, flow.ScopeRead}})
	started := r.send(all, "POST", "/v1/flow/drawn/run", drafts).want(200, "")
	r.send(r.key, "POST", fmt.Sprintf("/v1/flow/drawn/run/%v/rerun", started.body["run_id"]), `{}`).want(403, flow.CodeFlowNotAllowed)
}

// TestLimitedKey_takes_no_alias_of_other_flows renames a flow to former slugs.
func TestLimitedKey_takes_no_alias_of_other_flows(t *testing.T) {
	t.Parallel()
	r := setupReach(t)
	r.put(r.key, r.own, constant("Own", "old-foreign", "own"), "?take_alias=true").want(403, flow.CodeFlowNotAllowed)
	r.put(r.key, r.own, constant("Own", "old-foreign", "own"), "").want(409, flow.CodeSlugTaken)
	r.send(r.key, "POST", "/v1/apply", `{"take_alias":true,"documents":[`+constant("Own", "old-foreign", "own")+`]}`).want(403, flow.CodeFlowNotAllowed)
	r.put(r.key, r.second, constant("Second", "renamed", "second"), "").want(200, "")
	r.put(r.key, r.own, constant("Own", "second", "own"), "?take_alias=true").want(200, "") // both are in the list
	r.wantUntouched("take_alias")
}
