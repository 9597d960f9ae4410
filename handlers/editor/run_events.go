package editor

import (
	"bytes"
	"errors"
	"strconv"
	"time"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/inflight"
	"sluice/handlers/web"
	"sluice/handlers/web/conns"
	editorview "sluice/views/editor"
)

// runStream is the event stream of one run. It is used by one goroutine.
type runStream struct {
	*call
	out           *web.Stream
	run           *flow.Run
	graph         *flow.Document // of the run
	watch         flow.Watch
	last          int64          // flow.Run.Seq of the newest change that was sent
	running       map[string]int // attempt of each step whose start was sent, by path
	ended         map[string]int // attempt of each step whose end is about to be sent, by path
	checked       time.Time
	refreshFailed bool // the last refresh failed and must be retried
	items         stepItems
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
	s := &runStream{call: c, run: run, graph: doc, watch: watch, running: map[string]int{}, ended: map[string]int{}, checked: c.s.Now(), items: newStepItems(doc, c.s.Kinds)}
	defer s.items.due.Stop()
	s.last, _ = strconv.ParseInt(c.Request().Header.Get("Last-Event-ID"), 10, 64) // an invalid ID is 0: from the start
	s.out = web.StartStream(c.Response())
	if err := s.follow(); !errors.Is(err, web.ErrStreamDone) {
		return err
	}
	return nil
}

// follow sends until the run has ended, the client has disconnected or the
// server drains. The first change after a pause is sent immediately; changes
// within web.RunPace are sent together.
func (s *runStream) follow() error {
	heartbeat, stop := conns.NewTicker(s.Ctx(), web.Heartbeat)
	defer stop()
	pause := time.NewTimer(web.RunReadInterval)
	defer pause.Stop()
	err := s.refresh()
	for err == nil {
		if s.refreshFailed {
			pause.Reset(web.RetryPause)
		} else {
			pause.Reset(web.RunReadInterval)
		}
		switch err = s.waitPace(pause); {
		case err == nil && s.refreshFailed:
			err = s.refresh()
		case err == nil:
			err = s.next(heartbeat)
		}
	}
	return err
}

// waitPace waits until the timer fires. It returns web.ErrStreamDone if the stream
// ends first.
func (s *runStream) waitPace(pause *time.Timer) error {
	select {
	case <-pause.C:
		return nil
	case <-s.s.Drained:
	case <-s.Ctx().Done():
	}
	return web.ErrStreamDone
}

// next waits for a notification and handles it.
func (s *runStream) next(heartbeat <-chan time.Time) error {
	select {
	case <-s.watch.Changes:
		return s.refresh()
	case <-s.watch.Texts:
		return s.sendTexts()
	case <-s.items.due.C:
		return s.refresh()
	case <-heartbeat:
		return s.heartbeat()
	case <-s.s.Drained:
	case <-s.Ctx().Done():
	}
	return web.ErrStreamDone
}

// heartbeat keeps the connection alive and checks access. It also rereads the
// run, because the notification of a change by another instance may have been
// lost.
func (s *runStream) heartbeat() error {
	if s.s.Now().Sub(s.checked) >= web.MemberCheckInterval {
		s.checked = s.s.Now()
		if err := s.CheckMember(); err != nil {
			return err
		}
	}
	s.out.AddComment("")
	if err := s.out.Flush(); err != nil {
		return err
	}
	return s.refresh()
}

// refresh sends the changes. If the database is unavailable, it sends nothing and
// follow retries it.
func (s *runStream) refresh() error {
	err := s.sendNew()
	if s.refreshFailed = flow.IsBusy(err); s.refreshFailed {
		return nil
	}
	return err
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
	steps, err := s.s.Store.FindSteps(s.Ctx(), s.WorkspaceID(), run.ID)
	if err != nil {
		return err
	}
	changed := s.changedSteps(run, steps)
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
	if run.State.Ended() {
		s.out.Add("", "over", nil)
	}
	s.dropEnded()
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

// changedSteps returns the steps that changed since the last event. It also tracks
// which steps are running, because only their text is sent.
func (s *runStream) changedSteps(run *flow.Run, steps []flow.Step) []stepEvent {
	var list []stepEvent
	for i := range steps {
		step := &steps[i]
		switch {
		case step.State == flow.StepRunning:
			s.running[step.Path] = step.Attempt
		case s.running[step.Path] != 0:
			s.ended[step.Path] = step.Attempt
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
		Node: step.Node, State: step.State, Ms: stepTook(step, now).Milliseconds(), Tokens: editorview.Tokens(usageOf(step.Usage)), Cost: editorview.Cost(usageOf(step.Usage)),
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
	Done  int                 `json:"done"`
	All   int                 `json:"all"`
	Ms    int64               `json:"ms"`
	Cost  string              `json:"cost"`
	Error *editorview.Failure `json:"error,omitempty"`
	Bar   string              `json:"bar"` // the pill above the canvas as HTML
	Title string              `json:"title,omitempty"`
}

// writeRun adds the state of the run. The ID of the event is the Seq of the run,
// which the browser sends when it reconnects.
func (s *runStream) writeRun(run *flow.Run) error {
	m := s.mark(run)
	var bar bytes.Buffer
	if err := editorview.RunBar(m, s.s.Now().UnixMilli()).Render(s.Ctx(), &bar); err != nil {
		return err
	}
	n := runEvent{Run: run.ID, State: run.State, Done: m.Done, All: m.All, Ms: m.Duration.Milliseconds(), Cost: editorview.Cost(m.Usage), Error: m.Error, Bar: bar.String()}
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

// writeTexts adds the new text of steps whose start was sent. early reports whether
// there is text of a step whose start was not sent yet.
func (s *runStream) writeTexts() (early bool) {
	var list []textEvent
	for _, d := range s.watch.Read(func(path string, attempt int) bool {
		ready := s.running[path] == attempt
		early = early || !ready
		return ready
	}) {
		list = append(list, textEvent{d.Path, d.Text, d.Reset})
	}
	if len(list) > 0 {
		s.out.Add("", "text", list)
	}
	return early
}

// dropEnded stops tracking the steps whose end was sent.
func (s *runStream) dropEnded() {
	for path := range s.ended {
		delete(s.running, path)
	}
	clear(s.ended)
}

// sendTexts sends new text. It reads the database only if a step has started whose
// start was not sent yet.
func (s *runStream) sendTexts() error {
	early := s.writeTexts()
	if s.out.Pending() {
		if err := s.out.Flush(); err != nil {
			return err
		}
	}
	if early {
		return s.refresh()
	}
	return nil
}
