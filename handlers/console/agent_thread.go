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
	"sluice/views/components"
	consoleview "sluice/views/console"
)

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
			row.Duration = max(row.Duration, stepDuration(s, b.f.end))
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

// row returns the row of a step of the agent.
func (b *threadBuilder) row(s *flow.Step, turn string) consoleview.WaterfallRow {
	row := b.v.fallRow(s, b.f.begin, b.f.end)
	row.Turn, row.Link, row.Current, row.Inside, row.Note = turn, b.f.link.WithStep(s.Path), s.Path == b.f.link.Step, false, ""
	if b.v.children[s.Path] != nil {
		row.Bars = attemptBars(s, b.f.begin, b.f.end)
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
	if d := stepDuration(b.step, b.f.end); d > 0 {
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
