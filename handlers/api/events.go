package api

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"sluice/flow"
	"sluice/handlers/web"
	"sluice/handlers/web/conns"
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
	c.later = func() error { return c.stream(run, after) }
	return nil
}

// eventStream is one answer of Server-Sent Events.
type eventStream struct {
	*call
	run     *flow.Run
	outputs []flow.Output
	watch   flow.Watch
	looks   *pacer // at the store
	texts   *pacer
	last    int64            // number of the newest event sent
	steps   map[string]known // by path, those that are running
	missed  bool             // the last look failed; another one is due
}

// errStreamOver ends a stream of which there is nothing to complain: all was
// sent, or nobody may or will take more.
var errStreamOver = errors.New("the event stream is over")

// stream answers with the events of a run.
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
	watch := c.s.Runner.WatchText(run.ID)
	defer watch.Stop()
	e := &eventStream{
		call: c, run: run, outputs: out.outputs, last: after, steps: map[string]known{},
		watch: watch, looks: newPacer(watch.Changes), texts: newPacer(watch.Texts),
	}
	h := c.Response().Header()
	h.Set("Content-Type", typeStream)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // proxies that would gather events
	c.Response().WriteHeader(http.StatusOK)
	if err := e.follow(); !errors.Is(err, errStreamOver) {
		return err
	}
	return nil
}

// follow sends until the run has ended, the caller has gone or the server
// drains. Each look at the store sends all that is new, so a poke that comes
// twice or once for many changes does no harm. Looks are paced, lest a busy run
// be read more often than anybody can see; text has a pace of its own and does
// not wait for a look.
func (e *eventStream) follow() error {
	ping, stop := conns.NewTicker(e.Request().Context(), e.s.ping)
	defer stop()
	defer e.looks.over.Stop()
	defer e.texts.over.Stop()
	err := e.look()
	for err == nil {
		err = e.next(ping)
	}
	return err
}

// next waits for what comes first and answers it.
func (e *eventStream) next(ping <-chan time.Time) error {
	select {
	case <-e.looks.open:
		return e.look()
	case <-e.texts.open:
		return e.sendText()
	case <-e.looks.over.C:
		e.looks.resume()
		if e.missed {
			return e.look()
		}
	case <-e.texts.over.C:
		e.texts.resume()
	case <-ping:
		if err := e.send([]byte(": ping\n\n")); err != nil {
			return err
		}
		if e.s.Runner.Draining() {
			return errStreamOver
		}
		return e.look()
	case <-e.s.drained:
		return errStreamOver
	case <-e.Request().Context().Done():
		return errStreamOver
	}
	return nil
}

// look sends what the store says is new, to a caller who may still see it. While
// the database is away nothing is sent, and the next look comes soon.
func (e *eventStream) look() error {
	err := e.allowed()
	if err == nil {
		var ended bool
		if ended, err = e.sendNews(e.Request().Context()); err == nil && ended {
			err = errStreamOver
		}
	}
	if e.missed = flow.IsUnavailable(err); e.missed {
		e.looks.pause(max(e.s.pace, missedPause))
		return nil
	}
	e.looks.pause(e.s.pace)
	return err
}

// missedPause is the wait after a look at a database that is away.
const missedPause = 500 * time.Millisecond

// allowed ends the stream if the key does not hold any more: one that was
// revoked stops at once.
func (e *eventStream) allowed() error {
	_, err := e.s.findKey(e.Request())
	return stillAllowed(err)
}

// allowedText is allowed for text, for which a look that another stream made a
// moment ago is enough.
func (e *eventStream) allowedText() error {
	_, err := e.s.findKeyWith(e.Request(), func(ctx context.Context, hash string) (*flow.Key, error) {
		return e.s.streamKeys.find(ctx, hash, e.s.recheck)
	})
	return stillAllowed(err)
}

// stillAllowed turns the refusal of a key into the end of its stream.
func stillAllowed(err error) error {
	if err != nil && !flow.IsUnavailable(err) {
		return errStreamOver
	}
	return err
}

// sendNews reads the run, then its steps, then the text, and sends what is new.
// A step written between the first two is left for the next look: its number is
// beyond that of the run as it was read. Text comes last because a step that
// has ended says nothing more: what it said is sent before its end.
func (e *eventStream) sendNews(ctx context.Context) (ended bool, err error) {
	run, err := e.s.Store.FindRun(ctx, e.run.WorkspaceID, e.run.FlowID, e.run.ID)
	if err != nil {
		return false, err
	}
	steps, err := e.s.Store.FindSteps(ctx, run.WorkspaceID, run.ID)
	if err != nil {
		return false, err
	}
	e.learn(steps)
	e.watch.Sync(ctx, run, steps)
	deltas, _ := e.readText()
	var b bytes.Buffer
	e.writeText(&b, deltas, false)
	for _, ev := range flow.EventsAfter(run, steps, e.outputs, e.last) {
		if ev.Seq <= run.Seq {
			e.write(&b, ev)
			e.last = ev.Seq
		}
	}
	e.writeText(&b, deltas, true)
	e.forget()
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
		o := e.s.runObject(ev.Run)
		o.Inputs = nil
		name, data = "run", flow.EncodeJSON(&o)
	case ev.Step != nil:
		name, data = "step", flow.EncodeJSON(stepEvent{ev.Step.Path, ev.Step.State, ev.Step.Attempt})
	default:
		name, data = "output", flow.EncodeJSON(e.s.linkedOutput(e.run.WorkspaceID, ev.Output))
	}
	b.WriteString("id: " + strconv.FormatInt(ev.Seq, 10) + "\nevent: " + name + "\ndata: ")
	b.Write(data)
	b.WriteString("\n\n")
}

// send writes and flushes. The whole stream has no time limit, but a peer that
// takes nothing for a minute is gone.
func (e *eventStream) send(data []byte) error {
	web.LimitWrite(e.Response())
	if _, err := e.Response().Write(data); err != nil {
		return err
	}
	return http.NewResponseController(e.Response()).Flush()
}
