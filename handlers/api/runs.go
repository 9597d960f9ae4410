package api

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
	"time"

	"sluice/flow"
)

// findRun returns the run of the path if the key may see it: with scope read any run of
// the flow, otherwise only runs that the key started.
func (c *Call) findRun() (*flow.Run, error) { return c.findRunIf(c.maySee) }

// findRunIf returns the run of the path if may allows it. Otherwise the run is "not found", so
// that its existence is hidden.
func (c *Call) findRunIf(may func(*flow.Run) bool) (*flow.Run, error) {
	if !flow.ValidID(flow.PrefixRun, c.runID()) {
		return nil, errNotFound
	}
	run, err := c.s.Store.FindRun(c.Request().Context(), c.Key.WorkspaceID, c.flowID(), c.runID())
	if err == nil && !(may(run) && c.Key.Allows(run.FlowID)) { // checkFlow has checked a flow in the path
		return nil, errNotFound
	}
	return run, err
}

// findContent is findRun for a route that shows the content of the run.
func (c *Call) findContent() (*flow.Run, error) {
	run, err := c.findRun()
	if err == nil {
		err = CheckContent(run)
	}
	return run, err
}

// maySee reports whether the key may see a run of a flow that it may call.
func (c *Call) maySee(run *flow.Run) bool {
	return c.Key.Has(flow.ScopeRead) || run.KeyID == c.Key.ID
}

// CheckContent returns an error if the content of the run was erased.
func CheckContent(run *flow.Run) error {
	switch run.Erased {
	case "":
		return nil
	case flow.CodeRunExpired:
		return flow.Errorf(flow.CodeRunExpired, "The retention period of this run has ended, so its content was erased.")
	}
	return flow.Errorf(flow.CodeResultNotSaved, "The content of this run was erased or was not saved.")
}

// showRun is GET run: the run object, after waiting for the end with ?wait.
func (s *Server) showRun(c *Call) error {
	run, err := c.findRun()
	if err != nil {
		return err
	}
	q := newQuery(c.Request().URL)
	wait := q.wait()
	if err := q.err(); err != nil {
		return err
	}
	if run, err = c.await(run, wait); err != nil {
		return err
	}
	if wait > 0 { // the key may have been revoked during the wait
		if _, err := s.FindKey(c.Request()); err != nil {
			return err
		}
	}
	body, err := c.encodeRun(run)
	if err != nil {
		return err
	}
	tag := etag(body)
	h := c.Response().Header()
	h.Set("ETag", tag)
	h.Set("Cache-Control", "private, no-cache")
	retryLater(h, run)
	if noneMatch(c.Request().Header, tag) {
		return c.NoContent(http.StatusNotModified)
	}
	return c.writeBody(http.StatusOK, body)
}

// await waits until the run has ended, the limit has passed or the server drains, and returns
// the current run.
func (c *Call) await(run *flow.Run, limit time.Duration) (*flow.Run, error) {
	if limit <= 0 || run.State.Ended() {
		return run, nil
	}
	release, err := c.Hold()
	if err != nil {
		return nil, err
	}
	defer release()
	return c.AwaitHeld(run, limit, nil)
}

// AwaitHeld is await for a request that already called Hold. It also returns at the next
// tick, unless that is nil; a run that has not ended by then may lack its content.
func (c *Call) AwaitHeld(run *flow.Run, limit time.Duration, tick <-chan time.Time) (*flow.Run, error) {
	ctx, cancel := context.WithCancel(c.Request().Context())
	defer cancel()
	go func() {
		select {
		case <-c.s.drained:
			cancel()
		case <-tick:
			cancel()
		case <-ctx.Done():
		}
	}()
	ended, err := c.s.Runner.AwaitRun(ctx, run.WorkspaceID, run.FlowID, run.ID, limit)
	if err != nil && ctx.Err() != nil && c.Request().Context().Err() == nil {
		now, whole, err := c.s.Store.FindRunHead(c.Request().Context(), run.WorkspaceID, run.FlowID, run.ID)
		if err != nil || whole || !now.State.Ended() && tick != nil {
			return now, err
		}
		return c.s.Store.FindRun(c.Request().Context(), run.WorkspaceID, run.FlowID, run.ID)
	}
	return ended, err
}

// retryLater sets Retry-After for polling a run that has not ended.
func retryLater(h http.Header, run *flow.Run) {
	switch {
	case run.State.Ended():
	case run.State == flow.RunWaiting:
		h.Set("Retry-After", "5")
	default:
		h.Set("Retry-After", "1")
	}
}

// etag returns the entity tag of a body, a hash of its bytes.
func etag(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
}

// noneMatch reports whether the client has the current response (If-None-Match).
func noneMatch(h http.Header, tag string) bool {
	for t := range strings.SplitSeq(strings.Join(h.Values("If-None-Match"), ","), ",") {
		t = strings.TrimPrefix(strings.TrimSpace(t), "W/")
		if t == tag || t == "*" {
			return true
		}
	}
	return false
}

// showResult is GET result: only the outputs.
func (s *Server) showResult(c *Call) error {
	run, err := c.findContent()
	if err != nil {
		return err
	}
	switch run.State {
	case flow.RunSucceeded:
		return c.WriteJSON(http.StatusOK, s.LinkFiles(run.WorkspaceID, orEmpty(run.Outputs)))
	case flow.RunFailed, flow.RunCanceled:
		return ErrNotSucceeded(run)
	}
	retryLater(c.Response().Header(), run)
	return c.writeRun(http.StatusAccepted, run)
}

// ErrNotSucceeded returns the error for the result of a failed or canceled run.
func ErrNotSucceeded(run *flow.Run) error {
	e := flow.Errorf(flow.CodeRunFailed, "The run failed.")
	if run.State == flow.RunCanceled {
		e = flow.Errorf(flow.CodeRunCanceled, "The run was canceled.")
	}
	if run.Error != nil && run.Error.Message != "" {
		e.Message = run.Error.Message
	}
	return runError{e, newErrorObject(run.Error)}
}

// cancelRun is POST cancel. It is idempotent: a run that has ended stays as it is.
func (s *Server) cancelRun(c *Call) error {
	run, err := c.findRun()
	if err != nil {
		return err
	}
	set, err := cancelBody.ReadFrom(c)
	if err != nil {
		return err
	}
	var options cancelOptions
	set(&options)
	act := s.runs.Cancel
	if options.after == afterTurn {
		act = s.runs.StopAfterTurn
	}
	if run, err = act(c.Request().Context(), c.Actor(), run); err != nil {
		return err
	}
	return c.writeRun(http.StatusOK, run)
}

// cancelOptions are the members of the body of a cancellation.
type cancelOptions struct{ after string }

// afterTurn cancels a run once its agents have ended their turns.
const afterTurn = "turn"

var cancelBody = Body[cancelOptions]{Name: "Cancel", Of: "a cancellation", Unknown: "unknown", Optional: true, Example: map[string]any{"after": afterTurn}, Fields: []Field[cancelOptions]{
	Member("after", "turn lets the agents of the run end their turns with all calls first, so that a rerun can continue from there. Without an agent at work, the run is canceled at once.",
		EnumType("not_allowed", afterTurn).OrAbsent(), func(o *cancelOptions) *string { return &o.after }),
}}

// eraseRun is DELETE run: it erases the content and keeps IDs, times and cost. It is
// idempotent.
func (s *Server) eraseRun(c *Call) error {
	if !flow.ValidID(flow.PrefixRun, c.runID()) {
		return errNotFound
	}
	ctx, ws := c.Request().Context(), c.Key.WorkspaceID
	run, err := s.Store.FindRun(ctx, ws, c.flowID(), c.runID())
	if err != nil {
		return err
	}
	casesToo := c.QueryParam("cases")
	switch {
	case casesToo != "" && casesToo != eraseCases:
		return Invalid(flow.Problem{Pointer: "/cases", Code: "invalid", Detail: "wanted erase"})
	case casesToo != "" && !c.Key.Has(flow.ScopeEdit):
		return flow.Errorf(flow.CodeScopeMissing, "Deleting test cases needs a key with the scope edit.")
	}
	continued, err := s.runs.Erase(ctx, c.Actor(), run)
	if err != nil {
		return err
	}
	made, err := casesOf(s, c, append([]flow.RunID{run.ID}, continued...), casesToo != "")
	if err != nil {
		return err
	}
	if len(continued)+len(made) == 0 {
		return c.NoContent(http.StatusNoContent)
	}
	return c.WriteJSON(http.StatusOK, erasedRuns{append([]flow.RunID{}, continued...), made})
}

// erasedRuns is the JSON of an erasure that includes other runs.
type erasedRuns struct {
	Continued []flow.RunID `json:"continued" doc:"The runs that continued the conversation, directly or not, and were erased with it."`
	Cases     []erasedCase `json:"cases" doc:"The test cases that were made from these runs. They still have content of them unless they were erased, too."`
}

// erasedCase is the JSON of a case that was made from a run.
type erasedCase struct {
	FlowID flow.FlowID `json:"flow_id"`
	ID     string      `json:"id"`
	Erased bool        `json:"erased" doc:"The case was deleted, too."`
}

// eraseCases is the value of the query parameter cases that deletes the test cases made from an erased run.
const eraseCases = "erase"

// casesOf lists the test cases that were made from runs. With erase, it deletes them.
func casesOf(s *Server, c *Call, runs []flow.RunID, erase bool) ([]erasedCase, error) {
	list := []erasedCase{}
	if s.Library.Tests == nil {
		return list, nil
	}
	for _, id := range runs {
		made, err := s.Library.Tests.OfRun(c.Request().Context(), c.Actor(), c.Key.WorkspaceID, id, erase)
		if err != nil {
			return nil, err
		}
		for _, m := range made {
			list = append(list, erasedCase(m))
		}
	}
	return list, nil
}
