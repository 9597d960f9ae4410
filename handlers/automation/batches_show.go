package automation

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/items"
	"sluice/flow/sorting"
	"sluice/flow/wording"
	"sluice/handlers/console/advice"
	view "sluice/views/automation"
	"sluice/views/components"
	"sluice/views/layout"
)

// resultCell shows an output in a table. Numbers are rounded.
func resultCell(v any) view.ResultCell {
	full := cell(v)
	if short := components.Rounded(v); flow.TypeOf(v) == string(flow.TypeNumber) && short != full {
		return view.ResultCell{Text: short, Full: full}
	}
	return view.ResultCell{Text: full}
}

// showBatch is GET batch: its page or, for the script, the part of it that changes.
func showBatch(c *call, f *flow.Flow, run *flow.Run) error {
	page, err := c.batchPage(f, run)
	if err != nil {
		return err
	}
	if c.QueryParam("part") == "body" {
		return c.Render(http.StatusOK, view.BatchBody(*page))
	}
	return c.Render(http.StatusOK, view.Batch(c.Page(page.Name, layout.SectionFlows), *page))
}

// batchPage fills in the page of a batch.
func (c *call) batchPage(f *flow.Flow, run *flow.Run) (*view.BatchPage, error) {
	b, err := c.batchOf(run)
	if err != nil {
		return nil, err
	}
	page := &view.BatchPage{
		FlowID: string(f.ID), Flow: f.Name, LiveVersion: f.LiveVersion, ID: string(run.ID), Name: b.name, State: string(run.State), Sample: b.spec.Sample, Version: b.spec.Version,
		Live: !run.State.Ended(), MayRun: c.MayEdit(), StartedAt: run.CreatedAt, Concurrency: b.spec.Concurrency, OnError: b.spec.OnError, Rows: b.counts(), Micros: b.usage().CostNanoUSD.Micros(),
		Filter: c.rowFilter(), MaxMicros: run.MaxUSD.Micros(), Now: c.s.Now(), Took: c.s.Now().Sub(run.CreatedAt),
	}
	if run.Error != nil {
		page.Error = advice.Plain(run.Error, "")
	}
	if !page.Live {
		page.Took = run.EndedAt.Sub(run.CreatedAt)
	}
	if page.StartedBy, err = c.startedBy(run); err != nil {
		return nil, err
	}
	if b.children == nil {
		return page, nil
	}
	page.Paused, page.Concurrency = b.children.Paused, b.children.Concurrency
	if done := int64(page.Rows.Succeeded + page.Rows.Failed); done > 0 {
		page.Average = page.Micros / done
		if page.Live && !page.Paused {
			page.Left = time.Duration(int64(page.Took) / done * int64(page.Rows.Pending+page.Rows.Running))
		}
	}
	if run.State == flow.RunWaiting && !page.Paused && !b.children.Decided() {
		if err := c.fillBudget(run, page); err != nil {
			return nil, err
		}
	}
	if err := c.fillCells(b, page); err != nil {
		return nil, err
	}
	if err := c.fillFailures(b, page); err != nil {
		return nil, err
	}
	if err := c.fillResults(b, page); err != nil {
		return nil, err
	}
	if b.spec.Sample > 0 && run.State == flow.RunSucceeded {
		page.Estimate = c.estimate(b, page)
	}
	return page, nil
}

// startedBy names who started a batch.
func (c *call) startedBy(run *flow.Run) (string, error) {
	switch {
	case run.UserID != "":
		members, err := c.s.Store.ListMembers(c.Ctx(), run.WorkspaceID)
		for i := range members {
			if members[i].UserID == run.UserID {
				return members[i].Name, err
			}
		}
		return "A former member", err
	case run.KeyID != "":
		k, err := c.s.Store.FindKey(c.Ctx(), run.WorkspaceID, run.KeyID)
		if flow.IsNotFound(err) {
			return "A deleted key", nil
		}
		if err != nil {
			return "", err
		}
		return "Key “" + k.Name + "”", nil
	}
	return "The command line", nil
}

// fillFailures groups the failures by code.
func (c *call) fillFailures(b *batch, page *view.BatchPage) error {
	failures, err := c.s.Store.ListFailures(c.Ctx(), b.children.Caller, groupedFailures)
	if err != nil {
		return err
	}
	for _, g := range items.GroupByCode(failures) {
		row := view.FailureRow{Count: g.Count, Code: string(g.Code)}
		if e := g.First.Error; e != nil {
			row.Text, row.Advice = wording.Fit(advice.Plain(e, ""), 300), advice.For(e)
		}
		page.Failures = append(page.Failures, row)
	}
	return nil
}

// rowFilter reads which rows the page lists.
func (c *call) rowFilter() view.BatchFilter {
	f := view.BatchFilter{Code: wording.Fit(c.QueryParam("code"), 60), Text: wording.Fit(strings.TrimSpace(c.QueryParam("q")), 200), Show: view.RowsShown}
	if state := items.State(c.QueryParam("state")); slices.Contains([]items.State{items.Done, items.Running, items.Failed, items.Canceled, items.Waiting}, state) {
		f.State = string(state)
	}
	if n, err := strconv.Atoi(c.QueryParam("show")); err == nil {
		f.Show = min(max(n, view.RowsShown), view.MaxRowsShown)
	}
	return f
}

// fillBudget says which daily budget rows wait for.
func (c *call) fillBudget(run *flow.Run, page *view.BatchPage) error {
	budget, err := c.s.Store.UsedUpBudget(c.Ctx(), run)
	if err != nil || budget == nil {
		return err
	}
	page.Left = 0
	page.Budget = &view.BatchBudget{Amount: components.Quantity(int(budget.Limit), "run"), ResetsAt: flow.NextDay(c.s.Now()), Href: components.FlowPath(string(run.FlowID)) + "/settings"}
	if budget.Unit == flow.BudgetUSD {
		page.Budget.Micros = flow.NanoUSD(budget.Limit).Micros()
		page.Budget.Amount = components.Money(page.Budget.Micros)
	}
	if budget.KeyID != "" {
		page.Budget.Href = "/keys"
	}
	return nil
}

// fillCells fills in the state of each group of rows.
func (c *call) fillCells(b *batch, page *view.BatchPage) error {
	total := max(0, b.children.Total)
	page.CellRows = items.CellSize(total)
	cells, err := c.s.Store.Strip(c.Ctx(), b.children.Caller, page.CellRows)
	if err != nil {
		return err
	}
	page.Canceled = items.Count(b.children, cells).Canceled
	for at := 0; at*page.CellRows < total; at++ {
		state := items.Waiting
		if at < len(cells) {
			state = cells[at].State()
		}
		page.Cells = append(page.Cells, string(state))
	}
	return nil
}

// fillResults fills in the rows that match the filter, failed and running ones first.
func (c *call) fillResults(b *batch, page *view.BatchPage) error {
	page.Columns = sorting.Keys(b.spec.Inputs)
	f := page.Filter
	list, err := c.s.Store.ListItems(c.Ctx(), b.children.Caller, items.Filter{State: items.State(f.State), Code: flow.Code(f.Code), Text: f.Text, Limit: f.Show})
	if err != nil {
		return err
	}
	for i := range list {
		if run := list[i].Run; run != nil && run.Outputs != nil {
			page.Outputs = run.Outputs.Names()
			break
		}
	}
	for i := range list {
		page.Results = append(page.Results, resultRow(&list[i], page))
	}
	return nil
}

// resultRow returns a row of the table of results.
func resultRow(item *items.Item, page *view.BatchPage) view.ResultRow {
	row := view.ResultRow{Number: item.Number + 1, State: string(flow.StepPending), Tries: item.Tries}
	var outputs *flow.Object
	if run := item.Run; run != nil {
		row.State, row.RunID, row.Micros, outputs = string(run.State), string(run.ID), run.Usage.CostNanoUSD.Micros(), run.Outputs
		if !run.StartedAt.IsZero() && !run.EndedAt.IsZero() {
			row.Took = run.EndedAt.Sub(run.StartedAt)
		}
	} else if item.State == items.Failed {
		row.State = string(flow.RunFailed)
	}
	for _, name := range page.Columns {
		row.Inputs = append(row.Inputs, cell(item.Inputs.Get(name)))
	}
	for _, name := range page.Outputs {
		row.Outputs = append(row.Outputs, resultCell(outputs.Get(name)))
	}
	if item.Error != nil {
		row.Code = string(item.Error.Code)
	}
	return row
}

// estimate returns what all rows of the table of a sample would take. It counts them for at most countTime.
func (c *call) estimate(b *batch, page *view.BatchPage) *view.BatchEstimate {
	done := page.Rows.Succeeded + page.Rows.Failed
	ctx, cancel := context.WithTimeout(c.Ctx(), countTime)
	defer cancel()
	rows, _, content, err := c.openTable(ctx, b.file)
	if err != nil || done == 0 {
		return nil // the table was deleted
	}
	defer content.Close() //nolint:errcheck // it was only read
	defer rows.Close()
	e := &view.BatchEstimate{}
	for e.Rows < flow.MaxChildItems && !e.More {
		_, err := rows.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || ctx.Err() != nil {
			e.More = true
			break
		}
		e.Rows++
	}
	e.Micros = page.Micros / int64(done) * int64(e.Rows)
	// the rows of a sample run at the same time, as many as those of the batch
	rounds := (e.Rows + page.Concurrency - 1) / max(1, page.Concurrency)
	e.Took = page.Took / time.Duration((done+page.Concurrency-1)/max(1, page.Concurrency)) * time.Duration(rounds)
	return e
}
