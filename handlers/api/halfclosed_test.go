package api

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"sluice/flow"
)

// sendRaw writes a request on a connection of its own.
func (w *env) sendRaw(r request) *net.TCPConn {
	w.t.Helper()
	var b bytes.Buffer
	c, err := net.Dial("tcp", w.http.Listener.Addr().String())
	if err == nil {
		err = w.build(r).Write(&b)
	}
	if err == nil {
		_, err = c.Write(b.Bytes())
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { c.Close() })
	return c.(*net.TCPConn)
}

// readRaw reads the answer to its end.
func readRaw(t *testing.T, r *bufio.Reader) (status int, body string) {
	t.Helper()
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("the answer broke off: %v", err)
	}
	return resp.StatusCode, string(raw)
}

// TestHalfClosedClient checks that a client that half-closes its connection before it
// reads gets the same response as any other.
func TestHalfClosedClient(t *testing.T) {
	t.Parallel()
	w := setup(t)
	run := w.endedRun(w.echo, `{"ticket": "a"}`)
	file, fileType := form(formPart{"file", "a.png", "image/png", pngBytes})
	call := func(id int, tool, arguments string) string {
		return fmt.Sprintf(`{"jsonrpc": "2.0", "id": %d, "method": "tools/call", "params": {"name": %q, "arguments": %s}}`, id, tool, arguments)
	}
	for name, c := range map[string]struct {
		request
		status int
		says   string
	}{
		"start":          {request{method: "POST", path: "/v1/flow/" + w.echo + "/run", body: `{"ticket": "a"}`}, 202, `"status":`},
		"start and wait": {request{method: "POST", path: "/v1/flow/" + w.echo + "/run", body: `{"ticket": "a"}`, headers: []string{"Prefer", "wait=60"}}, 200, `"succeeded"`},
		"start stream":   {request{method: "POST", path: "/v1/flow/" + w.echo + "/run", body: `{"ticket": "a"}`, headers: []string{"Accept", "text/event-stream"}}, 200, `"status":"succeeded"`},
		"rerun":          {request{method: "POST", path: run + "/rerun", body: `{}`}, 202, `"status":`},
		"show run":       {request{method: "GET", path: run}, 200, `"succeeded"`},
		"list runs":      {request{method: "GET", path: "/v1/flow/" + w.echo + "/runs"}, 200, `"runs":`},
		"upload":         {request{method: "POST", path: "/v1/files", body: file, headers: []string{"Content-Type", fileType}}, 201, `"file_`},
		"mcp":            {request{method: "POST", path: "/mcp", body: call(1, "answer_a_ticket", `{"ticket": "a"}`), headers: []string{"Accept", "application/json"}}, 200, `"result"`},
		"mcp stream":     {request{method: "POST", path: "/mcp", body: call(1, "answer_a_ticket", `{"ticket": "a"}`), headers: []string{"Accept", "application/json, text/event-stream"}}, 200, `"result"`},
	} {
		t.Run(name, func(t *testing.T) {
			for range 10 {
				conn := w.sendRaw(c.request)
				if err := conn.CloseWrite(); err != nil {
					t.Fatal(err)
				}
				if status, body := readRaw(t, bufio.NewReader(conn)); status != c.status || !strings.Contains(body, c.says) {
					t.Fatalf("got %d %s\n%s", status, body, w.log)
				}
			}
		})
	}
	for name, headers := range map[string][]string{
		"held wait": {"Prefer", "wait=60"}, "held stream": {"Accept", "text/event-stream"},
		"held mcp": {"Accept", "application/json"}, "held mcp stream": {"Accept", "application/json, text/event-stream"},
	} {
		t.Run(name, func(t *testing.T) {
			w := setup(t)
			r := request{method: "POST", path: "/v1/flow/" + w.held + "/run", body: `{"gate": "g"}`, headers: headers}
			agent := strings.Contains(name, "mcp")
			if agent {
				r.path, r.body = "/mcp", call(1, "wait", `{"gate": "g"}`)
			}
			conn := w.sendRaw(r)
			if err := conn.CloseWrite(); err != nil {
				t.Fatal(err)
			}
			w.eventually(func() bool { return w.server.gate.held.Load() == 1 })
			answer := bufio.NewReader(conn)
			if agent { // the server probes whether the caller still reads
				if _, err := answer.Peek(1); err != nil {
					t.Fatal(err)
				}
			}
			w.gates.open("g")
			if status, body := readRaw(t, answer); status != 200 || !strings.Contains(body, `"succeeded"`) && !strings.Contains(body, `"result"`) {
				t.Errorf("got %d %s\n%s", status, body, w.log)
			}
		})
	}
	if strings.Contains(w.log.String(), "level=ERROR") {
		t.Errorf("the log holds errors:\n%s", w.log)
	}
}

// TestLostClient_cancels_its_call checks that a disconnect is not logged as an error, and
// that it cancels the run of a tool call.
func TestLostClient_cancels_its_call(t *testing.T) {
	t.Parallel()
	reset := func(c *net.TCPConn) { _ = c.SetLinger(0); c.Close() }
	closed := func(c *net.TCPConn) { c.Close() }
	for name, c := range map[string]struct {
		lose     func(*net.TCPConn)
		agent    bool
		accept   string
		canceled bool
	}{
		"wait reset":        {reset, false, "application/json", false},
		"stream reset":      {reset, false, "text/event-stream", false},
		"stream closed":     {closed, false, "text/event-stream", false},
		"mcp reset":         {reset, true, "application/json", true},
		"mcp closed":        {closed, true, "application/json", true},
		"mcp stream reset":  {reset, true, "application/json, text/event-stream", true},
		"mcp stream closed": {closed, true, "application/json, text/event-stream", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			r := request{method: "POST", path: "/v1/flow/" + w.held + "/run", body: `{"gate": "never"}`, headers: []string{"Accept", c.accept, "Prefer", "wait=60"}}
			if c.agent {
				r.path, r.body = "/mcp", `{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "wait", "arguments": {"gate": "never"}}}`
			}
			conn := w.sendRaw(r)
			w.eventually(func() bool { return w.server.gate.held.Load() == 1 })
			w.eventually(func() bool {
				list, err := w.store.ListRuns(t.Context(), flow.RunFilter{WorkspaceID: "default", FlowID: flow.FlowID(w.held), Limit: 1})
				return err == nil && len(list) == 1
			})
			c.lose(conn)
			w.eventually(func() bool { return w.server.gate.held.Load() == 0 && w.server.gate.busy.Load() == 0 })
			if canceled := w.newestRun(w.held).State == flow.RunCanceled; canceled != c.canceled {
				t.Errorf("canceled is %v", canceled)
			}
			if strings.Contains(w.log.String(), "level=ERROR") {
				t.Errorf("the log holds errors:\n%s", w.log)
			}
		})
	}
}
