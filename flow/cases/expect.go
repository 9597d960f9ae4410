package cases

import (
	"slices"

	"sluice/flow"
)

// Expect returns a case that expects these outputs: as its expected values, and in its checks equals. If it checked no value, it gets the
// check expected.
func (c *Case) Expect(outputs *flow.Object) *Case {
	now := *c
	now.Expected = outputs.Clone()
	now.Checks = slices.Clone(c.Checks)
	compares := false
	for i := range now.Checks {
		check := &now.Checks[i]
		if check.Kind == Expected && !check.Watch {
			compares = true
		}
		if v, has := outputs.Lookup(check.Output); has && check.Kind == Equals {
			check.Value, compares = v, true
		}
	}
	if !compares {
		now.Checks = append(now.Checks, Check{Kind: Expected, Value: true})
	}
	return &now
}
