package telemetry

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/value"
)

// ended returns a run that has ended, with a step that failed, and with a text in everything that has content.
func ended(content string) (*flow.Run, []flow.Step) {
	now := time.Now()
	values := value.NewObject(value.Member{Name: "n", Value: content})
	failure := &flow.Error{Code: flow.CodeInputInvalid, Message: "cannot read " + content}
	run := &flow.Run{ID: "run_1", FlowSlug: "f", State: flow.RunFailed, Error: failure, Save: true, Inputs: values, Outputs: values, CreatedAt: now, EndedAt: now, NoChildren: true, NoWebhook: true}
	step := flow.Step{Path: "a", Node: "a", Kind: "template", State: flow.StepFailed, Error: failure, Input: map[string]any{"n": content}, Outputs: map[string]any{"n": content}, StartedAt: now, EndedAt: now}
	return run, []flow.Step{step}
}

// written returns the spans of a run as they are sent.
func written(t *testing.T, run *flow.Run, steps []flow.Step, content bool) string {
	t.Helper()
	s := &spans{run: run, content: content, to: &exporter{queue: make(chan chunk, queueSize)}}
	s.addRun([8]byte{})
	s.addSteps(steps)
	s.addDelivery(&flow.Delivery{ID: "d", URL: "https://hooks.example.com/" + steps[0].Error.Message}, &flow.DeliveryAttempt{StartedAt: time.Now(), Error: steps[0].Error.Message})
	s.flush()
	text := ""
	for len(s.to.queue) > 0 {
		text += string((<-s.to.queue).bytes)
	}
	return text
}

func TestSpans_have_content_only_if_it_is_wanted_and_kept(t *testing.T) {
	t.Parallel()
	const canary = "canary-4c1f0a52"
	run, steps := ended(canary)
	if text := written(t, run, steps, false); strings.Contains(text, canary) {
		t.Errorf("spans without content have it: %q", text)
	}
	if n := strings.Count(written(t, run, steps, true), canary); n != 7 { // inputs and outputs of run and step, and three errors
		t.Errorf("spans with content have it %d times", n)
	}
	run.Save = false
	if text := written(t, run, steps, true); strings.Contains(text, canary) {
		t.Errorf("spans of a run that is not saved have content: %q", text)
	}
}

// TestTracer_is_bounded_while_the_collector_hangs ends many runs with much content. None waits, and what does not fit is counted.
func TestTracer_is_bounded_while_the_collector_hangs(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	t.Cleanup(server.Close)
	tracer := New(&Config{Endpoint: server.URL, Timeout: time.Minute, Sampler: Sampler{below: everything}, Content: true}, nil, server.Client(), slog.New(slog.DiscardHandler), "1", "a")
	const runs = 3000
	run, steps := ended(strings.Repeat("x", 2*maxContent)) // cut to 8,000 each, so a run has 32 KiB
	for range runs {
		tracer.RunEnded(run, steps)
	}
	if n := tracer.exporter.bytes.Load(); n > queueBytes || n < queueBytes/2 {
		t.Errorf("%d bytes are queued, wanted at most %d", n, queueBytes)
	}
	if n := tracer.Dropped(); n < runs || n > 2*runs {
		t.Errorf("%d of %d spans were dropped", n, 2*runs)
	}
	close(hang)
	tracer.Close()
	if sent := tracer.exporter.sent.Load(); sent == 0 || sent+tracer.Dropped() != 2*runs {
		t.Errorf("%d spans were sent and %d dropped, wanted %d in total", sent, tracer.Dropped(), 2*runs)
	}
	if n := tracer.exporter.bytes.Load(); n != 0 {
		t.Errorf("%d bytes are queued at the end", n)
	}
}
