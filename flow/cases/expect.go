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

// erasedNote is for people who look at a report with an erased case.
const erasedNote = "The run that this case was made from was erased."

// Erase removes what the cases in a version have of runs. Their IDs stay, by which reports name them. It reports whether there are any.
func (f *File) Erase(runs func(flow.RunID) bool) (erased bool) {
	for i := range f.Cases {
		if c := &f.Cases[i]; c.FromRun != "" && runs(c.FromRun) {
			f.Cases[i] = Case{ID: c.ID, FromRun: c.FromRun, Tags: c.Tags, Repeat: c.Repeat, Pass: c.Pass, Notes: erasedNote}
			erased = true
		}
	}
	return erased
}
