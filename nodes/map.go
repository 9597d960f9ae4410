package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/nodes/batches"
	"sluice/nodes/pinned"
)

// The field of the inputs that get one item each time, and options of the fields "on_item_error" and "results".
const (
	loopField   = flow.LoopField
	itemFail    = "fail"
	itemKeep    = "keep"
	resultsList = "list"
	resultsFile = "file"
)

// Limits of a map's results.
const (
	maxMapResults = 16 << 20 // bytes of all lists together; larger results require a file
	maxMapErrors  = 1_000    // entries of the port errors
)

// mapPorts are the fixed ports of a map node.
var mapPorts = []string{"results", "file", "errors", "succeeded", "failed"}

// mapFields are the fields of a map node in addition to those of childFields.
var mapFields = []flow.Field{
	{Name: loopField, Title: "Loop over", Type: flow.FieldList, Typed: true, Required: true, Unless: "file", Min: ptr(1),
		Help: "The input that receives each item. If you choose several, their lists must have the same length."},
	{Name: "file", Title: "Rows of a file", Type: flow.FieldFile, Accept: []string{".csv", ".tsv", ".jsonl", ".ndjson", ".xlsx"},
		Help: "Instead of lists: a table. Its columns become the inputs of their names, one run for each row."},
	{Name: "columns", Title: "Columns", Type: flow.FieldMap, Typed: true, More: true,
		Help: "With a file: by input, another column or an expression over row."},
	{Name: "concurrency", Title: "Concurrency", Type: flow.FieldInteger, Typed: true, Default: 10, Min: ptr(1), Max: ptr(flow.MaxChildConcurrency), Help: "Items that run at the same time."},
	{Name: "on_item_error", Title: "If an item fails", Type: flow.FieldSelect, Typed: true, Default: itemFail, Options: []string{itemFail, itemKeep}, Labels: []string{"Stop the run", "Keep going"},
		Help: "With Keep going, failed items are null in the results."},
	{Name: "results", Title: "Results", Type: flow.FieldSelect, Typed: true, More: true, Default: resultsList, Options: []string{resultsList, resultsFile}, Labels: []string{"Lists", "A file"},
		Help: "Lists of at most 16 MiB, or a file with one JSON object per line."},
}

// The map kind runs another flow for every item of a list. Each item is a child run. The step
// waits for them without occupying a worker.
var _ = register(func(d Deps) flow.Kind {
	return flow.Kind{
		Name: "map", Title: "Map", Group: groupControl, Icon: "list-tree", Class: flow.Outside, Reads: true, Timeout: flow.ModelTimeout, WaitsFor: flow.WaitsForChildren,
		Summary: "Runs a flow for every item of a list.",
		Doc: "Runs a published flow of the workspace once for every item of a list, some at the same time, and gives one list for each output of the flow, in the order of the items. " +
			"Each input of the flow is a field and a port named `input.` and its name; the inputs named in *Loop over* take lists, the others get the same value for every item.\n\n" +
			"Every item is a child run with its own steps, cost and page. Nothing is lost or done twice when the server stops in between, and with several servers all of them work on the items. " +
			"The step waits without holding a worker. A list has at most 100,000 items.\n\n" +
			"With a `file` (CSV, TSV, JSON or XLSX) every row is an item. Inputs get the column that has their name, or the one or the expression over `row` that `columns` names for them, " +
			"such as `row.first + ' ' + row.last`; all others get the value of their field. If a row is invalid, the step fails before any item starts; with `on_item_error: keep` that row is a failed item.\n\n" +
			"`errors` lists the failed items with `index`, `input`, `code` and `message`, the first 1,000 of them. A rerun of the run starts only the items that failed or whose inputs have changed.\n\n" +
			"All items run the version that is live when the step first starts, even if another is published meanwhile, or the one in `version`.",
		Fields:        childFields(mapFields...),
		DynamicSchema: mapSchema,
		Open:          pinned.InputPrefix,
		Outputs: []flow.Port{
			{Name: "results", Title: "Results", Type: flow.TypeList, Optional: true, Help: "The outputs of each item as an object; null for a failed item."},
			{Name: "file", Title: "File", Type: flow.TypeFile, Optional: true, More: true, Help: "With results: file. A line of JSON for each item: index, status, outputs or error."},
			{Name: "errors", Title: "Errors", Type: flow.TypeList, More: true, Help: "The items that failed."},
			{Name: "succeeded", Title: "Succeeded", Type: flow.TypeNumber, More: true, Help: "How many items succeeded."},
			{Name: "failed", Title: "Failed", Type: flow.TypeNumber, More: true, Help: "How many items failed."},
		},
		Example: flow.Example{
			Config: map[string]any{"flow": "summarize-a-text", "over": []any{"text"}, "input.text": []any{"One text.", "Another text."}},
		},
		Check:   checkMap,
		Run:     func(ctx context.Context, in *flow.In) (flow.Out, error) { return runMap(ctx, d, in) },
		Cleanup: stopChildren,
		Partial: func(outputs map[string]any) bool { f, _ := flow.Float(outputs["failed"]); return f > 0 },
	}
})

// mapSchema declares the fields and ports of the other flow. Its outputs become lists.
func mapSchema(n *flow.Node) flow.DynamicSchema {
	over := portNames(n.Config["over"])
	shape := childSchema(n, mapPorts, over)
	for i := range shape.Fields {
		shape.Fields[i].Unless = "file" // its columns fill them
	}
	if shape.Open != "" {
		for _, name := range over { // lists, even without a contract
			i := slices.IndexFunc(shape.Fields, func(f flow.Field) bool { return f.Name == pinned.InputPrefix+name })
			list := flow.Field{Name: pinned.InputPrefix + name, Title: name, Type: flow.FieldList, Value: flow.TypeList, Items: true, Help: "One value for each item."}
			if i < 0 {
				shape.Fields = append(shape.Fields, list)
			} else {
				shape.Fields[i] = list
			}
		}
	}
	for i := range shape.Outputs {
		p := &shape.Outputs[i]
		p.Type, p.Items, p.Schema, p.Optional = flow.TypeList, "", nil, true
		shape.Outputs[i].Help = "The output " + shape.Outputs[i].Title + " of each item; null for a failed item."
	}
	return shape
}

// checkMap reports inputs in "over" that the other flow does not have.
func checkMap(n *flow.Node) (problems []flow.Problem) {
	inputs := contractPorts(n.Config, "inputs")
	for _, name := range portNames(n.Config["over"]) {
		if inputs != nil && !slices.ContainsFunc(inputs, func(p contractPort) bool { return p.name == name }) {
			problems = append(problems, flow.Problem{Pointer: flow.Pointer("over"), Code: "unknown", Detail: fmt.Sprintf("the flow has no input %q", name)})
		}
	}
	return problems
}

// runMap starts the child runs, suspends the step until all have ended, and outputs their
// results.
func runMap(ctx context.Context, d Deps, in *flow.In) (flow.Out, error) {
	req, err := mapRequest(ctx, d, in)
	if err != nil {
		return flow.Out{}, err
	}
	req.Concurrency, req.KeepErrors, req.MaySkip = in.Int("concurrency"), in.Text("on_item_error") == itemKeep, true
	children, err := in.Children.Start(ctx, req)
	if err != nil {
		return flow.Out{}, err
	}
	if done, err := awaitChildren(ctx, in, children); !done || err != nil {
		return flow.Out{Suspend: childSuspension(in)}, err
	}
	if children.Failed > 0 && !children.KeepErrors {
		return flow.Out{}, failedItem(ctx, in)
	}
	if in.Text("results") == resultsFile {
		return mapFile(ctx, in, children)
	}
	return mapLists(ctx, in, children)
}

// mapRequest returns the items of lists, or of the rows of a file.
func mapRequest(ctx context.Context, d Deps, in *flow.In) (flow.ChildRequest, error) {
	file := firstSet(in.Ports["file"], in.Config["file"])
	if file == nil {
		items, err := mapItems(in)
		return childRequest(in, items), err
	}
	var inputs []contract.Input
	for _, p := range contractPorts(in.Config, "inputs") {
		inputs = append(inputs, contract.Input{Name: p.name, Required: p.required})
	}
	columns, _ := flow.AsMap(in.Config["columns"])
	chosen := map[string]string{}
	for name := range columns {
		chosen[name] = flow.Text(columns[name])
	}
	spec, err := batches.MatchFile(ctx, d.Documents, in, file, inputs, chosen, givenInputs(in))
	if err != nil {
		return flow.ChildRequest{}, err
	}
	req := childRequest(in, nil)
	req.Rows, req.AllRows = spec.Rows(ctx, d.Documents, in, file), in.Text("on_item_error") != itemKeep
	return req, nil
}

// mapItems returns the inputs of each item: lists are zipped, other values repeated.
func mapItems(in *flow.In) ([]*flow.Object, error) {
	given := givenInputs(in)
	over := portNames(in.Config["over"])
	if len(over) == 0 {
		return nil, flow.Errorf(flow.CodeInputInvalid, "Choose which input receives each item.")
	}
	lists := make([][]any, len(over))
	for i, name := range over {
		value, err := flow.Coerce(given.Get(name), flow.TypeList)
		if err != nil {
			return nil, flow.Errorf(flow.CodeInputInvalid, "Map loops over %q, so it needs a list: %v.", name, err)
		}
		lists[i], _ = value.([]any)
		if len(lists[i]) != len(lists[0]) {
			return nil, flow.Errorf(flow.CodeInputInvalid, "The lists are not equally long: %s has %d items, %s has %d.", over[0], len(lists[0]), name, len(lists[i]))
		}
	}
	items := make([]*flow.Object, len(lists[0]))
	for i := range items {
		items[i] = given.Clone()
		for k, name := range over {
			items[i].Set(name, lists[k][i])
		}
	}
	return items, nil
}

// failedItem cancels the other items and returns the error of the first failed one.
func failedItem(ctx context.Context, in *flow.In) error {
	if err := in.Children.Stop(ctx); err != nil {
		return err
	}
	var failed error
	err := in.Children.Read(ctx, func(r *flow.ChildResult) error {
		if failed == nil && r.State == flow.RunFailed || failed == nil && r.RunID == "" && r.Error != nil {
			failed = childError(fmt.Sprintf("Item %d", r.Item), r)
		}
		return nil
	})
	if err == nil && failed == nil {
		failed = flow.Errorf(flow.CodeChildFailed, "An item was canceled.")
	}
	if err != nil {
		return err
	}
	return failed
}

// itemError is an entry of the port errors.
func itemError(r *flow.ChildResult) map[string]any {
	e := map[string]any{"index": r.Item, "input": r.Inputs, "code": string(flow.CodeChildFailed), "message": "The item ended as " + string(r.State) + "."}
	if r.Error != nil {
		e["code"], e["message"] = string(r.Error.Code), r.Error.Message
	}
	if r.RunID != "" {
		e["run_id"] = string(r.RunID)
	}
	return e
}

// mapLists outputs the results as lists.
func mapLists(ctx context.Context, in *flow.In, children *flow.Children) (flow.Out, error) {
	results, failures := make([]any, 0, children.Total), []any{}
	ports := map[string][]any{}
	for _, p := range contractPorts(in.Config, "outputs") {
		ports[p.name] = make([]any, children.Total)
	}
	size, untrusted := 0, false
	err := in.Children.Read(ctx, func(r *flow.ChildResult) error {
		untrusted = untrusted || r.Untrusted || r.Error != nil
		for len(results) < r.Item { // does not happen once every item has ended
			results = append(results, nil)
		}
		if r.State != flow.RunSucceeded {
			results = append(results, nil)
			if len(failures) < maxMapErrors {
				failures = append(failures, itemError(r))
			}
			return nil
		}
		if size += len(flow.EncodeJSON(r.Outputs)); size > maxMapResults {
			return flow.Errorf(flow.CodeOutputTooLarge, "The results of the items are larger than %s together. Set results to file.", flow.Size(maxMapResults))
		}
		results = append(results, r.Outputs)
		for name, list := range ports {
			list[r.Item] = r.Outputs.Get(name)
		}
		return nil
	})
	if err != nil {
		return flow.Out{}, err
	}
	out := map[string]any{"results": results, "errors": failures, "succeeded": children.Succeeded, "failed": children.Failed}
	for name, list := range ports {
		out[childOutput(name, mapPorts)] = list
	}
	return flow.Out{Outputs: out, Untrusted: untrusted}, nil
}

// mapFile outputs the results as a JSON Lines file with one line per item.
func mapFile(ctx context.Context, in *flow.In, children *flow.Children) (flow.Out, error) {
	failures, untrusted := []any{}, false
	reader, writer := io.Pipe()
	defer reader.Close()
	go func() {
		encoder := json.NewEncoder(writer)
		writer.CloseWithError(in.Children.Read(ctx, func(r *flow.ChildResult) error {
			untrusted = untrusted || r.Untrusted || r.Error != nil
			line := map[string]any{"index": r.Item, "status": r.State}
			if r.State == flow.RunSucceeded {
				line["outputs"] = r.Outputs
			} else {
				e := itemError(r)
				line["error"] = map[string]any{"code": e["code"], "message": e["message"]}
				if len(failures) < maxMapErrors {
					failures = append(failures, e)
				}
			}
			return encoder.Encode(line)
		}))
	}()
	name := strings.ReplaceAll(in.Node, "/", "-") + ".jsonl"
	file, err := in.SaveFile(ctx, name, "application/jsonl", reader)
	if err != nil {
		return flow.Out{}, err
	}
	return flow.Out{Outputs: map[string]any{"file": file, "errors": failures, "succeeded": children.Succeeded, "failed": children.Failed}, Untrusted: untrusted}, nil
}
