package handlers

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"time"

	"sluice/flow"
)

// streamEvents is GET events: what happened after Last-Event-ID, and then what
// happens, until the run has ended.
func (s *Server) streamEvents(c *call) error {
	if _, err := c.wants(typeStream); err != nil {
		return err
	}
	run, err := c.findRun()
	if err == nil {
		err = contentOf(run)
	}
	if err != nil {
		return err
	}
	after, err := lastEventID(c.Request().Header)
	if err != nil {
		return err
	}
	if run.State.Ended() && after >= run.Seq {
		// An EventSource that reconnects after the end stops only at this.
		return c.NoContent(http.StatusNoContent)
	}
	return c.stream(run, after)
}

// eventStream is one answer of Server-Sent Events.
type eventStream struct {
	*call
	run     *flow.Run
	outputs []flow.Output
	last    int64 // number of the newest event sent
}

func (c *call) stream(run *flow.Run, after int64) error {
	release, err := c.s.gate.hold()
	if err != nil {
		return err
	}
	defer release()
	out, err := c.s.outlines.find(c.Request().Context(), run.WorkspaceID, run.DocumentHash)
	if err != nil {
		return err
	}
	// Watching begins before the first look, so no change falls between.
	changes, stop := c.s.Runner.WatchRun(run.ID)
	defer stop()
	e := &eventStream{call: c, run: run, outputs: out.outputs, last: after}
	h := c.Response().Header()
	h.Set("Content-Type", typeStream)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // proxies that would gather events
	c.Response().WriteHeader(http.StatusOK)
	return e.follow(changes)
}

// follow sends until the run has ended, the caller has gone or the server
// drains. Each look at the store sends all that is new, so a poke that comes
// twice or once for many changes does no harm.
func (e *eventStream) follow(changes <-chan struct{}) error {
	ctx := e.Request().Context()
	ping := time.NewTicker(e.s.ping)
	defer ping.Stop()
	for {
		if _, err := e.s.findKey(e.Request()); err != nil {
			return nil // a key that was revoked stops at once
		}
		ended, err := e.sendNews(ctx)
		if ended || err != nil {
			return err
		}
		if !e.pause(ctx) {
			return nil
		}
		select {
		case <-changes:
		case <-ping.C:
			if err := e.send([]byte(": ping\n\n")); err != nil || e.s.Runner.Draining() {
				return err
			}
		case <-e.s.drained:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// pause keeps a busy run from being read more often than anybody can look.
func (e *eventStream) pause(ctx context.Context) bool {
	t := time.NewTimer(e.s.pace)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-e.s.drained:
	case <-ctx.Done():
	}
	return false
}

// sendNews reads the run, then its steps, and sends what is newer than the
// last event. A step written between the two reads is left for the next look:
// its number is beyond that of the run as it was read.
func (e *eventStream) sendNews(ctx context.Context) (ended bool, err error) {
	run, err := e.s.Store.FindRun(ctx, e.run.WorkspaceID, e.run.FlowID, e.run.ID)
	if err != nil {
		return false, err
	}
	steps, err := e.s.Store.FindSteps(ctx, run.WorkspaceID, run.ID)
	if err != nil {
		return false, err
	}
	var b bytes.Buffer
	for _, ev := range flow.EventsAfter(run, steps, e.outputs, e.last) {
		if ev.Seq <= run.Seq {
			e.write(&b, ev)
			e.last = ev.Seq
		}
	}
	if b.Len() == 0 && e.Response().Size > 0 {
		return run.State.Ended(), nil
	}
	return run.State.Ended(), e.send(b.Bytes())
}

// stepEvent tells where a step stands. It is the data of a step event.
type stepEvent struct {
	Path    string         `json:"path"`
	State   flow.StepState `json:"state"`
	Attempt int            `json:"attempt"`
}

func (e *eventStream) write(b *bytes.Buffer, ev flow.Event) {
	name, data := "", []byte(nil)
	switch {
	case ev.Run != nil:
		o := newRunObject(e.s.PublicURL, ev.Run)
		o.Inputs = nil
		name, data = "run", flow.EncodeJSON(&o)
	case ev.Step != nil:
		name, data = "step", flow.EncodeJSON(stepEvent{ev.Step.Path, ev.Step.State, ev.Step.Attempt})
	default:
		name, data = "output", flow.EncodeJSON(ev.Output)
	}
	b.WriteString("id: " + strconv.FormatInt(ev.Seq, 10) + "\nevent: " + name + "\ndata: ")
	b.Write(data)
	b.WriteString("\n\n")
}

// send writes and flushes. The whole stream has no time limit, but a peer that
// takes nothing for a minute is gone.
func (e *eventStream) send(data []byte) error {
	limitAnswer(e.Response())
	if _, err := e.Response().Write(data); err != nil {
		return err
	}
	return http.NewResponseController(e.Response()).Flush()
}
