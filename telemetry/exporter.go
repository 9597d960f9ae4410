package telemetry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

const (
	queueSize     = 8192
	queueBytes    = 32 << 20 // of spans that wait; those with content may have 64 KiB
	batchSize     = 512
	batchBytes    = 4 << 20 // collectors bound a request, usually to 20 MiB
	batchDelay    = 5 * time.Second
	retryTime     = 30 * time.Second // how long a batch is tried
	firstPause    = time.Second
	closeTime     = 3 * time.Second // for what is left at the end
	maxErrorBytes = 1 << 10         // of a response
)

// exporter sends spans in batches from a goroutine of its own.
type exporter struct {
	cfg     *Config
	client  *http.Client
	log     *slog.Logger
	res     *resourcepb.Resource
	scope   *commonpb.InstrumentationScope
	queue   chan *tracepb.Span
	bytes   atomic.Int64  // of the queue and the batch that is being sent
	pause   time.Duration // before the first retry; it doubles
	dropped atomic.Int64
	sent    atomic.Int64
	down    atomic.Bool // the last batch could not be sent

	ctx    context.Context // ends when Close gives up
	cancel context.CancelFunc
	stop   chan struct{} // closed by Close
	done   chan struct{} // closed when the goroutine has ended
}

// newExporter starts an exporter.
func newExporter(cfg *Config, client *http.Client, log *slog.Logger, version, instance string) *exporter {
	res := &resourcepb.Resource{}
	for _, p := range cfg.Resource {
		res.Attributes = append(res.Attributes, text(p.Key, p.Value))
	}
	res.Attributes = append(res.Attributes, text(serviceVersion, version), text(serviceInstance, instance))
	e := &exporter{
		cfg: cfg, client: client, log: log, res: res, scope: &commonpb.InstrumentationScope{Name: "sluice", Version: version},
		queue: make(chan *tracepb.Span, queueSize), pause: firstPause, stop: make(chan struct{}), done: make(chan struct{}),
	}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	go e.run()
	return e
}

// put queues a span, or drops and counts it if the queue is full.
func (e *exporter) put(s *tracepb.Span) {
	size := int64(proto.Size(s))
	if e.bytes.Add(size) <= queueBytes {
		select {
		case e.queue <- s:
			return
		default:
		}
	}
	e.bytes.Add(-size)
	e.dropped.Add(1)
}

// run sends spans until close.
func (e *exporter) run() {
	defer close(e.done)
	batch, bytes := make([]*tracepb.Span, 0, batchSize), 0
	var due <-chan time.Time
	flush := func() {
		if len(batch) > 0 {
			e.export(batch)
		}
		e.bytes.Add(-int64(bytes))
		clear(batch)
		batch, bytes, due = batch[:0], 0, nil
	}
	add := func(s *tracepb.Span) {
		batch, bytes = append(batch, s), bytes+proto.Size(s)
		if len(batch) == batchSize || bytes >= batchBytes {
			flush()
		}
	}
	for {
		select {
		case s := <-e.queue:
			if add(s); len(batch) > 0 && due == nil {
				due = time.After(batchDelay)
			}
		case <-due:
			flush()
		case <-e.stop:
			for {
				select {
				case s := <-e.queue:
					add(s)
					continue
				default:
				}
				flush()
				return
			}
		}
	}
}

// export sends a batch, again after a pause if the collector cannot take it now. What cannot be sent is dropped and counted.
func (e *exporter) export(batch []*tracepb.Span) {
	body, err := e.encode(batch)
	for pause, until := e.pause, time.Now().Add(retryTime); err == nil; pause *= 2 {
		var again bool
		if again, err = e.post(e.ctx, body); err == nil {
			e.sent.Add(int64(len(batch)))
			if e.down.CompareAndSwap(true, false) {
				e.log.Info("traces are sent again", "dropped_spans", e.dropped.Load())
			}
			return
		}
		if !again || time.Now().Add(pause).After(until) || e.stopping() {
			break
		}
		e.warn(err)
		select {
		case <-time.After(pause):
			err = nil
		case <-e.stop: // one more try
			err = nil
		}
	}
	e.dropped.Add(int64(len(batch)))
	e.warn(err)
}

// stopping reports whether Close was called.
func (e *exporter) stopping() bool {
	select {
	case <-e.stop:
		return true
	default:
		return false
	}
}

// warn logs the first failure of a row of them.
func (e *exporter) warn(err error) {
	if e.down.CompareAndSwap(false, true) {
		e.log.Warn("traces cannot be sent; trying again, and dropping what does not fit the queue", "error", err)
	}
}

// encode returns a batch in the wire format of an export request, which is that of TracesData.
func (e *exporter) encode(batch []*tracepb.Span) ([]byte, error) {
	return proto.Marshal(&tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{
		Resource: e.res, ScopeSpans: []*tracepb.ScopeSpans{{Scope: e.scope, Spans: batch}},
	}}})
}

// post sends a request. again reports whether it may be sent once more after an error.
func (e *exporter) post(ctx context.Context, body []byte) (again bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, e.cfg.Timeout)
	defer cancel()
	return post(ctx, e.client, e.cfg, body)
}

func post(ctx context.Context, client *http.Client, cfg *Config, body []byte) (again bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, cfg.Endpoint, bytes.NewReader(body))
	if err != nil {
		return false, errors.New("the endpoint is not a URL")
	}
	for name, value := range cfg.Headers {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	resp, err := client.Do(req)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // without the URL, which may have a secret
		}
		return true, err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxErrorBytes)) // so that the connection can be used again
	switch {
	case resp.StatusCode < 300:
		return false, nil
	case resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 502 && resp.StatusCode <= 504:
		return true, fmt.Errorf("the collector responded %d", resp.StatusCode)
	}
	return false, fmt.Errorf("the collector responded %d", resp.StatusCode)
}

// close sends what is queued, for closeTime at most.
func (e *exporter) close() {
	close(e.stop)
	timer := time.AfterFunc(closeTime, e.cancel)
	defer timer.Stop()
	<-e.done
	e.cancel()
}

// Try sends an empty request to the collector and returns why it does not accept traces.
func Try(ctx context.Context, client *http.Client, cfg *Config) error {
	ctx, cancel := context.WithTimeout(ctx, cfg.Timeout)
	defer cancel()
	_, err := post(ctx, client, cfg, nil)
	return err
}
