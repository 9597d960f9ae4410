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
	// maxExport is how many runs one file holds; the last line says when there
	// are more.
	maxExport   = 100_000
	exportBatch = 250
)

// exported is a run as a file has it.
type exported struct {
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
	Error        string    `json:"error,omitempty"`
	Input        string    `json:"input,omitempty"` // what the inputs begin with
}

// exporter writes runs in one format.
type exporter interface {
	run(r *exported) error
	// note is a last line that is no run.
	note(text string) error
	flush() error
}

// exportRuns is GET /runs/export: the list as a file, streamed.
func (c *call) exportRuns() error {
	filter, choice := c.readRunsFilter()
	if len(filter.Errors) > 0 {
		return flow.Errorf(flow.CodeInputInvalid, "The time that was chosen cannot be read. Choose it anew in the list of runs.")
	}
	n, err := c.runNames(&consoleview.RunsPage{})
	if err != nil {
		return err
	}
	format := c.QueryParam("format")
	mime := map[string]string{"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl; charset=utf-8"}[format]
	if mime == "" {
		return flow.Errorf(flow.CodeInputInvalid, "Runs can be exported as csv or jsonl.")
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

func newExporter(format string, w io.Writer) exporter {
	if format == "jsonl" {
		return jsonLines{w}
	}
	table := csvTable{csv.NewWriter(w)}
	_ = table.Write(csvColumns) // what cannot be written shows in flush
	return table
}

// export writes page after page, and in the end whether that was all.
func (c *call) export(to exporter, n *names, choice flow.RunChoice, page flow.RunPage) (err error) {
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
		_ = to.note(exportCut(written, page.More))
	}
	return to.flush()
}

// exportCut says why a file ends before the list does.
func exportCut(written int, searched bool) string {
	if searched {
		return fmt.Sprintf("The search stopped after the newest matching runs; %s are in this file. Narrow the list by time for older ones.", components.Count(written))
	}
	return fmt.Sprintf("This file holds the newest %s runs; there are more. Narrow the list by time for the others.", components.Count(written))
}

func (n *names) export(r *flow.RunRow) *exported {
	e := &exported{
		RunID: r.ID, State: string(r.State), FlowID: r.FlowID, Flow: n.flows[r.FlowID], Trigger: string(r.Trigger), KeyID: r.KeyID, Key: n.keys[r.KeyID],
		CreatedAt: r.CreatedAt, StartedAt: r.StartedAt, EndedAt: r.EndedAt, TookMs: r.Took(r.EndedAt).Milliseconds(),
		InputTokens: r.Usage.InputTokens, OutputTokens: r.Usage.OutputTokens, CostUSD: r.Usage.USD(), Error: string(r.ErrorCode), Input: r.InputSummary,
	}
	if !r.Draft {
		e.Version = &r.Version
	}
	return e
}

// jsonLines is one object a line.
type jsonLines struct{ io.Writer }

func (j jsonLines) run(r *exported) error { return json.NewEncoder(j).Encode(r) }

func (j jsonLines) note(text string) error {
	return json.NewEncoder(j).Encode(map[string]string{"note": text})
}

func (jsonLines) flush() error { return nil }

// csvTable is for spreadsheets.
type csvTable struct{ *csv.Writer }

var csvColumns = []string{
	"run_id", "state", "flow_id", "flow", "version", "trigger", "key_id", "key", "created_at", "started_at", "ended_at", "took_ms",
	"input_tokens", "output_tokens", "cost_usd", "error", "input",
}

func (t csvTable) run(r *exported) error {
	version := draftWord
	if r.Version != nil {
		version = strconv.FormatInt(*r.Version, 10)
	}
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	cells := []string{
		r.RunID, r.State, r.FlowID, r.Flow, version, r.Trigger, r.KeyID, r.Key, stamp(r.CreatedAt), stamp(r.StartedAt), stamp(r.EndedAt), number(r.TookMs),
		number(r.InputTokens), number(r.OutputTokens), r.CostUSD, r.Error, r.Input,
	}
	for i := range cells {
		cells[i] = cell(cells[i])
	}
	return t.Write(cells)
}

func (t csvTable) note(text string) error { return t.Write([]string{"# " + text}) }

func (t csvTable) flush() error {
	t.Flush()
	return t.Error()
}

// cell keeps a spreadsheet from taking a text for a formula and carrying it out.
func cell(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
