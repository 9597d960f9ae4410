package e2e

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"sluice/flow/trace"
	"sluice/providers/scripted"
)

// traces returns the IDs of all traces that arrived.
func (c *collector) traces() (list []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids := map[string]bool{}
	for _, s := range c.spans {
		ids[s.trace] = true
	}
	return slices.Sorted(maps.Keys(ids))
}

// sent returns all that arrived.
func (c *collector) sent() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bodies.String()
}

// TestTraces_are_sampled_as_the_caller_decides starts runs through every door of the API. The server writes only traces that the
// caller writes, and passes that decision on.
func TestTraces_are_sampled_as_the_caller_decides(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	service := newTracedService(t)
	model := httptest.NewServer(scripted.New(func(*scripted.Request) scripted.Answer { return scripted.Answer{Text: "Hi."} }))
	t.Cleanup(model.Close)
	s := newServer(t, append(c.env(), "OTEL_TRACES_SAMPLER=parentbased_always_off")...)
	if r := s.commandWith("sk-test", "credential", "add", "--name", "fake", "--provider", "openai_compatible", "--base-url", model.URL+"/v1"); r.code != 0 {
		t.Fatal(r.errs)
	}
	id := s.publish(documentOf("Call", []object{input("n"), post("a", service.URL+"/call"), output("reply")}, "n.value > a.n", "a.body > out_reply.value"))
	client := s.client(s.key())
	header := func(n int, flags string) string { return fmt.Sprintf("00-%032x-%016x-%s", n, n, flags) }
	client.succeed(id, object{"n": "1"})
	client.succeed(id, object{"n": "2"}, "traceparent: "+header(2, "00"))
	client.succeed(id, object{"n": "3"}, "traceparent: "+header(3, "01"))
	client.want(200, "POST", "/v1/chat/completions", object{"model": "call", "messages": []object{{"role": "user", "content": "Hello"}}}, "traceparent: "+header(4, "01"))
	call := object{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": object{"name": "call", "arguments": object{"n": "5"}}}
	if a := client.want(200, "POST", "/mcp", call, "Accept: application/json, text/event-stream", "traceparent: "+header(5, "01")); !strings.Contains(string(a.body), `"structuredContent":{"reply":"ok"}`) {
		t.Errorf("the tool answered %s", a.body)
	}
	for _, n := range []int{3, 4, 5} {
		spans := c.tree(t, fmt.Sprintf("%032x", n), fmt.Sprintf("%016x", n), 0)
		if names := spanNames(spans, "INTERNAL"); !slices.Contains(names, "invoke_workflow call") || !slices.Contains(names, "http_request a") {
			t.Errorf("trace %d has the spans %v", n, names)
		}
	}
	s.stop() // sends what is left
	if got, want := c.traces(), []string{fmt.Sprintf("%032x", 3), fmt.Sprintf("%032x", 4), fmt.Sprintf("%032x", 5)}; !slices.Equal(got, want) {
		t.Errorf("the traces %v were written, wanted %v", got, want)
	}
	service.mu.Lock()
	defer service.mu.Unlock()
	if len(service.headers) != 5 {
		t.Fatalf("%d requests arrived", len(service.headers))
	}
	for i, h := range service.headers {
		p, ok := trace.Parse(h)
		if !ok || p.Sampled != (i > 1) || i > 0 && p.Trace.String() != fmt.Sprintf("%032x", i+1) {
			t.Errorf("request %d came with traceparent %q", i+1, h)
		}
	}
}

// TestTraces_have_the_share_that_is_set: whether a trace is written follows from its ID, so that all instances agree.
func TestTraces_have_the_share_that_is_set(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	s := newServer(t, append(c.env(), "OTEL_TRACES_SAMPLER=traceidratio", "OTEL_TRACES_SAMPLER_ARG=0.5")...)
	id := s.publish(greeting())
	client := s.client(s.key())
	var want []string
	const runs = 24
	for range runs {
		own := trace.DeriveID(client.succeed(id, object{"name": "x"}).ID)
		if binary.BigEndian.Uint64(own[8:])>>1 < 1<<62 {
			want = append(want, hex.EncodeToString(own[:]))
		}
	}
	s.stop()
	slices.Sort(want)
	if got := c.traces(); !slices.Equal(got, want) {
		t.Errorf("%d traces were written, wanted %d of %d: %v, %v", len(got), len(want), runs, got, want)
	}
}

// TestTraces_have_content_only_if_it_is_wanted plants texts in everything that has content, and reads all that the collector gets.
func TestTraces_have_content_only_if_it_is_wanted(t *testing.T) {
	t.Parallel()
	echo := echoServer(t)
	model := httptest.NewServer(scripted.New(func(*scripted.Request) scripted.Answer { return scripted.Answer{Text: "canary-answer"} }))
	t.Cleanup(model.Close)
	document := documentOf("Canaries", []object{
		input("n"), node("ask", "chat", object{"model": "fake/m", "prompt": "canary-prompt {{n}}", "system": "canary-system"}),
		node("fail", "http_request", object{"url": echo.URL + "/fail/canary-path"}, object{"on_error": object{"continue": object{"body": ""}}}),
		node("fill", "template", object{"template": "canary-template"}), output("text"),
	}, "n.value > ask.n", "ask.text > out_text.value")
	canaries := []string{"canary-input", "canary-prompt", "canary-system", "canary-answer", "canary-path", "canary-template", "canary-metadata"}
	for _, content := range []string{"", "on"} {
		c := newCollector(t)
		env := c.env()
		if content != "" {
			env = append(env, "SLUICE_OTEL_CONTENT="+content)
		}
		s := newServer(t, env...)
		if r := s.commandWith("sk-canary-secret", "credential", "add", "--name", "fake", "--provider", "openai_compatible", "--base-url", model.URL+"/v1"); r.code != 0 {
			t.Fatal(r.errs)
		}
		id := s.publish(document)
		client := s.client(s.key())
		start := func(save bool) {
			client.await(client.start(id, object{"n": "canary-input", "run_options": object{"save": save, "metadata": object{"order": "canary-metadata"}}}))
		}
		start(false)
		kept := 0
		if s.stop(); content != "" { // sends what is left
			s.start()
			kept = len(c.sent())
			start(true)
			s.stop()
		}
		all := c.sent()
		if len(all) == 0 || content != "" && len(all) == kept {
			t.Fatal("nothing was sent")
		}
		for _, canary := range append(canaries, "sk-canary-secret") {
			if strings.Contains(all[:kept], canary) || content == "" && strings.Contains(all, canary) {
				t.Errorf("with content %q, and of a run that is not saved, %q was sent", content, canary)
			}
		}
		if content == "" {
			continue
		}
		for _, canary := range []string{"canary-input", "canary-prompt", "canary-answer", "canary-template"} {
			if !strings.Contains(all[kept:], canary) {
				t.Errorf("%q was not sent with content", canary)
			}
		}
		if strings.Contains(all, "sk-canary-secret") {
			t.Error("a secret was sent")
		}
	}
}

// TestTraces_cost_nothing_while_the_collector_is_down: runs end, the server stops in time, and the log says it once.
func TestTraces_cost_nothing_while_the_collector_is_down(t *testing.T) {
	t.Parallel()
	var tried sync.Once
	asked, hang := make(chan struct{}), make(chan struct{})
	dead := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		tried.Do(func() { close(asked) })
		<-hang
	}))
	t.Cleanup(dead.Close)
	t.Cleanup(func() { close(hang) })
	s := newServer(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+dead.URL, "OTEL_EXPORTER_OTLP_TIMEOUT=100")
	id := s.publish(greeting())
	client := s.client(s.key())
	for range 300 { // more spans than a batch has
		client.succeed(id, object{"name": "x"})
	}
	<-asked
	client.succeed(id, object{"name": "x"}) // while a request hangs
	s.waitUntil("the log says that traces cannot be sent", func() bool { return strings.Contains(s.process().errs.String(), "traces cannot be sent") })
	if code := s.stop(); code != 0 {
		t.Errorf("the server ended with %d", code)
	}
	if n := strings.Count(s.process().errs.String(), "traces cannot be sent"); n != 1 {
		t.Errorf("the log says %d times that traces cannot be sent", n)
	}
}

// TestTraces_with_wrong_settings_are_refused_at_the_start: systemd must not restart the server forever, so the exit code is 2.
func TestTraces_with_wrong_settings_are_refused_at_the_start(t *testing.T) {
	t.Parallel()
	for _, wrong := range []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=collector:4317", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_EXPORTER_OTLP_TIMEOUT=10s", "OTEL_EXPORTER_OTLP_HEADERS=secret-of-a-header",
		"OTEL_RESOURCE_ATTRIBUTES=a=%zz", "OTEL_TRACES_SAMPLER=sometimes", "OTEL_SDK_DISABLED=maybe", "SLUICE_OTEL_CONTENT=yes",
	} {
		name, value, _ := strings.Cut(wrong, "=")
		s := stoppedServer(t, "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", wrong)
		r := s.command("serve")
		if r.code != 2 || !strings.Contains(r.errs, name) || strings.Count(strings.TrimSpace(r.errs), "\n") > 0 {
			t.Errorf("%s: %d, %q", wrong, r.code, r.errs)
		}
		if strings.HasSuffix(name, "HEADERS") && strings.Contains(r.errs, value) {
			t.Errorf("a secret is shown: %q", r.errs)
		}
	}
}
