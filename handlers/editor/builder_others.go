package editor

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"sluice/flow"
	"sluice/views/layout"
)

// What instances that share a database tell each other of their open pages.
const (
	topicPage   = "page"   // an event for all pages that show a flow
	topicPeople = "people" // who has a flow open

	tellPatience = 5 * time.Second
	peopleSaid   = 30 * time.Second // how often an instance says anew who is there
	peopleKept   = 90 * time.Second // until one that says nothing is taken for gone
	mostPeople   = 12               // that an instance names of a flow: a message is small, and so is the place on the page
)

// pageNews is an event on its way to another instance.
type pageNews struct {
	Flow, Name string
	Detail     any
}

// peopleNews is who has a flow open at one instance.
type peopleNews struct {
	Flow, From string
	People     []present
	Ask        bool // the others are to say theirs
}

// present is somebody who has a flow open.
type present struct {
	User   string
	Person layout.Person
}

// elsewhere is who has a flow open at other instances.
type elsewhere struct {
	said time.Time // when this instance last said who is here
	at   map[string]presence
}

type presence struct {
	people []present
	heard  time.Time
}

// Announce raises an event on all pages that show a flow, such as
// "flow:published" or "flow:run", whichever instance they hang on.
func (s *Server) Announce(flowID, name string, detail any) {
	s.editing.tell(flowID, name, detail)
	s.tellOthers(topicPage, pageNews{flowID, name, detail})
}

// tellOthers is for what nobody misses for long: it is told once, or not.
func (s *Server) tellOthers(topic string, what any) {
	ctx, cancel := context.WithTimeout(context.Background(), tellPatience)
	defer cancel()
	if err := s.Store.Broadcast(ctx, topic, string(flow.EncodeJSON(what))); err != nil {
		s.Log.Warn("the other instances were not told what happens to a flow", "topic", topic, "error", err)
	}
}

// Hear takes what another instance told. It never waits.
func (s *Server) Hear(topic, text string) {
	switch topic {
	case topicPage:
		var n pageNews
		if json.Unmarshal([]byte(text), &n) == nil {
			s.editing.tell(n.Flow, n.Name, n.Detail)
		}
	case topicPeople:
		var n peopleNews
		if json.Unmarshal([]byte(text), &n) == nil && s.editing.hear(&n, s.Now()) && n.Ask {
			go s.sayPeople(n.Flow, false)
		}
	}
}

// come adds a page. The first of a flow asks who has it open elsewhere.
func (s *Server) come(l *listener) {
	first := s.editing.join(l)
	s.sayPeople(l.flowID, first)
}

func (s *Server) leave(l *listener) {
	s.editing.leave(l)
	s.sayPeople(l.flowID, false)
}

func (s *Server) sayPeople(flowID string, ask bool) {
	s.tellOthers(topicPeople, peopleNews{flowID, s.name, s.editing.here(flowID, s.Now()), ask})
}

// renew says now and then who is here, so that the others need not take them
// for gone, and forgets who is taken for gone here.
func (s *Server) renew(flowID string) {
	forgot, due := s.editing.renew(flowID, s.Now())
	if forgot {
		s.editing.tell(flowID, "flow:people", nil)
	}
	if due {
		s.sayPeople(flowID, false)
	}
}

// here are the people who have a flow open in this process; saying it is what
// they are wanted for.
func (e *editing) here(flowID string, now time.Time) []present {
	e.mu.Lock()
	defer e.mu.Unlock()
	if o := e.elsewhere[flowID]; o != nil {
		o.said = now
	}
	var list []present
	for _, l := range e.flows[flowID] {
		p := present{l.user, l.person}
		if len(list) < mostPeople && !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	return list
}

// hear keeps who is at another instance and tells whether anybody here cares.
func (e *editing) hear(n *peopleNews, now time.Time) bool {
	e.mu.Lock()
	o := e.elsewhere[n.Flow]
	if o == nil {
		e.mu.Unlock()
		return false
	}
	changed := !slices.Equal(o.at[n.From].people, n.People)
	if o.at[n.From] = (presence{n.People, now}); len(n.People) == 0 {
		delete(o.at, n.From)
	}
	e.mu.Unlock()
	if changed {
		e.tell(n.Flow, "flow:people", nil)
	}
	return true
}

func (e *editing) renew(flowID string, now time.Time) (forgot, due bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	o := e.elsewhere[flowID]
	if o == nil {
		return false, false
	}
	before := len(o.at)
	maps.DeleteFunc(o.at, func(_ string, p presence) bool { return now.Sub(p.heard) > peopleKept })
	return len(o.at) < before, now.Sub(o.said) >= peopleSaid
}
