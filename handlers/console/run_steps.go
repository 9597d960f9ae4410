package console

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"

	"sluice/flow"
	"sluice/flow/value"
	"sluice/flow/wording"
	"sluice/handlers/console/timeline"
	"sluice/views/components"
	consoleview "sluice/views/console"
)

// span returns the start of the run, or its creation if it has not started, and its
// end or now.
func (v *runView) span(now time.Time) (begin, end time.Time) {
	if begin = v.run.StartedAt; begin.IsZero() {
		begin = v.run.CreatedAt
	}
	if end = v.run.EndedAt; end.IsZero() {
		end = now
	}
	return begin, end
}

// fallRow returns a step on the time axis from begin to end.
func (v *runView) fallRow(s *flow.Step, begin, end time.Time) consoleview.WaterfallRow {
	row := consoleview.WaterfallRow{Path: s.Path, Label: v.stepLabel(s), State: string(v.shownState(s)), Depth: strings.Count(s.Path, "/"), Note: v.emptyReason(s), Tries: timeline.Tries(s)}
	if s.Attempt == 0 {
		return row
	}
	row.Began, row.Duration = true, timeline.Duration(s, end)
	if v.children[s.Path] == nil {
		row.Bars = timeline.Bars(s, begin, end)
		return row
	}
	// While children run, a waiting step is not paused: one bar spans all attempts.
	last := s.EndedAt
	if last.IsZero() {
		last = end
	}
	b := timeline.Span(begin, s.Tries()[0].StartedAt, last, row.State)
	b.Title = fmt.Sprintf("%s after %s, took %s", b.State, consoleview.Precisely(b.From), consoleview.Precisely(b.To-b.From))
	row.Bars = []consoleview.WaterfallBar{b}
	return row
}

// shownState returns the state of a step. A step that waits for open child runs is shown
// as running.
func (v *runView) shownState(s *flow.Step) flow.StepState {
	if c := v.children[s.Path]; c != nil && s.State == flow.StepWaiting && !c.Ended() {
		return flow.StepRunning
	}
	return s.State
}

// stepLabel returns the label of the node, or the path of a step inside another
// node.
func (v *runView) stepLabel(s *flow.Step) string {
	if s.Path == s.Node {
		return v.label(s.Node)
	}
	return s.Path
}

// emptyReason explains why a step has no inputs and outputs.
func (v *runView) emptyReason(s *flow.Step) string {
	switch s.State {
	case flow.StepReused:
		return "reused from the previous run"
	case flow.StepCanceled:
		return "not reached"
	case flow.StepPending:
		return "not started yet"
	case flow.StepSkipped:
		return "skipped: " + v.skipReason(s.Node)
	}
	return ""
}

// skipReason explains why a step was skipped: it is disabled, or an edge had no
// value.
func (v *runView) skipReason(node string) string {
	if n := v.doc.Node(node); n != nil && n.Disabled {
		return "it is disabled"
	}
	reason := "it got no value"
	for _, e := range v.doc.Edges {
		if e.ToNode() != node {
			continue
		}
		from := v.step(e.FromNode())
		if from == nil {
			continue
		}
		_, port, _ := strings.Cut(e.From, ".")
		_, given := from.Outputs[port]
		switch {
		case from.State == flow.StepSkipped:
			reason = fmt.Sprintf("“%s” was skipped", v.label(from.Node))
		case !given && from.State.Ended():
			return fmt.Sprintf("“%s” was not taken", port)
		}
	}
	return reason
}

// step returns the step at a path, or nil.
func (v *runView) step(path string) *flow.Step {
	for i := range v.steps {
		if v.steps[i].Path == path {
			return &v.steps[i]
		}
	}
	return nil
}

// stepView returns the details of a step. Attempts are listed if there was more than
// one, the step failed, or a call was lost.
func (v *runView) stepView(path string, kinds *flow.Registry) *consoleview.StepView {
	s := v.step(path)
	if s == nil {
		return nil
	}
	out := &consoleview.StepView{
		Path: s.Path, Node: s.Node, Label: v.stepLabel(s), State: string(v.shownState(s)), About: v.stepSummary(s, kinds),
		Inputs: valueViews(value.FromMap(s.Input)), Outputs: valueViews(value.FromMap(s.Outputs)), Error: v.runError(s.Error), Lost: s.LostCall(), Log: s.Log(),
		MayRerun: v.run.State.Ended() && s.Path == s.Node && s.State != flow.StepPending,
	}
	if s.Attempt == 0 && s.State != flow.StepReused {
		if reason := v.emptyReason(s); reason != "" {
			out.Note = wording.Sentence(reason)
		}
	}
	if list := s.Tries(); len(list) > 1 || s.Error != nil || out.Lost {
		for i, a := range list {
			out.Tries = append(out.Tries, v.tryLine(s, a, i == len(list)-1))
		}
	}
	return out
}

// tryLine converts an attempt.
func (v *runView) tryLine(s *flow.Step, a flow.Attempt, last bool) consoleview.TryLine {
	state := timeline.State(s, a, last)
	t := consoleview.TryLine{Number: a.Number, At: a.StartedAt, Text: state, Tone: components.ToneNone}
	if !a.EndedAt.IsZero() {
		t.Duration = consoleview.Precisely(max(0, a.EndedAt.Sub(a.StartedAt)))
	}
	if v.asksModels(s) {
		t.Model = a.Model
	}
	if a.CostNanoUSD > 0 {
		t.Cost = components.Money(a.CostNanoUSD.Micros())
	}
	if a.Lost {
		t.Cost = strings.TrimPrefix(t.Cost+" + lost", " + ")
	}
	switch {
	case a.Error != nil:
		t.Text, t.Tone = string(a.Error.Code)+": "+a.Error.Message, components.ToneBad
	case a.Paused:
		t.Text, t.Tone = "waiting", components.ToneWait
	case a.EndedAt.IsZero() && !last:
		t.Text = "interrupted by a restart"
	case state == string(flow.StepSucceeded):
		t.Tone = components.ToneOK
	}
	return t
}

// asksModels reports whether the attempts of a step use different models.
func (v *runView) asksModels(s *flow.Step) bool {
	return slices.ContainsFunc(s.Attempts, func(a flow.Attempt) bool { return a.Next > 0 })
}

// stepSummary returns the kind of a step, its model, and the tokens and cost it
// used.
func (v *runView) stepSummary(s *flow.Step, kinds *flow.Registry) string {
	var parts []string
	kind := s.Kind
	if n := v.doc.Node(s.Node); kind == "" && n != nil {
		kind = n.Kind
	}
	if k := kinds.Find(kind); k != nil {
		kind = k.Title
	}
	parts = append(parts, kind)
	if model, _ := s.Input["model"].(string); model != "" {
		parts = append(parts, model)
	}
	if s.Usage.InputTokens+s.Usage.OutputTokens > 0 {
		parts = append(parts, fmt.Sprintf("%s → %s tokens", components.Count(int(s.Usage.InputTokens)), components.Count(int(s.Usage.OutputTokens))))
	}
	if s.Usage.CachedTokens > 0 {
		parts = append(parts, components.Count(int(s.Usage.CachedTokens))+" cached")
	}
	if s.Usage.ReasoningTokens > 0 {
		parts = append(parts, components.Count(int(s.Usage.ReasoningTokens))+" reasoning")
	}
	if s.Usage.CostNanoUSD > 0 {
		parts = append(parts, components.Money(s.Usage.CostNanoUSD.Micros()))
	}
	switch {
	case s.LostCall():
		parts = append(parts, "lost call, bill unknown")
	case s.Usage.UnpricedSteps > 0:
		parts = append(parts, "price unknown")
	}
	return strings.Join(parts, " · ")
}

// runPicture returns the flow as it was when the run started, with the state of
// each step.
func (s *Server) runPicture(v *runView, link consoleview.RunLink) components.Picture {
	if v.doc == nil {
		return components.Picture{}
	}
	d := s.NewDrawing("The flow as it was, with the state of each step")
	for i := range v.doc.Nodes {
		n := &v.doc.Nodes[i]
		step := v.step(n.ID)
		if step == nil { // a note
			continue
		}
		box := d.Node(n, string(v.shownState(step)))
		to := link.WithStep(n.ID)
		box.Href, box.Attrs, box.Current = templ.SafeURL(to.Path()), to.Attrs(), n.ID == topNode(link.Step)
		if step.Attempt > 0 && step.State.Ended() {
			box.Detail = consoleview.Precisely(timeline.Duration(step, v.run.EndedAt))
		}
	}
	for _, e := range v.doc.Edges {
		d.Edge(e, v.edgeState(e))
	}
	return d.Done()
}

// edgeState returns "carried" if a value passed over an edge, else "idle".
func (v *runView) edgeState(e flow.Edge) string {
	from, to := v.step(e.FromNode()), v.step(e.ToNode())
	if from == nil || to == nil {
		return "idle"
	}
	_, port, _ := strings.Cut(e.From, ".")
	if _, given := from.Outputs[port]; given && to.State != flow.StepSkipped {
		return "carried"
	}
	return "idle"
}
