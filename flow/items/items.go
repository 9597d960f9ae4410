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

// State is the state of an item, by which lists can be filtered. Canceled items and items
// that cannot start count as failed. An item with a run that has not ended counts as
// running, even if the run is queued or waiting.
type State string

// The states of items.
const (
	Done    State = "done"
	Running State = "running"
	Failed  State = "failed"
	Waiting State = "waiting" // has no run yet
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
	Done            int // number of items
	Failed, Running int // index of the first such item, or -1
}

// State returns the most important state of the cell's items: failed, then running, then
// done.
func (c Cell) State() State {
	switch {
	case c.Failed >= 0:
		return Failed
	case c.Running >= 0:
		return Running
	case c.Done > 0:
		return Done
	}
	return Waiting
}

// CellSize returns the number of items per cell, so that there are at most MaxCells cells.
func CellSize(total int) int { return max(1, (total+MaxCells-1)/MaxCells) }

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

// Cause returns the first failure that is not a cancellation, since items are canceled
// when another one fails. If all were canceled, it returns the first. failures must not be
// empty.
func Cause(failures []Failure) Failure {
	for _, f := range failures {
		if f.Error == nil || f.Error.Code != flow.CodeRunCanceled {
			return f
		}
	}
	return failures[0]
}

// GroupByCode groups failures, the most frequent code first and canceled items last.
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
	sorting.By(groups, func(a, b Group) int {
		switch flow.CodeRunCanceled {
		case a.Code:
			return 1
		case b.Code:
			return -1
		}
		return cmp.Compare(b.Count, a.Count)
	})
	return groups
}
