package automation

import (
	"time"

	"sluice/views/components"
	"sluice/views/layout"
	"sluice/views/viewtest"

	"github.com/a-h/templ"
)

func batchSamples(theme layout.Theme) map[string]templ.Component {
	p := viewtest.Page("Batches of Score leads", layout.SectionFlows, theme)
	list := BatchesPage{FlowID: "flow_1", Flow: "Score leads", LiveVersion: 5, MayEdit: true, Now: viewtest.Noon, Pages: components.Pages{Path: "/flows/flow_1/batches"}, Batches: []BatchRow{
		{ID: "run_1", Name: "leads-october.csv", State: "waiting", Rows: BatchCounts{12000, 4588, 10, 7361, 41}, Micros: 14_800_000, StartedAt: viewtest.Noon.Add(-24 * time.Minute)},
		{ID: "run_2", Name: "leads-october.csv", State: "succeeded", Sample: true, Rows: BatchCounts{5, 0, 0, 5, 0}, Micros: 10_000, StartedAt: viewtest.Noon.Add(-30 * time.Minute)},
		{ID: "run_3", Name: "leads-september.csv", State: "queued", Rows: BatchCounts{Total: -1}, StartedAt: viewtest.Noon},
	}}
	refused := list
	refused.Error = "The file has no rows."
	columns := []components.Option{{Value: "", Label: "Leave out"}, {Value: "name", Label: "name"}, {Value: "company", Label: "company"}, {Value: ColumnExpression, Label: "Expression"}}
	fresh := NewBatchPage{FlowID: "flow_1", Flow: "Score leads", LiveVersion: 5, File: "file_1", Name: "leads-october.csv", Columns: []string{"name", "company"}, First: [][]string{{"Jonas Weber", "Weber Metallbau GmbH"}, {"Mei Tanaka", "Sora Robotics"}},
		Inputs: []ColumnField{{Name: "lead", Type: "text", Required: true, Column: "name", Columns: columns}, {Name: "size", Type: "number", Columns: columns}}, Concurrency: "10", OnError: "keep", OnInvalid: "fail", Errors: components.Errors{}}
	wrong := fresh
	wrong.Errors, wrong.Problems = components.Errors{"": "Rows are invalid, so nothing was started.", "concurrency": "Enter a whole number."}, []string{"Row 3: size must be a number.", "Row 7: size must be a number."}
	wrong.Inputs = []ColumnField{{Name: "lead", Type: "text", Required: true, Column: ColumnExpression, Text: "row.", Columns: columns, Error: "It is not an expression over row."}}
	running := BatchPage{FlowID: "flow_1", Flow: "Score leads", LiveVersion: 5, ID: "run_1", Name: "leads-october.csv", State: "waiting", Live: true, MayRun: true, Version: 5, StartedBy: "Ana Kovač", StartedAt: viewtest.Noon.Add(-24 * time.Minute),
		Took: 24 * time.Minute, Left: 15 * time.Minute, Concurrency: 10, OnError: "keep", Rows: BatchCounts{12000, 4588, 10, 7361, 41}, Micros: 14_800_000, Average: 2000, Now: viewtest.Noon,
		Failures: []FailureRow{{26, "provider_rate_limited", "OpenAI allows 500 requests a minute with this key.", "Lower the concurrency, then retry."}, {15, "http_failed", "crm.example.com answered 404.", ""}},
		Columns:  []string{"lead"}, Outputs: []string{"score"}, Results: []ResultRow{{Number: 1, State: "succeeded", Inputs: []string{"Jonas Weber"}, Outputs: []ResultCell{{Text: "0.82", Full: "0.8212345"}}, RunID: "run_01m7z26njgm1r68xj6qyhfyvty", Micros: 2000}, {Number: 2, State: "failed", Inputs: []string{"Mei Tanaka"}, Outputs: []ResultCell{{}}, Code: "http_failed"}}}
	running.MaxMicros, running.CellRows, running.Filter = 30_000_000, 20, BatchFilter{Show: RowsShown}
	for i := range 600 {
		state := "done"
		switch {
		case i%97 == 0:
			state = "failed"
		case i > 375:
			state = "waiting"
		case i > 370:
			state = "running"
		}
		running.Cells = append(running.Cells, state)
	}
	ended := running
	ended.Live, ended.State, ended.Sample, ended.Rows, ended.Filter = false, "succeeded", 5, BatchCounts{5, 0, 0, 4, 1}, BatchFilter{State: "failed"}
	ended.Cells, ended.CellRows = []string{"done", "done", "failed", "done", "done"}, 1
	ended.Estimate = &BatchEstimate{Rows: 12000, Micros: 24_000_000, Took: 40 * time.Minute}
	failed := BatchPage{FlowID: "flow_1", Flow: "Score leads", ID: "run_4", Name: "leads.csv", State: "failed", Error: "Row 1,204: size must be a number.", Version: 5, StartedBy: "Key Production", StartedAt: viewtest.Noon, Rows: BatchCounts{Total: -1}, Concurrency: 10, OnError: "stop", Now: viewtest.Noon}
	paused := running
	paused.Paused = true
	waits := running
	waits.Left, waits.Budget = 0, &BatchBudget{Amount: "$15.00", Micros: 15_000_000, ResetsAt: viewtest.Noon.Add(12 * time.Hour), Href: "/flows/flow_1/settings"}
	stopped := failed
	stopped.Error, stopped.Rows, stopped.MayRun, stopped.Micros, stopped.MaxMicros, stopped.Average = "The batch has cost what it may cost.", BatchCounts{12, 9, 0, 2, 1}, true, 5000, 5000, 1666
	return map[string]templ.Component{
		"batches": Batches(p, list), "batches-refused": Batches(p, refused), "batches-none": Batches(p, BatchesPage{FlowID: "flow_1", Flow: "Score leads", MayEdit: true, Now: viewtest.Noon}),
		"batch-new": NewBatch(p, fresh), "batch-errors": NewBatch(p, wrong), "batch": Batch(p, running), "batch-paused": Batch(p, paused), "batch-budget": Batch(p, waits), "batch-stopped": Batch(p, stopped), "batch-sample": Batch(p, ended), "batch-failed": Batch(p, failed),
	}
}
