package console

import (
	"strconv"
	"strings"

	"sluice/flow"
	"sluice/flow/sorting"
	"sluice/views/components"
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

// turnLabel returns the name of a turn for people.
func (a *agent) turnLabel(t *agentTurn) string {
	if before, is := strings.CutSuffix(t.name, "s"); is && !t.isTurn() {
		return "Summary before turn " + before
	}
	return "Turn " + t.name
}

// overlap reports whether two steps ran at the same time.
func overlap(a, b *flow.Step) bool {
	if a.StartedAt.IsZero() || b.StartedAt.IsZero() {
		return false
	}
	return (a.EndedAt.IsZero() || b.StartedAt.Before(a.EndedAt)) && (b.EndedAt.IsZero() || a.StartedAt.Before(b.EndedAt))
}

// finishWords say why an agent ended.
var finishWords = map[string]string{"stop": "Finished", "limit": "Limit reached", "stuck": "Stuck", "length": "Answer truncated", "budget": "Dollar limit"}

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
