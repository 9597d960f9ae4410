package console

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/sorting"
	"sluice/handlers/console/timeline"
	"sluice/views/components"
	consoleview "sluice/views/console"
)

// The rows of an agent that can be shown alone; see consoleview.RunLink.Only.
const (
	onlyTurns     = "turns"
	onlyTools     = "tools"
	onlyErrors    = "errors"
	onlyApprovals = "approvals"
)

var threadFilters = []string{"", onlyTurns, onlyTools, onlyErrors, onlyApprovals}

const (
	// sameCalls is the number of calls of one tool in a turn that are listed as one row.
	sameCalls = 3
	// allCalls is the number of rows up to which the calls of all turns are listed. Beyond it, only
	// those of the selected turn are.
	allCalls = 600
	// briefLength bounds the arguments of a call in a list, in characters.
	briefLength = 90
)

// unknownState marks a call whose outcome is unknown, in the lists of the page.
const unknownState = "unknown"

// agent is the step of an agent with its turns and calls.
type agent struct {
	v     *runView
	step  *flow.Step
	node  *flow.Node
	turns []agentTurn
	asked map[string]*flow.Step // steps that ask people about a call, by the path of the call
	edits map[string]*flow.Step // steps with changed arguments
}

type agentTurn struct {
	*flow.Step
	name  string // "3", or "7s" for a summary
	calls []*flow.Step
}

// findAgent returns the agent whose turns the page lists: the one that is selected, or else the first
// that has started. It is nil without one.
func (v *runView) findAgent(selected string) *agent {
	var found *flow.Step
	for i := range v.steps {
		s := &v.steps[i]
		if n := v.node(s.Path); n == nil || s.Path != s.Node || s.Attempt == 0 || !v.isAgent(n) {
			continue
		}
		if s.Path == topNode(selected) {
			found = s
			break
		}
		if found == nil {
			found = s
		}
	}
	if found == nil {
		return nil
	}
	a := &agent{v: v, step: found, node: v.node(found.Path), asked: map[string]*flow.Step{}, edits: map[string]*flow.Step{}}
	a.collect()
	return a
}

// isAgent reports whether the steps of a node have turns.
func (v *runView) isAgent(n *flow.Node) bool {
	k := v.kinds.Find(n.Kind)
	return k != nil && k.Expand != nil
}

// collect sorts the sub-steps of the agent into turns and calls.
func (a *agent) collect() {
	for i := range a.v.steps {
		s := &a.v.steps[i]
		name, inside := strings.CutPrefix(s.Path, a.step.Path+flow.SubSeparator)
		if !inside {
			continue
		}
		switch parts := strings.Split(name, flow.SubSeparator); {
		case len(parts) == 1:
			a.turns = append(a.turns, agentTurn{Step: s, name: name})
		case len(parts) == 2 && len(a.turns) > 0:
			t := &a.turns[len(a.turns)-1]
			t.calls = append(t.calls, s)
		case strings.HasSuffix(s.Path, flow.EditSuffix):
			a.edits[strings.TrimSuffix(s.Path, flow.EditSuffix)] = s
		case len(parts) == 3:
			a.asked[s.Path[:strings.LastIndex(s.Path, flow.SubSeparator)]] = s
		}
	}
}

// notable returns the path of the turn or call in progress, or else of the last turn.
func (a *agent) notable() string {
	path := a.step.Path
	for i := range a.turns {
		t := &a.turns[i]
		path = t.Path
		for _, s := range t.calls {
			if !s.State.Ended() {
				path = s.Path
			}
		}
	}
	return path
}

// isTurn reports whether a turn called the model for an answer, and not for a summary.
func (t *agentTurn) isTurn() bool {
	_, err := strconv.Atoi(t.name)
	return err == nil
}

// turn returns the turn with a name, and its place among all; nil if it does not exist.
func (a *agent) turn(name string) (*agentTurn, int) {
	for i := range a.turns {
		if a.turns[i].name == name {
			return &a.turns[i], i
		}
	}
	return nil, 0
}

// callState returns the state of a call as the page shows it.
func (a *agent) callState(s *flow.Step) string {
	if isUnknown(s) {
		return unknownState
	}
	return string(a.v.shownState(s))
}

func isUnknown(s *flow.Step) bool { return s.Error != nil && s.Error.Code == flow.CodeOutcomeUnknown }

// toolName returns the name by which the model calls the tool of a step.
func (v *runView) toolName(s *flow.Step) string {
	if n := v.node(s.Node); n != nil {
		return n.ToolName()
	}
	return s.Node
}

// openPorts returns the inputs of a tool that the model fills.
func (v *runView) openPorts(s *flow.Step) (*flow.Node, *flow.Kind, []flow.Port) {
	n := v.node(s.Node)
	if n == nil {
		return nil, nil, nil
	}
	k := v.kinds.For(n)
	return n, k, flow.OpenPorts(n, k, func(port string) bool { return v.doc.IsFed(n.ID, port) })
}

// brief returns the beginning of the arguments of a call.
func (v *runView) brief(s *flow.Step) string {
	_, k, open := v.openPorts(s)
	var parts []string
	for _, p := range open {
		if value, given := s.Input[p.Name]; given && value != nil {
			parts = append(parts, flow.ToolArgument(k, p.Name)+": "+components.ValueView{Value: value}.Brief(briefLength))
		}
	}
	return components.ValueView{Value: strings.Join(parts, ", ")}.Brief(briefLength)
}

// threadBuilder lists the turns and calls of an agent.
type threadBuilder struct {
	*agent
	f      *treeBuilder
	counts map[string]int // of rows, by filter
}

// addThread lists the turns and calls of an agent.
func (f *treeBuilder) addThread(a *agent) *threadBuilder {
	b := &threadBuilder{agent: a, f: f, counts: map[string]int{}}
	total := 0
	for i := range a.turns {
		total += 1 + len(a.turns[i].calls)
	}
	for i := range a.turns {
		t := &a.turns[i]
		b.count(t)
		selected := f.selects(t.Path)
		b.addTurn(t, i, total <= allCalls || selected)
	}
	return b
}

// count counts the rows of a turn by filter.
func (b *threadBuilder) count(t *agentTurn) {
	b.counts[""] += 1 + len(t.calls)
	b.counts[onlyTurns]++
	b.counts[onlyTools] += len(t.calls)
	for _, s := range append([]*flow.Step{t.Step}, t.calls...) {
		if s.State == flow.StepFailed {
			b.counts[onlyErrors]++
		}
		if b.asked[s.Path] != nil {
			b.counts[onlyApprovals]++
		}
	}
}

// shows reports whether the filter lets a row of a step through.
func (b *threadBuilder) shows(s *flow.Step, isTurn bool) bool {
	switch b.f.link.Only {
	case onlyTurns:
		return isTurn
	case onlyTools:
		return !isTurn
	case onlyErrors:
		return s.State == flow.StepFailed
	case onlyApprovals:
		return b.asked[s.Path] != nil
	}
	return true
}

// addTurn lists a turn and, if it is open, its calls.
func (b *threadBuilder) addTurn(t *agentTurn, i int, open bool) {
	if b.shows(t.Step, true) {
		row := b.row(t.Step, t.name)
		row.IsTurn, row.Depth, row.Label = true, 0, b.turnLabel(t)
		row.Unfolds, row.Open = len(t.calls) > 0, open
		if u := t.Usage; u.InputTokens+u.OutputTokens > 0 {
			row.Tokens = components.Count(int(u.InputTokens)) + " → " + components.Count(int(u.OutputTokens))
			row.CachedShare = cachedShare(u)
		}
		if t.State == flow.StepFailed && t.Error != nil {
			row.Brief, row.Bad = t.Error.Message, true
		} else if len(t.calls) == 0 && t.State.Ended() && t.isTurn() && i == len(b.turns)-1 {
			row.Brief = "Answer"
		}
		if t.State == flow.StepReused {
			row.Brief = "reused, $0"
		}
		b.f.w.Rows = append(b.f.w.Rows, row)
	}
	if !open && b.f.link.Only == "" {
		return
	}
	for k := 0; k < len(t.calls); {
		n := b.same(t.calls[k:])
		b.addCalls(t, t.calls[k:k+n], k)
		k += n
	}
}

// turnLabel returns the name of a turn for people.
func (a *agent) turnLabel(t *agentTurn) string {
	if before, is := strings.CutSuffix(t.name, "s"); is && !t.isTurn() {
		return "Summary before turn " + before
	}
	return "Turn " + t.name
}

// cachedShare says how much of the input of a turn came from a cache.
func cachedShare(u flow.Usage) string {
	if u.CachedTokens == 0 || u.InputTokens == 0 {
		return ""
	}
	return strconv.Itoa(int(100*u.CachedTokens/u.InputTokens)) + "% cached"
}

// same returns the number of the first calls that are listed as one row: those of one tool, unless one
// of them is selected or rows are filtered.
func (b *threadBuilder) same(calls []*flow.Step) int {
	n := 1
	for n < len(calls) && calls[n].Node == calls[0].Node {
		n++
	}
	if n < sameCalls || b.f.link.Only != "" {
		return 1
	}
	for _, s := range calls[:n] {
		if b.f.selects(s.Path) {
			return 1
		}
	}
	return n
}

// addCalls lists calls of a turn as one row. first is the place of the first among all of the turn.
func (b *threadBuilder) addCalls(t *agentTurn, calls []*flow.Step, first int) {
	shown := calls[0]
	if !b.shows(shown, false) {
		return
	}
	failed := 0
	for _, s := range calls {
		if s.State == flow.StepFailed {
			if failed++; failed == 1 {
				shown = s
			}
		}
	}
	row := b.row(shown, t.name)
	row.Depth, row.Label, row.State, row.Times = 1, b.v.toolName(shown), b.callState(shown), len(calls)
	row.Brief = b.v.brief(shown)
	switch {
	case row.State == unknownState:
		row.Mark = &consoleview.CallMark{Label: consoleview.UnknownWord, Tone: components.ToneWait}
	case failed > 0 && len(calls) > 1:
		row.Brief, row.Bad = fmt.Sprintf("%d failed: %s", failed, shown.Error.Message), true
	case failed > 0 && shown.Error != nil:
		row.Brief, row.Bad = shown.Error.Message, true
	case b.edits[shown.Path] != nil:
		row.Mark = &consoleview.CallMark{Label: "Edited", Tone: components.ToneOK}
	}
	if len(calls) > 1 {
		row.Bars, row.Duration = nil, 0
		used := flow.Usage{}
		for _, s := range calls {
			row.Bars = append(row.Bars, b.row(s, t.name).Bars...)
			row.Duration = max(row.Duration, timeline.Duration(s, b.f.end))
			used = used.Add(s.Usage)
		}
		row.Cost = usageCost(used)
	}
	if row.State == unknownState {
		for i := range row.Bars {
			if row.Bars[i].State == string(flow.StepFailed) {
				row.Bars[i].State = unknownState
			}
		}
	}
	row.Bracket = bracket(t.calls, first, first+len(calls))
	b.f.w.Rows = append(b.f.w.Rows, row)
}

// bracket joins the row of the calls from first to before end with neighbors that ran at the same time.
func bracket(calls []*flow.Step, first, end int) string {
	above := first > 0 && overlap(calls[first-1], calls[first])
	below := end < len(calls) && overlap(calls[end-1], calls[end])
	switch {
	case above && below:
		return "middle"
	case below:
		return "first"
	case above:
		return "last"
	}
	return ""
}

// overlap reports whether two steps ran at the same time.
func overlap(a, b *flow.Step) bool {
	if a.StartedAt.IsZero() || b.StartedAt.IsZero() {
		return false
	}
	return (a.EndedAt.IsZero() || b.StartedAt.Before(a.EndedAt)) && (b.EndedAt.IsZero() || a.StartedAt.Before(b.EndedAt))
}

// row returns the row of a step of the agent.
func (b *threadBuilder) row(s *flow.Step, turn string) consoleview.WaterfallRow {
	row := b.v.fallRow(s, b.f.begin, b.f.end)
	row.Turn, row.Link, row.Current, row.Inside, row.Note = turn, b.f.link.WithStep(s.Path), s.Path == b.f.link.Step, false, ""
	if b.v.children[s.Path] != nil {
		row.Bars = timeline.Bars(s, b.f.begin, b.f.end)
		for i := range row.Bars { // a step that waits for its child run works
			if row.Bars[i].State == "pause" {
				row.Bars[i].State = string(flow.StepSucceeded)
			}
		}
	}
	return row
}

// view returns what the page shows of the agent besides the rows.
func (b *threadBuilder) view(waited time.Duration) *consoleview.AgentView {
	a := &consoleview.AgentView{Label: b.v.label(b.step.Node), Link: b.f.link.WithStep(b.step.Path), Current: b.f.link.Step == b.step.Path}
	for i := range b.turns {
		t := &b.turns[i]
		a.Model = cmp.Or(t.Model(), a.Model)
		if n, err := strconv.Atoi(t.name); err == nil && t.Usage.InputTokens+t.Usage.OutputTokens > 0 {
			a.Tokens = append(a.Tokens, consoleview.TurnTokens{
				Number: n, Cached: t.Usage.CachedTokens, New: t.Usage.InputTokens - t.Usage.CachedTokens, Output: t.Usage.OutputTokens,
				Link: b.f.link.WithStep(t.Path), Current: b.f.link.Step == t.Path,
			})
		}
	}
	labels := map[string]string{"": "All", onlyTurns: "Turns", onlyTools: "Tools", onlyErrors: "Errors", onlyApprovals: "Approvals"}
	for _, only := range threadFilters {
		if b.counts[only] > 0 || only == b.f.link.Only {
			a.Filters = append(a.Filters, consoleview.AgentFilter{Label: labels[only], Count: b.counts[only], Link: b.f.link.WithOnly(only), Current: only == b.f.link.Only})
		}
	}
	a.Facts = b.facts(waited)
	return a
}

// finishWords say why an agent ended.
var finishWords = map[string]string{"stop": "Finished", "limit": "Limit reached", "stuck": "Stuck", "length": "Answer truncated", "budget": "Dollar limit"}

// stopped returns why the agent ended, or what it does now.
func (b *threadBuilder) stopped() consoleview.Fact {
	s := b.step
	switch {
	case s.State == flow.StepFailed:
		return consoleview.Fact{Title: "Stopped", Text: "Failed"}
	case s.State == flow.StepCanceled:
		return consoleview.Fact{Title: "Stopped", Text: "Canceled"}
	case s.State.Ended():
		return consoleview.Fact{Title: "Stopped", Text: cmp.Or(finishWords[flow.Text(s.Outputs["finish"])], "Finished")}
	}
	now := consoleview.Fact{Title: "Now", Text: "Starting"}
	for i := range b.turns {
		t := &b.turns[i]
		if !t.State.Ended() {
			now.Text = b.turnLabel(t)
		}
		for _, call := range t.calls {
			if !call.State.Ended() {
				now.Text = b.v.toolName(call)
			}
		}
	}
	return now
}

// facts returns the table at the top of the page.
func (b *threadBuilder) facts(waited time.Duration) []consoleview.Fact {
	var used flow.Usage
	turns, calls, failed, unknown := 0, 0, 0, 0
	for i := range b.turns {
		t := &b.turns[i]
		used = used.Add(t.Usage)
		if t.isTurn() {
			turns++
		}
		for _, s := range t.calls {
			calls++
			used = used.Add(s.Usage)
			if c := b.v.children[s.Path]; c != nil {
				used = used.Add(c.Usage)
			}
			switch {
			case isUnknown(s):
				unknown++
			case s.State == flow.StepFailed:
				failed++
			}
		}
	}
	list := []consoleview.Fact{b.stopped(), {Title: "Turns", Text: components.Count(turns), More: b.limitText("max_turns")}, {Title: "Tool calls", Text: components.Count(calls), More: outcomes(failed, unknown)}}
	took := consoleview.Fact{Title: "Time", Text: "–"}
	if d := timeline.Duration(b.step, b.f.end); d > 0 {
		took.Elapsed = max(0, d-waited)
		took.Text, took.Grows = components.Duration(took.Elapsed), !b.v.run.State.Ended() && b.step.State == flow.StepRunning
	}
	if waited > 0 {
		took.More = "+ " + components.Duration(waited) + " waiting"
	}
	tokens := consoleview.Fact{Title: "Tokens", Text: consoleview.Thousands(used.InputTokens + used.OutputTokens), More: cachedShare(used)}
	cost := consoleview.Fact{Title: "Cost", Text: components.Money(used.CostNanoUSD.Micros()), More: unpricedText(used)}
	if lost := b.v.lostSteps(); lost > 0 {
		cost.More += fmt.Sprintf(" (%d lost)", lost)
		cost.Help = consoleview.LostHelp
	}
	return append(list, took, tokens, cost)
}

// limitText returns the limit of a count, as typed in the node or by default.
func (b *threadBuilder) limitText(field string) string {
	f := b.v.kinds.For(b.node).Field(field)
	if f == nil || b.v.doc.IsFed(b.node.ID, field) {
		return ""
	}
	limit, _ := f.ValueOrDefault(b.node)
	return "of " + components.ValueView{Value: limit}.Brief(12)
}

// outcomes counts the calls that did not succeed.
func outcomes(failed, unknown int) string {
	var parts []string
	if failed > 0 {
		parts = append(parts, strconv.Itoa(failed)+" failed")
	}
	if unknown > 0 {
		parts = append(parts, strconv.Itoa(unknown)+" unknown")
	}
	return strings.Join(parts, ", ")
}

// usageCost returns the cost of usage, or "" if no model was called.
func usageCost(used flow.Usage) string {
	switch {
	case used.CostNanoUSD > 0:
		return components.Money(used.CostNanoUSD.Micros())
	case used.UnpricedSteps > 0:
		return "?"
	case used.InputTokens+used.OutputTokens > 0:
		return "$0"
	}
	return ""
}

// writesFrom lists the calls that change something and would be made again from a turn on.
func (a *agent) writesFrom(from int) (list []string) {
	times := map[string]int{}
	for i := from; i < len(a.turns); i++ {
		for _, s := range a.turns[i].calls {
			n := a.v.node(s.Node)
			if n != nil && n.ToolEffect(a.v.kinds.For(n)) == flow.EffectWrite && s.Attempt > 0 {
				times[n.ToolName()]++
			}
		}
	}
	for _, name := range sorting.Keys(times) {
		if times[name] > 1 {
			name += " ×" + strconv.Itoa(times[name])
		}
		list = append(list, name)
	}
	return list
}

// cutWaits leaves out of the axis the time in which the run only waited, and returns its length.
func cutWaits(w *consoleview.Waterfall) (waited time.Duration) {
	cuts := findWaits(w)
	if len(cuts) == 0 {
		return 0
	}
	for _, c := range cuts {
		waited += c.To - c.From
	}
	shown := (w.Span - waited) / 14 // of each wait
	at := func(t time.Duration) time.Duration {
		out := t
		for _, c := range cuts {
			switch {
			case t >= c.To:
				out += shown - (c.To - c.From)
			case t > c.From:
				out += time.Duration(float64(shown)*float64(t-c.From)/float64(c.To-c.From)) - (t - c.From)
			}
		}
		return out
	}
	for i := range w.Rows {
		r := &w.Rows[i]
		for k := range r.Bars {
			b := &r.Bars[k]
			if b.State == "pause" && slices.ContainsFunc(cuts, func(c consoleview.WaterfallBar) bool { return b.From <= c.From && b.To >= c.To }) {
				b.Label = "waited " + components.Duration(b.To-b.From)
			}
			b.From, b.To = at(b.From), at(b.To)
		}
		for k := range r.Failures {
			r.Failures[k] = at(r.Failures[k])
		}
	}
	w.Span, w.Cut = at(w.Span), true
	return waited
}

// shortestCut is the shortest wait that the axis leaves out.
const shortestCut = 2 * time.Second

// findWaits returns the gaps in which no step works but one waits.
func findWaits(w *consoleview.Waterfall) (cuts []consoleview.WaterfallBar) {
	var busy, waits []consoleview.WaterfallBar
	for i := range w.Rows {
		r := &w.Rows[i]
		for _, b := range r.Bars {
			switch {
			case b.State == "pause":
				waits = append(waits, b)
			case r.Turn != "" || !r.Unfolds:
				busy = append(busy, b)
			}
		}
	}
	sorting.By(busy, func(a, b consoleview.WaterfallBar) int { return cmp.Compare(a.From, b.From) })
	end := time.Duration(0)
	for _, b := range append(busy, consoleview.WaterfallBar{From: w.Span, To: w.Span}) {
		gap := consoleview.WaterfallBar{From: end, To: b.From}
		isWait := slices.ContainsFunc(waits, func(p consoleview.WaterfallBar) bool { return p.From <= gap.From && p.To >= gap.To })
		if long := max(shortestCut, w.Span/10); gap.To-gap.From > long && isWait {
			cuts = append(cuts, gap)
		}
		end = max(end, b.To)
	}
	return cuts
}
