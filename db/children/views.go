package children

import (
	"context"
	"fmt"
	"strings"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
	"sluice/flow/items"
)

// Strip returns the cells that show all items of a step, size items each, in order.
// Cells after the last one that has started are omitted.
func (s *Children) Strip(ctx context.Context, step flow.CallingStep, size int) ([]items.Cell, error) {
	runs, err := s.DB.Reads.CountChildRunCells(ctx, gen.CountChildRunCellsParams{
		Size: int64(size), CallerRunID: step.RunID, CallerPath: step.Path, CallerRound: int64(step.Round),
	})
	if err != nil {
		return nil, fmt.Errorf("count the child runs of %s:%s: %w", step.RunID, step.Path, err)
	}
	var cells []items.Cell
	at := func(i int64) *items.Cell {
		for int64(len(cells)) <= i {
			cells = append(cells, items.Cell{Failed: -1, Canceled: -1, Running: -1})
		}
		return &cells[i]
	}
	for _, r := range runs {
		c := at(r.Cell)
		c.Done, c.Stopped, c.Failed, c.Canceled, c.Running = int(r.Done), int(r.CanceledCount), int(r.Failed), int(r.Canceled), int(r.Running)
	}
	others, err := s.DB.Reads.CountChildItemCells(ctx, gen.CountChildItemCellsParams{Size: int64(size), RunID: step.RunID, Path: step.Path, Round: int64(step.Round)})
	if err != nil {
		return nil, fmt.Errorf("count the items of %s:%s: %w", step.RunID, step.Path, err)
	}
	for _, r := range others {
		c := at(r.Cell)
		c.Done += int(r.Done)
		if r.Failed >= 0 && (c.Failed < 0 || int(r.Failed) < c.Failed) {
			c.Failed = int(r.Failed)
		}
	}
	return cells, nil
}

// ListFailures returns the first failed items of a step: those that have run, then those
// that could not start. Canceled items are not among them.
func (s *Children) ListFailures(ctx context.Context, step flow.CallingStep, limit int) ([]items.Failure, error) {
	runs, err := s.DB.Reads.ListChildRunFailures(ctx, gen.ListChildRunFailuresParams{
		CallerRunID: step.RunID, CallerPath: step.Path, CallerRound: int64(step.Round), MaxRows: int32(limit),
	})
	if err != nil {
		return nil, fmt.Errorf("list the failed child runs of %s:%s: %w", step.RunID, step.Path, err)
	}
	list := make([]items.Failure, 0, len(runs))
	for _, r := range runs {
		f := items.Failure{Item: int(r.CallerItem), At: dbconn.TimeOf(r.EndedAt)}
		if f.Error, err = dbconn.Decode[*flow.Error](r.Error); err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	others, err := s.DB.Reads.ListChildItemFailures(ctx, gen.ListChildItemFailuresParams{
		RunID: step.RunID, Path: step.Path, Round: int64(step.Round), MaxRows: int32(limit - len(list)),
	})
	if err != nil {
		return nil, fmt.Errorf("list the failed items of %s:%s: %w", step.RunID, step.Path, err)
	}
	for _, r := range others {
		f := items.Failure{Item: int(r.Item)}
		if f.Error, err = dbconn.Decode[*flow.Error](r.Error); err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	return list, nil
}

// ListItems returns the items of a step that match a filter. Without a state, failed
// ones come first, then running, canceled, succeeded and waiting ones.
func (s *Children) ListItems(ctx context.Context, step flow.CallingStep, f items.Filter) (list []items.Item, err error) {
	needle := ""
	if f.Text != "" { // as it is stored: in JSON
		text := strings.Trim(string(flow.EncodeJSON(strings.ToLower(f.Text))), `"`)
		needle = "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text) + "%"
	}
	code := ""
	if f.Code != "" {
		code = `%"code":"` + string(f.Code) + `"%`
	}
	states := []items.State{items.Failed, items.Running, items.Canceled, items.Done, items.Waiting}
	if f.State != "" {
		states = []items.State{f.State}
	}
	for _, state := range states {
		if len(list) == f.Limit || f.Code != "" && state != items.Failed {
			continue
		}
		part, err := s.listItems(ctx, step, state, code, needle, f.Limit-len(list))
		if err != nil {
			return nil, err
		}
		list = append(list, part...)
	}
	return list, nil
}

// listItems returns items of one state.
func (s *Children) listItems(ctx context.Context, step flow.CallingStep, state items.State, code, needle string, limit int) (list []items.Item, err error) {
	if state != items.Waiting {
		rows, err := s.DB.Reads.ListShownChildRuns(ctx, gen.ListShownChildRunsParams{
			CallerRunID: step.RunID, CallerPath: step.Path, CallerRound: int64(step.Round), Code: code, Needle: needle, MaxRows: int32(limit),
			Failed: dbconn.BoolInt(state == items.Failed), Running: dbconn.BoolInt(state == items.Running), Canceled: dbconn.BoolInt(state == items.Canceled), Done: dbconn.BoolInt(state == items.Done),
		})
		if err != nil {
			return nil, fmt.Errorf("list the child runs of %s:%s: %w", step.RunID, step.Path, err)
		}
		for i := range rows {
			item, err := itemOf(&rows[i].Run, state)
			if err != nil {
				return nil, err
			}
			item.Number, item.Tries = item.Run.Caller.Item, triesOf(item.Run, int(rows[i].Failures))
			list = append(list, item)
		}
	}
	switch {
	case len(list) == limit:
		return list, nil
	case state == items.Done:
		return s.addReused(ctx, step, needle, list, limit)
	case state == items.Failed, state == items.Waiting:
		return s.addWithoutRun(ctx, step, state, code, needle, list, limit)
	}
	return list, nil
}

// triesOf returns the number of attempts of a run's step with the most failures.
func triesOf(run *flow.Run, failures int) int {
	if run.State == flow.RunFailed {
		return max(failures, 1)
	}
	return failures + 1
}

// itemOf decodes the run of an item for lists. A canceled run gets the error that it lacks.
func itemOf(r *gen.Run, state items.State) (items.Item, error) {
	run, err := core.RunOf(r)
	if err != nil {
		return items.Item{}, dbconn.Unreadable(err, "run", r.ID)
	}
	item := items.Item{State: state, Run: run, Inputs: run.Inputs, Error: run.Error}
	if run.State == flow.RunCanceled && run.Error == nil {
		item.Error = flow.Errorf(flow.CodeRunCanceled, "The run was canceled.")
	}
	return item, nil
}

// addReused appends the items whose result is that of an earlier run.
func (s *Children) addReused(ctx context.Context, step flow.CallingStep, needle string, list []items.Item, limit int) ([]items.Item, error) {
	rows, err := s.DB.Reads.ListReusedChildRuns(ctx, gen.ListReusedChildRunsParams{
		RunID: step.RunID, Path: step.Path, Round: int64(step.Round), Needle: needle, MaxRows: int32(limit - len(list)),
	})
	if err != nil {
		return nil, fmt.Errorf("list the reused items of %s:%s: %w", step.RunID, step.Path, err)
	}
	for i := range rows {
		item, err := itemOf(&rows[i].Run, items.Done)
		if err != nil {
			return nil, err
		}
		item.Number, item.Reused = int(rows[i].Item), true
		list = append(list, item)
	}
	return list, nil
}

// addWithoutRun appends items without a run: those that cannot start or have not started.
func (s *Children) addWithoutRun(ctx context.Context, step flow.CallingStep, state items.State, code, needle string, list []items.Item, limit int) ([]items.Item, error) {
	rows, err := s.DB.Reads.ListShownChildItems(ctx, gen.ListShownChildItemsParams{
		RunID: step.RunID, Path: step.Path, Round: int64(step.Round), Failed: dbconn.BoolInt(state == items.Failed), Code: code, Needle: needle, MaxRows: int32(limit - len(list)),
	})
	if err != nil {
		return nil, fmt.Errorf("list the items of %s:%s: %w", step.RunID, step.Path, err)
	}
	for _, r := range rows {
		item := items.Item{Number: int(r.Item), State: state}
		if item.Inputs, err = dbconn.Decode[*flow.Object](r.Inputs); err == nil {
			item.Error, err = dbconn.Decode[*flow.Error](r.Error)
		}
		if err != nil {
			return nil, fmt.Errorf("item %d of %s:%s: %w", r.Item, step.RunID, step.Path, err)
		}
		list = append(list, item)
	}
	return list, nil
}
