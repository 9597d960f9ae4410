package automation

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"sluice/documents"
	"sluice/flow"
	"sluice/flow/wording"
	"sluice/handlers/web"
	"sluice/nodes/batches"
	view "sluice/views/automation"
	"sluice/views/components"
	"sluice/views/layout"
)

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
