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
)

const (
	queueSize     = 8192     // spans that wait
	queueBytes    = 32 << 20 // of spans that wait; those with content may have 64 KiB
	batchSize     = 512      // spans after which a batch is sent; it may have those of one more chunk
	batchBytes    = 4 << 20  // collectors bound a request, usually to 20 MiB
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
	around  envelope
	queue   chan chunk    // of queueSize, so that a chunk for which put found room never waits
	waiting atomic.Int64  // spans in the queue
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
	var attributes []attribute
	for _, p := range cfg.Resource {
		attributes = append(attributes, text(p.Key, p.Value))
	}
	attributes = append(attributes, text(serviceVersion, version), text(serviceInstance, instance))
	e := &exporter{
		cfg: cfg, client: client, log: log, around: newEnvelope(attributes, version),
		queue: make(chan chunk, queueSize), pause: firstPause, stop: make(chan struct{}), done: make(chan struct{}),
	}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	go e.run()
	return e
}

// put queues spans, or drops and counts them if the queue is full or they were only counted.
func (e *exporter) put(c chunk) {
	size := int64(len(c.bytes))
	if size > 0 && e.bytes.Add(size) <= queueBytes {
		if e.waiting.Add(c.spans) <= queueSize {
			e.queue <- c
			return
		}
		e.waiting.Add(-c.spans)
	}
	if size > 0 {
		e.bytes.Add(-size)
	}
	e.dropped.Add(c.spans)
}

// full reports whether the queue has no room, so that spans need not be written.
func (e *exporter) full() bool {
	return e.waiting.Load() >= queueSize || e.bytes.Load() >= queueBytes
}

// run sends spans until close.
func (e *exporter) run() {
	defer close(e.done)
	var batch []chunk
	var spans, bytes int64
	var due <-chan time.Time
	flush := func() {
		if len(batch) > 0 {
			e.export(batch, spans)
		}
		e.bytes.Add(-bytes)
		clear(batch)
		batch, spans, bytes, due = batch[:0], 0, 0, nil
	}
	add := func(c chunk) {
		e.waiting.Add(-c.spans)
		batch, spans, bytes = append(batch, c), spans+c.spans, bytes+int64(len(c.bytes))
		if spans >= batchSize || bytes >= batchBytes {
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
func (e *exporter) export(batch []chunk, spans int64) {
	body := e.around.encode(batch)
	var err error
	for pause, until := e.pause, time.Now().Add(retryTime); ; pause *= 2 {
		var again bool
		if again, err = e.post(e.ctx, body); err == nil {
			e.sent.Add(spans)
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
		case <-e.stop: // one more try
		}
	}
	e.dropped.Add(spans)
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
