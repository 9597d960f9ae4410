// Package items describes how far the items of a map are, for the people who watch them:
// states, a few cells that stand for all items, failures by code, and a filter. It does
// not know how items are stored or shown.
package items

import (
	"cmp"
	"slices"
	"time"

	"sluice/flow"
)

// State is what a list of items can be filtered by. Items that cannot start and canceled
// ones count as failed, queued and waiting ones as running once they have a run.
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
	Text  string    // part of the inputs, outputs or error, in any case
	Limit int
}

// Item is an item with its run. Run is nil for an item that has none yet, or could not
// start because of Error.
type Item struct {
	Number int
	State  State
	Run    *flow.Run
	Inputs map[string]any
	Error  *flow.Error
	Reused bool
	Tries  int // most attempts of a step of the run
}

// MaxCells bounds the cells of a Strip.
const MaxCells = 1000

// Cell stands for the items of a step from Size*index on. Failed and Running are the
// first such items, or -1.
type Cell struct {
	Done            int // how many
	Failed, Running int
}

// State returns the worst state of the items that a cell stands for.
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

// CellSize returns how many items a cell stands for, so that there are at most MaxCells.
func CellSize(total int) int { return max(1, (total+MaxCells-1)/MaxCells) }

// Failure is a failed item, for a summary of all failures.
type Failure struct {
	Item  int
	Error *flow.Error
	At    time.Time // zero for an item that could not start
}

// Group is the failures with one code.
type Group struct {
	Code  flow.Code
	Count int
	First Failure
}

// Cause returns the first failure that is not just an item that was canceled because of
// another one; else the first of all, which must exist.
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
	slices.SortStableFunc(groups, func(a, b Group) int {
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
