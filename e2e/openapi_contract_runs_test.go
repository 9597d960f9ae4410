package e2e

import (
	"encoding/json"
	"net/http"
)

// upload uploads a file through the proxy that checks the contract, and returns the
// file's ID.
func (k *contract) upload(content string) (id string) {
	k.t.Helper()
	body := "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\n" + content + "\r\n--x--\r\n"
	a := k.ask("all", "POST", "/v1/files", []byte(body), "Content-Type: multipart/form-data; boundary=x")
	id, _ = a.object(k.t)["file"].(string)
	return id
}

// starts requests starts and reruns in every mode: at once, waiting, and as a stream of
// events. It also requests those that are refused, and routes of a run that is not
// finished.
func (k *contract) starts() {
	path := "/v1/flow/" + k.ids["flow_id"] + "/run"
	body, wait := object{"name": "Ada"}, "Prefer: wait=30"
	k.ask("all", "POST", path, body)
	k.ask("all", "POST", path, body, wait)
	rerun := path + "/" + k.ids["run_id"] + "/rerun"
	k.ask("all", "POST", rerun, object{})
	k.ask("all", "POST", rerun, object{}, wait)
	for _, at := range []string{path, rerun} {
		k.ask("all", "POST", at, []any{})
		k.ask("all", "POST", at, body, "Prefer: wait=99")
		k.ask("all", "POST", at, body, "Content-Type: text/plain")
		k.ask("all", "POST", at, object{"name": 3, "inputs": 3})
	}
	unpublished := k.s.must("flow", "import", writeFile(k.t, "draft.json", greeting()))
	k.ask("all", "POST", "/v1/flow/"+unpublished+"/run", body)
	k.ask("all", "GET", "/v1/flow/"+unpublished+"/openapi.json", nil)

	gate := make(chan struct{})
	slow := newReceiver(k.t, func(http.ResponseWriter, string, int) { <-gate })
	open := k.s.client(k.keys["all"]).start(k.s.publish(calling(slow.URL)), object{"n": "1"}).path()
	k.ask("all", "GET", open+"/result", nil)
	k.ask("all", "DELETE", open, nil)
	k.ask("all", "POST", open+"/rerun", object{})
	k.ask("all", "POST", open+"/cancel", nil)
	close(gate)
}

// reads requests routes that only read, with valid and with invalid parameters, and a
// few that act on a run that has ended.
func (k *contract) reads() {
	run := runPath(k.ids["flow_id"], k.ids["run_id"])
	for _, path := range []string{"/livez", "/v1/openapi.json", "/v1/flow", "/v1/flow?limit=1", "/v1/flow?limit=0", "/v1/runs", "/v1/runs?limit=0", "/v1/kinds", "/v1/usage", "/v1/usage?by=flow", "/v1/usage?by=x", "/v1/schema/flow.json", "/v1/flow/" + k.ids["flow_id"], "/v1/flow/" + k.ids["flow_id"] + "/openapi.json",
		"/v1/flow/" + k.ids["flow_id"] + "/runs?status=succeeded,failed&limit=1", "/v1/flow/" + k.ids["flow_id"] + "/runs?status=eaten", run + "?wait=1", run + "?wait=x", run + "/result", run + "/steps",
		"/v1/flow/" + k.ids["flow_id"] + "/deliveries", "/v1/flow/" + k.ids["flow_id"] + "/deliveries?limit=x"} {
		k.ask("all", "GET", path, nil)
	}
	tag := k.ask("all", "GET", run, nil).header.Get("ETag")
	k.ask("all", "GET", run, nil, "If-None-Match: "+tag)
	alone := "/v1/run/" + k.ids["run_id"]
	k.ask("all", "GET", alone, nil, "If-None-Match: "+k.ask("all", "GET", alone, nil).header.Get("ETag"))
	k.ask("all", "GET", alone+"?wait=x", nil)
	k.ask("all", "GET", run+"/events", nil, "Accept: text/event-stream")
	k.ask("all", "GET", run+"/events", nil, "Accept: text/event-stream", "Last-Event-ID: 999")
	k.ask("all", "GET", run+"/events", nil, "Accept: text/event-stream", "Last-Event-ID: x")
	k.ask("all", "POST", run+"/cancel", nil)
	k.ask("all", "POST", run+"/cancel", object{"after": "never"})
	failed := k.ask("all", "POST", "/v1/flow/"+k.ids["failing"]+"/run", object{"n": "1"}, "Prefer: wait=30").run(k.t)
	k.ask("all", "GET", failed.path(), nil)
	k.ask("all", "GET", failed.path()+"/result", nil)
	k.ask("all", "POST", "/v1/deliveries/"+k.ids["delivery_id"]+"/redeliver", nil)
}

func (k *contract) files() {
	path := "/v1/files/" + k.ids["file_id"]
	tag := k.ask("all", "GET", path, nil).header.Get("ETag")
	for _, method := range []string{"GET", "HEAD"} {
		for _, h := range []string{"Accept: */*", "Range: bytes=0-1", "Range: bytes=99-", "If-None-Match: " + tag, `If-Match: "other"`} {
			k.ask("all", method, path, nil, h)
		}
	}
	k.ask("all", "POST", "/v1/files", []byte("--x--"), "Content-Type: multipart/form-data; boundary=x")
	k.ask("all", "DELETE", "/v1/files/"+k.upload("gone"), nil)
}

// protocol sends messages of the Model Context Protocol, of its newest and of an older
// version, and some that are refused.
func (k *contract) protocol() {
	message := func(method string, params object) object {
		return object{"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
	}
	newest := []string{"Mcp-Protocol-Version: 2026-07-28"}
	meta := object{"_meta": object{"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": object{}}}
	k.ask("all", "POST", "/mcp", message("tools/list", object{}))
	k.ask("all", "POST", "/mcp", message("tools/call", object{"name": "greet", "arguments": object{"name": "Ada"}}), "Accept: text/event-stream")
	k.ask("all", "POST", "/mcp", object{"jsonrpc": "2.0", "method": "notifications/initialized"})
	k.ask("all", "POST", "/mcp", message("tools/eat", meta), newest...)
	k.ask("all", "POST", "/mcp", message("tools/list", object{}), newest...)
	k.ask("all", "POST", "/mcp?tools=other", message("tools/list", object{}))
	k.ask("all", "POST", "/mcp", []any{})
	k.ask("all", "POST", "/mcp", message("tools/list", nil), "Content-Type: text/plain")
	k.ask("all", "POST", "/mcp", message("tools/list", nil), "Origin: https://elsewhere.test")
}

// approvals requests the questions of a run and answers them: with keys that may not,
// with invalid answers, twice, and after the run was deleted.
func (k *contract) approvals() {
	c := k.s.client(k.keys["all"])
	asking := k.s.publish(approving("", nil))
	run := c.start(asking, object{"draft": "a"})
	k.s.waitUntil("the run asks", func() bool { return c.do("GET", run.path(), nil).run(k.t).Status == "waiting" })
	path, yes := run.path()+"/approvals/ask", object{"decision": "approved"}
	k.ask("all", "POST", path, yes) // refused: this key started the run
	k.ask("approve", "GET", run.path()+"/approvals", nil)
	k.ask("approve", "POST", path, object{"decision": "perhaps"})
	k.ask("approve", "POST", path, yes, "Content-Type: text/plain")
	k.ask("approve", "POST", path, yes, "Accept: text/html")
	k.ask("approve", "POST", run.path()+"/approvals/other", yes)
	k.ask("approve", "POST", path, yes)
	k.ask("approve", "POST", path, yes)
	c.await(run)
	c.want(204, "DELETE", run.path(), nil)
	k.ask("approve", "GET", run.path()+"/approvals", nil)
	k.ask("approve", "POST", path, yes)
}

// children requests the child runs of a map, in pages and by status, and after the run
// was deleted.
func (k *contract) children() {
	c := k.s.client(k.keys["all"])
	double := k.s.publish(documentOf("Echo", []object{input("n"), output("double")}, "n.value > out_double.value"))
	run := c.await(c.start(k.s.publish(mapping(double, nil)), object{"list": []any{"1", "2", "3"}}))
	path := run.path() + "/children"
	k.ask("all", "GET", path, nil)
	k.ask("all", "GET", path+"?limit=2&status=succeeded", nil)
	k.ask("all", "GET", path+"?limit=0", nil)
	var page struct {
		Children []struct {
			RunID string `json:"run_id"`
		}
		NextCursor string `json:"next_cursor"`
	}
	if err := json.Unmarshal(c.want(200, "GET", path+"?limit=2", nil).body, &page); err != nil || len(page.Children) != 2 || page.NextCursor == "" {
		k.t.Fatalf("the page is %+v, %v", page, err)
	}
	k.ask("all", "GET", path+"?cursor="+page.NextCursor, nil)
	k.ask("all", "GET", runPath(double, page.Children[0].RunID), nil)
	c.want(204, "DELETE", run.path(), nil)
	k.ask("all", "GET", path, nil)
}

// erasures requests runs and deliveries after they were deleted, and repeats their
// starts with the same idempotency keys.
func (k *contract) erasures() {
	run := runPath(k.ids["flow_id"], k.ids["run_id"])
	c := k.s.client(k.keys["all"])
	once := []string{"Prefer: wait=30", "Idempotency-Key: a"}
	path := "/v1/flow/" + k.ids["flow_id"] + "/run"
	twin := k.ask("all", "POST", path, object{"name": "Ada"}, once...).run(k.t)
	k.ask("all", "POST", path, object{"name": "Bob"}, once...)
	again := k.ask("all", "POST", run+"/rerun", object{}, "Prefer: wait=30", "Idempotency-Key: b").run(k.t)
	c.want(204, "DELETE", again.path(), nil)
	k.ask("all", "POST", run+"/rerun", object{}, "Prefer: wait=30", "Idempotency-Key: b")
	k.ask("all", "DELETE", twin.path(), nil)
	k.ask("all", "POST", path, object{"name": "Ada"}, once...)
	c.want(204, "DELETE", run, nil)
	for _, end := range []string{"", "/result", "/steps"} {
		k.ask("all", "GET", run+end, nil)
	}
	k.ask("all", "GET", run+"/events", nil, "Accept: text/event-stream")
	k.ask("all", "POST", "/v1/deliveries/"+k.ids["delivery_id"]+"/redeliver", nil)
	k.ask("all", "DELETE", run, nil, "Accept: text/html")
	w := newMemoryWorld(k.t, k.s)
	first := c.succeed(w.chat, says("user: Hi"))
	c.succeed(w.chat, continuing(first.ID, says("user: Bye")))
	k.ask("all", "DELETE", first.path(), nil)
	held := c.start(w.chat, says("user: Hold."))
	<-w.held
	k.ask("all", "DELETE", held.path(), nil)
	c.want(200, "POST", held.path()+"/cancel", nil)
}
