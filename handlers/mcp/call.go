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

// runFlow runs a flow for a call. Errors that a model can correct or should know about
// are results with isError set.
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

// startRun starts the run of a call. It ignores that the client disconnects
// meanwhile, which could leave a run that no client knows: awaitEnd notices the
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
	return started.Run, err
}

// arguments are the arguments of a call.
func (m *message) arguments() map[string]any {
	if given, _ := m.params["arguments"].(map[string]any); given != nil {
		return given
	}
	return map[string]any{}
}

// awaitEnd waits for the end of a run and reports progress meanwhile. If the
// client disconnects, it cancels the run: without a session to return to, the
// client could not read the result, and would pay twice if it called again.
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
			run, err = now, m.mayWait(now, begun)
		}
		if err == nil && gone == nil && !run.State.Ended() {
			gone = m.keepOpen()
		}
		if gone != nil {
			if !m.s.api.ShuttingDown() { // then the server closed the connection
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

// mayWait returns an error if the call must not wait longer. A run whose key has
// been revoked or has expired is canceled: the client cannot read its result.
func (m *message) mayWait(run *flow.Run, begun time.Time) error {
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
		return flow.Errorf(flow.CodeRunNotEnded, "The run has not ended within an hour, which is as long as a call is held. It continues, and its result can be read by its ID.")
	}
	return nil
}

// keepOpen prevents proxies from closing the connection, and detects whether a
// client that has finished sending still reads.
func (m *message) keepOpen() error {
	if m.streams {
		return m.answer.ping()
	}
	select {
	case <-conns.Finished(m.Request().Context()):
		return m.answer.pad()
	default:
		return nil
	}
}

// topicCancel is the broadcast topic of canceled calls; the text is a callName.
const topicCancel = "mcp-cancel"

// openCalls are the runs that calls of this instance wait for, by callName.
type openCalls struct {
	mu   sync.Mutex
	runs map[string]*flow.Run
}

// add keeps a run until forget is called. A call without a name cannot be
// canceled by a notification, so it is not kept.
func (o *openCalls) add(name string, run *flow.Run) (forget func()) {
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

// find returns the run of a call that is open in this instance, or nil. Another instance may
// have it, so a cancellation is also broadcast.
func (o *openCalls) find(name string) *flow.Run {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.runs[name]
}

// callName identifies an open call by key, session and request ID, because
// clients number their requests from 1 in each session. It is a hash of bounded
// length, and "" without a session.
func (m *message) callName(id any) string {
	session := m.Request().Header.Get(sessionHeader)
	if session == "" {
		return ""
	}
	return flow.Hash(flow.EncodeJSON([]any{m.Key.WorkspaceID, m.Key.ID, session, id}))
}

// cancel ends the run of the call that a cancellation names. A call that is not
// open here has ended or belongs to another instance.
func (s *Server) cancel(m *message) {
	ctx, name := m.Request().Context(), m.callName(m.params["requestId"])
	if run := s.calls.find(name); run != nil {
		s.api.CancelAbandoned(ctx, run)
	} else if name != "" {
		if err := s.api.Store.Broadcast(context.WithoutCancel(ctx), topicCancel, name); err != nil {
			s.api.Log.Warn("canceled call not broadcast to other instances", "error", err)
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
