package automation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/documents"
	"sluice/flow"
	"sluice/flow/items"
	"sluice/flow/sorting"
	"sluice/flow/wording"
	"sluice/handlers/console/advice"
	"sluice/handlers/web"
	"sluice/nodes/batches"
	view "sluice/views/automation"
	"sluice/views/components"
	"sluice/views/layout"
)

// Sizes of pages of batches.
const (
	pageBatches     = 50
	sampleRows      = 5
	shownFirst      = 5   // rows of a table before it starts
	shownResults    = 50  // rows of a batch
	groupedFailures = 500 // that are grouped by code
	shownCell       = 120 // characters
	countTime       = 2 * time.Second
)

// batchRoutes returns the routes of batches. Their acts are requests to the API.
func (s *Server) batchRoutes() []route {
	const list = "/flows/:flow/batches"
	const one = list + "/:run"
	change := func(body string) func(*call) error {
		return onBatch(func(c *call, f *flow.Flow, run *flow.Run) error { return changeBatch(c, f, run, body) })
	}
	return []route{
		{http.MethodGet, list, web.Viewer, web.OnFlow(listBatches)},
		{http.MethodPost, list, web.Editor, web.Posted(web.OnFlow(startBatch))},
		{http.MethodPost, list + "/file", web.Editor, web.OnFlow(uploadTable)},
		{http.MethodGet, list + "/new", web.Editor, web.OnFlow(newBatch)},
		{http.MethodGet, one, web.Viewer, onBatch(showBatch)},
		{http.MethodGet, one + "/results", web.Viewer, onBatch(downloadResults)},
		{http.MethodPost, one + "/pause", web.Editor, change(`{"paused": true}`)},
		{http.MethodPost, one + "/resume", web.Editor, change(`{"paused": false}`)},
		{http.MethodPost, one + "/concurrency", web.Editor, web.Posted(onBatch(setConcurrency))},
		{http.MethodPost, one + "/cancel", web.Editor, onBatch(cancelBatch)},
		{http.MethodPost, one + "/retry", web.Editor, onBatch(retryBatch)},
		{http.MethodPost, one + "/all", web.Editor, onBatch(startAllRows)},
	}
}

// onBatch wraps a handler that needs the flow and the batch of the path.
func onBatch(handle func(*call, *flow.Flow, *flow.Run) error) func(*call) error {
	return web.OnFlow(func(c *call, f *flow.Flow) error {
		run, err := c.s.Store.FindRun(c.Ctx(), f.WorkspaceID, f.ID, flow.RunID(c.Param("run")))
		if err != nil {
			return err
		}
		if run.Trigger != flow.TriggerBatch {
			return web.ErrNotFound
		}
		return handle(c, f, run)
	})
}

// request returns a request to the API for the signed-in person, and the key with which it is served.
func (c *call) request(method, path string, body []byte) (*flow.Key, *http.Request) {
	r, err := http.NewRequestWithContext(c.Ctx(), method, c.s.PublicURL+path, bytes.NewReader(body))
	if err != nil {
		panic(fmt.Sprintf("automation: invalid public URL: %v", err)) // it was checked at start
	}
	r.RemoteAddr, r.RequestURI = c.Request().RemoteAddr, r.URL.RequestURI()
	if len(body) > 0 {
		r.Header.Set("Content-Type", "application/json")
	}
	return &flow.Key{WorkspaceID: c.WorkspaceID(), Name: c.Member.Name, UserID: c.Member.UserID, Scopes: []flow.Scope{flow.ScopeRun, flow.ScopeRead, flow.ScopeEdit, flow.ScopeManage}}, r
}

// refusal is an error of the API.
type refusal struct {
	status int
	Code   flow.Code
	Detail string
	Errors []struct{ Pointer, Detail string }
}

// ask sends a request to the API and decodes its response. refused is set if the API refused it.
func (c *call) ask(method, path string, body []byte, into any) (refused *refusal, err error) {
	w := web.NewResponseRecorder()
	key, r := c.request(method, path, body)
	c.s.API(key, w, r)
	if w.Status < 400 {
		if into == nil {
			return nil, nil
		}
		return nil, json.Unmarshal(w.Body.Bytes(), into)
	}
	refused = &refusal{status: w.Status}
	if err := json.Unmarshal(w.Body.Bytes(), refused); err != nil {
		return nil, fmt.Errorf("read the response of the API: %w", err)
	}
	if w.Status >= 500 {
		return nil, flow.Errorf(refused.Code, "%s", refused.Detail)
	}
	return refused, nil
}

// listBatches is GET batches.
func listBatches(c *call, f *flow.Flow) error { return batchesPage(c, http.StatusOK, f, "") }

// batchesPage renders the list. problem is what is wrong with an upload.
func batchesPage(c *call, status int, f *flow.Flow, problem string) error {
	page := view.BatchesPage{FlowID: string(f.ID), Flow: f.Name, LiveVersion: f.LiveVersion, MayEdit: c.MayEdit(), Error: problem, Now: c.s.Now(), Pages: components.Pages{Path: view.BatchesPath(string(f.ID))}}
	query := flow.RunFilter{WorkspaceID: f.WorkspaceID, FlowID: f.ID, Trigger: flow.TriggerBatch, Limit: pageBatches + 1}
	if after := c.QueryParam("after"); flow.ValidID(flow.PrefixRun, after) {
		query.BeforeID = after
	}
	runs, err := c.s.Store.ListRuns(c.Ctx(), query)
	if err != nil {
		return err
	}
	if len(runs) > pageBatches {
		runs = runs[:pageBatches]
		page.Pages.After = string(runs[pageBatches-1].ID)
	}
	for i := range runs {
		b, err := c.batchOf(&runs[i])
		if err != nil {
			return err
		}
		page.Batches = append(page.Batches, view.BatchRow{ID: string(runs[i].ID), Name: b.name, State: string(runs[i].State), Sample: b.spec.Sample > 0, Rows: b.counts(), Micros: b.usage().CostNanoUSD.Micros(), StartedAt: runs[i].CreatedAt})
	}
	return c.Render(status, view.Batches(c.Page("Batches of "+f.Name, layout.SectionFlows), page))
}

// batch is a batch with what it does and its rows.
type batch struct {
	run      *flow.Run
	spec     *batches.Spec
	children *flow.Children // nil until it has started
	name     string         // of the table
	file     string
}

// batchOf reads what a batch does.
func (c *call) batchOf(run *flow.Run) (*batch, error) {
	b := &batch{run: run, name: "Table"}
	data, err := c.s.Store.FindDocument(c.Ctx(), run.WorkspaceID, run.DocumentHash)
	if err != nil {
		return nil, err
	}
	if b.spec, err = batches.SpecOf(data); err != nil {
		return nil, err
	}
	list, err := c.s.Store.ListChildren(c.Ctx(), run.WorkspaceID, run.ID)
	if err != nil {
		return nil, err
	}
	if len(list) > 0 {
		b.children = &list[len(list)-1]
	}
	if run.Inputs != nil {
		value, _ := flow.AsMap(run.Inputs.Get(batches.FileInput))
		b.file, _ = value["file"].(string)
	}
	if f, err := c.s.Store.FindFile(c.Ctx(), run.WorkspaceID, b.file); err == nil && f.Name != "" {
		b.name = f.Name
	}
	return b, nil
}

// counts returns the counts of the rows.
func (b *batch) counts() view.BatchCounts {
	if b.children == nil {
		return view.BatchCounts{Total: -1}
	}
	return view.BatchCounts{Total: b.children.Total, Pending: b.children.NotStarted(), Running: b.children.Running, Succeeded: b.children.Succeeded, Failed: b.children.Failed}
}

// usage returns the usage of the batch with its rows.
func (b *batch) usage() flow.Usage {
	if b.children == nil {
		return b.run.Usage
	}
	return b.run.Usage.Add(b.children.Usage)
}

// uploadTable is POST file: it stores the table, and lets the person choose the columns.
func uploadTable(c *call, f *flow.Flow) error {
	var file *flow.File
	_, err := c.ReadForm(web.MaxForm, func(field string, part *multipart.Part) (err error) {
		if field == "file" && file == nil {
			file, err = c.SavePart(f.WorkspaceID, part, c.s.MaxFile)
		}
		return err
	})
	if e, ok := errors.AsType[*flow.Error](err); ok && e.Code != flow.CodeInternal {
		return batchesPage(c, http.StatusUnprocessableEntity, f, e.Message)
	}
	if err != nil {
		return err
	}
	if file == nil {
		return batchesPage(c, http.StatusUnprocessableEntity, f, "Choose a file.")
	}
	return c.Redirect(view.BatchesPath(string(f.ID)) + "/new?file=" + file.ID)
}

// openTable opens the table of a batch. Close the content after the rows.
func (c *call) openTable(ctx context.Context, file string) (*documents.Rows, *flow.File, io.Closer, error) {
	f, content, err := c.s.Store.OpenFile(ctx, c.WorkspaceID(), file)
	if err != nil {
		return nil, nil, nil, err
	}
	rows, err := c.s.Tables.OpenRows(ctx, string(c.WorkspaceID()), f.Name, f.MIME, content)
	if err != nil {
		_ = content.Close() // it was only read
		if wrong, ok := errors.AsType[*documents.Error](err); ok {
			err = flow.Errorf(flow.CodeBatchInvalid, "%s", wrong.Message)
		}
		return nil, nil, nil, err
	}
	return rows, f, content, nil
}

// newBatch is GET new: the page that maps the columns of a table.
func newBatch(c *call, f *flow.Flow) error {
	page, err := c.newBatchPage(f, c.QueryParam("file"))
	if e, ok := errors.AsType[*flow.Error](err); ok && e.Code == flow.CodeBatchInvalid {
		return batchesPage(c, http.StatusUnprocessableEntity, f, e.Message)
	}
	if err != nil {
		return err
	}
	return c.Render(http.StatusOK, view.NewBatch(c.Page("New batch", layout.SectionFlows), *page))
}

// newBatchPage reads the header and the first rows of a table.
func (c *call) newBatchPage(f *flow.Flow, file string) (*view.NewBatchPage, error) {
	rows, stored, content, err := c.openTable(c.Ctx(), file)
	if err != nil {
		return nil, err
	}
	defer content.Close() //nolint:errcheck // it was only read
	defer rows.Close()
	page := &view.NewBatchPage{FlowID: string(f.ID), Flow: f.Name, LiveVersion: f.LiveVersion, File: file, Name: stored.Name, Concurrency: strconv.Itoa(batches.Concurrency), OnError: batches.Keep, OnInvalid: "fail", Errors: components.Errors{}}
	var first []documents.Row
	for len(first) < shownFirst {
		row, err := rows.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if wrong, ok := errors.AsType[*documents.Error](err); ok {
			return nil, flow.Errorf(flow.CodeBatchInvalid, "%s", wrong.Message)
		}
		if err != nil {
			return nil, err
		}
		first = append(first, row)
	}
	if len(first) == 0 {
		return nil, flow.Errorf(flow.CodeBatchInvalid, "The file has no rows.")
	}
	page.Columns = slices.Clone(rows.Columns)
	if page.Columns == nil { // JSON Lines
		page.Columns = first[0].Values.Names()
	}
	for _, row := range first {
		var cells []string
		for _, column := range page.Columns {
			cells = append(cells, cell(row.Values.Get(column)))
		}
		page.First = append(page.First, cells)
	}
	inputs, err := c.inputsOf(f)
	if err != nil {
		return nil, err
	}
	found, _ := batches.Match(inputs, page.Columns, nil)
	options := []components.Option{{Value: "", Label: "Leave out"}}
	for _, column := range page.Columns {
		options = append(options, components.Option{Value: column, Label: column})
	}
	options = append(options, components.Option{Value: view.ColumnExpression, Label: "Expression"})
	for i := range inputs {
		in := &inputs[i]
		page.Inputs = append(page.Inputs, view.ColumnField{Name: in.Name, Type: string(in.Type), Required: in.Required, Column: found[in.Name].Column, Columns: options})
	}
	return page, nil
}

// cell shows a value in a table.
func cell(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return wording.Fit(v, shownCell)
	}
	return wording.Fit(string(flow.EncodeJSON(v)), shownCell)
}

// resultCell shows an output in a table. Numbers are rounded.
func resultCell(v any) view.ResultCell {
	full := cell(v)
	if short := components.Rounded(v); flow.TypeOf(v) == string(flow.TypeNumber) && short != full {
		return view.ResultCell{Text: short, Full: full}
	}
	return view.ResultCell{Text: full}
}

// startBatch is POST batches: it starts the batch, or a sample of its rows.
func startBatch(c *call, f *flow.Flow) error {
	page, err := c.newBatchPage(f, c.FormValue("file"))
	if err != nil {
		return err
	}
	columns := map[string]string{}
	for i := range page.Inputs {
		in := &page.Inputs[i]
		in.Column, in.Text = c.FormValue("column."+in.Name), c.FormValue("text."+in.Name)
		switch in.Column {
		case "":
		case view.ColumnExpression:
			columns[in.Name] = in.Text
		default:
			columns[in.Name] = in.Column
		}
	}
	page.Concurrency, page.OnError, page.OnInvalid, page.MaxUSD = strings.TrimSpace(c.FormValue("concurrency")), c.FormValue("on_error"), c.FormValue("on_invalid"), strings.TrimSpace(c.FormValue("max_usd"))
	concurrency := count(page.Concurrency, "concurrency", page.Errors)
	body := map[string]any{"file": page.File, "columns": columns, "concurrency": max(1, concurrency), "on_error": page.OnError, "on_invalid": page.OnInvalid}
	if page.MaxUSD != "" {
		most, ok := flow.ParseUSD(page.MaxUSD)
		if !ok || most <= 0 {
			page.Errors["max_usd"] = "Enter an amount such as 25 or 0.50."
		}
		body["max_usd"] = json.Number(most.Exact())
	}
	if c.FormValue("act") == "sample" {
		body["sample"] = sampleRows
	}
	if len(page.Errors) == 0 {
		refused, err := c.sendBatch(f, body)
		if refused == nil {
			return err
		}
		showRefusal(page, refused)
	}
	return c.Render(http.StatusUnprocessableEntity, view.NewBatch(c.Page("New batch", layout.SectionFlows), *page))
}

// showRefusal puts the problems of a batch beside its fields, and those of rows into a list.
func showRefusal(page *view.NewBatchPage, refused *refusal) {
	page.Errors[""] = refused.Detail
	for _, p := range refused.Errors {
		name, isColumn := strings.CutPrefix(p.Pointer, "/columns/")
		i := slices.IndexFunc(page.Inputs, func(in view.ColumnField) bool { return isColumn && in.Name == name })
		switch {
		case i >= 0:
			page.Inputs[i].Error = wording.Sentence(p.Detail)
		case p.Pointer == "/concurrency", p.Pointer == "/max_usd":
			page.Errors[p.Pointer[1:]] = wording.Sentence(p.Detail)
		default:
			page.Problems = append(page.Problems, wording.Sentence(p.Detail))
		}
	}
}

// sendBatch starts a batch and redirects to its page, or returns why the API refused it.
func (c *call) sendBatch(f *flow.Flow, body map[string]any) (*refusal, error) {
	var started struct {
		Run struct {
			ID string `json:"run_id"`
		}
	}
	refused, err := c.ask(http.MethodPost, "/v1/flow/"+string(f.ID)+"/batches", flow.EncodeJSON(body), &started)
	if refused != nil || err != nil {
		return refused, err
	}
	return nil, c.Redirect(view.BatchPath(string(f.ID), started.Run.ID))
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

// startAllRows is POST all: it runs the rows that a sample has left out, with those of the sample.
func startAllRows(c *call, f *flow.Flow, run *flow.Run) error {
	b, err := c.batchOf(run)
	if err != nil {
		return err
	}
	columns := map[string]string{}
	for name, source := range b.spec.Inputs {
		columns[name] = source.Column
		if source.Expression != "" {
			columns[name] = source.Expression
		}
	}
	body := map[string]any{"file": b.file, "columns": columns, "concurrency": b.spec.Concurrency, "on_error": b.spec.OnError}
	if b.spec.SkipInvalid {
		body["on_invalid"] = "skip"
	}
	if run.MaxUSD > 0 {
		body["max_usd"] = json.Number(run.MaxUSD.Exact())
	}
	refused, err := c.sendBatch(f, body)
	return c.report(f, run, refused, err)
}

// report shows why the API refused something on the page of the batch.
func (c *call) report(f *flow.Flow, run *flow.Run, refused *refusal, err error) error {
	if refused == nil {
		return err
	}
	text := refused.Detail
	if len(refused.Errors) > 0 {
		text = wording.Sentence(refused.Errors[0].Detail)
	}
	c.Toast(components.ToneBad, text)
	return c.Redirect(view.BatchPath(string(f.ID), string(run.ID)))
}

// changeBatch sends a change of the batch.
func changeBatch(c *call, f *flow.Flow, run *flow.Run, body string) error {
	refused, err := c.ask(http.MethodPatch, "/v1/flow/"+string(f.ID)+"/batches/"+string(run.ID), []byte(body), nil)
	if refused == nil && err == nil {
		err = c.Redirect(view.BatchPath(string(f.ID), string(run.ID)))
	}
	return c.report(f, run, refused, err)
}

// setConcurrency is POST concurrency.
func setConcurrency(c *call, f *flow.Flow, run *flow.Run) error {
	n, _ := strconv.Atoi(strings.TrimSpace(c.FormValue("concurrency")))
	return changeBatch(c, f, run, fmt.Sprintf(`{"concurrency": %d}`, n))
}

// cancelBatch is POST cancel.
func cancelBatch(c *call, f *flow.Flow, run *flow.Run) error {
	refused, err := c.ask(http.MethodPost, "/v1/flow/"+string(f.ID)+"/run/"+string(run.ID)+"/cancel", nil, nil)
	if refused == nil && err == nil {
		err = c.Redirect(view.BatchPath(string(f.ID), string(run.ID)))
	}
	return c.report(f, run, refused, err)
}

// retryBatch is POST retry: a batch that repeats the failed rows.
func retryBatch(c *call, f *flow.Flow, run *flow.Run) error {
	var started struct {
		ID string `json:"run_id"`
	}
	refused, err := c.ask(http.MethodPost, "/v1/flow/"+string(f.ID)+"/run/"+string(run.ID)+"/rerun", []byte("{}"), &started)
	if refused == nil && err == nil {
		err = c.Redirect(view.BatchPath(string(f.ID), started.ID))
	}
	return c.report(f, run, refused, err)
}

// downloadResults is GET results: the response of the API.
func downloadResults(c *call, f *flow.Flow, run *flow.Run) error {
	key, r := c.request(http.MethodGet, "/v1/flow/"+string(f.ID)+"/batches/"+string(run.ID)+"/results?"+c.Request().URL.RawQuery, nil)
	c.s.API(key, c.Response(), r)
	return nil
}
