package console

import (
	"strings"

	"sluice/views/components"
)

// ChildStep is a step that runs another flow for each item of a list, such as Map.
type ChildStep struct {
	Path, Name     string
	About          string // how the items are run
	Flow, FlowPath string
	Cost           string

	// NotStarted items have no run, and will not get one if the step has ended.
	Total, Done, Running, Failed, Canceled, NotStarted, Reused int
	Left                                                       string // estimated time left

	Cells  []StripCell
	Size   int // items per cell
	Groups []ItemErrors
	// Some is set if there are more failures than Groups counts.
	Some  bool
	Items []ChildItem
	Link  RunLink // the page with this filter
	// Retry is what a rerun can execute; nil if there is nothing, or the user may not.
	Retry *ItemRetry
}

// StripCell is a cell of the strip of items; Item is the item that it links to.
type StripCell struct {
	State   string
	Item    int
	Current bool
}

// ItemErrors groups the failed items with the same error code; Link lists them.
type ItemErrors struct {
	Count                 int
	Code, Message, Advice string
	Link                  RunLink
}

// ChildItem is one item with its run. Path is empty while it has no run.
type ChildItem struct {
	Number                                           int
	State, Code, Input, Output, Path, Duration, Cost string
	Tries                                            int
	Current                                          bool
	MayRepeat                                        bool    // it failed or was canceled, its content isn't erased, and the viewer may run it again
	Link                                             RunLink // shows its steps
}

// CallerView is the step of another run that started a child run.
type CallerView struct{ Flow, Path, Step, Item string }

// stripStates maps states to CSS classes of cells; items that have not started have none.
var stripStates = map[string]string{"done": "d", "running": "r", "failed": "f", "canceled": "c"}

// class returns the CSS classes of a cell: one letter for its state, and "now" for the
// item whose steps are shown.
func (c StripCell) class() string {
	class := stripStates[c.State]
	if c.Current {
		class += " now"
	}
	return class
}

// cellsInRow returns the number of cells per row. Short lists have wider cells.
func (s *ChildStep) cellsInRow() int {
	for _, n := range []int{25, 50} {
		if len(s.Cells) <= n {
			return n
		}
	}
	return 100
}

// scale returns the item numbers at which the rows begin; nil if there is a single row.
func (s *ChildStep) scale() (list []string) {
	for at := 0; at < len(s.Cells) && len(s.Cells) > 100; at += 100 {
		list = append(list, components.Count(at*s.Size))
	}
	return list
}

// counts returns the numbers of items by state in the order of the page. Those that are 0 say little,
// except for the done ones.
func (s *ChildStep) counts() []stateFilter {
	return []stateFilter{
		{state: "done", label: "Done", count: s.Done}, {state: "failed", label: "Failed", count: s.Failed}, {state: "running", label: "Running", count: s.Running},
		{state: "canceled", label: "Canceled", count: s.Canceled}, {state: "waiting", label: "Not started", count: s.NotStarted},
	}
}

// label describes the strip for screen readers.
func (s *ChildStep) label() string {
	var parts []string
	for _, n := range s.counts() {
		if n.count > 0 {
			parts = append(parts, components.Count(n.count)+" "+strings.ToLower(n.label))
		}
	}
	return strings.Join(parts, ", ")
}

// ended returns the number of items that have ended, successfully or not.
func (s *ChildStep) ended() int { return s.Done + s.Failed + s.Canceled }

// stateFilter is a button that filters the items by state.
type stateFilter struct {
	state, label string
	count        int
	link         RunLink
	current      bool
}

// stateFilters returns the filters above the list of items, each with the number of items that
// it would show. A filter for an error code is not among them, so none is current then.
func (s *ChildStep) stateFilters() (list []stateFilter) {
	for _, p := range append([]stateFilter{{label: "All", count: s.Total}}, s.counts()...) {
		if p.count == 0 && p.state != "" && p.state != s.Link.State {
			continue
		}
		p.link, p.current = s.Link.with(p.state, ""), s.Link.State == p.state && s.Link.Code == ""
		list = append(list, p)
	}
	return list
}

// listed says which items the table shows and in what order.
func (s *ChildStep) listed() string {
	switch {
	case len(s.Items) == 0 && s.Link.State == "waiting" && s.Link.Text == "":
		return "These items were not started. Their values are in the input of the step."
	case len(s.Items) == 0 && s.Total > 0:
		return "No items match"
	case s.Link.State == "" && s.Link.Text == "" && s.Total > len(s.Items):
		return "Failed and running first · " + components.Count(len(s.Items)) + " of " + components.Count(s.Total) + " shown"
	}
	return components.Quantity(len(s.Items), "item") + " shown"
}

// ItemsShown is the number of items listed at first; each click on "More" adds ItemsMore.
const (
	ItemsShown = 20
	ItemsMore  = 100
)

// more returns the link that lists more items; ok is false if all are listed.
func (s *ChildStep) more() (l RunLink, ok bool) {
	shown := max(s.Link.Show, ItemsShown)
	l = s.Link
	l.Show = shown + ItemsMore
	return l, len(s.Items) == shown && s.Total > shown
}

// about is the number of attempts of an item and what it cost.
func (i ChildItem) about() string {
	if i.Tries == 0 {
		return ""
	}
	return components.Quantity(i.Tries, "attempt") + ", " + i.Cost
}
