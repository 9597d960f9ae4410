package agents

import (
	"bytes"
	"maps"

	"sluice/flow"
	"sluice/flow/value"
)

// sources are what the results of an agent's calls quote, by the number that its answer cites.
type sources struct {
	numbers *numbers
	list    *flow.Object
	// clashes are numbers for which two results have different sources. An answer that cites one may mean either, so it has none.
	clashes map[string]bool
}

func newSources() *sources {
	return &sources{numbers: &numbers{given: map[string]int{}}, list: value.NewObject(), clashes: map[string]bool{}}
}

// add notes the sources of an ended call.
func (s *sources) add(c *agentCall) {
	if c.numbers != nil {
		s.numbers = c.numbers
	}
	if c.cited == nil {
		return
	}
	for number, source := range c.cited.All() {
		if s.list.Has(number) && !bytes.Equal(flow.EncodeJSON(s.list.Get(number)), flow.EncodeJSON(source)) {
			s.clashes[number] = true
		}
		s.list.Set(number, source)
	}
}

// output returns the sources whose numbers are clear.
func (s *sources) output() *flow.Object {
	o := value.NewObject()
	for number, source := range s.list.All() {
		if !s.clashes[number] {
			o.Set(number, source)
		}
	}
	return o
}

// numbers gives calls whose results quote sources a range of numbers of their own, in the order of the calls, so that a restart gives
// the same. An equal call gets the same numbers again: otherwise its result would never be equal, and an agent that is stuck would go on.
type numbers struct {
	used  int            // by all calls so far
	given map[string]int // by call: how many were used before it
}

// next returns a copy, to which the calls of a turn are added each time they are looked at.
func (n *numbers) next() *numbers { return &numbers{n.used, maps.Clone(n.given)} }

// give returns the config of a call with its first number. If none are left, calls share the last ones.
func (n *numbers) give(c *agentCall, config map[string]any) map[string]any {
	use := c.tool.Kind.Tool.Sources
	if use == nil {
		return config
	}
	c.numbers = n
	before, again := n.given[c.key]
	if !again {
		before = n.used
		n.given[c.key] = before
		n.used += fieldNumber(c.tool.Kind, config, use.Most)
	}
	if before == 0 {
		return config
	}
	first := fieldNumber(c.tool.Kind, config, use.First) + before
	config = maps.Clone(config)
	config[use.First] = flow.Number(first)
	config[use.First] = flow.Number(fieldNumber(c.tool.Kind, config, use.First)) // within its bounds
	return config
}

// fieldNumber returns the number that a field has, within its bounds.
func fieldNumber(k *flow.Kind, config map[string]any, name string) int {
	for i := range k.Fields {
		f := &k.Fields[i]
		if f.Name != name {
			continue
		}
		v, ok := flow.Float(config[name])
		if !ok {
			v, _ = flow.Float(f.Default)
		}
		return int(max(*f.Min, min(v, *f.Max)))
	}
	return 0
}
