package editor

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/sorting"
	"sluice/handlers/web"
	"sluice/handlers/web/conns"
	editorview "sluice/views/editor"
	"sluice/views/layout"
)

// editing tracks which users have which flow open, and notifies their pages. The
// pages of this process are listeners; other instances broadcast theirs. It is
// safe for concurrent use.
type editing struct {
	mu             sync.Mutex
	flows          map[flow.FlowID][]*listener     // by flow ID
	remotePresence map[flow.FlowID]*remotePresence // by flow ID, for flows with a listener
}

// listener is one open page of the editor. Its channels are buffered, and senders
// never block on them.
type listener struct {
	flowID flow.FlowID
	user   string
	person layout.Person
	edited chan struct{} // signals that the draft has changed
	events chan event
	lost   chan struct{} // closed when the events overflow; the page then reconnects
}

// event is an event for pages. Its detail is sent as JSON.
type event struct {
	name   string
	detail any
}

// addPage registers a page and notifies the other pages of its flow. first reports
// whether it is the only page of this process that has the flow open.
func (e *editing) addPage(l *listener) (first bool) {
	e.mu.Lock()
	if e.flows == nil {
		e.flows, e.remotePresence = map[flow.FlowID][]*listener{}, map[flow.FlowID]*remotePresence{}
	}
	if first = e.remotePresence[l.flowID] == nil; first {
		e.remotePresence[l.flowID] = &remotePresence{at: map[string]presence{}}
	}
	e.flows[l.flowID] = append(e.flows[l.flowID], l)
	e.mu.Unlock()
	e.publish(l.flowID, "flow:people", nil)
	return first
}

// removePage unregisters a page and notifies the other pages of its flow.
func (e *editing) removePage(l *listener) {
	e.mu.Lock()
	rest := slices.DeleteFunc(e.flows[l.flowID], func(o *listener) bool { return o == l })
	e.flows[l.flowID] = rest
	if len(rest) == 0 {
		delete(e.flows, l.flowID)
		delete(e.remotePresence, l.flowID)
	}
	e.mu.Unlock()
	e.publish(l.flowID, "flow:people", nil)
}

// publish sends an event to all pages of a flow in this process. It never
// blocks: a page whose queue is full is disconnected, and reloads everything when
// it reconnects.
func (e *editing) publish(flowID flow.FlowID, name string, detail any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, l := range slices.Clone(e.flows[flowID]) {
		select {
		case l.events <- event{name, detail}:
		default:
			close(l.lost)
			e.flows[flowID] = slices.DeleteFunc(e.flows[flowID], func(o *listener) bool { return o == l })
		}
	}
}

// notify makes the pages of a flow read the edit log of its draft.
func (e *editing) notify(flowID flow.FlowID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, l := range e.flows[flowID] {
		notify(l.edited)
	}
}

// notify signals a reader without blocking. Signals that are not read yet coalesce.
func notify(edited chan<- struct{}) {
	select {
	case edited <- struct{}{}:
	default:
	}
}

// others returns the users who have a flow open at any instance, except the given
// one. Each user is listed once.
func (e *editing) others(flowID flow.FlowID, user string) []layout.Person {
	e.mu.Lock()
	defer e.mu.Unlock()
	var list []layout.Person
	seen := map[string]bool{user: true}
	add := func(user string, p layout.Person) {
		if !seen[user] {
			seen[user] = true
			list = append(list, p)
		}
	}
	for _, l := range e.flows[flowID] {
		add(l.user, l.person)
	}
	if o := e.remotePresence[flowID]; o != nil {
		for _, at := range sorting.Keys(o.at) {
			for _, p := range o.at[at].people {
				add(p.User, p.Person)
			}
		}
	}
	return list
}

// FlowEdited notifies the pages of a flow that its draft has changed. The store
// calls it after each commit by any instance.
func (s *Server) FlowEdited(_ string, flowID flow.FlowID, _ int64) { s.editing.notify(flowID) }

// flowStream is the event stream of one page.
type flowStream struct {
	*call
	*listener
	out     *web.Stream
	rev     int64 // the page has all edits up to this revision
	checked time.Time
}

// flowEvents is GET /flows/{id}/events: edits by other users, the list of these
// users, and events such as a publish or a run. ?rev= is the revision that the page
// has; after a reconnect, Last-Event-ID is the newest revision it received.
func (c *call) flowEvents(f *flow.Flow) error {
	rev, err := parseRevision(cmp.Or(c.Request().Header.Get("Last-Event-ID"), c.QueryParam("rev")))
	if err != nil {
		return err
	}
	person := layout.Person{Name: c.Member.Name, Email: c.Member.Email, Role: string(c.Member.Role)}
	s := &flowStream{call: c, rev: rev, checked: c.s.Now(), listener: &listener{
		flowID: f.ID, user: c.Member.UserID, person: person, edited: make(chan struct{}, 1), events: make(chan event, web.EventBuffer), lost: make(chan struct{}),
	}}
	return s.serve()
}

// serve sends events until the page is closed. The page is registered before the
// first read of the edit log, so that it misses no edit.
func (s *flowStream) serve() error {

	s.s.addPage(s.listener)
	defer s.s.removePage(s.listener)
	s.edited <- struct{}{}
	s.out = web.StartStream(s.Response())
	if err := s.follow(); !errors.Is(err, web.ErrStreamDone) {
		s.s.Log.Error("flow stream failed", "request_id", s.RequestID(), "flow", s.flowID, "error", err)
	}
	return nil
}

// follow handles notifications until the stream ends. If the database is
// unavailable, it retries the notification later and keeps the stream open.
func (s *flowStream) follow() error {
	heartbeat, stop := conns.NewTicker(s.Ctx(), web.Heartbeat)
	defer stop()
	for {
		var err error
		select {
		case <-s.Ctx().Done():
			return web.ErrStreamDone
		case <-s.s.Drained:
			return web.ErrStreamDone
		case <-s.lost:
			return web.ErrStreamDone
		case <-s.edited:
			if err = s.sendEdits(); flow.IsUnavailable(err) {
				s.retryLater(func() { notify(s.edited) })
				err = nil
			}
		case n := <-s.events:
			if err = s.sendEvent(n); flow.IsUnavailable(err) {
				s.retryLater(func() { s.requeue(n) })
				err = nil
			}
		case <-heartbeat:
			err = s.heartbeat()
		}
		if err != nil {
			return err
		}
	}
}

// retryLater calls f in a new goroutine after web.RetryPause.
func (s *flowStream) retryLater(f func()) { time.AfterFunc(web.RetryPause, f) }

// requeue puts back an event that could not be sent. If the queue is full, the
// event is dropped: the page is about to be disconnected and reloads everything.
func (s *flowStream) requeue(n event) {
	select {
	case s.events <- n:
	default:
	}
}

// heartbeat keeps the connection alive and from time to time checks that the
// user still has access.
func (s *flowStream) heartbeat() error {
	s.s.refreshPresence(s.flowID)
	if s.s.Now().Sub(s.checked) >= web.MemberCheckInterval {
		if err := s.checkAccess(); err != nil && !flow.IsUnavailable(err) {
			return err
		}
	}
	s.out.AddComment("")
	return s.out.Flush()
}

// checkAccess ends the stream of a user who signed out or lost access to the
// workspace.
func (s *flowStream) checkAccess() error {
	s.checked = s.s.Now()
	err := s.CheckSession()
	if err == nil {
		_, err = s.s.Store.FindMember(s.Ctx(), s.WorkspaceID(), s.user)
	}
	if flow.IsNotFound(err) || errors.Is(err, web.ErrSignedOut) || s.Ctx().Err() != nil {
		return web.ErrStreamDone
	}
	return err
}

// sendEdits sends the edits after the revision that the page has.
func (s *flowStream) sendEdits() error {
	if err := s.checkAccess(); err != nil {
		return err
	}
	d, list, err := s.findMissed(s.WorkspaceID(), s.flowID, s.rev)
	switch {
	case errors.Is(err, &flow.Error{Code: document.CodeEditsGone}):
		return s.send("flow:reload", "", map[string]any{})
	case flow.IsNotFound(err) || s.Ctx().Err() != nil:
		return web.ErrStreamDone
	case err != nil:
		return err
	}
	out, err := s.transactions(d, list)
	if err != nil {
		return err
	}
	for i := range out {
		if err := s.send("flow:ops", fmt.Sprint(out[i].Rev), out[i]); err != nil {
			return err
		}
		s.rev = out[i].Rev
	}
	return nil
}

// sendEvent sends an event. The list of users is rendered per page, because it
// omits the user of that page.
func (s *flowStream) sendEvent(n event) error {
	if err := s.checkAccess(); err != nil {
		return err
	}
	if n.name != "flow:people" {
		return s.send(n.name, "", n.detail)
	}
	var b bytes.Buffer
	if err := editorview.Others(s.s.editing.others(s.flowID, s.user)).Render(s.Ctx(), &b); err != nil {
		return err
	}
	return s.send(n.name, "", map[string]any{"html": b.String()})
}

// send writes and flushes one event. The ID of an edit is its revision, which the
// browser sends when it reconnects.
func (s *flowStream) send(name, id string, detail any) error {
	s.out.Add(id, name, detail)
	return s.out.Flush()
}
