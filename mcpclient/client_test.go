package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sluice/flow"
	"sluice/flow/value"
	"sluice/mcpclient"
	"sluice/outbound"
)

// issues is a server of the official SDK, with a log of what it received.
type issues struct {
	*httptest.Server
	mu        sync.Mutex
	requests  []string // method and JSON-RPC method
	headers   []http.Header
	keys      []string                                                                       // idempotency keys of calls
	intercept func(w http.ResponseWriter, r *http.Request, method string, next http.Handler) // nil: none
}

// newIssues starts a server with tools.
func newIssues(t *testing.T, stateless bool) *issues {
	t.Helper()
	s := &issues{}
	server := sdk.NewServer(&sdk.Implementation{Name: "issues", Title: "Issues", Version: "1"}, nil)
	add := func(name, text string, hints *sdk.ToolAnnotations, schema any, f func(r *sdk.CallToolRequest) (*sdk.CallToolResult, error)) {
		server.AddTool(&sdk.Tool{Name: name, Description: text, Annotations: hints, InputSchema: schema}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			s.mu.Lock()
			s.keys = append(s.keys, flow.Text(r.Params.Meta[mcpclient.IdempotencyKey]))
			s.mu.Unlock()
			return f(r)
		})
	}
	text := func(s string) *sdk.CallToolResult {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}
	}
	number := json.RawMessage(`{"type":"object","properties":{"number":{"type":"integer"},"a":{"type":"string"}},"required":["number"]}`)
	add("get_issue", "Reads an issue.", &sdk.ToolAnnotations{ReadOnlyHint: true}, number, func(r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "Issue " + string(r.Params.Arguments)}}, StructuredContent: json.RawMessage(`{"id": 12345678901234567890, "b": 1, "a": 2}`)}, nil
	})
	add("add_note", "Adds a note.", nil, number, func(*sdk.CallToolRequest) (*sdk.CallToolResult, error) { return text("Added."), nil })
	add("draw", "Draws.", nil, number, func(*sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "Here."}, &sdk.ImageContent{MIMEType: "image/png", Data: []byte("\x89PNG")},
			&sdk.ResourceLink{Name: "more", URI: "https://example.com/more"}, &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "x:y", Text: "Inside."}}}}, nil
	})
	add("fail", "Fails.", nil, number, func(*sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		r := text("The issue is closed.")
		r.IsError = true
		return r, nil
	})
	handler := http.Handler(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: stateless}))
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		var message struct{ Method string }
		_ = json.Unmarshal(body, &message)
		s.mu.Lock()
		s.requests, s.headers = append(s.requests, strings.TrimSpace(r.Method+" "+message.Method)), append(s.headers, r.Header.Clone())
		intercept := s.intercept
		s.mu.Unlock()
		if intercept != nil {
			intercept(w, r, message.Method, handler)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// count returns how many requests had a method.
func (s *issues) count(method string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		if r == method {
			n++
		}
	}
	return n
}

// newClient returns a client that may reach loopback.
func newClient(t *testing.T) *mcpclient.Client {
	t.Helper()
	h, err := outbound.New(outbound.Config{AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return mcpclient.New(h, "1.2.3")
}

// open begins a session.
func open(t *testing.T, c *mcpclient.Client, server mcpclient.Server) *mcpclient.Session {
	t.Helper()
	session, err := c.Open(t.Context(), server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func arguments(text string) *flow.Object {
	v, err := value.Decode([]byte(text))
	if err != nil {
		panic(err)
	}
	o, _ := flow.AsObject(v)
	return o
}

// failure returns the error of a client, or fails the test.
func failure(t *testing.T, err error) *mcpclient.Error {
	t.Helper()
	e, ok := errors.AsType[*mcpclient.Error](err)
	if !ok {
		t.Fatalf("got %v, want an *mcpclient.Error", err)
	}
	return e
}

func TestSession_lists_and_calls_tools(t *testing.T) {
	t.Parallel()
	for _, stateless := range []bool{false, true} {
		t.Run(fmt.Sprintf("stateless %v", stateless), func(t *testing.T) {
			t.Parallel()
			server := newIssues(t, stateless)
			session := open(t, newClient(t), mcpclient.Server{Name: "issues", URL: server.URL, Secret: "abc"})
			list, err := session.Tools(t.Context())
			if err != nil || len(list) != 4 || session.Title() != "Issues" {
				t.Fatalf("%q: %v %v", session.Title(), list, err)
			}
			tool := list[slices.IndexFunc(list, func(x mcpclient.Tool) bool { return x.Name == "get_issue" })]
			if got := string(flow.EncodeJSON(tool.Schema)); tool.Effect != flow.EffectRead || tool.Description != "Reads an issue." || !strings.Contains(got, `"number":{"type":"integer"},"a":`) || len(tool.SHA256) != 64 {
				t.Errorf("%+v %s", tool, got)
			}
			r, err := session.Call(t.Context(), "get_issue", arguments(`{"number": 17}`), "run_1:n")
			if err != nil || r.Text != `Issue {"number":17}` || string(flow.EncodeJSON(r.Structured)) != `{"id":12345678901234567890,"b":1,"a":2}` || r.Failed {
				t.Errorf("%+v %v", r, err)
			}
			if server.keys[0] != "run_1:n" || server.headers[0].Get("Authorization") != "Bearer abc" {
				t.Errorf("key %q, headers %v", server.keys[0], server.headers[0])
			}
			r, err = session.Call(t.Context(), "draw", arguments(`{"number": 17}`), "k")
			if err != nil || r.Text != "Here.\n\nmore https://example.com/more\n\nInside." || len(r.Blobs) != 1 || string(r.Blobs[0].Content) != "\x89PNG" || r.Blobs[0].MIME != "image/png" {
				t.Errorf("%+v %v", r, err)
			}
			if r, err = session.Call(t.Context(), "fail", arguments(`{"number": 17}`), "k"); err != nil || !r.Failed || r.Text != "The issue is closed." {
				t.Errorf("%+v %v", r, err)
			}
			_, err = session.Call(t.Context(), "none", arguments(`{}`), "k")
			if e := failure(t, err); e.Class != mcpclient.ClassRefused || e.Sent || !strings.Contains(e.Message, "none") {
				t.Errorf("an unknown tool: %+v", e)
			}
			_ = session.Close()
			if n := server.count("DELETE"); n != map[bool]int{false: 1, true: 0}[stateless] || server.count("GET") != 0 {
				t.Errorf("%d sessions ended, %v", n, server.requests)
			}
		})
	}
}

// TestSession_never_repeats_a_call (R2): a call whose answer is lost was sent, and is not sent again.
func TestSession_never_repeats_a_call(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(w http.ResponseWriter, r *http.Request, next http.Handler){
		"broken connection": func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			next.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		},
		"half a stream": func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			next.ServeHTTP(httptest.NewRecorder(), r)
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id")
		},
		"gateway": func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			next.ServeHTTP(httptest.NewRecorder(), r)
			http.Error(w, "bad gateway", http.StatusBadGateway)
		},
		"half an answer": func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			next.ServeHTTP(httptest.NewRecorder(), r)
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":3,"resu`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newIssues(t, false)
			session := open(t, newClient(t), mcpclient.Server{Name: "issues", URL: server.URL})
			server.intercept = func(w http.ResponseWriter, r *http.Request, method string, next http.Handler) {
				if method == "tools/call" {
					lose(w, r, next)
					return
				}
				next.ServeHTTP(w, r)
			}
			_, err := session.Call(t.Context(), "add_note", arguments(`{"number": 17}`), "k")
			if e := failure(t, err); !e.Sent || server.count("POST tools/call") != 1 {
				t.Errorf("%+v; %v", e, server.requests)
			}
		})
	}
}

// TestSession_knows_what_was_not_executed: refusals before the tool is called are not lost answers.
func TestSession_knows_what_was_not_executed(t *testing.T) {
	t.Parallel()
	for status, class := range map[int]mcpclient.Class{401: mcpclient.ClassAuth, 403: mcpclient.ClassAuth, 404: mcpclient.ClassSession, 429: mcpclient.ClassBusy, 400: mcpclient.ClassRefused, 302: mcpclient.ClassRefused} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			var followed atomic.Int32
			other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed.Add(1) }))
			t.Cleanup(other.Close)
			server := newIssues(t, false)
			session := open(t, newClient(t), mcpclient.Server{Name: "issues", URL: server.URL, Secret: "abc"})
			server.intercept = func(w http.ResponseWriter, r *http.Request, method string, next http.Handler) {
				if method == "tools/call" {
					w.Header().Set("Location", other.URL)
					w.WriteHeader(status)
					return
				}
				next.ServeHTTP(w, r)
			}
			_, err := session.Call(t.Context(), "add_note", arguments(`{"number": 17}`), "k")
			if e := failure(t, err); e.Class != class || e.Sent || followed.Load() != 0 {
				t.Errorf("%+v; followed %d times", e, followed.Load())
			}
		})
	}
}

// TestSession_stops_in_time: an endless stream ends with the time of the step, and the call may have been
// executed.
func TestSession_stops_in_time(t *testing.T) {
	t.Parallel()
	server := newIssues(t, false)
	session := open(t, newClient(t), mcpclient.Server{Name: "issues", URL: server.URL})
	ctx, cancel := context.WithCancel(t.Context())
	server.intercept = func(w http.ResponseWriter, r *http.Request, method string, next http.Handler) {
		if method != "tools/call" {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for i := 0; r.Context().Err() == nil; i++ {
			_, _ = io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":\"x\"}}\n\n")
			_ = http.NewResponseController(w).Flush()
			if i == 100 {
				cancel()
			}
		}
	}
	_, err := session.Call(ctx, "add_note", arguments(`{"number": 17}`), "k")
	if e := failure(t, err); !e.Sent || !errors.Is(err, context.Canceled) {
		t.Errorf("%+v", e)
	}
}

// answering returns a server that answers each method with a result, and records nothing.
func answering(t *testing.T, results map[string]func(r *http.Request) string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var message struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.NewDecoder(r.Body).Decode(&message)
		switch result := results[message.Method]; {
		case message.Method == "initialize":
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}}`, message.ID)
		case len(message.ID) == 0:
			w.WriteHeader(http.StatusAccepted)
		case result == nil:
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, message.ID)
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, message.ID, result(r))
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// always returns a result that does not depend on the request.
func always(result string) func(*http.Request) string {
	return func(*http.Request) string { return result }
}

// TestSession_bounds_lists: hostile lists are refused, and odd tools in them do not hide the others.
func TestSession_bounds_lists(t *testing.T) {
	t.Parallel()
	tools := func(n int, description string) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf(`{"name":"tool_%d","description":%q,"inputSchema":{"type":"object"}}`, i, description)
		}
		return `{"tools":[` + strings.Join(list, ",") + `]}`
	}
	var page atomic.Int32
	for name, c := range map[string]struct {
		result func(*http.Request) string
		wants  string
	}{
		"1,001 tools":               {always(tools(1001, "x")), "more than 1000 tools"},
		"a huge list":               {always(tools(900, strings.Repeat("x", 6000))), "more than 4 MiB"},
		"an answer above the limit": {always(tools(900, strings.Repeat("x", 13000))), "larger than 10 MiB"},
		"endless pages": {func(*http.Request) string {
			return fmt.Sprintf(`{"tools":[],"nextCursor":"%d"}`, page.Add(1))
		}, "more than 100 pages"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			session := open(t, newClient(t), mcpclient.Server{Name: "bad", URL: answering(t, map[string]func(*http.Request) string{"tools/list": c.result})})
			if _, err := session.Tools(t.Context()); err == nil || !strings.Contains(err.Error(), c.wants) {
				t.Errorf("got %v, want %q", err, c.wants)
			}
		})
	}
	t.Run("odd tools", func(t *testing.T) {
		t.Parallel()
		session := open(t, newClient(t), mcpclient.Server{Name: "odd", URL: answering(t, map[string]func(*http.Request) string{"tools/list": always(
			`{"tools":[{"name":"a","inputSchema":{"$schema":"x","type":"object","$defs":{"d":{"type":"string"}},"properties":{"q":{"$ref":"#/$defs/d"}}}},{"name":"a","description":"again","inputSchema":{"type":"object"}},{"name":"b","description":"` + "\xff\xfe" + `ok","inputSchema":{"type":"object"}}]}`)})})
		list, err := session.Tools(t.Context())
		if err != nil || len(list) != 2 || list[0].Description != "" || list[1].Description != "\ufffd\ufffdok" || list[0].Effect != flow.EffectWrite {
			t.Errorf("%v %v", list, err)
		}
	})
}

// TestSession_bounds_results: a result of more than 10 MiB, an invalid file and a question are refused.
func TestSession_bounds_results(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ result, wants string }{
		"a large result": {`{"content":[{"type":"text","text":"` + strings.Repeat("x", 11<<20) + `"}]}`, "larger than 10 MiB"},
		"no base64":      {`{"content":[{"type":"image","mimeType":"image/png","data":"%%%"}]}`, "not base64"},
		"no content":     {`{"content":[{"type":"audio","mimeType":"audio/wav"}]}`, "no content"},
		"a question":     {`{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"Which?"}}}}`, "asks a question"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			session := open(t, newClient(t), mcpclient.Server{Name: "bad", URL: answering(t, map[string]func(*http.Request) string{"tools/call": always(c.result)})})
			if _, err := session.Call(t.Context(), "a", arguments(`{}`), "k"); err == nil || !strings.Contains(err.Error(), c.wants) {
				t.Errorf("got %.200v, want %q", err, c.wants)
			}
		})
	}
	t.Run("invalid UTF-8 and unknown parts", func(t *testing.T) {
		t.Parallel()
		session := open(t, newClient(t), mcpclient.Server{Name: "odd", URL: answering(t, map[string]func(*http.Request) string{"tools/call": always(
			`{"content":[{"type":"text","text":"a` + "\xff" + `b"},{"type":"hologram"}]}`)})})
		r, err := session.Call(t.Context(), "a", arguments(`{}`), "k")
		if err != nil || r.Text != "a\ufffdb\n\n[A part of the kind \"hologram\", which is not supported.]" {
			t.Errorf("%+v %v", r, err)
		}
	})
}

// TestOpen_refuses_private_addresses unless the operator entered them or allows them for everybody.
func TestOpen_refuses_private_addresses(t *testing.T) {
	t.Parallel()
	server := newIssues(t, false)
	h, err := outbound.New(outbound.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	_, err = mcpclient.New(h, "1").Open(t.Context(), mcpclient.Server{Name: "issues", URL: server.URL, Secret: "abc"})
	if e := failure(t, err); e.Class != mcpclient.ClassBlocked || len(server.requests) != 0 {
		t.Errorf("%+v; %v", e, server.requests)
	}
}

// TestOpen_says_what_is_wrong with an address that has no server.
func TestOpen_says_what_is_wrong(t *testing.T) {
	t.Parallel()
	for status, wants := range map[int]string{401: "refuses the credential", 404: "no MCP server at the address", 405: "no MCP server at the address", 500: "500 Internal Server Error", 200: "no answer that an MCP server gives"} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		t.Cleanup(s.Close)
		_, err := newClient(t).Open(t.Context(), mcpclient.Server{Name: "x", URL: s.URL})
		if e := failure(t, err); !strings.Contains(e.Message, wants) || e.Sent {
			t.Errorf("%d: %+v", status, e)
		}
	}
}

// TestKnown_lists_again_after_a_while, and each account separately.
func TestKnown_lists_again_after_a_while(t *testing.T) {
	t.Parallel()
	server, c := newIssues(t, false), newClient(t)
	now := time.Now()
	mcpclient.SetClock(c, func() time.Time { return now })
	for i, step := range []struct {
		secret string
		after  time.Duration
		lists  int
	}{{"a", 0, 1}, {"a", mcpclient.KnownFor - time.Second, 1}, {"b", 0, 2}, {"a", 2 * time.Second, 3}} {
		now = now.Add(step.after)
		session := open(t, c, mcpclient.Server{Name: "issues", URL: server.URL, Secret: step.secret})
		if _, err := session.Known(t.Context()); err != nil || server.count("POST tools/list") != step.lists {
			t.Errorf("%d: listed %d times, want %d: %v", i, server.count("POST tools/list"), step.lists, err)
		}
	}
}

// TestServer_sends_the_secret_as_a_header of its own, if it names one.
func TestServer_sends_the_secret_as_a_header(t *testing.T) {
	t.Parallel()
	for secret, want := range map[string][2]string{
		"abc": {"Authorization", "Bearer abc"}, "Bearer abc": {"Authorization", "Bearer abc"}, "Basic abc": {"Authorization", "Basic abc"},
		"X-API-Key: abc": {"X-Api-Key", "abc"}, "": {"Authorization", ""},
	} {
		server := newIssues(t, true)
		open(t, newClient(t), mcpclient.Server{Name: "issues", URL: server.URL, Secret: secret})
		if got := server.headers[0].Get(want[0]); got != want[1] {
			t.Errorf("%q: %s is %q", secret, want[0], got)
		}
	}
}
