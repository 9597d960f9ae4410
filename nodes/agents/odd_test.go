package agents_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"sluice/flow"
	"sluice/nodes"
	"sluice/outbound"
	"sluice/providers"
)

// rawModel is a provider whose answers are given as JSON, to the byte.
type rawModel struct {
	mu       sync.Mutex
	requests []string
}

// redirected sends the calls of every provider to one server.
type redirected struct{ host string }

// HTTPClient implements providers.Doer.
func (d redirected) HTTPClient(bool) *http.Client { return &http.Client{Transport: d} }

// RoundTrip implements http.RoundTripper.
func (d redirected) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = "http", d.host
	return http.DefaultTransport.RoundTrip(r)
}

// rawWorld is newWorld with a model of a provider.
func rawWorld(t *testing.T, provider string, answer func(request string) string) (*world, *rawModel) {
	t.Helper()
	m := &rawModel{}
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		m.mu.Lock()
		m.requests = append(m.requests, string(data))
		m.mu.Unlock()
		out.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(out, answer(string(data)))
	}))
	t.Cleanup(server.Close)
	w := script(t)
	if w.wire = provider; provider == "openai_compatible" {
		w.base = server.URL + "/v1"
		return w, m
	}
	client, err := outbound.New(outbound.Config{AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	w.base = ""
	w.kinds = nodes.New(nodes.Deps{HTTP: client, Documents: pages{}, Providers: providers.NewClient(redirected{server.Listener.Addr().String()})})
	return w, m
}

// rawWires make answers in the formats of providers.
var rawWires = []struct {
	provider string
	calls    func(calls ...string) string // each: ID, name and arguments, with a space between them
	text     string                       // an answer without calls
	result   string                       // is in each request with results
}{
	{"openai_compatible", chatCalls, `{"choices":[{"message":{"content":"Done."},"finish_reason":"stop"}]}`, `"tool_call_id"`},
	{"gemini", chatCalls, `{"choices":[{"message":{"content":"Done."},"finish_reason":"stop"}]}`, `"tool_call_id"`},
	{"openai", func(calls ...string) string {
		return `{"object":"response","status":"completed","output":[` + joined(`{"type":"function_call","call_id":%q,"name":%q,"arguments":%s}`, calls) + `]}`
	}, `{"object":"response","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"Done."}]}]}`, `"function_call_output"`},
	{"anthropic", func(calls ...string) string {
		return `{"type":"message","stop_reason":"tool_use","content":[` + joined(`{"type":"tool_use","id":%q,"name":%q,"input":%s}`, calls) + `]}`
	}, `{"type":"message","stop_reason":"end_turn","content":[{"type":"text","text":"Done."}]}`, `"tool_result"`},
}

// chatCalls returns an answer of chat completions.
func chatCalls(calls ...string) string {
	return `{"choices":[{"message":{"tool_calls":[` + joined(`{"id":%q,"type":"function","function":{"name":%q,"arguments":%s}}`, calls) + `]},"finish_reason":"tool_calls"}]}`
}

// joined returns calls in a format.
func joined(format string, calls []string) string {
	list := make([]string, len(calls))
	for i, c := range calls {
		p := strings.SplitN(c, " ", 3)
		list[i] = fmt.Sprintf(format, p[0], p[1], p[2])
	}
	return strings.Join(list, ",")
}

// TestAgent_returns_what_the_model_wrote: over every wire format, arguments go to the tool and back to the model with all digits, members and
// their order, and what is not an object is refused instead of taken for missing arguments.
func TestAgent_returns_what_the_model_wrote(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 10_000)
	cases := []struct {
		name  string
		calls []string
		made  []string // paths at the shop, in any order
		back  []string // in the request after the calls, without backslashes
	}{
		{"exact numbers", []string{`c1 lookup {"id":9223372036854775808}`, `c2 lookup {"id":1e400}`}, []string{"/orders/1e400", "/orders/9223372036854775808"},
			[]string{`{"id":9223372036854775808}`, `{"id":1e400}`, `found /orders/1e400`}},
		{"order of members", []string{`c1 lookup {"z":1,"id":"7","a":12345678901234567890.10}`}, nil, []string{`{"z":1,"id":"7","a":12345678901234567890.10}`, `does not take`}},
		{"a text with an object", []string{`c1 lookup "{\"id\":\"7\"}"`}, []string{"/orders/7"}, []string{`{"id":"7"}`}},
		{"a list", []string{`c1 lookup [1,2]`}, nil, []string{`{"arguments":"[1,2]"}`, "wanted object, got array"}},
		{"a number", []string{`c1 lookup 5`}, nil, []string{`{"arguments":"5"}`, "wanted object, got number"}},
		{"nothing", []string{`c1 lookup null`, `c2 lookup ""`, `c3 lookup "null"`}, nil, []string{`needs "id"`}},
		{"a member twice", []string{`c1 lookup {"id":"1","id":"2"}`}, nil, []string{`{"id":"1","id":"2"}`, "appears twice"}},
		{"an ID twice", []string{`c1 lookup {"id":"1"}`, `c1 lookup {"id":"2"}`}, []string{"/orders/1", "/orders/2"}, []string{`"c1"`, `"call_2"`, "found /orders/1", "found /orders/2"}},
		{"long IDs", []string{long + ` lookup {"id":"1"}`, long + `y lookup {"id":"2"}`}, []string{"/orders/1", "/orders/2"}, []string{"found /orders/1", "found /orders/2"}},
		{"unknown names", []string{`c1 look.up {"id":"1"}`, `c2 ` + long + ` {"id":"1"}`}, nil, []string{`"look_up"`, `There is no tool "look.up".`, `There is no tool "xxx`}},
	}
	for _, wr := range rawWires {
		for _, c := range cases {
			t.Run(wr.provider+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				w, m := rawWorld(t, wr.provider, func(request string) string {
					if strings.Contains(request, wr.result) {
						return wr.text
					}
					return wr.calls(c.calls...)
				})
				r := w.ask(t, "", "")
				if slices.Sort(w.shop.paths); r.State != flow.StepSucceeded || !slices.Equal(w.shop.paths, c.made) {
					t.Fatalf("%s: %v, made %q, want %q", r.State, r.Error, w.shop.paths, c.made)
				}
				last := strings.ReplaceAll(m.requests[len(m.requests)-1], `\`, "")
				has(t, last, c.back...)
				if len(last) > 12_000 {
					t.Errorf("the model gets %d bytes", len(last))
				}
			})
		}
	}
}

// TestAgent_stops_a_model_that_insists_on_what_it_cannot_call: calls that are refused for the same reason again and again end the agent long before its
// limit of turns.
func TestAgent_stops_a_model_that_insists_on_what_it_cannot_call(t *testing.T) {
	t.Parallel()
	for _, call := range []string{`no_such_tool {"a": 1}`, `lookup {"wrong": 1}`} {
		w := script(t, call)
		r := w.ask(t, `, "max_turns": 100, "repeat_limit": 2`, "")
		if n := len(w.model.Requests()); n != 5 || r.Outputs["finish"] != "stuck" {
			t.Errorf("%s: %d requests, %v, %v", call, n, r.Outputs["finish"], r.Error)
		}
	}
	w := script(t, strings.Repeat("no_such_tool {}\n", 10), "Done.")
	if r := w.ask(t, "", ""); r.Outputs["finish"] != "stop" || r.Outputs["text"] != "Done." {
		t.Errorf("several at once: %v, %v", r.Outputs, r.Error)
	}
}

// TestAgent_results_are_exact: results of tools reach the model with all digits and in their order. What is not JSON stays a text, and
// long results can be read on.
func TestAgent_results_are_exact(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		`{"b":9223372036854775808,"a":1e400,"c":12345678901234567890.10,"z":[1.0,-0]}`: `"body":{"b":9223372036854775808,"a":1e400,"c":12345678901234567890.10,"z":[1.0,-0]}`,
		`{"a":NaN}`:                 `"body":"{\"a\":NaN}"`,
		"{\"a\":\"\xff\"}":          "\"body\":{\"a\":\"\ufffd\"}",
		`{"a":"x\u0000<&>"}`:        `"body":{"a":"x\u0000<&>"}`,
		strings.Repeat("y", 10<<20): `[The result has 10485784 bytes; these are the first 24576. Read on with read_result(call: "1.1", from: 24576).]`,
	} {
		w := script(t, `lookup {"id": "1"}`, "Done.")
		w.shop.answer = func(out http.ResponseWriter, _ *http.Request) {
			if answer[0] == '{' {
				out.Header().Set("Content-Type", "application/json")
			}
			_, _ = io.WriteString(out, answer)
		}
		w.ask(t, "", "")
		if got := w.results(t, 2)[0]; !strings.Contains(got, want) {
			t.Errorf("%.40q: the model got …%s", answer, got[max(0, len(got)-300):])
		}
	}
}
