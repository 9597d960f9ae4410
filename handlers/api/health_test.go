package api

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"sluice/flow"
)

func TestHealth(t *testing.T) {
	t.Parallel()
	w := setupBeside(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "a page at "+r.URL.Path) }))
	get := func(path string) *reply { return w.send(request{method: "GET", path: path, key: "-"}) }
	get("/livez").want(t, 200)
	get("/readyz").want(t, 200)
	for _, path := range []string{"/", "/flows", "/v1s"} {
		if a := get(path); a.status != 200 || string(a.raw) != "a page at "+path {
			t.Errorf("%s is %d %s", path, a.status, a.raw)
		}
	}
	path := w.endedRun(w.echo, `{"ticket": "a"}`)
	w.server.Leave()
	get("/readyz").wantCode(t, 503, flow.CodeDraining)
	w.start(w.echo, `{"ticket": "a"}`, 202)
	w.upload("", "a", "", []byte("x")).want(t, 201)
	w.runner.draining.Store(true)
	get("/livez").want(t, 200)
	ready := get("/readyz")
	ready.wantCode(t, 503, flow.CodeDraining)
	if ready.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	w.post("/v1/flow/"+w.echo+"/run", `{"ticket": "a"}`).wantCode(t, 503, flow.CodeDraining)
	w.post(path+"/rerun", `{}`).wantCode(t, 503, flow.CodeDraining)
	w.runner.shared = true
	w.get("/readyz").wantCode(t, 503, flow.CodeDraining)
	w.post("/v1/flow/"+w.echo+"/run", `{"ticket": "a"}`).want(t, 202)
	w.get(path).want(t, 200)
	w.get(path+"/result").want(t, 200)
}

func TestRunEnded(t *testing.T) {
	t.Parallel()
	w := setup(t)
	typ, data := w.server.RunEnded(&flow.Run{ID: "run_1", FlowID: "flow_1", State: flow.RunFailed, Error: &flow.Error{Code: flow.CodeRunTimeout, Message: "Too slow."}})
	if typ != "run.failed" || !strings.Contains(string(data), `"self":"`+publicURL+`/v1/flow/flow_1/run/run_1"`) {
		t.Errorf("%s %s", typ, data)
	}
}
