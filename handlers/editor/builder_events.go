package editor

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/handlers/web"
	"sluice/handlers/web/conns"
	editorview "sluice/views/editor"
	"sluice/views/layout"
)

// editing is who has which flow open, and what those hear who have it open in
// this process.
type editing struct {
	mu        sync.Mutex
	flows     map[string][]*listener // by flow ID
	elsewhere map[string]*elsewhere  // by flow ID, of those that are open here
}

// listener is one open page.
type listener struct {
	flowID string
	user   string
	person layout.Person
	edited chan struct{} // the draft has moved on
	news   chan news
	lost   chan struct{} // closed when it was too slow: it comes again and asks
}

// news is an event of the page with what it says.
type news struct {
	name   string
	detail any
}

// join adds a page and tells the others. It tells whether it is the first.
func (e *editing) join(l *listener) (first bool) {
	e.mu.Lock()
	if e.flows == nil {
		e.flows, e.elsewhere = map[string][]*listener{}, map[string]*elsewhere{}
	}
	if first = e.elsewhere[l.flowID] == nil; first {
		e.elsewhere[l.flowID] = &elsewhere{at: map[string]presence{}}
	}
	e.flows[l.flowID] = append(e.flows[l.flowID], l)
	e.mu.Unlock()
	e.tell(l.flowID, "flow:people", nil)
	return first
}

func (e *editing) leave(l *listener) {
	e.mu.Lock()
	rest := slices.DeleteFunc(e.flows[l.flowID], func(o *listener) bool { return o == l })
	e.flows[l.flowID] = rest
	if len(rest) == 0 {
		delete(e.flows, l.flowID)
		delete(e.elsewhere, l.flowID)
	}
	e.mu.Unlock()
	e.tell(l.flowID, "flow:people", nil)
}

// tell passes an event on to all pages of a flow. It never waits.
func (e *editing) tell(flowID, name string, detail any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, l := range slices.Clone(e.flows[flowID]) {
		select {
		case l.news <- news{name, detail}:
		default:
			close(l.lost)
			e.flows[flowID] = slices.DeleteFunc(e.flows[flowID], func(o *listener) bool { return o == l })
		}
	}
}

// poke lets the pages of a flow look at the log of its draft.
func (e *editing) poke(flowID string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, l := range e.flows[flowID] {
		poke(l.edited)
	}
}

// poke tells a reader to look, unless it will anyway.
func poke(edited chan<- struct{}) {
	select {
	case edited <- struct{}{}:
	default:
	}
}

// others are the people who have a flow open, without the one who asks.
func (e *editing) others(flowID, user string) []layout.Person {
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
	if o := e.elsewhere[flowID]; o != nil {
		for _, at := range slices.Sorted(maps.Keys(o.at)) {
			for _, p := range o.at[at].people {
				add(p.User, p.Person)
			}
		}
	}
	return list
}

// FlowEdited tells the pages that show a flow that its draft has moved on. The
// store calls it after each commit, of this process or another's.
func (s *Server) FlowEdited(_, flowID string, _ int64) { s.editing.poke(flowID) }

// flowStream is one page's stream.
type flowStream struct {
	*call
	*listener
	out     *web.Stream
	rev     int64 // the page has heard of everything up to here
	checked time.Time
}

// flowEvents is GET /flows/{id}/events: what others do to the draft, who they
// are, and what happens to the flow. ?rev= is what the page knows; an
// EventSource that reconnects says it in Last-Event-ID.
func (c *call) flowEvents(f *flow.Flow) error {
	known := c.Request().Header.Get("Last-Event-ID")
	if known == "" {
		known = c.QueryParam("rev")
	}
	rev, err := revOf(known)
	if err != nil {
		return err
	}
	who := layout.Person{Name: c.Member.Name, Email: c.Member.Email, Role: string(c.Member.Role)}
	s := &flowStream{call: c, rev: rev, checked: c.s.Now(), listener: &listener{
		flowID: f.ID, user: c.Member.UserID, person: who, edited: make(chan struct{}, 1), news: make(chan news, web.EventBuffer), lost: make(chan struct{}),
	}}
	return s.serve()
}

func (s *flowStream) serve() error {
	// Listening begins before the first look, so nothing falls between.
	s.s.come(s.listener)
	defer s.s.leave(s.listener)
	s.edited <- struct{}{}
	s.out = web.StartStream(s.Response())
	if err := s.follow(); !errors.Is(err, web.ErrStreamDone) {
		s.s.Log.Error("flow stream failed", "request_id", s.RequestID(), "flow", s.flowID, "error", err)
	}
	return nil
}

func (s *flowStream) follow() error {
	beat, stop := conns.NewTicker(s.Ctx(), web.Heartbeat)
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
				s.later(func() { poke(s.edited) })
				err = nil
			}
		case n := <-s.news:
			if err = s.sendNews(n); flow.IsUnavailable(err) {
				s.later(func() { s.again(n) })
				err = nil
			}
		case <-beat:
			err = s.beat()
		}
		if err != nil {
			return err
		}
	}
}

// later does something again that failed because the database was away.
func (s *flowStream) later(f func()) { time.AfterFunc(web.RetryPause, f) }

// again puts news back that could not be sent, unless the page is so far behind
// that it loads everything anyway.
func (s *flowStream) again(n news) {
	select {
	case s.news <- n:
	default:
	}
}

// beat keeps the connection alive, and looks at the member now and then.
func (s *flowStream) beat() error {
	s.s.renew(s.flowID)
	if s.s.Now().Sub(s.checked) >= web.MemberCheckInterval {
		if err := s.stillMay(); err != nil && !flow.IsUnavailable(err) {
			return err
		}
	}
	s.out.AddComment("")
	return s.out.Flush()
}

// stillMay ends the stream of somebody who was signed out or is no member of
// the workspace any more.
func (s *flowStream) stillMay() error {
	s.checked = s.s.Now()
	err := s.CheckSession()
	if err == nil {
		_, err = s.s.Store.FindMember(s.Ctx(), s.WorkspaceID(), s.user)
	}
	if errors.Is(err, &flow.Error{Code: flow.CodeNotFound}) || errors.Is(err, web.ErrSignedOut) || s.Ctx().Err() != nil {
		return web.ErrStreamDone
	}
	return err
}

// sendEdits sends what the log has beyond what the page knows.
func (s *flowStream) sendEdits() error {
	if err := s.stillMay(); err != nil {
		return err
	}
	d, list, err := s.since(s.WorkspaceID(), s.flowID, s.rev)
	switch {
	case errors.Is(err, &flow.Error{Code: document.CodeEditsGone}):
		return s.event("flow:reload", "", map[string]any{})
	case errors.Is(err, &flow.Error{Code: flow.CodeNotFound}) || s.Ctx().Err() != nil:
		return web.ErrStreamDone
	case err != nil:
		return err
	}
	out, err := s.transactions(d, list)
	if err != nil {
		return err
	}
	for i := range out {
		if err := s.event("flow:ops", fmt.Sprint(out[i].Rev), out[i]); err != nil {
			return err
		}
		s.rev = out[i].Rev
	}
	return nil
}

func (s *flowStream) sendNews(n news) error {
	if err := s.stillMay(); err != nil {
		return err
	}
	if n.name != "flow:people" {
		return s.event(n.name, "", n.detail)
	}
	var b bytes.Buffer
	if err := editorview.Others(s.s.editing.others(s.flowID, s.user)).Render(s.Ctx(), &b); err != nil {
		return err
	}
	return s.event(n.name, "", map[string]any{"html": b.String()})
}

// event sends one event; those of the log have their revision as ID, so that
// the browser says it when it comes again.
func (s *flowStream) event(name, id string, detail any) error {
	s.out.Add(id, name, detail)
	return s.out.Flush()
}
