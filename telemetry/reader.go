package telemetry

import (
	"context"
	"time"

	"sluice/flow"
	"sluice/flow/trace"
)

// read works on what is pending until Close, and then on the rest at once.
func (t *Tracer) read() {
	for {
		select {
		case p := <-t.pending:
			if wait := time.Until(p.due); wait > 0 {
				select {
				case <-time.After(wait):
				case <-t.stop:
				}
			}
			t.work(p)
		case <-t.stop:
			for until := time.Now().Add(closeTime); time.Now().Before(until); {
				select {
				case p := <-t.pending:
					t.work(p)
					continue
				default:
				}
				return
			}
			return
		}
	}
}

// work writes what one entry stands for. What cannot be read is missing in the trace.
func (t *Tracer) work(p pending) {
	var err error
	if p.delivery != nil {
		err = t.readDelivery(p)
	} else {
		id, parent, _ := t.place(p.run.ID, p.run.Traceparent)
		err = t.readRun(t.newSpans(p.run, id), parent, p.run.EndedAt, p.read)
	}
	if err != nil {
		t.exporter.dropped.Add(1)
		t.log.Warn("a part of a trace cannot be read", "error", err)
	}
}

// readDelivery writes an attempt that ended after the root run of its trace. Others are written with the trace.
func (t *Tracer) readDelivery(p pending) error {
	ctx, cancel := context.WithTimeout(context.Background(), readTime)
	defer cancel()
	run, _, err := t.store.FindRunHead(ctx, p.delivery.WorkspaceID, "", p.delivery.RunID)
	if err != nil {
		return err
	}
	root := run
	if !isRoot(run) {
		above, err := t.store.FindChildren(ctx, *run.Caller)
		if err != nil || above == nil {
			return err
		}
		if root, err = t.rootOf(ctx, run.WorkspaceID, above.RootRunID, run); err != nil {
			return err
		}
	}
	if root.EndedAt.IsZero() || !endedAfter(&p.attempt, root.EndedAt) {
		return nil
	}
	id, _, _ := t.place(run.ID, run.Traceparent)
	s := t.newSpans(run, id)
	s.addDelivery(p.delivery, &p.attempt)
	s.flush()
	return nil
}

// rootOf returns the run that the trace of a child run is written with: that at the top, unless one in between is the row of a
// batch, which has a trace of its own.
func (t *Tracer) rootOf(ctx context.Context, ws flow.WorkspaceID, top flow.RunID, run *flow.Run) (*flow.Run, error) {
	for run.ID != top && !isRoot(run) {
		above, _, err := t.store.FindRunHead(ctx, ws, "", run.Caller.RunID)
		if err != nil {
			return nil, err
		}
		run = above
	}
	return run, nil
}

// endedAfter reports whether an attempt ended after a run.
func endedAfter(a *flow.DeliveryAttempt, end time.Time) bool {
	return a.StartedAt.Add(a.Latency).After(end)
}

// readRun writes the deliveries of a run until the end of the trace, everything below the run and, if asked, the run itself.
func (t *Tracer) readRun(s *spans, parent trace.SpanID, end time.Time, whole bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), readTime)
	defer cancel()
	run := s.run
	if whole {
		steps, err := t.readSteps(ctx, run)
		if err != nil {
			return err
		}
		t.write(s, parent, steps)
	}
	deliveries, err := t.store.ListDeliveriesOfRun(ctx, run.WorkspaceID, run.ID)
	if err != nil {
		return err
	}
	for i := range deliveries {
		for j := range deliveries[i].Attempts {
			if a := &deliveries[i].Attempts[j]; !endedAfter(a, end) {
				s.addDelivery(&deliveries[i].Delivery, a)
			}
		}
	}
	s.flush()
	return t.readChildren(run, end)
}

// readSteps returns the steps of a run, with their content only if that is written.
func (t *Tracer) readSteps(ctx context.Context, run *flow.Run) ([]flow.Step, error) {
	if t.cfg.Content && run.Save {
		return t.store.FindSteps(ctx, run.WorkspaceID, run.ID)
	}
	return t.store.FindTracedSteps(ctx, run.WorkspaceID, run.ID)
}

// readChildren writes the runs below a run that belong to its trace.
func (t *Tracer) readChildren(run *flow.Run, end time.Time) error {
	if run.NoChildren || run.Trigger.Work() != "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), readTime)
	defer cancel()
	groups, err := t.store.ListChildren(ctx, run.WorkspaceID, run.ID)
	if err != nil {
		return err
	}
	for _, g := range groups {
		for from := 0; from < g.Total; from += childPage {
			page, err := t.readPage(g.Caller, from, min(from+childPage, g.Total))
			if err != nil {
				return err
			}
			for i := range page {
				if err := t.readChild(&page[i], end); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// readPage reads child runs of a step.
func (t *Tracer) readPage(step flow.CallingStep, from, to int) ([]flow.Run, error) {
	ctx, cancel := context.WithTimeout(context.Background(), readTime)
	defer cancel()
	return t.store.ListTracedRuns(ctx, step, from, to)
}

// readChild writes a child run. It gives the exporter time while the queue is full, because a list may have
// thousands of items.
func (t *Tracer) readChild(run *flow.Run, end time.Time) error {
	p, ok := trace.Parse(run.Traceparent)
	if !ok || run.EndedAt.IsZero() {
		return nil
	}
	t.exporter.awaitSpace(t.stop)
	return t.readRun(t.newSpans(run, p.Trace), p.Span, end, true)
}

// Limits of awaitSpace.
const (
	spacePause = 20 * time.Millisecond
	spaceTime  = batchDelay
)

// awaitSpace waits until half of the queue is free, for spaceTime at most, or not at all if the collector takes nothing.
func (e *exporter) awaitSpace(stop <-chan struct{}) {
	for waited := time.Duration(0); (e.waiting.Load() > queueSize/2 || e.bytes.Load() > queueBytes/2) && waited < spaceTime && !e.down.Load(); waited += spacePause {
		select {
		case <-time.After(spacePause):
		case <-stop:
			return
		}
	}
}
