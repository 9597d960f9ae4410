package console

import (
	"strconv"

	"sluice/views/components"
)

// ChildStep is a step that runs another flow for each item of a list.
type ChildStep struct {
	Path, Name, Icon, Group string
	About                   string // how it runs the items
	Flow, FlowPath, Cost    string

	Total, Done, Running, Failed, Waiting, Reused int
	Left                                          string // how long it takes yet, roughly

	Cells  []StripCell
	Size   int // items that a cell stands for
	Groups []ItemErrors
	// Some says that there are more failures than those that were counted in Groups.
	Some     bool
	Items    []ChildItem
	Link     RunLink // the page with this filter
	MayRetry bool
}

// StripCell is a cell of the strip of items; Item is the one that it leads to.
type StripCell struct {
	State   string
	Item    int
	Current bool
}

// ItemErrors is the failed items with one code; Link lists them.
type ItemErrors struct {
	Count                 int
	Code, Message, Advice string
	Link                  RunLink
}

// ChildItem is one item with its run. Path is empty while it has no run.
type ChildItem struct {
	Number                                       int
	State, Code, Input, Output, Path, Took, Cost string
	Tries                                        int
	Current                                      bool
	MayRepeat                                    bool    // it failed or was canceled, its content is not erased, and the viewer may rerun it separately
	Link                                         RunLink // shows its steps
}

// CallerView is the step that started a child run.
type CallerView struct{ Flow, Path, Step, Item string }

// stripStates are the classes of cells by state; a cell without one waits.
var stripStates = map[string]string{"done": "d", "running": "r", "failed": "f"}

// class returns the CSS classes of a cell: one letter for its state, and "now" for the
// item whose steps are shown.
func (c StripCell) class() string {
	class := stripStates[c.State]
	if c.Current {
		class += " now"
	}
	return class
}

// cellsInRow is how many cells are in a row; short lists have wider ones.
func (s *ChildStep) cellsInRow() int {
	for _, n := range []int{25, 50} {
		if len(s.Cells) <= n {
			return n
		}
	}
	return 100
}

// scale are the numbers of the items that rows begin with, if there are several rows.
func (s *ChildStep) scale() (list []string) {
	for at := 0; at < len(s.Cells) && len(s.Cells) > 100; at += 100 {
		list = append(list, components.Count(at*s.Size))
	}
	return list
}

// label describes the strip for those who do not see it.
func (s *ChildStep) label() string {
	return components.Count(s.Done) + " done, " + components.Count(s.Running) + " running, " + components.Count(s.Failed) + " failed, " + components.Count(s.Waiting) + " waiting"
}

// retry is what a rerun of the step starts: the others are taken over.
func (s *ChildStep) retry() string {
	if s.Waiting > 0 {
		return "Retry " + components.Count(s.Failed+s.Waiting) + " unfinished"
	}
	return "Retry " + components.Count(s.Failed) + " failed"
}

// ended returns the number of items that have ended, successfully or not.
func (s *ChildStep) ended() int { return s.Done + s.Failed }

// pick is a button that filters by state.
type pick struct {
	state, label string
	count        int
	link         RunLink
	current      bool
}

// picks returns the filters above the list of items, each with the number of items that
// it would show. A filter for an error code is not among them, so none is current then.
func (s *ChildStep) picks() (list []pick) {
	for _, p := range []pick{{"", "All", s.Total, RunLink{}, false}, {"done", "Done", s.Done, RunLink{}, false}, {"running", "Running", s.Running, RunLink{}, false},
		{"failed", "Failed", s.Failed, RunLink{}, false}, {"waiting", "Waiting", s.Waiting, RunLink{}, false}} {
		p.link, p.current = s.Link.with(p.state, ""), s.Link.State == p.state && s.Link.Code == ""
		list = append(list, p)
	}
	return list
}

// listed says which items the table shows.
func (s *ChildStep) listed() string {
	switch {
	case len(s.Items) == 0 && s.Total > 0:
		return "No items match"
	case s.Link.State == "" && s.Link.Text == "" && s.Total > len(s.Items):
		return "Failed and running first · " + components.Count(len(s.Items)) + " of " + components.Count(s.Total) + " shown"
	}
	return components.Quantity(len(s.Items), "item") + " shown"
}

// ItemsShown is how many items a page lists at first, ItemsMore how many each click adds.
const (
	ItemsShown = 20
	ItemsMore  = 100
)

// more is the page with more items, if there may be some.
func (s *ChildStep) more() (l RunLink, ok bool) {
	shown := max(s.Link.Show, ItemsShown)
	l = s.Link
	l.Show = shown + ItemsMore
	return l, len(s.Items) == shown && s.Total > shown
}

// tries returns the number of attempts, or a dash for an item that has not started.
func (i ChildItem) tries() string {
	if i.Tries == 0 {
		return "–"
	}
	return strconv.Itoa(i.Tries)
}
