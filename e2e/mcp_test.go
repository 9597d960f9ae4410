package e2e

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sluice/e2e/npm"
)

// mcpAgent is a process with the official MCP client for JavaScript.
type mcpAgent struct {
	t     *testing.T
	in    *json.Encoder
	lines *bufio.Scanner
}

// mcpMessage is one line of the agent's output.
type mcpMessage struct {
	Progress struct {
		Progress, Total float64
		Message         string
	}
	Answer struct {
		Server  struct{ Name, Version string }
		Session string
		Tools   []struct {
			Name, Title               string
			InputSchema, OutputSchema object
		}
		Content           []struct{ Type, Text string }
		StructuredContent object
		IsError           bool
		Meta              struct {
			RunID string `json:"run_id"`
			Code  string
		} `json:"_meta"`
	}
	Error *struct {
		Message string
		Code    int
	}
	Raw string
}

// newMCPAgent starts a client. The query, which may be empty, is part of its URL.
func newMCPAgent(t *testing.T, s *server, key, query string) *mcpAgent {
	t.Helper()
	modules := npm.Install(t, filepath.Join("testdata", "mcp"))
	cmd := exec.Command("node", filepath.Join("testdata", "mcp", "agent.mjs"), modules, s.base()+"/mcp"+query, key)
	cmd.Env = environment()
	cmd.Stderr = os.Stderr
	dieWithTests(cmd)
	stdin := must1(cmd.StdinPipe())
	a := &mcpAgent{t: t, in: json.NewEncoder(stdin), lines: bufio.NewScanner(must1(cmd.StdoutPipe()))}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close() // it ends with its input
		_ = cmd.Wait()
	})
	return a
}

func (a *mcpAgent) send(op string, more object) {
	a.t.Helper()
	all := object{"op": op}
	for k, v := range more {
		all[k] = v
	}
	if err := a.in.Encode(all); err != nil {
		a.t.Fatal(err)
	}
}

// next returns the next line.
func (a *mcpAgent) next() (said mcpMessage) {
	a.t.Helper()
	if !a.lines.Scan() {
		a.t.Fatalf("the client has ended: %v", a.lines.Err())
	}
	said.Raw = a.lines.Text()
	if err := json.Unmarshal(a.lines.Bytes(), &said); err != nil {
		a.t.Fatalf("%v: %s", err, said.Raw)
	}
	return said
}

func (a *mcpAgent) ask(op string, more object) mcpMessage {
	a.t.Helper()
	a.send(op, more)
	return a.next()
}

// finish skips progress notifications.
func (a *mcpAgent) finish() mcpMessage {
	a.t.Helper()
	for {
		if said := a.next(); !strings.HasPrefix(said.Raw, `{"progress"`) {
			return said
		}
	}
}

func (a *mcpAgent) call(name string, given object) mcpMessage {
	a.t.Helper()
	a.send("call", object{"name": name, "arguments": given})
	return a.finish()
}

// TestMCP uses a server through an independent client, as an agent would.
func TestMCP(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-gate:
		case <-r.Context().Done():
		}
		_, _ = w.Write([]byte(`{"ok":true}`))
	}))
	t.Cleanup(slow.Close)
	s := newServer(t)
	greet, calling := s.publish(greeting()), s.publish(calling(slow.URL))
	var key struct{ ID, Key string }
	if err := json.Unmarshal([]byte(s.key("--json")), &key); err != nil {
		t.Fatal(err)
	}
	a := newMCPAgent(t, s, key.Key, "")
	if said := a.ask("connect", nil); said.Answer.Server.Name != "sluice" || said.Answer.Session == "" {
		t.Fatalf("connected: %s", said.Raw)
	}

	listed := a.ask("list", nil)
	names := []string{}
	for _, tool := range listed.Answer.Tools {
		names = append(names, tool.Name)
	}
	if !slices.Contains(names, "call") || !slices.Contains(names, "greet") || !slices.Contains(names, "summarize_a_text") {
		t.Errorf("tools: %s", listed.Raw)
	}

	hello := a.call("greet", object{"name": "Ada"}).Answer
	if hello.StructuredContent["text"] != "Hello Ada!" || len(hello.Content) != 1 || hello.Content[0].Text != "Hello Ada!" || hello.IsError {
		t.Errorf("result %+v", hello)
	}
	if r := s.client(key.Key).want(200, "GET", runPath(greet, hello.Meta.RunID), nil).run(t); r.Trigger != "mcp" || r.Status != "succeeded" {
		t.Errorf("the run is %+v", r)
	}
	wrong := a.call("greet", object{"nam": "Ada"}).Answer
	if !wrong.IsError || !strings.Contains(wrong.Content[0].Text, "- name: ") || !strings.Contains(wrong.Content[0].Text, "- nam: ") {
		t.Errorf("wrong input: %+v", wrong)
	}
	if said := a.call("nothing", nil); said.Error == nil || said.Error.Code != -32602 {
		t.Errorf("an unknown tool: %s", said.Raw)
	}

	checkStop(t, s.client(key.Key), a, calling)

	a.send("call", object{"name": "call", "arguments": object{"n": "1"}})
	if p := a.next().Progress; p.Total != 3 || p.Message == "" {
		t.Errorf("progress %+v", p)
	}
	close(gate)
	if last := a.finish().Answer; last.IsError || last.StructuredContent["got"] == nil {
		t.Errorf("after the wait: %+v", last)
	}

	s.must("key", "revoke", key.ID)
	if said := a.call("greet", object{"name": "Ada"}); said.Error == nil || !strings.Contains(said.Error.Message, "key_revoked") {
		t.Errorf("with a revoked key: %s", said.Raw)
	}
}

// checkStop lets the client cancel a call, which it does with a notification.
func checkStop(t *testing.T, c *client, a *mcpAgent, flowID string) {
	t.Helper()
	a.send("call", object{"name": "call", "arguments": object{"n": "stop"}, "abort": true})
	if said := a.finish(); said.Error == nil || !strings.Contains(said.Error.Message, "stop") {
		t.Errorf("a call that was aborted: %s", said.Raw)
	}
	waitUntil(t, "the run of an aborted call is canceled", func() bool {
		return strings.Contains(string(c.want(200, "GET", "/v1/flow/"+flowID+"/runs?status=canceled", nil).body), "run_id")
	})
}
