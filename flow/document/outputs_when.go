package document

import (
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/sorting"
)

// A port has a value under conditions such as "node a took its branch true". This file infers
// them, to distinguish outputs that a successful run always has from optional ones. An output
// counts as optional if that cannot be decided.

// choice is a way that a node took: one of its branches, success or failure. A run takes exactly
// one way of each node; for a node that does not run, any way can be assumed.
type choice struct{ node, way string }

// conditions is a list of alternatives, each a set of choices that must all be made (disjunctive
// normal form). Nil means never; an alternative without choices means always.
type conditions [][]choice

var unconditional = conditions{{}}

// maxAlternatives and maxCoverSteps bound the work for a document with many branches.
const (
	maxAlternatives = 128
	maxCoverSteps   = 20_000
)

// unknown returns a condition that is independent of all others.
func unknown(node string) conditions {
	return conditions{{choice{node + " maybe", "yes"}}}
}

// never reports whether the conditions cannot be met.
func (c conditions) never() bool { return len(c) == 0 }

// or returns the conditions that are met if either is.
func (c conditions) or(other conditions) conditions {
	for _, a := range other {
		if !slices.ContainsFunc(c, func(b []choice) bool { return slices.Equal(a, b) }) {
			c = append(slices.Clip(c), a)
		}
	}
	return c
}

// and returns the conditions that are met if both are. If there would be too many alternatives,
// it returns an unknown condition of node.
func (c conditions) and(other conditions, node string) conditions {
	if len(c)*len(other) > maxAlternatives {
		return unknown(node)
	}
	var all conditions
	for _, a := range c {
		for _, b := range other {
			if both, possible := joined(a, b); possible {
				all = all.or(conditions{both})
			}
		}
	}
	return all
}

// joined returns the choices of both, sorted, unless they contradict each other.
func joined(a, b []choice) (both []choice, possible bool) {
	both = slices.Concat(a, b)
	sorting.By(both, func(x, y choice) int { return strings.Compare(x.node+" "+x.way, y.node+" "+y.way) })
	both = slices.Compact(both)
	for i := 1; i < len(both); i++ {
		if both[i].node == both[i-1].node {
			return nil, false
		}
	}
	return both, true
}

// ran returns the conditions under which a node runs, and succeeds or handles its error.
func (t *typer) ran(id string) conditions {
	n := t.nodes[id]
	if n == nil || n.Disabled {
		return nil
	}
	if n.visited {
		return n.when
	}
	n.visited = true
	n.when = t.reached(n)
	return n.when
}

// reached returns the conditions under which the edges of a node let it run: at least one has a
// value, and so do all required ports.
func (t *typer) reached(n *typedNode) conditions {
	if len(n.fed) == 0 {
		return unconditional
	}
	var some conditions
	needed := unconditional
	for _, port := range sorting.Keys(n.fed) {
		var here conditions
		for _, e := range n.fed[port] {
			id, from := e.Source()
			if here = here.or(t.when(id, from)); len(here) > maxAlternatives {
				break // unknown in any case
			}
		}
		if some = some.or(here); len(some) > maxAlternatives {
			some = unknown(n.ID)
		}
		if p, known := n.in[port]; known && p.Required {
			needed = needed.and(here, n.ID)
		}
	}
	if t.always(some) {
		return needed
	}
	return needed.and(some, n.ID)
}

// when returns the conditions under which an output port has a value.
func (t *typer) when(id, port string) conditions {
	n := t.nodes[id]
	if n == nil {
		return nil
	}
	when := t.ran(id)
	p, known := n.out[port]
	ways := n.ways()
	switch {
	case !known || when.never():
		return when
	case slices.Contains(ways, port):
		when = when.and(conditions{{choice{id, port}}}, id)
	case n.OnError != nil && n.OnError.Route && !slices.Contains(ways, succeeded): // beside the branches
		when = when.and(n.notFailed(ways), id)
	case len(ways) > 0 && slices.Contains(ways, succeeded):
		when = when.and(conditions{{choice{id, succeeded}}}, id)
	}
	continued := n.OnError != nil && n.OnError.Continue != nil && n.OnError.Continue[port] == nil
	if p.Optional || continued {
		when = when.and(unknown(id+"."+port), id)
	}
	return when
}

// succeeded is the way of a successful node without branches.
const succeeded = "(succeeded)"

// ways returns the ways of a node, or nil if it has only one. A run takes exactly one of them.
func (n *typedNode) ways() (ways []string) {
	for _, p := range n.out {
		if p.Branch {
			ways = append(ways, p.Name)
		}
	}
	sorting.Strings(ways)
	if n.OnError != nil && n.OnError.Route {
		if len(ways) == 0 {
			ways = []string{succeeded}
		}
		ways = append(ways, flow.ErrorPort)
	}
	return ways
}

// notFailed returns the conditions that every way except the one for errors meets.
func (n *typedNode) notFailed(ways []string) (c conditions) {
	for _, way := range ways {
		if way != flow.ErrorPort {
			c = append(c, []choice{{n.ID, way}})
		}
	}
	return c
}

// always reports whether conditions are met regardless of the ways that nodes take.
func (t *typer) always(c conditions) bool {
	if t.steps--; t.steps < 0 || c.never() {
		return false
	}
	var at *choice
	for _, a := range c {
		if len(a) == 0 {
			return true
		}
		if n := t.nodes[a[0].node]; n != nil { // of unknowns, the other way is always possible
			at = &a[0]
		}
	}
	if at == nil {
		return false
	}
	for _, way := range t.nodes[at.node].ways() {
		var rest conditions
		for _, a := range c {
			i := slices.IndexFunc(a, func(ch choice) bool { return ch.node == at.node })
			switch {
			case i < 0:
				rest = append(rest, a)
			case a[i].way == way:
				rest = append(rest, slices.Delete(slices.Clone(a), i, i+1))
			}
		}
		if !t.always(rest) {
			return false
		}
	}
	return true
}
