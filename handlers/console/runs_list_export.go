package console

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"sluice/flow"
	"sluice/views/components"
	consoleview "sluice/views/console"
)

const (
	// maxExport bounds the runs in one file.
	maxExport   = 100_000
	exportBatch = 250 // runs that are read at once
)

// exportedRun is a run in an exported file. Its fields are documented and must
// not change.
type exportedRun struct {
	RunID        string    `json:"run_id"`
	State        string    `json:"state"`
	FlowID       string    `json:"flow_id"`
	Flow         string    `json:"flow"`
	Version      *int64    `json:"version"` // null for a draft
	Trigger      string    `json:"trigger"`
	KeyID        string    `json:"key_id,omitempty"`
	Key          string    `json:"key,omitempty"`
	CreatedAt    time.Time `json:"created_at"`
	StartedAt    time.Time `json:"started_at,omitzero"`
	EndedAt      time.Time `json:"ended_at,omitzero"`
	TookMs       int64     `json:"took_ms"`
	InputTokens  int64     `json:"input_tokens"`
	OutputTokens int64     `json:"output_tokens"`
	CostUSD      string    `json:"cost_usd"`
	Unpriced     int64     `json:"unpriced_steps"` // steps whose cost is not in cost_usd
	Cached       int64     `json:"cached_tokens"`
	Reasoning    int64     `json:"reasoning_tokens"`
	Error        string    `json:"error,omitempty"`
	Input        string    `json:"input,omitempty"` // a summary of the inputs
}

// exporter writes runs in one format.
type exporter interface {
	run(r *exportedRun) error
	// note writes a remark as the last line.
	note(text string) error
	flush() error
}

// exportRuns is GET /runs/export: the filtered list as a file. It is streamed
// in batches, so that a large export needs little memory. The first batch is
// read before the header is sent, so that its errors still become an error
// page.
func (c *call) exportRuns() error {
	filter, choice := c.readRunsFilter()
	if len(filter.Errors) > 0 {
		return flow.Errorf(flow.CodeInputInvalid, "The chosen time cannot be read. Choose it again in the list of runs.")
	}
	n, err := c.listRunLabels(&consoleview.RunsPage{})
	if err != nil {
		return err
	}
	format := c.QueryParam("format")
	mime := map[string]string{"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl; charset=utf-8"}[format]
	if mime == "" {
		return flow.Errorf(flow.CodeInputInvalid, "This export format is not supported. Use csv or jsonl.")
	}
	choice.Before, choice.After, choice.Limit = "", "", exportBatch
	first, err := c.s.Store.ListRunRows(c.Ctx(), choice)
	if err != nil {
		return err
	}
	h := c.Response().Header()
	h.Set("Content-Type", mime)
	h.Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", "runs-"+c.s.Now().UTC().Format("2006-01-02")+"."+format))
	h.Set("Cache-Control", "no-store")
	c.Response().WriteHeader(http.StatusOK)
	return c.export(newExporter(format, c.Response()), &n, choice, first)
}

// newExporter returns the writer of a format.
func newExporter(format string, w io.Writer) exporter {
	if format == "jsonl" {
		return jsonLines{w}
	}
	table := csvTable{csv.NewWriter(w)}
	_ = table.Write(csvColumns) // errors are returned by flush
	return table
}

// export writes all batches, starting with page. If the file is incomplete, its last
// line explains why.
func (c *call) export(to exporter, n *runLabels, choice flow.RunQuery, page flow.RunPage) (err error) {
	written := 0
	for {
		c.LimitWrite()
		for i := range page.Rows {
			if written == maxExport {
				break
			}
			if err := to.run(n.export(&page.Rows[i])); err != nil {
				return err
			}
			written++
		}
		if err := to.flush(); err != nil {
			return err
		}
		c.Response().Flush()
		if page.Older == "" || page.More || written == maxExport {
			break
		}
		choice.Before = page.Older
		if page, err = c.s.Store.ListRunRows(c.Ctx(), choice); err != nil {
			return err
		}
	}
	if page.Older != "" {
		_ = to.note(truncationNote(written, page.More))
	}
	return to.flush()
}

// truncationNote explains why a file does not have all runs.
func truncationNote(written int, searched bool) string {
	if searched {
		return fmt.Sprintf("The search stopped early; this file has the newest %s matching runs. Filter by time to export older ones.", components.Count(written))
	}
	return fmt.Sprintf("This file has the newest %s runs; there are more. Filter by time to export the others.", components.Count(written))
}

// export converts a run.
func (n *runLabels) export(r *flow.Run) *exportedRun {
	e := &exportedRun{
		RunID: string(r.ID), State: string(r.State), FlowID: string(r.FlowID), Flow: n.flows[string(r.FlowID)], Trigger: string(r.Trigger), KeyID: r.KeyID, Key: n.keys[r.KeyID],
		CreatedAt: r.CreatedAt, StartedAt: r.StartedAt, EndedAt: r.EndedAt, TookMs: r.Duration(r.EndedAt).Milliseconds(),
		InputTokens: r.Usage.InputTokens, OutputTokens: r.Usage.OutputTokens, CostUSD: r.Usage.CostNanoUSD.Exact(), Unpriced: r.Usage.UnpricedSteps, Cached: r.Usage.CachedTokens, Reasoning: r.Usage.ReasoningTokens, Input: r.InputSummary,
	}
	if r.Error != nil {
		e.Error = string(r.Error.Code)
	}
	if !r.Draft {
		e.Version = &r.Version
	}
	return e
}

// jsonLines writes one JSON object per line.
type jsonLines struct{ io.Writer }

// run writes a run as one line, since Encode ends each object with a line break.
func (j jsonLines) run(r *exportedRun) error { return json.NewEncoder(j).Encode(r) }

// note writes a remark as an object. Readers recognize it by its missing run_id.
func (j jsonLines) note(text string) error {
	return json.NewEncoder(j).Encode(map[string]string{"note": text})
}

// flush does nothing, because lines are not buffered.
func (jsonLines) flush() error { return nil }

// csvTable writes CSV for spreadsheets.
type csvTable struct{ *csv.Writer }

// csvColumns are the columns of the export, in the order of the cells of csvTable.run. New ones
// are appended, because spreadsheets address columns by position.
var csvColumns = []string{
	"run_id", "state", "flow_id", "flow", "version", "trigger", "key_id", "key", "created_at", "started_at", "ended_at", "took_ms",
	"input_tokens", "output_tokens", "cost_usd", "error", "input", "unpriced_steps", "cached_tokens", "reasoning_tokens",
}

// run writes a run as one row. Times are RFC 3339 in UTC, took_ms is in milliseconds
// and cost_usd in dollars. Texts that a spreadsheet would run as formulas are escaped.
func (t csvTable) run(r *exportedRun) error {
	version := draftWord
	if r.Version != nil {
		version = strconv.FormatInt(*r.Version, 10)
	}
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	cells := []string{
		r.RunID, r.State, r.FlowID, r.Flow, version, r.Trigger, r.KeyID, r.Key, formatTime(r.CreatedAt), formatTime(r.StartedAt), formatTime(r.EndedAt), number(r.TookMs),
		number(r.InputTokens), number(r.OutputTokens), r.CostUSD, r.Error, r.Input, number(r.Unpriced), number(r.Cached), number(r.Reasoning),
	}
	for i := range cells {
		cells[i] = escapeFormula(cells[i])
	}
	return t.Write(cells)
}

// note writes a remark as a row with a single cell that begins with #.
func (t csvTable) note(text string) error { return t.Write([]string{"# " + text}) }

// flush writes the buffered rows and returns the first error of any earlier write.
func (t csvTable) flush() error {
	t.Flush()
	return t.Error()
}

// escapeFormula keeps a spreadsheet from evaluating a text as a formula (CSV
// injection).
func escapeFormula(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}

// formatTime formats a time, or "" if it is not set.
func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
