package console

import (
	"strings"

	"sluice/views/components"
)

// ChildStep is a step that runs another flow, once or for each item of a list.
type ChildStep struct {
	Name, Flow, FlowPath                      string
	Total, Succeeded, Failed, Running, Reused int
	Cost                                      string
	Items                                     []ChildItem // some of them, failed ones first
}

// ChildItem is one item with its run. Path is empty if its inputs are wrong.
type ChildItem struct {
	Number                  int
	State, Code, Text, Path string
}

// CallerView is the step that started a child run.
type CallerView struct{ Flow, Path, Step, Item string }

// barPart is a part of the bar that shows how far the items are.
type barPart struct {
	class       string
	from, width int
}

// parts divides the bar, which is 1000 wide.
func (s *ChildStep) parts() (list []barPart) {
	from, done := 0, 0
	for _, p := range []struct {
		class string
		items int
	}{{"ok", s.Succeeded}, {"bad", s.Failed}, {"run", s.Running}} {
		if done += p.items; p.items > 0 && s.Total > 0 {
			to := 1000 * done / s.Total
			list = append(list, barPart{p.class, from, max(to-from, 4)})
			from = to
		}
	}
	return list
}

// summary says how far the items are.
func (s *ChildStep) summary() string {
	text := []string{components.Count(s.Succeeded) + " of " + components.Count(s.Total) + " succeeded"}
	for _, p := range []struct {
		items int
		word  string
	}{{s.Failed, "failed"}, {s.Running, "running"}, {s.Total - s.Succeeded - s.Failed - s.Running, "not started"}, {s.Reused, "reused"}} {
		if p.items > 0 {
			text = append(text, components.Count(p.items)+" "+p.word)
		}
	}
	return strings.Join(append(text, s.Cost), " · ")
}
