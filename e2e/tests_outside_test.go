package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sluice/providers/scripted"
)

// outsideReceiver counts what arrives, by method and path, or by tool.
type outsideReceiver struct {
	mu   sync.Mutex
	hits map[string]int
}

func (r *outsideReceiver) add(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hits[what]++
}

// take returns what has arrived since the last call, such as "GET /page, tool look".
func (r *outsideReceiver) take() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := slices.Sorted(maps.Keys(r.hits))
	r.hits = map[string]int{}
	return strings.Join(list, ", ")
}

// desk is an MCP server with a tool that reads and one that writes.
func (r *outsideReceiver) desk(t *testing.T) *httptest.Server {
	t.Helper()
	server := sdk.NewServer(&sdk.Implementation{Name: "desk", Version: "1"}, nil)
	for _, name := range []string{"look", "book"} {
		server.AddTool(&sdk.Tool{Name: name, Description: name + "s a number.", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: name == "look"}, InputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)},
			func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				r.add("tool " + name)
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "done"}}}, nil
			})
	}
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.add("desk")
		handler.ServeHTTP(w, q)
	}))
	t.Cleanup(at.Close)
	return at
}

// TestTests_let_nothing_leave runs flows with all that can reach the world in each mode: only reads in fill and live, and nothing in replay. Nodes
// in allow send once, and nodes of flows below never do.
func TestTests_let_nothing_leave(t *testing.T) {
	t.Parallel()
	r := &outsideReceiver{hits: map[string]int{}}
	world := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.add(q.Method + " " + q.URL.Path)
		w.Header().Set("Content-Type", "text/plain")
		_, _ = w.Write([]byte("The bridge opened in 1932."))
	}))
	t.Cleanup(world.Close)
	desk := r.desk(t)
	model := httptest.NewServer(scripted.New(func(q *scripted.Request) scripted.Answer {
		r.add("model")
		if q.Turn > 0 {
			return scripted.Answer{Text: "All done."}
		}
		var calls []scripted.Call
		for i, tool := range q.Tools {
			arguments := `{}`
			if tool == "run" {
				arguments = `{"n": "1"}`
			}
			calls = append(calls, scripted.Call{ID: fmt.Sprint("c", i), Name: tool, Arguments: arguments})
		}
		return scripted.Answer{Calls: calls}
	}))
	t.Cleanup(model.Close)
	s := newServer(t)
	for name, args := range map[string][]string{"fake": {"openai_compatible", model.URL + "/v1"}, "desk": {"mcp", desk.URL}} {
		if c := s.commandWith("sk-test", "credential", "add", "--name", name, "--provider", args[0], "--base-url", args[1]); c.code != 0 {
			t.Fatal(c.errs)
		}
	}
	c := s.client(s.key("--scope", "run,read,edit,manage,admin"))
	checked := c.want(200, "POST", "/v1/credentials/desk/tools/check", object{}).object(t)["tools"].([]any)
	post := func(path string) object {
		return node("post", "http_request", object{"method": "POST", "url": world.URL + path, "body": "{{n}}"})
	}
	hook := func(path string) object {
		return node("hook", "webhook", object{"url": world.URL + path, "outputs": []any{"done"}})
	}
	below := func(path string) string {
		return s.publish(documentOf("Below "+path, []object{input("n"), post(path), output("done"), hook(path + "-hook")}, "n.value > post.n", "post.status > out_done.value"))
	}
	tool := func(id, kind string, config object, more object) object {
		return node(id, kind, config, object{"tool": more})
	}
	mapped, called := below("/map"), below("/sub")
	answers := object{"ask": object{"decision": "approved"}, "change": object{"decision": "approved"}, "desk": object{"decision": "approved"}}
	flows := []struct {
		name         string
		document     []byte
		inputs       object
		fill         string // what fill and live send
		allow, sends string // with these nodes
	}{
		{"a POST", documentOf("Post", []object{input("n"), post("/post"), output("done")}, "n.value > post.n", "post.status > out_done.value"), object{"n": "1"}, "", "post", "POST /post"},
		{"a webhook", documentOf("Hook", []object{input("n"), output("done"), hook("/hook")}, "n.value > out_done.value"), object{"n": "1"}, "", "hook", "POST /hook"},
		{"a delay", documentOf("Delay", []object{input("n"), node("wait", "delay", object{"wait": "for a duration", "duration": "30d"}), post("/late"), output("done")}, "n.value > wait.value", "wait.value > post.n", "post.status > out_done.value"), object{"n": "1"}, "", "post", "POST /late"},
		{"an approval", documentOf("Ask", []object{input("n"), node("ask", "approval", object{"values": []any{"v"}, "url": world.URL + "/asked"}), post("/allowed"), output("done")}, "n.value > ask.v", "ask.v > post.n", "post.status > out_done.value"), object{"n": "1"}, "", "", ""},
		{"a map", documentOf("Map", []object{node("n", "input", object{"name": "n", "type": "list"}), node("each", "map", object{"flow": mapped, "over": []any{"n"}}), output("done")}, "n.value > each.input.n", "each.done > out_done.value"), object{"n": []any{"1", "2"}}, "", "post", ""},
		{"a subflow", documentOf("Sub", []object{input("n"), node("run", "subflow", object{"flow": called}), output("done")}, "n.value > run.input.n", "run.done > out_done.value"), object{"n": "1"}, "", "hook", ""},
		{"a page and a file", documentOf("Read", []object{input("n"), node("file", "input", object{"name": "file", "type": "file"}), node("read", "document", object{}), node("page", "web_page", object{"url": world.URL + "/page?n={{n}}"}), output("done"), output("page")},
			"file.value > read.file", "read.text > out_done.value", "n.value > page.n", "page.text > out_page.value"), object{"n": "1", "file": world.URL + "/file.txt"}, "GET /file.txt, GET /page", "", ""},
		{"an agent", documentOf("Agent", []object{input("n"), node("agent", "agent", object{"model": "fake/m", "prompt": "{{n}}"}), output("done"),
			tool("find", "http_request", object{"method": "GET", "url": world.URL + "/find"}, object{"description": "Finds."}),
			tool("change", "http_request", object{"method": "POST", "url": world.URL + "/change"}, object{"description": "Changes.", "approval": "always"}),
			tool("run", "subflow", object{"flow": called}, object{"description": "Runs."}),
			tool("desk", "mcp", object{"credential": object{"credential": "desk"}, "tools": storedTools(checked)}, object{"approval": "always"}),
		}, "n.value > agent.n", "find.tool > agent.tools", "change.tool > agent.tools", "run.tool > agent.tools", "desk.tool > agent.tools", "agent.text > out_done.value"), object{"n": "1"}, "GET /find, desk, model, tool look", "", ""},
	}
	r.take()
	for _, f := range flows {
		id := s.publish(f.document)
		path := "/v1/flow/" + id
		c.want(200, "PUT", path+"/cases/one", object{"inputs": f.inputs, "answers": answers})
		test := func(body object) string {
			t.Helper()
			at := path + "/tests/" + c.want(202, "POST", path+"/tests", body).object(t)["id"].(string)
			var report *response
			waitUntil(t, "the test has ended", func() bool {
				report = c.want(200, "GET", at+"?case=one", nil)
				return report.object(t)["status"] == "succeeded"
			})
			return string(report.body)
		}
		for _, mode := range []string{"replay", "live", "replay", "fill", "replay"} {
			want := f.fill
			report := test(object{"mode": mode})
			if mode == "replay" {
				want = ""
			}
			if got := r.take(); got != want {
				t.Errorf("%s in the mode %s sent %q, wanted %q\n%s", f.name, mode, got, want, report)
			}
		}
		if f.allow == "" {
			continue
		}
		report := test(object{"mode": "live", "allow": []string{f.allow}})
		if f.sends != "" {
			waitUntil(t, f.sends+" has arrived", func() bool {
				r.mu.Lock()
				defer r.mu.Unlock()
				return len(r.hits) > 0
			})
		}
		if got := r.take(); got != f.sends {
			t.Errorf("%s with %s allowed sent %q, wanted %q\n%s", f.name, f.allow, got, f.sends, report)
		}
	}
	if got := r.take(); got != "" {
		t.Errorf("later, %s arrived", got)
	}
}
