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

// Instances that share a database broadcast which pages are open. The messages are
// small and not stored; each instance repeats its own regularly, so a lost message
// is soon replaced by the next one.
const (
	topicPage   = "page"   // an event for all pages that show a flow
	topicPeople = "people" // who has a flow open

	broadcastTimeout = 5 * time.Second
	presenceInterval = 30 * time.Second // how often an instance repeats its list of users
	presenceTimeout  = 90 * time.Second // after which a silent instance is considered dead
	maxPeople        = 12               // per instance and flow; bounds the message and fits the page
)

// remoteEvent is an event for the pages of other instances.
type remoteEvent struct {
	Flow   flow.FlowID
	Name   string
	Detail any
}

// presenceMessage is the list of users who have a flow open at one instance.
type presenceMessage struct {
	Flow   flow.FlowID
	From   string
	People []participant
	Ask    bool // requests the lists of the other instances
}

// participant is a user who has a flow open.
type participant struct {
	User   string
	Person layout.Person
}

// remotePresence is who has a flow open at other instances.
type remotePresence struct {
	sentAt time.Time           // when this instance last broadcast its own users
	at     map[string]presence // by instance
}

// presence is the last message of one instance.
type presence struct {
	people     []participant
	receivedAt time.Time
}

// Announce sends an event such as "flow:published" or "flow:run" to all pages
// that show a flow, at all instances.
func (s *Server) Announce(flowID flow.FlowID, name string, detail any) {
	s.editing.publish(flowID, name, detail)
	s.broadcast(topicPage, remoteEvent{flowID, name, detail})
}

// broadcast sends a message to the other instances. A failure is logged and not
// retried, because later messages repeat or replace this one.
func (s *Server) broadcast(topic string, message any) {
	ctx, cancel := context.WithTimeout(context.Background(), broadcastTimeout)
	defer cancel()
	if err := s.Store.Broadcast(ctx, topic, string(flow.EncodeJSON(message))); err != nil {
		s.Log.Warn("event not broadcast to other instances", "topic", topic, "error", err)
	}
}

// HandleBroadcast handles a message that another instance broadcast. It never
// blocks; malformed messages and unknown topics are ignored.
func (s *Server) HandleBroadcast(topic, text string) {
	switch topic {
	case topicPage:
		var n remoteEvent
		if json.Unmarshal([]byte(text), &n) == nil {
			s.editing.publish(n.Flow, n.Name, n.Detail)
		}
	case topicPeople:
		var n presenceMessage
		if json.Unmarshal([]byte(text), &n) == nil && s.editing.receive(&n, s.Now()) && n.Ask {
			go s.broadcastPresence(n.Flow, false)
		}
	}
}

// addPage registers a page and broadcasts its user. The first page of a flow in
// this process also requests the users of the other instances.
func (s *Server) addPage(l *listener) {
	first := s.editing.addPage(l)
	s.broadcastPresence(l.flowID, first)
}

// removePage unregisters a page and informs the other instances.
func (s *Server) removePage(l *listener) {
	s.editing.removePage(l)
	s.broadcastPresence(l.flowID, false)
}

// broadcastPresence sends the users who have a flow open in this process. With
// ask, the other instances reply with theirs.
func (s *Server) broadcastPresence(flowID flow.FlowID, ask bool) {
	s.broadcast(topicPeople, presenceMessage{flowID, s.name, s.editing.localParticipants(flowID, s.Now()), ask})
}

// refreshPresence broadcasts the users of this process once per presenceInterval,
// and drops instances that have been silent for presenceTimeout, for example
// because they crashed.
func (s *Server) refreshPresence(flowID flow.FlowID) {
	dropped, due := s.editing.refreshPresence(flowID, s.Now())
	if dropped {
		s.editing.publish(flowID, "flow:people", nil)
	}
	if due {
		s.broadcastPresence(flowID, false)
	}
}

// localParticipants returns the users who have a flow open in this process, and
// records now as the time of the broadcast.
func (e *editing) localParticipants(flowID flow.FlowID, now time.Time) []participant {
	e.mu.Lock()
	defer e.mu.Unlock()
	if o := e.remotePresence[flowID]; o != nil {
		o.sentAt = now
	}
	var list []participant
	for _, l := range e.flows[flowID] {
		p := participant{l.user, l.person}
		if len(list) < maxPeople && !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	return list
}

// receive stores the users who have a flow open at another instance. It reports
// whether any page of this process shows the flow.
func (e *editing) receive(n *presenceMessage, now time.Time) bool {
	e.mu.Lock()
	o := e.remotePresence[n.Flow]
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
		e.publish(n.Flow, "flow:people", nil)
	}
	return true
}

// refreshPresence drops silent instances and reports whether it did, and
// whether the presence of this instance is due.
func (e *editing) refreshPresence(flowID flow.FlowID, now time.Time) (dropped, due bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	o := e.remotePresence[flowID]
	if o == nil {
		return false, false
	}
	before := len(o.at)
	maps.DeleteFunc(o.at, func(_ string, p presence) bool { return now.Sub(p.receivedAt) > presenceTimeout })
	return len(o.at) < before, now.Sub(o.sentAt) >= presenceInterval
}
