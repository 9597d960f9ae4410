package db_test

import (
	"fmt"
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/items"
	"sluice/flow/value"
)

// TestChildren_views shows the items of a step: cells, failures by code, and a filtered list.
func TestChildren_views(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		_, step := w.children(7, true)
		w.must(w.AddChildItems(w.ctx, step, []flow.ChildItem{{Item: 7, Inputs: value.FromMap(map[string]any{"n": `an "odd" 100%`}), Error: flow.Errorf(flow.CodeInputInvalid, "n must be a number.")}}))
		w.clock.move(time.Minute)
		w.endChild(step, 1, flow.RunFailed)
		w.endChild(step, 0, flow.RunSucceeded)
		w.endChild(step, 2, flow.RunCanceled) // 3 and 4 run now; 5 and 6 wait
		cells, err := w.Strip(w.ctx, step, 1)
		w.must(err)
		var states []items.State
		for _, c := range cells {
			states = append(states, c.State())
		}
		wantEqual(t, "cells", fmt.Sprint(states), "[done failed canceled running running waiting waiting failed]")
		cells, err = w.Strip(w.ctx, step, 4)
		w.must(err)
		found, err := w.FindChildren(w.ctx, step)
		w.must(err)
		found.Total++ // for item 7, which was added later
		found.Failed++
		wantEqual(t, "counts", items.Count(found, cells), items.Counts{Done: 1, Failed: 2, Running: 2, Canceled: 1, NotStarted: 2})
		wantEqual(t, "cells of four", fmt.Sprint(cells), "[{1 1 1 2 3} {0 0 7 -1 4}]")

		failures, err := w.ListFailures(w.ctx, step, 10)
		w.must(err)
		wantEqual(t, "failures", len(failures), 2)
		wantEqual(t, "the end of the first", failures[0].At, w.clock.Now())
		groups := items.GroupByCode(failures)
		wantEqual(t, "groups", len(groups), 2)
		wantEqual(t, "the item that could not start", groups[1].First.Item, 7)

		list := func(f items.Filter) string {
			if f.Limit == 0 {
				f.Limit = 10
			}
			found, err := w.ListItems(w.ctx, step, f)
			w.must(err)
			text := ""
			for _, item := range found {
				text += fmt.Sprintf("%d:%s ", item.Number, item.State)
			}
			return text
		}
		wantEqual(t, "all", list(items.Filter{}), "1:failed 7:failed 3:running 4:running 2:canceled 0:done 5:waiting 6:waiting ")
		wantEqual(t, "a page", list(items.Filter{Limit: 4}), "1:failed 7:failed 3:running 4:running ")
		wantEqual(t, "canceled", list(items.Filter{State: items.Canceled}), "2:canceled ")
		wantEqual(t, "waiting", list(items.Filter{State: items.Waiting}), "5:waiting 6:waiting ")
		wantEqual(t, "of a code", list(items.Filter{Code: flow.CodeInputInvalid}), "7:failed ")
		wantEqual(t, "with a text", list(items.Filter{Text: `AN "odd" 100%`}), "7:failed ")
		wantEqual(t, "with a text of an output", list(items.Filter{Text: `"item":0`}), "") // not a part of a value
		wantEqual(t, "with a wildcard", list(items.Filter{Text: "n_m"}), "")
	})
}
