package api

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sluice/flow"
	"sluice/handlers/web/conns"
)

// maxCall is how long a call is held. A run that waits for a person may take
// days, for which no connection lasts.
const maxCall = time.Hour

// callTool is tools/call. What a model can mend or should know of is a result
// that is an error; only a tool that is not there is an error of the protocol.
func (m *message) callTool(ctx context.Context, req *mcp.CallToolRequest) (mcp.Result, error) {
	t, err := m.findTool(m.Request().Context(), req.Params.Name)
	if err != nil {
		return nil, m.private(err)
	}
	if t == nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "There is no tool of this name, or this key may not call it. tools/list tells which there are."}
	}
	run, err := m.startTool(t.flow)
	if err != nil {
		return m.toolError(err, ""), nil
	}
	ended, err := m.follow(ctx, req, run)
	if err == nil {
		err = notEndedWell(ended)
	}
	if err != nil {
		return m.toolError(err, run.ID), nil
	}
	return m.toolResult(ended), nil
}

func notEndedWell(run *flow.Run) error {
	if run.State != flow.RunSucceeded {
		return notSucceeded(run)
	}
	return contentOf(run)
}

func (m *message) startTool(f *flow.Flow) (*flow.Run, error) {
	if m.s.Runner.Draining() {
		return nil, draining()
	}
	if !m.key.Has(flow.ScopeRun) {
		return nil, missingScope(flow.ScopeRun)
	}
	given, _ := m.params["arguments"].(map[string]any)
	// A caller who goes away now must not leave a run of which nobody knows:
	// once it is on disk, follow cancels it.
	started, err := m.s.Runner.StartRun(context.WithoutCancel(m.Request().Context()), flow.Start{
		WorkspaceID: f.WorkspaceID, FlowID: f.ID, Key: m.key, Trigger: flow.TriggerMCP, Given: orEmpty(given),
	})
	return started.Run, err
}

// follow waits for the end of the run.
//
// A caller who goes away has the run canceled: without a session to return to,
// nobody could ever read its result, and who calls again would pay for it twice.
func (m *message) follow(ctx context.Context, req *mcp.CallToolRequest, run *flow.Run) (*flow.Run, error) {
	defer m.s.agents.calls.add(m, run)()
	if token := m.progressToken(); token != nil && m.streams {
		defer m.report(ctx, req.Session, token, run)()
	}
	begun := time.Now()
	ping, stop := conns.NewTicker(m.Request().Context(), m.s.ping)
	defer stop()
	for !run.State.Ended() {
		now, err := m.awaitHeld(run, maxCall, ping)
		gone := m.Request().Context().Err()
		if err == nil && gone == nil {
			run, err = now, m.mayWait(now, begun)
		}
		if err == nil && gone == nil && !run.State.Ended() {
			gone = m.keepOpen()
		}
		if gone != nil {
			m.abandon(run)
			return nil, gone
		}
		if err != nil {
			return nil, err
		}
	}
	return run, nil
}

// mayWait tells whether a call may be held longer, and that its key still holds.
func (m *message) mayWait(run *flow.Run, begun time.Time) error {
	if _, err := m.s.findKey(m.Request()); err != nil || run.State.Ended() {
		return m.disown(run, err)
	}
	if m.s.shutsDown() {
		return flow.Errorf(flow.CodeDraining, "This server is shutting down. The run goes on, and its result can be read by its ID.")
	}
	if time.Since(begun) > maxCall {
		return flow.Errorf(flow.CodeRunNotEnded, "The run has not ended within an hour, which is as long as a call is held. It goes on, and its result can be read by its ID.")
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

// disown cancels a run whose key has stopped: whoever is told so cannot read its
// result any more, and nobody else knows of it.
func (m *message) disown(run *flow.Run, err error) error {
	e, _ := errors.AsType[*flow.Error](err)
	if e == nil || run.State.Ended() || !slices.Contains([]flow.Code{flow.CodeKeyRevoked, flow.CodeKeyExpired, flow.CodeKeyInvalid}, e.Code) {
		return err
	}
	m.s.stopCalled(m.Request().Context(), run)
	return flow.Errorf(e.Code, "%s The run was canceled.", e.Message)
}

// abandon cancels a run whose caller went away. At a shutdown it is us who went.
func (m *message) abandon(run *flow.Run) {
	if m.s.shutsDown() {
		return
	}
	m.s.stopCalled(m.Request().Context(), run)
}

func (s *Server) shutsDown() bool {
	select {
	case <-s.drained:
		return true
	default:
		return s.Runner.Draining()
	}
}

// topicCancel is what instances tell each other of calls that were canceled.
const topicCancel = "mcp-cancel"

// openCalls are the runs that calls at work here wait for, by callName.
type openCalls struct {
	mu   sync.Mutex
	runs map[string]*flow.Run
}

// add keeps a run until it is forgotten. Without a session no cancellation can
// name it.
func (o *openCalls) add(m *message, run *flow.Run) (forget func()) {
	name := m.callName(m.id)
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

func (o *openCalls) find(name string) *flow.Run {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.runs[name]
}

// callName names a call among those at work: clients number theirs anew in each
// session. It is a hash, since the words of clients may be long.
func (m *message) callName(id any) string {
	session := m.Request().Header.Get(sessionHeader)
	if session == "" {
		return ""
	}
	return flow.Hash(flow.EncodeJSON([]any{m.key.WorkspaceID, m.key.ID, session, id}))
}

// cancel ends the run of the call that a notification names. What is not known
// here has ended, or is at work on another instance.
func (a *agents) cancel(m *message) {
	name := m.callName(m.params["requestId"])
	if run := a.calls.find(name); run != nil {
		m.s.stopCalled(m.Request().Context(), run)
	} else if name != "" {
		m.s.tellCanceled(m.Request().Context(), name)
	}
}

func (s *Server) tellCanceled(ctx context.Context, name string) {
	if err := s.Store.Broadcast(context.WithoutCancel(ctx), topicCancel, name); err != nil {
		s.Log.Warn("the other instances were not told of a canceled call", "error", err)
	}
}

// Hear takes what another instance told. It never waits.
func (s *Server) Hear(topic, text string) {
	if topic != topicCancel {
		return
	}
	if run := s.agents.calls.find(text); run != nil {
		go s.stopCalled(context.Background(), run)
	}
}

// stopCalled cancels a run that nobody waits for any more.
func (s *Server) stopCalled(ctx context.Context, run *flow.Run) {
	if _, err := s.Runner.CancelRun(context.WithoutCancel(ctx), run.WorkspaceID, run.FlowID, run.ID); err != nil {
		s.Log.Warn("run not canceled", "run_id", run.ID, "error", err)
	}
}
