package e2e

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"sluice/e2e/need"
	"sluice/flow/trace"
	"sluice/providers/scripted"
)

// span is a span as a collector received it.
type span struct {
	id, parent, trace, name, kind string
	start, end                    uint64
	attributes                    map[string]string
	failed                        bool
}

// collector receives spans over OTLP.
type collector struct {
	*httptest.Server
	mu     sync.Mutex
	spans  []span
	bodies strings.Builder // of all requests
}

func newCollector(t testing.TB) *collector {
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the server was killed
		}
		var data tracepb.TracesData
		if r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" || r.Header.Get("Api-Key") != "a=b" || proto.Unmarshal(body, &data) != nil {
			t.Errorf("the collector got %s %s with %v", r.Method, r.URL, r.Header)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.bodies.Write(body)
		for _, rs := range data.ResourceSpans {
			for _, ss := range rs.ScopeSpans {
				for _, s := range ss.Spans {
					c.spans = append(c.spans, spanOf(s))
				}
			}
		}
	}))
	t.Cleanup(c.Close)
	return c
}

func spanOf(s *tracepb.Span) span {
	own := span{
		id: hex.EncodeToString(s.SpanId), parent: hex.EncodeToString(s.ParentSpanId), trace: hex.EncodeToString(s.TraceId), name: s.Name, kind: strings.TrimPrefix(s.Kind.String(), "SPAN_KIND_"),
		start: s.StartTimeUnixNano, end: s.EndTimeUnixNano, attributes: map[string]string{}, failed: s.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR,
	}
	for _, a := range s.Attributes {
		own.attributes[a.Key] = a.Value.String()
	}
	return own
}

// env is the environment of a server that sends its spans here.
func (c *collector) env() []string {
	return []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "OTEL_EXPORTER_OTLP_HEADERS=api-key=a%3Db", "OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=test"}
}

// tree returns the spans once the one of the root run and n webhook attempts have arrived, and checks that they are one tree below
// the span above: no span twice, none without its parent, and all times inside those of the root or later.
func (c *collector) tree(t testing.TB, id, above string, webhooks int) map[string]span {
	t.Helper()
	waitUntil(t, "the trace has arrived", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		root, sent := false, 0
		for _, s := range c.spans {
			root = root || s.trace == id && s.parent == above
			if s.trace == id && strings.HasPrefix(s.name, "webhook ") && s.kind == "CLIENT" {
				sent++
			}
		}
		return root && sent >= webhooks
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	spans := map[string]span{}
	for _, s := range c.spans {
		if s.trace != id {
			continue
		}
		if _, twice := spans[s.id]; twice {
			t.Errorf("the span %q came twice", s.name)
		}
		spans[s.id] = s
	}
	roots := 0
	for _, s := range spans {
		if s.parent == above {
			roots++
		} else if _, ok := spans[s.parent]; !ok {
			t.Errorf("the span %q is below %s, which is missing", s.name, s.parent)
		}
		if s.end < s.start {
			t.Errorf("the span %q ends before it starts", s.name)
		}
	}
	if roots != 1 {
		t.Errorf("the trace has %d roots", roots)
	}
	return spans
}

// spanNames returns the names of spans of a kind, sorted.
func spanNames(spans map[string]span, kind string) (list []string) {
	for _, s := range spans {
		if s.kind == kind {
			list = append(list, s.name)
		}
	}
	slices.Sort(list)
	return list
}

// tracedService is what a traced flow calls. It remembers the traceparent of each request, and kills nothing itself: the first
// request for the item "2" hangs until the test has killed the server.
type tracedService struct {
	*httptest.Server
	mu      sync.Mutex
	headers []string
	flaky   int
	hangs   chan struct{}
	dead    chan struct{}
	once    sync.Once
}

func newTracedService(t testing.TB) *tracedService {
	s := &tracedService{hangs: make(chan struct{}), dead: make(chan struct{})}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *tracedService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.headers = append(s.headers, r.Header.Get("Traceparent"))
	if r.URL.Path == "/flaky" {
		if s.flaky++; s.flaky == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}
	s.mu.Unlock()
	if r.URL.Path == "/item" && strings.Contains(string(body), `"2"`) {
		s.once.Do(func() {
			close(s.hangs)
			<-s.dead
		})
	}
	_, _ = io.WriteString(w, "ok")
}

// TestTraces_of_a_run_are_one_tree_across_a_crash: a run with a list, a flow, a retry and a webhook, whose server is killed.
func TestTraces_of_a_run_are_one_tree_across_a_crash(t *testing.T) {
	t.Parallel()
	crashTraced(t, newCollector(t))
}

// TestTraces_reach_the_receiver_of_OpenTelemetry is the same with the receiver of OpenTelemetry's own collector.
func TestTraces_reach_the_receiver_of_OpenTelemetry(t *testing.T) {
	need.Slow(t)
	t.Parallel()
	crashTraced(t, newRealCollector(t))
}

// newRealCollector starts the receiver of deploy/testdata/collector.
func newRealCollector(t testing.TB) *collector {
	t.Helper()
	program := filepath.Join(t.TempDir(), "collector")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = filepath.Join("..", "deploy", "testdata", "collector")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the collector: %v\n%s", err, out)
	}
	cmd := exec.Command(program)
	dieWithTests(cmd)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stdout)
	address, err := lines.ReadString('\n')
	if err != nil {
		t.Fatalf("the collector did not start: %v", err)
	}
	c := &collector{Server: &httptest.Server{URL: strings.TrimSpace(address)}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			var s struct {
				Trace, ID, Parent, Name, Kind string
				Start, End                    uint64
				Failed                        bool
				Attributes                    map[string]string
			}
			if err := json.Unmarshal(line, &s); err != nil {
				t.Errorf("the collector wrote %q", line)
				continue
			}
			c.mu.Lock()
			c.spans = append(c.spans, span{s.ID, s.Parent, s.Trace, s.Name, strings.ToUpper(s.Kind), s.Start, s.End, s.Attributes, s.Failed})
			c.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		_ = stdin.Close() // it ends with its input
		<-done
		_ = cmd.Wait()
	})
	return c
}

// crashTraced runs a flow with a list, another flow, a retry and a webhook, kills the server meanwhile, and checks the trace.
func crashTraced(t *testing.T, c *collector) {
	const traceID, above = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	service := newTracedService(t)
	s := newServer(t, c.env()...)
	s.faulty = true // the collector may be asked while the server dies
	contract := object{"inputs": []object{{"name": "n", "type": "text", "required": true}}, "outputs": []object{{"name": "got", "type": "any"}}}
	item := s.publish(documentOf("Item", []object{input("n"), post("a", service.URL+"/item"), output("got")}, "n.value > a.n", "a.body > out_got.value"))
	id := s.publish(documentOf("Order", []object{
		input("n"), node("list", "input", object{"name": "list", "type": "list"}),
		node("each", "map", object{"flow": item, "over": []string{"n"}, "contract": contract}),
		node("one", "subflow", object{"flow": item, "contract": contract}),
		post("flaky", service.URL+"/flaky", object{"retry": object{"attempts": 3, "backoff_s": 0.01}}),
		node("hook", "webhook", object{"url": service.URL + "/hook"}), output("got"),
	}, "list.value > each.input.n", "n.value > one.input.n", "n.value > flaky.n", "each.got > out_got.value"))
	client := s.client(s.key())
	run := client.start(id, object{"n": "x", "list": []string{"1", "2", "3"}}, "traceparent: 00-"+traceID+"-"+above+"-01")
	<-service.hangs
	s.waitUntil("the retry has succeeded", func() bool { return client.steps(run)["flaky"].State == "succeeded" })
	s.kill()
	close(service.dead)
	s.start()
	client.await(run)
	spans := c.tree(t, traceID, above, 1)
	names := spanNames(spans, "INTERNAL")
	count := func(name string) (n int) {
		for _, s := range names {
			if s == name {
				n++
			}
		}
		return n
	}
	for name, n := range map[string]int{"invoke_workflow order": 1, "invoke_workflow item": 4, "map each": 1, "subflow one": 1, "webhook hook": 1, "http_request flaky": 3, "input list": 1} {
		if interrupted := name == "map each" || name == "subflow one"; interrupted && count(name) == 3 {
			continue // the crash ended an attempt of it, so it has two
		}
		if count(name) != n {
			t.Errorf("%d spans %q, wanted %d: %v", count(name), name, n, names)
		}
	}
	lost := 0
	for _, s := range spans {
		if strings.Contains(s.attributes["error.type"], "interrupted") {
			lost++
		}
	}
	if lost == 0 {
		t.Error("no span shows the attempt that the crash ended")
	}
	service.mu.Lock()
	defer service.mu.Unlock()
	for _, header := range service.headers {
		p, ok := trace.Parse(header)
		if !ok || p.Trace.String() != traceID || !p.Sampled {
			t.Errorf("a request came with traceparent %q", header)
			continue
		}
		if at := hex.EncodeToString(p.Span[:]); spans[at].id == "" {
			t.Errorf("a request came from the span %s, which was not written", at)
		}
	}
	if len(service.headers) < 7 {
		t.Errorf("%d requests arrived", len(service.headers))
	}
}

// TestTraces_of_an_agent_have_its_turns_and_calls: the turns call a model, and a flow is a tool.
func TestTraces_of_an_agent_have_its_turns_and_calls(t *testing.T) {
	t.Parallel()
	model := httptest.NewServer(scripted.New(func(r *scripted.Request) scripted.Answer {
		if r.Turn == 0 {
			return scripted.Answer{Calls: []scripted.Call{{ID: "1", Name: "look", Arguments: `{"n": "a secret text"}`}}}
		}
		return scripted.Answer{Text: "Done."}
	}))
	t.Cleanup(model.Close)
	c := newCollector(t)
	s := newServer(t, c.env()...)
	if r := s.commandWith("sk-test", "credential", "add", "--name", "fake", "--provider", "openai_compatible", "--base-url", model.URL+"/v1"); r.code != 0 {
		t.Fatal(r.errs)
	}
	look := s.publish(documentOf("Look", []object{input("n"), output("got")}, "n.value > out_got.value"))
	contract := object{"inputs": []object{{"name": "n", "type": "text", "required": true}}, "outputs": []object{{"name": "got", "type": "any"}}}
	id := s.publish(documentOf("Helper", []object{
		input("q"), node("agent", "agent", object{"model": "fake/m-1", "prompt": "{{q}}"}),
		node("look", "subflow", object{"flow": look, "contract": contract}, object{"tool": object{"description": "Looks."}}), output("answer"),
	}, "q.value > agent.q", "look.tool > agent.tools", "agent.text > out_answer.value"))
	run := s.client(s.key()).succeed(id, object{"q": "a secret question"})
	own := trace.DeriveID(run.ID)
	spans := c.tree(t, own.String(), "", 0)
	if got, want := spanNames(spans, "CLIENT"), []string{"chat m-1", "chat m-1"}; !slices.Equal(got, want) {
		t.Errorf("calls of models are %v, wanted %v", got, want)
	}
	names := strings.Join(spanNames(spans, "INTERNAL"), ", ")
	for _, name := range []string{"agent agent", "agent_turn agent.1", "subflow agent.1.1", "agent_turn agent.2", "invoke_workflow helper", "invoke_workflow look"} {
		if !strings.Contains(names, name) {
			t.Errorf("the span %q is missing among %s", name, names)
		}
	}
	for _, s := range spans {
		if s.kind == "CLIENT" {
			for name, want := range map[string]string{"gen_ai.operation.name": "chat", "gen_ai.provider.name": "fake", "gen_ai.request.model": "m-1", "gen_ai.response.finish_reasons": "", "gen_ai.response.time_to_first_chunk": ""} {
				if got, ok := s.attributes[name]; !ok || !strings.Contains(got, want) {
					t.Errorf("the attribute %s is %q, wanted %q", name, got, want)
				}
			}
		}
		for name, value := range s.attributes {
			if strings.Contains(value, "secret") {
				t.Errorf("the span %q has content in %s: %s", s.name, name, value)
			}
		}
	}
}
