package telemetry

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"sluice/flow"
	"sluice/flow/trace"
)

// Store reads what was recorded of a trace.
type Store interface {
	FindRunHead(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, runID flow.RunID) (run *flow.Run, whole bool, err error)
	FindSteps(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID) ([]flow.Step, error)
	FindTracedSteps(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID) ([]flow.Step, error)
	FindChildren(ctx context.Context, step flow.CallingStep) (*flow.Children, error)
	ListChildren(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID) ([]flow.Children, error)
	ListTracedRuns(ctx context.Context, step flow.CallingStep, from, to int) ([]flow.Run, error)
	ListDeliveriesOfRun(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID) ([]flow.DeliveryRecord, error)
}

const (
	// settleTime is how long the rest of a trace is not read after the end of its root run, so that attempts at deliveries that
	// ended before are recorded.
	settleTime = time.Second
	maxPending = 4096 // traces and deliveries that wait to be read
	readTime   = 30 * time.Second
	childPage  = 200
)

// Tracer writes the traces of the runs of this process. It implements jobs.Tracer.
type Tracer struct {
	cfg      *Config
	store    Store
	log      *slog.Logger
	exporter *exporter
	pending  chan pending
	stop     chan struct{}
	done     sync.WaitGroup
}

// pending is what has to be read from the store: the rest of the trace of a run, or whether an attempt at a delivery is written.
type pending struct {
	due      time.Time
	run      *flow.Run
	read     bool // the steps of the run, too
	delivery *flow.Delivery
	attempt  flow.DeliveryAttempt
}

// New starts a tracer. The client must follow the rules for URLs of the operator.
func New(cfg *Config, store Store, client *http.Client, log *slog.Logger, version, instance string) *Tracer {
	t := &Tracer{
		cfg: cfg, store: store, log: log, exporter: newExporter(cfg, client, log, version, instance),
		pending: make(chan pending, maxPending), stop: make(chan struct{}),
	}
	t.done.Go(t.read)
	return t
}

// Close sends what is left, for a few seconds at most. Nothing may be traced any more.
func (t *Tracer) Close() {
	if t == nil {
		return
	}
	close(t.stop)
	t.done.Wait()
	t.exporter.close()
}

// Dropped returns how many spans were lost because the queue was full or the collector did not take them.
func (t *Tracer) Dropped() int64 {
	if t == nil {
		return 0
	}
	return t.exporter.dropped.Load()
}

// place returns the trace of a run, the span above the run, and whether the trace is written.
func (t *Tracer) place(id flow.RunID, traceparent string) (trace.ID, trace.SpanID, bool) {
	if p, ok := trace.Parse(traceparent); ok {
		return p.Trace, p.Span, t.cfg.Sampler.writes(p.Trace, &p)
	}
	own := trace.DeriveID(string(id))
	return own, trace.SpanID{}, t.cfg.Sampler.writes(own, nil)
}

// TraceID returns the ID of the trace of a run.
func TraceID(run *flow.Run) string {
	if p, ok := trace.Parse(run.Traceparent); ok {
		return p.Trace.String()
	}
	return trace.DeriveID(string(run.ID)).String()
}

// Traceparent implements jobs.Tracer. The requests of a step that calls a model are below the span of its attempt, others below
// that of the step: an attempt that waited for something continues under a new number.
func (t *Tracer) Traceparent(run *flow.Run, path, kind string, attempt int) string {
	id, _, sampled := t.place(run.ID, run.Traceparent)
	if operations[kind] == "" {
		attempt = 0
	}
	return trace.Parent{Trace: id, Span: trace.DeriveSpan(string(run.ID), path, int64(attempt)), Sampled: sampled}.String()
}

// DeliveryTraceparent implements jobs.Tracer.
func (t *Tracer) DeliveryTraceparent(d *flow.Delivery, startedAt time.Time) string {
	if d.RunID == "" {
		return ""
	}
	id, _, sampled := t.place(d.RunID, d.Traceparent)
	return trace.Parent{Trace: id, Span: deliverySpan(d.ID, startedAt), Sampled: sampled}.String()
}

// isRoot reports whether a run ends its trace, as far as it is ours. Child runs are written with their root: until it
// ends, a process that was killed would leave gaps. Rows of a batch have traces of their own.
func isRoot(run *flow.Run) bool { return run.Caller == nil || run.Traceparent == "" }

// RunEnded implements jobs.Tracer.
func (t *Tracer) RunEnded(run *flow.Run, steps []flow.Step) {
	id, parent, sampled := t.place(run.ID, run.Traceparent)
	if !isRoot(run) || !sampled {
		return
	}
	if steps != nil {
		t.write(t.newSpans(run, id), parent, steps)
		if run.NoChildren && run.NoWebhook && !delivers(steps) {
			return
		}
	}
	head := *run
	head.Outputs, head.Metadata, head.Sizes, head.Context = nil, nil, nil, nil
	if steps != nil || !t.cfg.Content || !run.Save { // the span of the run was written, or has no content
		head.Inputs = nil
	}
	t.later(pending{due: time.Now().Add(settleTime), run: &head, read: steps == nil})
}

// delivers reports whether a step may have sent a webhook.
func delivers(steps []flow.Step) bool {
	for i := range steps {
		if k := steps[i].Kind; (k == "webhook" || k == "approval") && hasSpan(&steps[i]) {
			return true
		}
	}
	return false
}

// DeliveryAttempted implements jobs.Tracer.
func (t *Tracer) DeliveryAttempted(d *flow.Delivery, a flow.DeliveryAttempt) {
	if d.RunID == "" {
		return
	}
	if _, _, sampled := t.place(d.RunID, d.Traceparent); sampled {
		head := *d
		head.Body, head.Secret, head.Signature = nil, nil, nil
		t.later(pending{delivery: &head, attempt: a})
	}
}

// later queues what has to be read, or drops and counts it.
func (t *Tracer) later(p pending) {
	select {
	case t.pending <- p:
	default:
		t.exporter.dropped.Add(1)
	}
}

// write queues the spans of a run and its steps.
func (t *Tracer) write(s *spans, parent trace.SpanID, steps []flow.Step) {
	s.addRun(parent)
	s.addSteps(steps)
	s.flush()
}
