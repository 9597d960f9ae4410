package editor

import (
	"bytes"
	"errors"
	"strconv"
	"time"

	"sluice/flow"
	"sluice/handlers/web"
	"sluice/handlers/web/conns"
	editorview "sluice/views/editor"
)

// runStream is what the builder hears of one run.
type runStream struct {
	*call
	out     *web.Stream
	run     *flow.Run
	graph   *flow.Document // of the run, for what a node is called and gives
	watch   flow.Watch
	last    int64          // number of the newest change that was sent
	known   map[string]int // attempts of steps that run, by path
	over    map[string]int // attempts whose end is being sent
	checked time.Time
	missed  bool // the last look failed; another one is due
}

// runEvents is GET /flows/{id}/runs/{run}/events: where the run stands, and
// then each change of it until it has ended. A look sends the present state of
// all that changed, so a reader that is slow, late or comes again misses nothing.
func (c *call) runEvents(f *flow.Flow) error {
	run, err := c.s.Store.FindRun(c.Ctx(), c.WorkspaceID(), f.ID, c.Param("run"))
	if err != nil {
		return err
	}
	doc, err := c.documentOf(run)
	if err != nil {
		return err
	}
	watch := c.s.Runner.WatchText(run.ID) // before the first look, so that no change falls between
	defer watch.Stop()
	s := &runStream{call: c, run: run, graph: doc, watch: watch, known: map[string]int{}, over: map[string]int{}, checked: c.s.Now()}
	s.last, _ = strconv.ParseInt(c.Request().Header.Get("Last-Event-ID"), 10, 64) // whatever else it says is the start
	s.out = web.StartStream(c.Response())
	if err := s.follow(); !errors.Is(err, web.ErrStreamDone) {
		return err
	}
	return nil
}

// follow sends until the run has ended, the person has gone or the server
// drains. The first change after a pause is sent at once, what follows it within
// the pace together.
func (s *runStream) follow() error {
	beat, stop := conns.NewTicker(s.Ctx(), web.Heartbeat)
	defer stop()
	pause := time.NewTimer(web.RunReadInterval)
	defer pause.Stop()
	err := s.look()
	for err == nil {
		if s.missed {
			pause.Reset(web.RetryPause)
		} else {
			pause.Reset(web.RunReadInterval)
		}
		switch err = s.rest(pause); {
		case err == nil && s.missed:
			err = s.look()
		case err == nil:
			err = s.next(beat)
		}
	}
	return err
}

// rest lets the pace pass.
func (s *runStream) rest(pause *time.Timer) error {
	select {
	case <-pause.C:
		return nil
	case <-s.s.Drained:
	case <-s.Ctx().Done():
	}
	return web.ErrStreamDone
}

// next answers what comes first.
func (s *runStream) next(beat <-chan time.Time) error {
	select {
	case <-s.watch.Changes:
		return s.look()
	case <-s.watch.Texts:
		return s.speak()
	case <-beat:
		return s.beat()
	case <-s.s.Drained:
	case <-s.Ctx().Done():
	}
	return web.ErrStreamDone
}

// beat keeps the connection, and looks at the member and at the run: another
// process may work on it.
func (s *runStream) beat() error {
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
	return s.look()
}

// look sends what is new. While the database is away that is nothing.
func (s *runStream) look() error {
	err := s.sendNew()
	if s.missed = flow.IsUnavailable(err); s.missed {
		return nil
	}
	return err
}

// sendNew reads the run before its steps: a step that was written between is
// left for the next look, as its number is beyond the run's.
func (s *runStream) sendNew() error {
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
	s.writeTexts() // what a step said comes before its end
	if len(changed) > 0 {
		s.out.Add("", "steps", changed)
	}
	if run.Seq > s.last {
		s.last = run.Seq
		if err := s.writeRun(run); err != nil {
			return err
		}
	}
	if run.State.Ended() {
		s.out.Add("", "over", nil)
	}
	s.forgetEnded()
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

// stepNews is where a step stands, for the canvas.
type stepNews struct {
	Node    string              `json:"node"`
	State   flow.StepState      `json:"state"`
	Ms      int64               `json:"ms"`              // it took, or has taken so far
	Items   map[string]int      `json:"items,omitempty"` // by output port
	Tokens  string              `json:"tokens,omitempty"`
	Cost    string              `json:"cost,omitempty"`
	Error   *editorview.Trouble `json:"error,omitempty"`
	Preview *preview            `json:"preview,omitempty"`
	At      int64               `json:"at"` // when it was recorded, in ms since 1970
}

func (s *runStream) changedSteps(run *flow.Run, steps []flow.Step) []stepNews {
	var list []stepNews
	for i := range steps {
		step := &steps[i]
		switch {
		case step.State == flow.StepRunning:
			s.known[step.Path] = step.Attempt
		case s.known[step.Path] != 0:
			s.over[step.Path] = step.Attempt
		}
		if step.Seq > s.last && step.Seq <= run.Seq {
			list = append(list, s.news(step))
		}
	}
	return list
}

func (s *runStream) news(step *flow.Step) stepNews {
	now := s.s.Now()
	n := stepNews{
		Node: step.Node, State: step.State, Ms: stepTook(step, now).Milliseconds(), Tokens: editorview.Tokens(step.Usage), Cost: editorview.Cost(step.Usage),
		Error: editorview.TroubleOf(step.Error), At: now.UnixMilli(),
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

// stepTook is how long a step worked, until now if it has not ended.
func stepTook(step *flow.Step, now time.Time) time.Duration {
	switch {
	case step.StartedAt.IsZero():
		return 0
	case step.EndedAt.IsZero():
		return max(0, now.Sub(step.StartedAt))
	}
	return max(0, step.EndedAt.Sub(step.StartedAt))
}

// runNews is where the run stands.
type runNews struct {
	Run   string              `json:"run"`
	State flow.RunState       `json:"state"`
	Done  int                 `json:"done"`
	All   int                 `json:"all"`
	Ms    int64               `json:"ms"`
	Cost  string              `json:"cost"`
	Error *editorview.Trouble `json:"error,omitempty"`
	Bar   string              `json:"bar"` // the pill above the canvas as HTML
	Title string              `json:"title,omitempty"`
}

func (s *runStream) writeRun(run *flow.Run) error {
	m := s.mark(run)
	var bar bytes.Buffer
	if err := editorview.RunBar(m, s.s.Now().UnixMilli()).Render(s.Ctx(), &bar); err != nil {
		return err
	}
	n := runNews{Run: run.ID, State: run.State, Done: m.Done, All: m.All, Ms: m.Took.Milliseconds(), Cost: editorview.Cost(run.Usage), Error: m.Error, Bar: bar.String()}
	if m.Error != nil && m.Error.Node != "" {
		if node := s.graph.Node(m.Error.Node); node != nil {
			n.Title = editorview.NodeTitle(node, s.s.Kinds.For(node))
		}
	}
	s.out.Add(strconv.FormatInt(run.Seq, 10), "run", n)
	return nil
}

// textNews is text of a step that is at work.
type textNews struct {
	Node  string `json:"node"`
	Text  string `json:"text"`
	Reset bool   `json:"reset,omitempty"` // what was told before is void
}

// writeTexts writes what is new of the steps that are known to run, or have
// just ended.
func (s *runStream) writeTexts() (early bool) {
	var list []textNews
	for _, d := range s.watch.Read(func(path string, attempt int) bool {
		ready := s.known[path] == attempt
		early = early || !ready
		return ready
	}) {
		list = append(list, textNews{d.Path, d.Text, d.Reset})
	}
	if len(list) > 0 {
		s.out.Add("", "text", list)
	}
	return early
}

func (s *runStream) forgetEnded() {
	for path := range s.over {
		delete(s.known, path)
	}
	clear(s.over)
}

// speak sends text without asking the store, unless a step has begun meanwhile.
func (s *runStream) speak() error {
	early := s.writeTexts()
	if s.out.Pending() {
		if err := s.out.Flush(); err != nil {
			return err
		}
	}
	if early {
		return s.look()
	}
	return nil
}
