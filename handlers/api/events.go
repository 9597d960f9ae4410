package api

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/flow/inflight"
	"sluice/handlers/web"
)

// streamEvents is GET events: the events after Last-Event-ID, then further ones as they
// happen, until the run has ended.
func (s *Server) streamEvents(c *Call) error {
	run, err := c.findContent()
	if err != nil {
		return err
	}
	after, err := lastEventID(c.Request().Header)
	if err != nil {
		return err
	}
	if run.State.Ended() && after >= run.Seq {
		// Only 204 keeps an EventSource from reconnecting.
		return c.NoContent(http.StatusNoContent)
	}
	c.deferred = func() error { return c.stream(run, after) }
	return nil
}

// eventStream is the event stream of one run to one client.
type eventStream struct {
	*Call
	out      *web.Stream
	run      *flow.Run
	outputs  []contract.Output
	watch    flow.Watch
	last     int64 // number of the newest event sent
	steps    web.SentSteps
	progress stepProgress
	under    []string // nodes whose sub-steps are sent, too
}

// stream sends the events of a run.
func (c *Call) stream(run *flow.Run, after int64) error {
	release, err := c.Hold()
	if err != nil {
		return err
	}
	defer release()
	out, err := c.s.Outlines.Find(c.Request().Context(), run.WorkspaceID, run.DocumentHash)
	if err != nil {
		return err
	}
	// Watch before the first read, so that no change is missed in between.
	watch := c.s.Runner.WatchText(run.ID)
	defer watch.Stop()
	e := &eventStream{
		Call: c, run: run, outputs: convert(out.Outputs, func(o *document.Output) contract.Output { return o.Output }), last: after, steps: web.SentSteps{},
		watch: watch, progress: newStepProgress(), under: c.Request().URL.Query()["under"],
	}
	defer e.progress.due.Stop()
	e.out = web.StartStream(c.Response())
	f := web.Follower{
		Watch: watch, Read: e.read, SendText: e.sendText, Beat: e.beat, Due: e.progress.due.C, OnDue: e.sendProgress,
		ReadInterval: c.s.ReadInterval, TextInterval: c.s.textInterval, BeatInterval: c.s.PingInterval, Drained: c.s.drained,
	}
	return f.Follow(c.Request().Context())
}

// beat sends a comment. A server that drains ends the stream.
func (e *eventStream) beat() error {
	e.out.AddComment("ping")
	if err := e.out.Flush(); err != nil {
		return err
	}
	if e.s.Runner.Draining() {
		return web.ErrStreamDone
	}
	return nil
}

// read sends everything new in the store if the key is still valid.
func (e *eventStream) read() error {
	if err := e.checkKey(); err != nil {
		return err
	}
	ended, err := e.sendNew(e.Request().Context())
	if err == nil && ended {
		return web.ErrStreamDone
	}
	return err
}

// wanted returns the steps of nodes, and those inside of the nodes that the client named.
func (e *eventStream) wanted(steps []flow.Step) []flow.Step {
	return slices.DeleteFunc(steps, func(s flow.Step) bool {
		node, _, isSub := strings.Cut(s.Path, flow.SubSeparator)
		return isSub && !slices.Contains(e.under, node)
	})
}

// checkKey ends the stream if the key is no longer valid, for example revoked.
func (e *eventStream) checkKey() error {
	_, err := e.s.FindKey(e.Request())
	return stillAllowed(err)
}

// checkKeyForText is checkKey for text. It accepts a key that another stream has read at most
// keyMaxAge ago, because text is sent many times a second.
func (e *eventStream) checkKeyForText() error {
	_, err := e.s.findKeyWith(e.Request(), func(ctx context.Context, hash string) (*flow.Key, error) {
		return e.s.streamKeys.find(ctx, hash, e.s.keyMaxAge)
	})
	return stillAllowed(err)
}

// stillAllowed converts the rejection of a key to ErrStreamDone.
func stillAllowed(err error) error {
	if err != nil && !flow.IsUnavailable(err) {
		return web.ErrStreamDone
	}
	return err
}

// sendNew reads the run, then its steps, then the text, and sends what is new. An event of a
// step that was written between the first two reads has a higher number than the run; the
// next call sends it. Text is read last because a step that has ended emits no further text:
// all of it can be sent before the event of its end.
func (e *eventStream) sendNew(ctx context.Context) (ended bool, err error) {
	defer inflight.LeaseOf(ctx).Close() // a stream may last for hours
	run, err := e.s.Store.FindRun(ctx, e.run.WorkspaceID, e.run.FlowID, e.run.ID)
	if err != nil {
		return false, err
	}
	steps, err := e.s.Store.FindChangedSteps(ctx, run.WorkspaceID, run.ID, e.last)
	if err != nil {
		return false, err
	}
	steps = e.wanted(steps)
	e.steps.Track(steps)
	e.progress.watch(steps)
	e.watch.Sync(ctx, run, steps)
	deltas, _ := e.steps.Read(e.watch)
	e.writeText(deltas, false)
	for _, ev := range contract.EventsAfter(run, steps, e.outputs, e.last) {
		if ev.Seq <= run.Seq {
			e.write(ev)
			e.last = ev.Seq
		}
	}
	e.writeText(deltas, true)
	e.steps.DropEnded()
	if !e.out.Pending() && e.out.Started() {
		return run.State.Ended(), nil
	}
	return run.State.Ended(), e.out.Flush()
}

// stepEvent is the data of a step event.
type stepEvent struct {
	Path    string         `json:"path"`
	State   flow.StepState `json:"state"`
	Attempt int            `json:"attempt"`
}

// write adds a numbered event. A client that reconnects sends the last number in the header
// Last-Event-ID and receives the events after it.
func (e *eventStream) write(ev contract.Event) {
	id := strconv.FormatInt(ev.Seq, 10)
	switch {
	case ev.Run != nil:
		o := e.s.runObject(ev.Run)
		o.Inputs = nil
		e.out.Add(id, "run", &o)
	case ev.Step != nil:
		e.out.Add(id, "step", stepEvent{ev.Step.Path, ev.Step.State, ev.Step.Attempt})
	default:
		e.out.Add(id, "output", e.s.linkedOutput(e.run.WorkspaceID, ev.Output))
	}
}
