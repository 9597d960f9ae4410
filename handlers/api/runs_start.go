package api

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/contract"
)

// startRequest is a request to start or rerun a run.
type startRequest struct {
	body        *flow.Object
	idempotency string
	fingerprint string
	wait        time.Duration
	stream      bool
	after       int64 // Last-Event-ID, for a stream
}

// readStart reads and checks the headers and the body.
func (c *Call) readStart(optionalBody bool) (req startRequest, err error) {
	h := c.Request().Header
	req.stream = c.accepted == TypeStream
	if req.idempotency, err = idempotencyKey(h); err != nil {
		return req, err
	}
	if req.wait, err = preferWait(h); err != nil {
		return req, err
	}
	if req.stream {
		req.wait = 0 // a stream starts immediately
		if req.after, err = lastEventID(h); err != nil {
			return req, err
		}
	}
	if req.idempotency != "" {
		req.fingerprint, _ = fingerprint(c.Request(), strings.NewReader("")) // of a missing body
	}
	req.body, err = c.ReadOrdered(optionalBody, func(body io.Reader) (err error) {
		if req.idempotency != "" {
			req.fingerprint, err = fingerprint(c.Request(), body)
		}
		return err
	})
	return req, err
}

// fingerprint identifies the request of an Idempotency-Key: method, path and hash of the
// body.
func fingerprint(r *http.Request, body io.Reader) (string, error) {
	sum := sha256.New()
	_, err := io.Copy(sum, body)
	return r.Method + " " + r.URL.Path + " " + hex.EncodeToString(sum.Sum(nil)), err
}

// startRun is POST run. It responds once the run is stored, or later with Prefer: wait.
// The key may come from a cache. Accepting a run checks the key again in the same
// transaction; if no run was accepted, the key is checked here, so that a revoked key
// is reported as such and not as some other error.
func (s *Server) startRun(c *Call) error {
	if !s.Runner.Accepts() {
		return ErrDraining()
	}
	c.arrived = s.Now()
	start, req, err := c.readStartRun()
	var started flow.Started
	if err == nil {
		started, err = c.startWith(start)
	} else {
		err = c.preferMissingFlow(err)
	}
	_, remembered := errors.AsType[*flow.RememberedRefusal](err)
	if c.Key.Recent && !remembered && (err != nil || started.Replayed) { // no run was accepted, which would have checked the cached key
		if refused := c.reauthorize(); refused != nil {
			return refused
		}
		if errors.Is(err, flow.ErrKeyOutdated) {
			start.Key = c.Key
			started, err = c.startWith(start)
		}
	}
	return c.answerStart(req, started, err)
}

// startWith starts a run. A start that waits for the end counts as held.
func (c *Call) startWith(start flow.Start) (started flow.Started, err error) {
	release, err := c.holdFor(start.Wait)
	if err != nil {
		return started, err
	}
	defer release()
	if c.memory.Held() > 0 {
		start.Stored = func() {
			*start.Given = flow.Object{}
			c.ReleaseBody()
		}
	}
	return c.s.Runner.StartRun(c.Request().Context(), start)
}

// ErrDraining returns the error for a new run or file while the server shuts down.
func ErrDraining() error {
	return flow.Errorf(flow.CodeDraining, "This server is shutting down. Try again in a moment.")
}

// readStartRun reads a start and checks its options.
func (c *Call) readStartRun() (flow.Start, startRequest, error) {
	req, err := c.readStart(false)
	if err != nil {
		return flow.Start{}, req, err
	}
	options, wrong := readOptions(req.body)
	given := req.body
	given.Delete(contract.ReservedInput)
	req.body = nil
	if len(wrong) > 0 {
		return flow.Start{}, req, c.allProblems(wrong, options, given)
	}
	if err := c.mayChoose(options); err != nil {
		return flow.Start{}, req, err
	}
	if err := c.calls().CheckStart(c.Request().Context(), c.flowID(), options); err != nil {
		return flow.Start{}, req, err
	}
	start := c.newStart(req)
	start.Given, start.Options = given, options
	return start, req, nil
}

// newStart returns a start without inputs and options.
func (c *Call) newStart(req startRequest) flow.Start {
	start := flow.Start{
		WorkspaceID: c.Key.WorkspaceID, FlowID: c.flowID(), Key: c.Key, UserID: c.Key.UserID, Trigger: c.Key.Trigger,
		IdempotencyKey: req.idempotency, Fingerprint: req.fingerprint, Wait: req.wait,
	}
	if start.Trigger == "" {
		start.Trigger = flow.TriggerAPI
	}
	return start
}

// mayChoose checks the scope manage for running anything but the live version.
func (c *Call) mayChoose(o flow.RunOptions) error {
	if c.Key.Has(flow.ScopeManage) || !o.Draft && o.Version == 0 {
		return nil
	}
	if !o.Draft {
		f, err := c.s.Store.FindFlow(c.Request().Context(), c.Key.WorkspaceID, c.flowID())
		if err != nil || f.LiveVersion == o.Version {
			return err
		}
	}
	return ErrMissingScope(flow.ScopeManage)
}

// allProblems returns an error with the problems of the options and of the inputs, so
// that the client sees all of them at once.
func (c *Call) allProblems(wrong problems, o flow.RunOptions, given *flow.Object) error {
	ctx := c.Request().Context()
	f, err := c.s.Store.FindFlow(ctx, c.Key.WorkspaceID, c.flowID())
	if err != nil {
		return err
	}
	if f.LiveVersion != 0 && !o.Draft && (o.Version == 0 || o.Version == f.LiveVersion) {
		out, err := c.s.Outlines.Find(ctx, f.WorkspaceID, f.LiveHash)
		if err != nil {
			return err
		}
		_, more := contract.Check(out.Inputs, given, false)
		wrong = append(wrong, more...)
	}
	return wrong.err()
}

// preferMissingFlow returns "not found" instead of err if the flow does not exist.
func (c *Call) preferMissingFlow(err error) error {
	_, missing := c.s.Store.FindFlow(c.Request().Context(), c.Key.WorkspaceID, c.flowID())
	if flow.IsNotFound(missing) {
		return missing
	}
	return err
}

// holdFor is Hold if wait is positive.
func (c *Call) holdFor(wait time.Duration) (release func(), err error) {
	if wait <= 0 {
		return func() {}, nil
	}
	return c.Hold()
}

// recheckAfter is the wait after which a start reads its key again instead of using the cache.
const recheckAfter = time.Second

// checkReplay returns an error if an Idempotency-Key has found a run that the key in the request may not see, or without content.
func (c *Call) checkReplay(started flow.Started) error {
	if !started.Replayed {
		return nil
	}
	if !c.maySee(started.Run) || started.Run.FlowID != c.flowID() { // a slug may have moved to another flow since
		return flow.Errorf(flow.CodeIdempotencyMismatch, "This Idempotency-Key was used by another key or for another flow.")
	}
	if err := CheckContent(started.Run); err != nil {
		return err
	}
	c.Response().Header().Set("Idempotent-Replayed", "true")
	return nil
}

// answerStart responds to start and rerun: 200 with an ended run, 202 with an open one,
// or an event stream.
func (c *Call) answerStart(req startRequest, started flow.Started, err error) error {
	if err != nil {
		return c.LimitRuns(err)
	}
	if req.wait > 0 { // a key that was revoked during the wait must not get the outputs
		find := c.s.Store.RecentKey
		if c.s.Now().Sub(c.arrived) > recheckAfter {
			find = c.s.Store.FindKeyByHash
		}
		if _, err := c.s.findKeyWith(c.Request(), find); err != nil {
			return err
		}
	}
	run, h := started.Run, c.Response().Header()
	if err := c.checkReplay(started); err != nil {
		return err
	}
	h.Set("Location", RunPath(run.FlowID, run.ID))
	if req.stream {
		after := req.after
		c.deferred = func() error { return c.stream(run, after) }
		return nil
	}
	status := http.StatusAccepted
	if run.State.Ended() && (started.Replayed || req.wait > 0) {
		status = http.StatusOK
	} else {
		retryLater(h, run)
	}
	if req.wait > 0 {
		h.Set("Preference-Applied", "wait="+strconv.Itoa(int(req.wait/time.Second)))
	}
	return c.writeRun(status, run)
}
