package mcp

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sluice/flow"
	"sluice/handlers/api"
	"sluice/handlers/web/conns"
)

// maxCall bounds how long a call waits for its run. A run that waits for an
// approval may take days, longer than any connection lasts.
const maxCall = time.Hour

// runFlow runs a flow for a call and returns its result. Errors become results with isError set, so
// that the model sees them.
func (m *message) runFlow(ctx context.Context, req *sdk.CallToolRequest, f *flow.Flow) *sdk.CallToolResult {
	run, err := m.startRun(f)
	if err != nil {
		return m.toolError(err, "")
	}
	ended, err := m.awaitEnd(ctx, req, run)
	switch {
	case err != nil:
	case ended.State != flow.RunSucceeded:
		err = api.ErrNotSucceeded(ended)
	default:
		err = api.CheckContent(ended)
	}
	if err != nil {
		return m.toolError(err, run.ID)
	}
	return m.toolResult(ended)
}

// startRun starts the run of a call. A disconnect of the client does not abort the
// start, which could leave a run that no client knows about: awaitEnd detects the
// disconnect once the run is stored, and cancels it.
func (m *message) startRun(f *flow.Flow) (*flow.Run, error) {
	if m.s.api.Runner.Draining() {
		return nil, api.ErrDraining()
	}
	if !m.Key.Has(flow.ScopeRun) {
		return nil, api.ErrMissingScope(flow.ScopeRun)
	}
	started, err := m.s.api.Runner.StartRun(context.WithoutCancel(m.Request().Context()), flow.Start{
		WorkspaceID: f.WorkspaceID, FlowID: f.ID, Key: m.Key, Trigger: flow.TriggerMCP, Given: m.arguments(),
	})
	if err != nil {
		return nil, err
	}
	run := *started.Run
	run.Inputs = nil // they may be large, and the worker has them
	delete(m.params, "arguments")
	m.ReleaseBody()
	return &run, nil
}

// arguments returns the arguments of a call; never nil.
func (m *message) arguments() *flow.Object {
	if given, ok := flow.AsObject(m.params["arguments"]); ok {
		return given
	}
	return &flow.Object{}
}

// awaitEnd waits for the end of a run and reports progress meanwhile. If the
// client disconnects, it cancels the run: the client cannot resume the call to read
// the result, and would pay for a second run if it retried.
func (m *message) awaitEnd(ctx context.Context, req *sdk.CallToolRequest, run *flow.Run) (*flow.Run, error) {
	defer m.s.calls.add(m.callName(m.id), run)()
	if token := m.progressToken(); token != nil && m.streams {
		defer m.reportProgress(ctx, req.Session, token, run)()
	}
	begun := time.Now()
	ping, stop := conns.NewTicker(m.Request().Context(), m.s.api.PingInterval)
	defer stop()
	for !run.State.Ended() {
		now, err := m.AwaitHeld(run, maxCall, ping)
		gone := m.Request().Context().Err()
		if err == nil && gone == nil {
			run, err = now, m.checkWait(now, begun)
		}
		if err == nil && gone == nil && !run.State.Ended() {
			gone = m.keepAlive()
		}
		if gone != nil {
			if !m.s.api.ShuttingDown() { // a shutdown also closes connections, but runs continue
				m.s.api.CancelAbandoned(m.Request().Context(), run)
			}
			return nil, gone
		}
		if err != nil {
			return nil, err
		}
	}
	return run, nil
}

// checkWait returns an error if the call must stop waiting. If the key was revoked or
// has expired, it cancels the run, since the client cannot read its result.
func (m *message) checkWait(run *flow.Run, begun time.Time) error {
	_, err := m.s.api.FindKey(m.Request())
	switch e, _ := errors.AsType[*flow.Error](err); {
	case run.State.Ended():
		return err
	case e != nil && slices.Contains([]flow.Code{flow.CodeKeyRevoked, flow.CodeKeyExpired, flow.CodeKeyInvalid}, e.Code):
		m.s.api.CancelAbandoned(m.Request().Context(), run)
		return flow.Errorf(e.Code, "%s The run was canceled.", e.Message)
	case err != nil:
		return err
	case m.s.api.ShuttingDown():
		return flow.Errorf(flow.CodeDraining, "This server is shutting down. The run continues, and its result can be read by its ID.")
	case time.Since(begun) > maxCall:
		return flow.Errorf(flow.CodeRunNotEnded, "The run has not ended within an hour, the maximum for a call. It continues, and its result can be read by its ID.")
	}
	return nil
}

// keepAlive writes to the connection, so that proxies do not close it as idle. If the
// client has half-closed it, the write also detects whether the client still reads.
func (m *message) keepAlive() error {
	if m.streams {
		return m.response.ping()
	}
	select {
	case <-conns.Finished(m.Request().Context()):
		return m.response.padJSON()
	default:
		return nil
	}
}

// topicCancel is the broadcast topic for cancellations; the text is a callName.
const topicCancel = "mcp-cancel"

// openCalls are the runs that calls of this instance wait for, by callName. It is safe for
// concurrent use, and its zero value is empty.
type openCalls struct {
	mu   sync.Mutex
	runs map[string]*flow.Run
}

// add registers the run of a call until remove is called. A call without a name
// cannot be canceled by a notification, so it is not registered.
func (o *openCalls) add(name string, run *flow.Run) (remove func()) {
	if name == "" {
		return func() {}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.runs == nil {
		o.runs = map[string]*flow.Run{}
	}
	o.runs[name] = run
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.runs[name] == run {
			delete(o.runs, name)
		}
	}
}

// find returns the run of a call of this instance, or nil.
func (o *openCalls) find(name string) *flow.Run {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.runs[name]
}

// callName identifies an open call by key, session and request ID. The request ID
// alone is ambiguous, because clients start at 1 in each session. It is a hash, so
// that its length is bounded, or "" without a session.
func (m *message) callName(id any) string {
	session := m.Request().Header.Get(sessionHeader)
	if session == "" {
		return ""
	}
	return flow.Hash(flow.EncodeJSON([]any{m.Key.WorkspaceID, m.Key.ID, session, id}))
}

// cancel cancels the run of the call that a cancellation names. A call unknown to this
// instance has ended or belongs to another one, so the cancellation is broadcast.
func (s *Server) cancel(m *message) {
	ctx, name := m.Request().Context(), m.callName(m.params["requestId"])
	if run := s.calls.find(name); run != nil {
		s.api.CancelAbandoned(ctx, run)
	} else if name != "" {
		if err := s.api.Store.Broadcast(context.WithoutCancel(ctx), topicCancel, name); err != nil {
			s.api.Log.Warn("cancellation of a call not broadcast", "error", err)
		}
	}
}

// OnBroadcast handles a message that another instance broadcast. It returns
// immediately.
func (s *Server) OnBroadcast(topic, text string) {
	if topic != topicCancel {
		return
	}
	if run := s.calls.find(text); run != nil {
		go s.api.CancelAbandoned(context.Background(), run)
	}
}
