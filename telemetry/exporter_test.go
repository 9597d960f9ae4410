package telemetry

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"sluice/flow"
	"sluice/flow/trace"
)

// one is a chunk with one span.
var one = func() chunk {
	s := &spans{run: &flow.Run{}}
	s.add("x", trace.SpanID{1}, trace.SpanID{}, kindInternal, time.Now(), time.Now(), nil)
	return s.chunk
}()

// started returns an exporter to a handler.
func started(t *testing.T, handler http.HandlerFunc) *exporter {
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return newExporter(&Config{Endpoint: server.URL, Timeout: time.Minute}, server.Client(), slog.New(slog.DiscardHandler), "1", "a")
}

func TestExporter_sends_batches(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var sizes []int
	e := started(t, func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var data tracepb.TracesData
		if err := proto.Unmarshal(body, &data); err != nil {
			t.Error(err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		sizes = append(sizes, len(data.ResourceSpans[0].ScopeSpans[0].Spans))
	})
	for range batchSize + 3 {
		e.put(one)
	}
	e.close() // sends the rest
	mu.Lock()
	defer mu.Unlock()
	if len(sizes) != 2 || sizes[0] != batchSize || sizes[1] != 3 || e.dropped.Load() != 0 {
		t.Errorf("batches of %v spans arrived, %d were dropped", sizes, e.dropped.Load())
	}
}

func TestExporter_drops_and_counts_what_does_not_fit(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	e := started(t, func(http.ResponseWriter, *http.Request) { <-hang })
	const more = 100
	for range batchSize { // the first batch hangs at the collector
		e.put(one)
	}
	for e.waiting.Load() > 0 {
		time.Sleep(time.Millisecond)
	}
	for range queueSize + more {
		e.put(one) // never blocks
	}
	if n := e.dropped.Load(); n != more {
		t.Errorf("%d spans were dropped, wanted %d", n, more)
	}
	close(hang)
	e.close()
	if n := e.sent.Load(); n != batchSize+queueSize {
		t.Errorf("%d spans were sent, wanted %d", n, batchSize+queueSize)
	}
}

func TestExporter_repeats_what_the_collector_cannot_take_now(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	e := started(t, func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	e.pause = time.Millisecond // its goroutine has nothing to send yet
	for range batchSize {      // a full batch is sent at once
		e.put(one)
	}
	for e.sent.Load() == 0 && e.dropped.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	e.close()
	if e.sent.Load() != batchSize || requests.Load() != 2 {
		t.Errorf("%d spans were sent with %d requests", e.sent.Load(), requests.Load())
	}
	var refused atomic.Int64
	e = started(t, func(w http.ResponseWriter, _ *http.Request) {
		refused.Add(1)
		w.WriteHeader(http.StatusUnauthorized)
	})
	e.put(one)
	e.close()
	if refused.Load() != 1 || e.dropped.Load() != 1 {
		t.Errorf("a refused batch was sent %d times, and %d spans were dropped", refused.Load(), e.dropped.Load())
	}
}
