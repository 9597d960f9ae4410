package editor

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/inflight"
	"sluice/handlers/web"
	editorview "sluice/views/editor"
)

// runStream is the event stream of one run. It is used by one goroutine.
type runStream struct {
	*call
	out     *web.Stream
	run     *flow.Run
	graph   *flow.Document // of the run
	watch   flow.Watch
	last    int64 // flow.Run.Seq of the newest change that was sent
	steps   web.SentSteps
	checked time.Time
	items   stepItems
	agents  runAgents
}

// runEvents is GET /flows/{id}/runs/{run}/events: the state of the run, and each
// change until it has ended. Each event has the current state of everything that
// changed since the last one, so a client that is slow, connects late or reconnects
// misses nothing.
func (c *call) runEvents(f *flow.Flow) error {
	run, err := c.s.Store.FindRun(c.Ctx(), c.WorkspaceID(), f.ID, flow.RunID(c.Param("run")))
	if err != nil {
		return err
	}
	doc, err := c.findRunDocument(run)
	if err != nil {
		return err
	}
	watch := c.s.Runner.WatchText(run.ID) // before the first read, so that no change is missed
	defer watch.Stop()
	s := &runStream{call: c, run: run, graph: doc, watch: watch, steps: web.SentSteps{}, checked: c.s.Now(), items: newStepItems(doc, c.s.Kinds), agents: runAgents{}}
	defer s.items.due.Stop()
	s.last, _ = strconv.ParseInt(c.Request().Header.Get("Last-Event-ID"), 10, 64) // an invalid ID is 0: from the start
	s.out = web.StartStream(c.Response())
	follower := web.Follower{
		Watch: watch, Read: s.sendNew, SendText: s.sendTexts, Beat: s.heartbeat, Due: s.items.due.C, OnDue: s.sendNew,
		ReadInterval: web.RunReadInterval, TextInterval: web.RunReadInterval, BeatInterval: web.Heartbeat, Drained: c.s.Drained,
	}
	return follower.Follow(c.Ctx())
}

// heartbeat keeps the connection alive and checks access.
func (s *runStream) heartbeat() error {
	if s.s.Now().Sub(s.checked) >= web.MemberCheckInterval {
		s.checked = s.s.Now()
		if err := s.CheckMember(); err != nil {
			return err
		}
	}
	s.out.AddComment("")
	return s.out.Flush()
}

// sendNew sends the changes since the last event. It reads the run before its
// steps: a step that was written in between has a higher Seq than the run, and is
// left for the next time.
func (s *runStream) sendNew() error {
	defer inflight.LeaseOf(s.Ctx()).Close() // a stream may last for hours
	run, err := s.s.Store.FindRun(s.Ctx(), s.WorkspaceID(), s.run.FlowID, s.run.ID)
	if err != nil {
		return err
	}
	steps, err := s.s.Store.FindChangedSteps(s.Ctx(), s.WorkspaceID(), run.ID, s.last)
	if err != nil {
		return err
	}
	s.steps.Track(steps)
	changed := s.changedSteps(run, steps)
	if err := s.trackAgents(steps); err != nil {
		return err
	}
	s.watch.Sync(s.Ctx(), run, steps)
	s.writeTexts() // the text of a step must precede its end
	if len(changed) > 0 {
		s.out.Add("", "steps", changed)
	}
	if run.Seq > s.last {
		s.last = run.Seq
		if err := s.writeRun(run); err != nil {
			return err
		}
	}
	if err := s.writeItems(run); err != nil {
		return err
	}
	s.writeAgents()
	if run.State.Ended() {
		s.out.Add("", "over", nil)
	}
	s.steps.DropEnded()
	if s.out.Pending() {
		if err := s.out.Flush(); err != nil {
			return err
		}
	}
	if run.State.Ended() {
		return web.ErrStreamDone
	}
	return nil
}

// stepEvent is the state of a step, for the canvas.
type stepEvent struct {
	Node    string              `json:"node"`
	State   flow.StepState      `json:"state"`
	Ms      int64               `json:"ms"`              // duration so far, in milliseconds
	Items   map[string]int      `json:"items,omitempty"` // lengths of lists, by output port
	Tokens  string              `json:"tokens,omitempty"`
	Cost    string              `json:"cost,omitempty"`
	Error   *editorview.Failure `json:"error,omitempty"`
	Preview *preview            `json:"preview,omitempty"`
	At      int64               `json:"at"` // when the step ended, else now, in Unix milliseconds
}

// changedSteps returns the steps that changed since the last event.
func (s *runStream) changedSteps(run *flow.Run, steps []flow.Step) []stepEvent {
	var list []stepEvent
	for i := range steps {
		step := &steps[i]
		if flow.IsSubStep(step.Path) && strings.HasPrefix(step.Path, step.Node+flow.SubSeparator) {
			continue // of a call, the tool shows the state
		}
		if step.Seq > s.last && step.Seq <= run.Seq {
			list = append(list, s.newStepEvent(step))
		}
	}
	return list
}

// newStepEvent converts a step.
func (s *runStream) newStepEvent(step *flow.Step) stepEvent {
	now := s.s.Now()
	n := stepEvent{
		Node: step.Node, State: step.State, Ms: stepTook(step, now).Milliseconds(), Tokens: editorview.Tokens(web.UsageView(step.Usage)), Cost: editorview.Cost(web.UsageView(step.Usage)),
		Error: failureOf(step.Error), At: now.UnixMilli(),
	}
	if !step.EndedAt.IsZero() {
		n.At = step.EndedAt.UnixMilli()
	}
	if step.State == flow.StepSucceeded || step.State == flow.StepReused {
		n.Error = nil
		n.Items = itemsIn(step.Outputs)
		n.Preview = s.preview(step)
	}
	return n
}

// stepTook returns the duration of a step until its end, or until now.
func stepTook(step *flow.Step, now time.Time) time.Duration {
	switch {
	case step.StartedAt.IsZero():
		return 0
	case step.EndedAt.IsZero():
		return max(0, now.Sub(step.StartedAt))
	}
	return max(0, step.EndedAt.Sub(step.StartedAt))
}

// runEvent is the state of the run.
type runEvent struct {
	Run   flow.RunID          `json:"run"`
	State flow.RunState       `json:"state"`
	Steps string              `json:"steps"` // how many of the steps are done, in words
	Ms    int64               `json:"ms"`
	Cost  string              `json:"cost"`
	Error *editorview.Failure `json:"error,omitempty"`
	Bar   string              `json:"bar"` // the pill above the canvas as HTML
	Title string              `json:"title,omitempty"`
}

// writeRun adds the state of the run. The ID of the event is the Seq of the run,
// which the browser sends when it reconnects.
func (s *runStream) writeRun(run *flow.Run) error {
	m, err := s.shownMark(run)
	if err != nil {
		return err
	}
	var bar bytes.Buffer
	if err := editorview.RunBar(m, s.s.Now().UnixMilli()).Render(s.Ctx(), &bar); err != nil {
		return err
	}
	n := runEvent{Run: run.ID, State: run.State, Steps: m.Steps(), Ms: m.Duration.Milliseconds(), Cost: m.Total(), Error: m.Error, Bar: bar.String()}
	if m.Error != nil && m.Error.Node != "" {
		if node := s.graph.Node(m.Error.Node); node != nil {
			n.Title = document.NodeTitle(node, s.s.Kinds.For(node))
		}
	}
	s.out.Add(strconv.FormatInt(run.Seq, 10), "run", n)
	return nil
}

// textEvent is new text of a running step.
type textEvent struct {
	Node  string `json:"node"`
	Text  string `json:"text"`
	Reset bool   `json:"reset,omitempty"` // discards the text that was sent before
}

// writeTexts adds the new text of steps whose start was sent. unread reports whether
// there is text of a step whose start was not sent yet.
func (s *runStream) writeTexts() (unread bool) {
	deltas, unread := s.steps.Read(s.watch)
	if len(deltas) > 0 {
		list := make([]textEvent, len(deltas))
		for i := range deltas {
			list[i] = textEvent{deltas[i].Path, deltas[i].Text, deltas[i].Reset}
		}
		s.out.Add("", "text", list)
	}
	return unread
}

// sendTexts sends new text.
func (s *runStream) sendTexts() (unread bool, err error) {
	if unread = s.writeTexts(); s.out.Pending() {
		err = s.out.Flush()
	}
	return unread, err
}
