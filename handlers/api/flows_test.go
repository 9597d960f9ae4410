package api

import (
	"testing"
	"time"

	"sluice/flow"
)

func TestShowFlow(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.store.flows[w.echo].Name = "Renamed in the draft"
	w.store.flows[w.echo].Limits = flow.Limits{MaxQueued: 50, RunsPerDay: 100, USDPerDay: 25e8}
	a := w.get("/v1/flow/" + w.echo)
	a.want(t, 200)
	self := publicURL + "/v1/flow/" + w.echo
	a.wantFields(t, map[string]any{
		"flow_id": w.echo, "name": "Answer a ticket", "description": "Answers.", "version": 1,
		"inputs": map[string]any{
			"type": "object", "additionalProperties": false, "required": []string{"ticket"},
			"properties": map[string]any{
				"ticket": map[string]any{"type": "string", "description": "What the customer wrote.", "examples": []string{"Where is it?"}, "minLength": 1, "maxLength": 2000},
				"tone":   map[string]any{"type": "string", "default": "friendly", "enum": []string{"friendly", "formal"}},
				"times":  map[string]any{"type": "number", "default": 1, "minimum": 1, "maximum": 9},
			},
		},
		"outputs": map[string]any{"type": "object", "additionalProperties": false, "required": []string{"answer"}, "properties": map[string]any{"answer": map[string]any{}}},
		"limits":  map[string]any{"max_running": nil, "max_queued": 50, "runs_per_day": 100, "usd_per_day": "2.5", "allow_unpriced": false, "timeout_s": 3600, "body_bytes": 1 << 20},
		"urls":    map[string]any{"self": self, "run": self + "/run", "runs": self + "/runs", "openapi": self + "/openapi.json", "dashboard": publicURL + "/flows/" + w.echo},
	})
	fresh := w.get("/v1/flow/" + w.unpublished)
	fresh.want(t, 200)
	fresh.wantFields(t, map[string]any{"version": nil, "inputs": nil, "outputs": nil, "name": "Answer a ticket"})
	w.get("/v1/flow/"+w.unpublished+"/openapi.json").wantCode(t, 409, flow.CodeNotPublished)

	w.store.flows[w.held].ArchivedAt = time.Now()
	w.get("/v1/flow/"+w.held).wantCode(t, 404, flow.CodeNotFound)
}

func TestListFlows(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.addFlow("ws_other", echoDocument)
	list := func(key string) (ids []string) {
		query := "?limit=1"
		for {
			a := w.send(request{method: "GET", path: "/v1/flow" + query, key: key})
			a.want(t, 200)
			for _, f := range a.body["flows"].([]any) {
				ids = append(ids, f.(map[string]any)["flow_id"].(string))
			}
			next, more := a.body["next_cursor"].(string)
			if !more {
				return ids
			}
			query = "?limit=1&cursor=" + next
		}
	}
	if ids := list(w.key); len(ids) != 4 {
		t.Errorf("listed %v", ids)
	}
	listed := w.addKey(flow.Key{Scopes: []flow.Scope{flow.ScopeRead}, Flows: []string{w.held, w.echo, w.ids.New(flow.PrefixFlow)}})
	ids := list(listed)
	if len(ids) != 2 || ids[0] >= ids[1] {
		t.Errorf("a key with a list sees %v", ids)
	}
	w.get("/v1/flow?limit=x&cursor=y").wantCode(t, 422, flow.CodeInputInvalid)
	w.get("/v1/flow?cursor="+*newCursor(w.ids.New(flow.PrefixRun))).want(t, 422)
}

func TestFlowBySlug(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.store.mu.Lock()
	w.store.flows[w.echo].Slug = "echo-ticket"
	w.store.mu.Unlock()
	a := w.get("/v1/flow/echo-ticket")
	a.want(t, 200)
	a.wantFields(t, map[string]any{"flow_id": w.echo, "slug": "echo-ticket"})
	run := w.start("echo-ticket", `{"ticket": "a"}`, 200, "Prefer", "wait=60")
	run.wantFields(t, map[string]any{"flow_id": w.echo})
	w.get("/v1/flow/echo-ticket/run/"+run.field("run_id").(string)).want(t, 200)
	w.get("/v1/flow/no-such-flow").wantCode(t, 404, flow.CodeNotFound)

	listed := w.addKey(flow.Key{Scopes: []flow.Scope{flow.ScopeRead}, Flows: []string{w.held}})
	w.send(request{method: "GET", path: "/v1/flow/echo-ticket", key: listed}).wantCode(t, 403, flow.CodeFlowNotAllowed)
	foreign := w.addKey(flow.Key{WorkspaceID: "ws_other", Scopes: []flow.Scope{flow.ScopeRead}})
	w.send(request{method: "GET", path: "/v1/flow/echo-ticket", key: foreign}).wantCode(t, 404, flow.CodeNotFound)
}
