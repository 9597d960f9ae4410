package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"sluice/documents"
	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/nodes/batches"
)

// Tables opens files that are tables. Errors that people can fix are *documents.Error.
type Tables interface {
	OpenRows(ctx context.Context, group, name, mime string, content io.ReadSeeker) (*documents.Rows, error)
}

// batchServer serves the routes of batches.
type batchServer struct{ *Server }

// maxBatchBody bounds a request with rows, in bytes.
const maxBatchBody = 32 << 20

// batchRequest is what a batch is started with.
type batchRequest struct {
	file       string // ID
	rows       []any
	columns    map[string]string
	onError    string
	maxFailed  int64
	onInvalid  string
	sample     int64
	concurrent int64
	options    flow.RunOptions
}

// batchBody declares the body.
var batchBody = Body[batchRequest]{Name: "StartBatch", Of: "a batch", Limit: maxBatchBody, Example: map[string]any{"file": "file_01m7z26njgm1r68xj6qyhfyvty", "columns": map[string]any{"text": "Comment"}}, Fields: []Field[batchRequest]{
	Member("file", "The table: the ID of an uploaded file in CSV, TSV, JSON or XLSX.", fileIDType.OrAbsent(), func(b *batchRequest) *string { return &b.file }),
	Member("rows", "The rows instead of a file: objects.", ListType(map[string]any{"type": "object"}, flow.MaxChildItems).OrAbsent(), func(b *batchRequest) *[]any { return &b.rows }),
	Member("columns", "By input: a column, or a CEL expression over row. Default: the columns with the names of the inputs.", columnsType.OrAbsent(), func(b *batchRequest) *map[string]string { return &b.columns }),
	Member("concurrency", "Rows that run at the same time.", wholeType(1, flow.MaxChildConcurrency).OrAbsent().With("default", batches.Concurrency), func(b *batchRequest) *int64 { return &b.concurrent }),
	Member("version", "Of the flow. Default: the live one; another needs the scope manage.", wholeType(1, 1<<53).OrAbsent(), func(b *batchRequest) *int64 { return &b.options.Version }),
	Member("on_error", "Whether a failed row stops the others.", EnumType("invalid", batches.Keep, batches.Stop).OrAbsent().With("default", batches.Keep), func(b *batchRequest) *string { return &b.onError }),
	Member("stop_after", "With keep: the batch stops once more than so many percent of the rows have failed.", wholeType(1, 99).OrAbsent(), func(b *batchRequest) *int64 { return &b.maxFailed }),
	Member("on_invalid", "Whether an invalid row keeps all others from starting, or is skipped and counted as failed.", EnumType("invalid", "fail", "skip").OrAbsent().With("default", "fail"), func(b *batchRequest) *string { return &b.onInvalid }),
	Member("sample", "Runs only the first rows, to see what they give and cost.", wholeType(1, flow.MaxChildItems).OrAbsent(), func(b *batchRequest) *int64 { return &b.sample }),
	Member("max_usd", "What the batch may cost in dollars, with all of its runs. Models need a price. Once it is used up, no further rows start, and the batch fails.", DollarsType, func(b *batchRequest) *flow.NanoUSD { return &b.options.MaxUSD }),
	Member("webhook", "Called when the batch has ended.", webhookType, func(b *batchRequest) **flow.RunWebhook { return &b.options.Webhook }),
	Member("metadata", "Stored with the batch and all of its runs; at most 16 KiB of JSON.", metadataType, func(b *batchRequest) **flow.Object { return &b.options.Metadata }),
}}

// batchChange is a change of a batch that runs.
type batchChange struct {
	concurrency int64
	paused      *bool
}

// batchChangeBody declares the body of a change.
var batchChangeBody = Body[batchChange]{Name: "ChangeBatch", Of: "a batch", Least: 1, Example: map[string]any{"paused": true}, Fields: []Field[batchChange]{
	SetMember("paused", "Whether no further rows start. Those in progress go on.", BoolType, func(b *batchChange, paused bool) { b.paused = &paused }),
	Member("concurrency", "Rows that run at the same time.", wholeType(1, flow.MaxChildConcurrency), func(b *batchChange) *int64 { return &b.concurrency }),
}}

var (
	fileIDType = Type[string]{Schema: TextType.Schema, Wanted: "the ID of a file", As: func(v any) (string, bool) {
		s, _ := v.(string)
		return s, flow.ValidID(flow.PrefixFile, s)
	}}
	columnsType = Type[map[string]string]{Schema: map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "string"}}, Wanted: "an object of texts", As: func(v any) (map[string]string, bool) {
		o, ok := flow.AsMap(v)
		columns := map[string]string{}
		for name, v := range o {
			text, isText := v.(string)
			columns[name], ok = text, ok && isText
		}
		return columns, ok
	}}
)

// wholeType returns the type of whole numbers from least to most.
func wholeType(least, most float64) Type[int64] {
	return Type[int64]{Schema: map[string]any{"type": "integer", "minimum": least, "maximum": most}, Wanted: fmt.Sprintf("a whole number from %.0f to %.0f", least, most),
		As: func(v any) (int64, bool) { return AsWhole(v, least, most) }}
}

// batchRows counts the rows of a batch.
type batchRows struct {
	Total     int `json:"total" doc:"-1 until all rows are read."`
	Pending   int `json:"pending" doc:"Rows that have not started. If the batch was stopped, they do not start."`
	Running   int `json:"running" doc:"Rows that wait for a budget included."`
	Succeeded int `json:"succeeded" doc:"Reused results included."`
	Failed    int `json:"failed" doc:"Canceled and invalid rows included."`
	Reused    int `json:"reused" doc:"Results taken over from the batch that this one repeats."`
}

// batchObject is the JSON of a batch: its run, and what it does.
type batchObject struct {
	Run         runObject                 `json:"run"`
	Paused      bool                      `json:"paused"`
	Concurrency int                       `json:"concurrency"`
	Inputs      map[string]batches.Source `json:"inputs" doc:"By input: the column or the expression over row that it is made of."`
	OnError     string                    `json:"on_error"`
	StopAfter   int                       `json:"stop_after" doc:"Percent; 0 for any number of failed rows."`
	Sample      int                       `json:"sample" doc:"0 for all rows."`
	Columns     []string                  `json:"columns" doc:"Of the table."`
	Rows        batchRows                 `json:"rows"`
	Budget      *budgetObject             `json:"budget" doc:"The daily budget that rows wait for; null otherwise."`
}

// batchList is one page of batches.
type batchList struct {
	Batches    []batchObject `json:"batches"`
	NextCursor *string       `json:"next_cursor" doc:"Pass it as cursor to get the next page; null on the last page."`
}

// errBatchNotFound is returned for a run that is no batch.
var errBatchNotFound = flow.Errorf(flow.CodeNotFound, "There is no such batch.")

// startBatch is POST batches. It checks the header, the columns and the first rows; the run checks the others before
// any row starts.
func (s batchServer) startBatch(c *Call) error {
	f, err := c.FindFlow()
	if err != nil {
		return err
	}
	if !s.Runner.Accepts() {
		return ErrDraining()
	}
	release, err := c.Hold()
	if err != nil {
		return err
	}
	defer release()
	idempotency, err := idempotencyKey(c.Request().Header)
	if err != nil {
		return err
	}
	b := batchRequest{concurrent: batches.Concurrency, onError: batches.Keep}
	if media, _ := contentType(c.Request().Header); media == typeForm {
		f, err := c.receiveFile()
		if err != nil {
			return err
		}
		b.file = f.ID
	} else {
		set, err := batchBody.ReadFrom(c)
		if err != nil {
			return err
		}
		set(&b)
	}
	if (b.file == "") == (b.rows == nil) {
		return Invalid(flow.Problem{Pointer: "/file", Code: "required", Detail: "give either a file or rows"})
	}
	if err := c.mayChoose(b.options); err != nil {
		return err
	}
	spec, inputs, err := c.newSpec(f, &b)
	if err != nil {
		return err
	}
	fingerprint := c.Request().URL.Path + " " + flow.Hash(fmt.Append(flow.EncodeJSON(b.rows), b.file, b.columns, *spec, int64(b.options.MaxUSD)))
	if b.rows != nil {
		if b.file, err = c.saveRows(b.rows); err != nil {
			return err
		}
	}
	if err := c.checkTable(spec, inputs, &b); err != nil {
		return err
	}
	start := c.newStart(startRequest{idempotency: idempotency, fingerprint: fingerprint})
	start.Trigger, start.Given, start.Options = flow.TriggerBatch, &flow.Object{}, b.options
	start.Given.Set(batches.FileInput, map[string]any{"file": b.file})
	start.Options.Version, start.Options.Timeout = 0, maxRunTimeout
	start.Work = &flow.WorkStart{Document: spec.Document(f.Name), Version: spec.Version}
	started, err := s.Runner.StartRun(c.Request().Context(), start)
	if err != nil {
		return c.LimitRuns(err)
	}
	if err := c.checkReplay(started); err != nil {
		return err
	}
	c.Response().Header().Set("Location", batchPath(started.Run))
	return c.writeBatch(http.StatusAccepted, started.Run)
}

// batchPath returns the path of a batch.
func batchPath(r *flow.Run) string {
	return "/v1/flow/" + string(r.FlowID) + "/batches/" + string(r.ID)
}

// newSpec returns what the batch does, without its inputs, and the inputs of the flow.
func (c *Call) newSpec(f *flow.Flow, b *batchRequest) (*batches.Spec, []contract.Input, error) {
	ctx, ws := c.Request().Context(), c.Key.WorkspaceID
	spec := &batches.Spec{Flow: f.ID, Version: f.LiveVersion, Concurrency: int(b.concurrent), OnError: b.onError, MaxFailed: int(b.maxFailed), SkipInvalid: b.onInvalid == "skip", Sample: int(b.sample)}
	for _, k := range append(slices.Clone(c.Key.Makers), *c.Key) {
		if k.Concurrency > 0 {
			spec.Concurrency = min(spec.Concurrency, int(k.Concurrency))
		}
	}
	hash := f.LiveHash
	switch {
	case b.options.Version != 0 && b.options.Version != f.LiveVersion:
		v, err := c.s.Store.FindVersion(ctx, ws, f.ID, b.options.Version)
		if flow.IsNotFound(err) {
			return nil, nil, Invalid(flow.Problem{Pointer: "/version", Code: "unknown", Detail: fmt.Sprintf("this flow has no version %d", b.options.Version)})
		}
		if err != nil {
			return nil, nil, err
		}
		spec.Version, hash = v.Number, v.DocumentHash
	case f.LiveVersion == 0:
		return nil, nil, flow.Errorf(flow.CodeNotPublished, "This flow has no published version. Publish it, then start it again.")
	}
	out, err := c.s.Outlines.Find(ctx, ws, hash)
	if err != nil {
		return nil, nil, err
	}
	return spec, out.Inputs, nil
}

// saveRows stores rows as a file of JSON Lines.
func (c *Call) saveRows(rows []any) (fileID string, err error) {
	var lines bytes.Buffer
	for _, row := range rows {
		lines.Write(flow.EncodeJSON(row))
		lines.WriteByte('\n')
	}
	f, err := c.s.Files.SaveFile(c.Request().Context(), flow.NewFile{
		WorkspaceID: c.Key.WorkspaceID, KeyID: c.Key.ID, Name: "rows.jsonl", MIME: "application/jsonl", Refusable: true,
	}, &lines)
	if err != nil {
		return "", err
	}
	return f.ID, nil
}

// findBatch returns the batch in the path with what it does and, once it has started, its rows.
func (c *Call) findBatch() (*flow.Run, *batches.Spec, *flow.Children, error) {
	run, err := c.findContent()
	if err != nil {
		return nil, nil, nil, err
	}
	spec, children, err := batchServer{c.s}.batchOf(c.Request().Context(), run)
	return run, spec, children, err
}

// batchOf returns what a batch does and, once it has started, its rows.
func (s batchServer) batchOf(ctx context.Context, run *flow.Run) (*batches.Spec, *flow.Children, error) {
	if run.Trigger != flow.TriggerBatch {
		return nil, nil, errBatchNotFound
	}
	data, err := s.Store.FindDocument(ctx, run.WorkspaceID, run.DocumentHash)
	if err != nil {
		return nil, nil, err
	}
	spec, err := batches.SpecOf(data)
	if err != nil {
		return nil, nil, err
	}
	list, err := s.Store.ListChildren(ctx, run.WorkspaceID, run.ID)
	if err != nil || len(list) == 0 {
		return spec, nil, err
	}
	return spec, &list[len(list)-1], nil
}

// newBatchObject returns the JSON of a batch.
func (s batchServer) newBatchObject(ctx context.Context, run *flow.Run) (o batchObject, err error) {
	spec, children, err := s.batchOf(ctx, run)
	if err != nil {
		return o, err
	}
	o = batchObject{Run: s.runObject(run), Concurrency: spec.Concurrency, Inputs: spec.Inputs, OnError: spec.OnError, StopAfter: spec.MaxFailed, Sample: spec.Sample, Columns: spec.Columns, Rows: batchRows{Total: -1}}
	if children != nil {
		o.Paused, o.Concurrency = children.Paused, children.Concurrency
		o.Rows = batchRows{children.Total, children.NotStarted(), children.Running, children.Succeeded, children.Failed, children.Reused}
		o.Run.Cost = costOf(run.Usage.Add(children.Usage))
	}
	if run.State != flow.RunWaiting {
		return o, nil
	}
	waits := flow.WaitsForChildren
	if o.Run.WaitingFor = &waits; children != nil && !children.Paused && !children.Decided() {
		b, err := s.Store.UsedUpBudget(ctx, run)
		if err != nil {
			return o, err
		}
		if o.Budget = newBudgetObject(b, s.Now()); b != nil {
			waits = flow.WaitsForBudget
		}
	}
	return o, nil
}

// writeBatch responds with a batch.
func (c *Call) writeBatch(status int, run *flow.Run) error {
	o, err := batchServer{c.s}.newBatchObject(c.Request().Context(), run)
	if err != nil {
		return err
	}
	return c.WriteJSON(status, o)
}

// showBatch is GET batch.
func (s batchServer) showBatch(c *Call) error {
	run, err := c.findContent()
	if err != nil {
		return err
	}
	return c.writeBatch(http.StatusOK, run)
}

// listBatches is GET batches: those of a flow, newest first.
func (s batchServer) listBatches(c *Call) error {
	if _, err := c.FindFlow(); err != nil {
		return err
	}
	filter, err := c.readRunFilter()
	if err != nil {
		return err
	}
	filter.Trigger = flow.TriggerBatch
	limit := filter.Limit
	filter.Limit++
	runs, err := s.Store.ListRuns(c.Request().Context(), filter)
	if err != nil {
		return err
	}
	list := batchList{Batches: []batchObject{}}
	runs, list.NextCursor = Page(runs, limit, func(r *flow.Run) string { return string(r.ID) })
	for i := range runs {
		o, err := s.newBatchObject(c.Request().Context(), &runs[i])
		if err != nil {
			return err
		}
		list.Batches = append(list.Batches, o)
	}
	return c.WriteJSON(http.StatusOK, list)
}

// changeBatch is PATCH batch: it pauses a batch, lets it continue, or changes its concurrency.
func (s batchServer) changeBatch(c *Call) error {
	run, _, children, err := c.findBatch()
	if err != nil {
		return err
	}
	set, err := batchChangeBody.ReadFrom(c)
	if err != nil {
		return err
	}
	if children == nil || children.Total < 0 || run.State.Ended() {
		return flow.Errorf(flow.CodeInputInvalid, "The batch has ended or has not read its rows yet.")
	}
	change := batchChange{}
	set(&change)
	paused := children.Paused
	if change.paused != nil {
		paused = *change.paused
	}
	for _, k := range append(slices.Clone(c.Key.Makers), *c.Key) {
		if k.Concurrency > 0 && change.concurrency > k.Concurrency {
			change.concurrency = k.Concurrency
		}
	}
	if _, err := s.Store.SetConcurrency(c.Request().Context(), children.Caller, int(change.concurrency), paused); err != nil {
		return err
	}
	return c.writeBatch(http.StatusOK, run)
}

// showBatchResults is GET results: a row of the table with the outputs of its run, in the order of the table.
func (s batchServer) showBatchResults(c *Call) error {
	q := newQuery(c.Request().URL)
	format, _ := q.single("format")
	only, _ := q.single("only")
	raw := q.boolean("raw")
	if !slices.Contains([]string{"", "csv", "jsonl", "xlsx"}, format) {
		q.add("/format", "invalid", "wanted csv, jsonl or xlsx")
	}
	if only != "" && only != "failed" {
		q.add("/only", "invalid", "wanted failed")
	}
	if err := q.err(); err != nil {
		return err
	}
	run, spec, children, err := c.findBatch()
	if err != nil {
		return err
	}
	value, _ := flow.AsMap(run.Inputs.Get(batches.FileInput))
	id, _ := value["file"].(string)
	ctx := c.Request().Context()
	rows, done, err := s.openTable(ctx, run.WorkspaceID, id)
	if err != nil {
		return err
	}
	defer done()
	release, err := c.Hold()
	if err != nil {
		return err
	}
	defer release()
	outputs, err := s.outputsOf(ctx, run, spec)
	if err != nil {
		return err
	}
	w := batches.NewResults(format, spec.Columns, outputs, !raw)
	h := c.Response().Header()
	h.Set("Content-Type", w.MIME())
	h.Set("Content-Disposition", `attachment; filename="`+string(run.ID)+"."+w.Extension()+`"`)
	h.Set("Cache-Control", "no-store")
	c.Response().WriteHeader(http.StatusOK)
	w.To(c.Response())
	for from := 0; ; from += childPage {
		page, err := nextRows(rows, childPage, spec.Sample, from)
		if err != nil || len(page) == 0 {
			if err == nil {
				err = w.Close()
			}
			return err
		}
		results := map[int]*flow.ChildResult{}
		if children != nil {
			list, err := s.Store.ReadChildren(ctx, run.WorkspaceID, children.Caller, from, from+len(page))
			if err != nil {
				return err
			}
			for i := range list {
				results[list[i].Item] = &list[i]
			}
		}
		for i := range page {
			r := results[from+i]
			if only == "failed" && (r == nil || r.State != flow.RunFailed && r.State != flow.RunCanceled) {
				continue
			}
			if err := w.Write(page[i].Values, r); err != nil {
				return err
			}
		}
	}
}

// nextRows reads at most n rows after the first from ones of a table; sample bounds all of them.
func nextRows(rows *documents.Rows, n, sample, from int) (page []documents.Row, err error) {
	for len(page) < n && (sample == 0 || from+len(page) < sample) {
		row, err := rows.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		page = append(page, row)
	}
	return page, nil
}

// outputsOf returns the names of the outputs of the flow that a batch runs.
func (s batchServer) outputsOf(ctx context.Context, run *flow.Run, spec *batches.Spec) ([]string, error) {
	v, err := s.Store.FindVersion(ctx, run.WorkspaceID, spec.Flow, spec.Version)
	if err != nil {
		return nil, err
	}
	out, err := s.Outlines.Find(ctx, run.WorkspaceID, v.DocumentHash)
	if err != nil {
		return nil, err
	}
	return convert(out.Outputs, func(o *document.Output) string { return o.Name }), nil
}
