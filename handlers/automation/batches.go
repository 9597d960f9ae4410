package automation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/wording"
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
