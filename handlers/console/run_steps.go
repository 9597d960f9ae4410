package console

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"

	"sluice/flow"
	"sluice/handlers/console/advice"
	"sluice/handlers/web"
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
	row := consoleview.WaterfallRow{Path: s.Path, Label: v.stepLabel(s), State: string(v.shownState(s)), Depth: strings.Count(s.Path, "."), Inside: s.Path != s.Node, Note: v.emptyReason(s), Tries: stepTries(s)}
	row.Icon, row.Group = v.face(s)
	if s.Attempt == 0 {
		return row
	}
	row.Began, row.Duration, row.Cost = true, stepDuration(s, end), v.stepCost(s)
	if v.children[s.Path] == nil {
		row.Bars = attemptBars(s, begin, end)
		return row
	}
	// While children run, a waiting step is not paused: one bar spans all attempts.
	last := s.EndedAt
	if last.IsZero() {
		last = end
	}
	b := timeSpan(begin, s.Tries()[0].StartedAt, last, row.State)
	b.Title = fmt.Sprintf("%s after %s, took %s", b.State, consoleview.Precisely(b.From), consoleview.Precisely(b.To-b.From))
	row.Bars = []consoleview.WaterfallBar{b}
	return row
}

// stepCost returns the cost of a step with that of its child runs, or "" if it called no model.
func (v *runView) stepCost(s *flow.Step) string {
	used := s.Usage
	if c := v.children[s.Path]; c != nil {
		used = used.Add(c.Usage)
	}
	return usageCost(used)
}

// kindOf returns the kind of a step; nil if it is unknown.
func (v *runView) kindOf(s *flow.Step) *flow.Kind {
	if s.Kind != "" && s.Path != s.Node {
		return v.kinds.Find(s.Kind)
	}
	if n := v.node(s.Node); n != nil {
		return v.kinds.For(n)
	}
	return v.kinds.Find(s.Kind)
}

// node returns a node of the document, or nil.
func (v *runView) node(id string) *flow.Node {
	if v.doc == nil {
		return nil
	}
	return v.doc.Node(id)
}

// face returns the icon of a step and the group that determines its color.
func (v *runView) face(s *flow.Step) (icon, group string) {
	if k := v.kindOf(s); k != nil {
		return k.Icon, components.GroupWord(k.Group)
	}
	return "circle", "canvas"
}

// shownState returns the state of a step. A step that waits for open child runs is shown
// as running, and one that was canceled before it started as not started.
func (v *runView) shownState(s *flow.Step) flow.StepState {
	if c := v.children[s.Path]; c != nil && s.State == flow.StepWaiting && !c.Ended() {
		return flow.StepRunning
	}
	if s.State == flow.StepCanceled && s.Attempt == 0 {
		return flow.StepPending
	}
	return s.State
}

// stepLabel returns the title of a step: that of its node, or for an inner step the title of its kind
// with its name.
func (v *runView) stepLabel(s *flow.Step) string {
	name, inner := strings.CutPrefix(s.Path, s.Node+".")
	if !inner {
		return v.label(s.Node)
	}
	if k := v.kindOf(s); k != nil {
		return k.Title + " " + name
	}
	return name
}

// emptyReason explains why a step has no inputs and outputs.
func (v *runView) emptyReason(s *flow.Step) string {
	switch v.shownState(s) {
	case flow.StepReused:
		return "Reused from the previous run"
	case flow.StepPending:
		return "Not started"
	case flow.StepSkipped:
		return "Skipped: " + v.skipReason(s.Node)
	}
	return ""
}

// skipReason explains why a step was skipped: it is disabled, or an edge had no
// value.
func (v *runView) skipReason(node string) string {
	if n := v.node(node); n == nil || n.Disabled {
		return "disabled"
	}
	reason := "no value arrived"
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
			reason = v.label(from.Node) + " was skipped"
		case !given && from.State.Ended():
			return v.branchReason(from, port)
		}
	}
	return reason
}

// branchReason explains why a step gave no value to a port.
func (v *runView) branchReason(from *flow.Step, port string) string {
	if n := v.node(from.Node); n != nil && n.Kind == "condition" {
		return map[string]string{"true": "the condition was false", "false": "the condition was true"}[port]
	}
	return "other branch of " + v.label(from.Node)
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

// stepView returns the details of a step.
func (v *runView) stepView(s *flow.Step) *consoleview.StepView {
	n := v.node(s.Node)
	if s.Path != s.Node {
		n = nil // of a document inside
	}
	ins, outs := flow.StepPorts(n, v.kindOf(s))
	out := &consoleview.StepView{
		Path: s.Path, Node: s.Node, Label: v.stepLabel(s), State: string(v.shownState(s)), Meta: v.stepMeta(s),
		Outputs: web.StepOutputs(v.run, s, outs), Error: v.runError(s.Error), Lost: s.LostCall(), Log: s.Log(), Note: v.emptyReason(s),
		MayRerun: v.run.State.Ended() && s.Path == s.Node && v.shownState(s) != flow.StepPending, Kept: v.reused(s.Node), Tries: v.tryLines(s),
	}
	for _, name := range flow.PortNames(s.Input, ins) {
		view := components.ValueView{Name: name, Value: s.Input[name]}
		if s.Path == s.Node {
			view.More = web.StepValueURL(v.run, s.Node, "input", name)
		}
		out.Inputs = append(out.Inputs, view)
	}
	out.Icon, out.Group = v.face(s)
	return out
}

// tryLines converts the attempts of a step, with the waits between them.
func (v *runView) tryLines(s *flow.Step) (lines []consoleview.TryLine) {
	list := s.Tries()
	for i, a := range list {
		line := v.tryLine(s, a, i == len(list)-1)
		line.Number = i + 1 // those at which a step only waited are not listed
		if i+1 < len(list) && !a.EndedAt.IsZero() {
			line.Pause = consoleview.Precisely(max(0, list[i+1].StartedAt.Sub(a.EndedAt)))
		}
		lines = append(lines, line)
	}
	return lines
}

// tryLine converts an attempt.
func (v *runView) tryLine(s *flow.Step, a flow.Attempt, last bool) consoleview.TryLine {
	state := attemptState(s, a, last)
	t := consoleview.TryLine{At: a.StartedAt, State: state}
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
		t.Code, t.Text, t.State = string(a.Error.Code), advice.Plain(a.Error, a.Model), string(flow.StepFailed)
	case a.Paused:
		t.Text, t.State = "waiting", string(flow.StepWaiting)
	case a.EndedAt.IsZero() && !last:
		t.Text = "interrupted by a restart"
	default:
		t.Text = components.StateWord(state)
	}
	return t
}

// asksModels reports whether the attempts of a step use different models.
func (v *runView) asksModels(s *flow.Step) bool {
	return slices.ContainsFunc(s.Attempts, func(a flow.Attempt) bool { return a.Next > 0 })
}

// stepMeta returns the kind of a step, its model and time, and the tokens and cost it used.
func (v *runView) stepMeta(s *flow.Step) (parts []string) {
	if k := v.kindOf(s); k != nil {
		parts = append(parts, k.Title)
	}
	if model := s.Model(); model != "" {
		parts = append(parts, model)
	}
	if s.Attempt > 0 && s.State.Ended() {
		parts = append(parts, consoleview.Precisely(stepDuration(s, v.run.EndedAt)))
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
	if s.Untrusted && s.State.Ended() && s.State != flow.StepSkipped {
		parts = append(parts, "untrusted content")
	}
	return parts
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
			box.Detail = consoleview.Precisely(stepDuration(step, v.run.EndedAt))
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
