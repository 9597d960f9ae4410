// Package items describes the progress of a map's items for the page that shows it:
// states, a bounded number of cells that summarize all items, failures by code, and a
// filter. It does not depend on how items are stored or shown.
package items

import (
	"cmp"
	"slices"
	"time"

	"sluice/flow"
	"sluice/flow/sorting"
)

// State is the state of an item, by which lists can be filtered. Items that cannot start
// count as failed. An item with a run that has not ended counts as
// running, even if the run is queued or waiting.
type State string

// The states of items.
const (
	Done     State = "done"
	Running  State = "running"
	Failed   State = "failed"
	Canceled State = "canceled"
	Waiting  State = "waiting" // has no run yet
)

// Filter chooses items of a step. The zero value of a field means no restriction.
type Filter struct {
	State State
	Code  flow.Code // of failed items
	Text  string    // part of the inputs, outputs or error, ignoring case
	Limit int
}

// Item is an item with its run. Run is nil if the item has no run yet, or if it could not
// start because of Error.
type Item struct {
	Number int
	State  State
	Run    *flow.Run
	Inputs *flow.Object
	Error  *flow.Error
	Reused bool
	Tries  int // attempts of the step with the most attempts
}

// MaxCells bounds the number of cells for one step.
const MaxCells = 1000

// Cell summarizes CellSize consecutive items of a step.
type Cell struct {
	Done, Stopped             int // numbers of items; Stopped were canceled
	Failed, Canceled, Running int // index of the first such item, or -1
}

// State returns the most important state of the cell's items: failed, then running, then
// canceled, then done.
func (c Cell) State() State {
	switch {
	case c.Failed >= 0:
		return Failed
	case c.Running >= 0:
		return Running
	case c.Canceled >= 0:
		return Canceled
	case c.Done > 0:
		return Done
	}
	return Waiting
}

// CellSize returns the number of items per cell, so that there are at most MaxCells cells.
func CellSize(total int) int { return max(1, (total+MaxCells-1)/MaxCells) }

// Counts are the numbers of items of a step by state. Running items have a run that has not ended,
// and NotStarted ones have none.
type Counts struct{ Done, Failed, Running, Canceled, NotStarted int }

// Count counts the items of a step. The step itself counts canceled items as failed; the cells tell
// them apart.
func Count(s *flow.Children, cells []Cell) Counts {
	n := Counts{Done: s.Succeeded, Running: s.Running, NotStarted: max(0, s.Total-s.Succeeded-s.Failed-s.Running)}
	for _, cell := range cells {
		n.Canceled += cell.Stopped
	}
	n.Canceled = min(n.Canceled, s.Failed) // the cells may be newer than the step
	n.Failed = s.Failed - n.Canceled
	return n
}

// Failure is a failed item.
type Failure struct {
	Item  int
	Error *flow.Error
	At    time.Time // zero for an item that could not start
}

// Group holds the failures with the same code.
type Group struct {
	Code  flow.Code
	Count int
	First Failure
}

// GroupByCode groups failures, the most frequent code first.
func GroupByCode(failures []Failure) []Group {
	var groups []Group
	for _, f := range failures {
		code := flow.CodeChildFailed
		if f.Error != nil {
			code = f.Error.Code
		}
		i := slices.IndexFunc(groups, func(g Group) bool { return g.Code == code })
		if i < 0 {
			i, groups = len(groups), append(groups, Group{Code: code, First: f})
		}
		groups[i].Count++
	}
	sorting.By(groups, func(a, b Group) int { return cmp.Compare(b.Count, a.Count) })
	return groups
}
