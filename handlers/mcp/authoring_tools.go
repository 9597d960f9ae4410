package mcp

import (
	"net/http"
	"net/url"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sluice/flow"
	"sluice/flow/contract"
)

// reads are the annotations of tools that change nothing.
var reads = sdk.ToolAnnotations{ReadOnlyHint: true}

// changes are the annotations of tools whose changes can be undone.
var changes = sdk.ToolAnnotations{DestructiveHint: new(bool)}

// authorTools are the tools of ?tools=authoring, in the order in which a model uses them.
var authorTools = authoring{
	{name: "list_kinds", title: "List kinds of nodes", hints: reads,
		text:   "Without names: all kinds with a one-line summary. With names: the complete declarations of these kinds, with their fields, input ports and output ports.",
		inputs: []contract.Input{optional("names", flow.TypeList, nil, "Kinds to describe in full, such as template or chat.")},
		request: func(map[string]any) apiRequest {
			return apiRequest{method: http.MethodGet, path: "/v1/kinds"}
		}, convert: filterKinds},

	{name: "list_flows", title: "List flows", hints: reads,
		text:   "The flows that the key may call, with their inputs and outputs. Needs the scope read.",
		inputs: []contract.Input{optional("cursor", flow.TypeText, nil, "next_cursor of an earlier answer.")},
		request: func(given map[string]any) apiRequest {
			query := url.Values{"limit": {"100"}}
			if cursor := flow.Text(given["cursor"]); cursor != "" {
				query.Set("cursor", cursor)
			}
			return apiRequest{method: http.MethodGet, path: "/v1/flow", query: query}
		}},

	{name: "get_document", title: "Get a document", hints: reads,
		text:   "The document of a flow and its etag, which edit_flow needs.",
		inputs: []contract.Input{flowInput, versionInput("version", "draft")},
		request: func(given map[string]any) apiRequest {
			r := onFlow(given, http.MethodGet, "/document")
			r.query = url.Values{"version": {flow.Text(given["version"])}}
			return r
		}, convert: func(_, body map[string]any) map[string]any { return map[string]any{"document": body} }},

	{name: "validate_flow", title: "Check a document", hints: reads,
		text:   "Every problem of a document with its location. Stores nothing.",
		inputs: []contract.Input{documentInput},
		request: func(given map[string]any) apiRequest {
			return apiRequest{method: http.MethodPost, path: "/v1/flow/validate", body: given["document"]}
		}},

	{name: "create_flow", title: "Create a flow", hints: changes,
		text:   "Makes a flow from a document. It is a draft until it is published.",
		inputs: []contract.Input{documentInput},
		request: func(given map[string]any) apiRequest {
			return apiRequest{method: http.MethodPost, path: "/v1/flow", body: given["document"]}
		}},

	{name: "edit_flow", title: "Edit a flow", hints: changes,
		text: "Replaces the draft with a document. Open editors show the change, and people can undo it. If the draft has changed since the etag was read, nothing is replaced: get the document again and merge.",
		inputs: []contract.Input{flowInput, documentInput,
			{Name: "etag", Type: flow.TypeText, Required: true, Description: "The etag of the draft that the document is based on, from get_document or the last edit."}},
		request: func(given map[string]any) apiRequest {
			r := onFlow(given, http.MethodPut, "")
			r.body, r.headers = given["document"], map[string]string{"If-Match": flow.Text(given["etag"])}
			return r
		}},

	{name: "diff_flow", title: "Compare versions", hints: reads,
		text:   "What one version of a flow changes over another: nodes, inputs and outputs, and which changes break callers.",
		inputs: []contract.Input{flowInput, versionInput("from", "live"), versionInput("to", "draft")},
		request: func(given map[string]any) apiRequest {
			r := onFlow(given, http.MethodGet, "/diff")
			r.query = url.Values{"from": {flow.Text(given["from"])}, "to": {flow.Text(given["to"])}}
			return r
		}},

	{name: "publish_flow", title: "Publish a flow",
		text: "Makes the draft live, or an older version. Changes that break callers are refused, with the keys that would notice, unless allow_breaking is true.",
		inputs: []contract.Input{flowInput, optional("notes", flow.TypeText, nil, "Release notes, at most 200 characters."),
			optional("version", flow.TypeNumber, nil, "The number of an older version. Default: the draft."),
			optional("allow_breaking", flow.TypeBoolean, nil, "Publish even if callers break. Ask the person first.")},
		request: func(given map[string]any) apiRequest {
			r := onFlow(given, http.MethodPost, "/publish")
			r.body = pick(given, "notes", "version", "allow_breaking")
			return r
		}},

	{name: "run_flow", title: "Run a flow",
		text: "Starts a run and waits for its end. A run that takes longer is returned as it is; read_run returns it later. Needs the scope run, and manage for anything but the live version.",
		inputs: []contract.Input{flowInput, optional("inputs", flow.TypeJSON, nil, "The inputs by name."), versionInput("version", "live"),
			{Name: "wait_s", Type: flow.TypeNumber, Default: flow.Number(30), HasDefault: true, Min: new(1.0), Max: new(60.0), Description: "Whole seconds to wait for the end."}},
		request: runRequest},

	{name: "read_run", title: "Read a run", hints: reads,
		text:    "The state, inputs, outputs, error and cost of a run.",
		inputs:  []contract.Input{flowInput, runInput},
		request: func(given map[string]any) apiRequest { return onRun(given, "") }},

	{name: "list_steps", title: "List the steps of a run", hints: reads,
		text:    "The inputs, outputs and error of each node of a run.",
		inputs:  []contract.Input{flowInput, runInput},
		request: func(given map[string]any) apiRequest { return onRun(given, "/steps") }},
}

// onRun returns a GET request to a subpath of the run that the arguments name.
func onRun(given map[string]any, below string) apiRequest {
	return onFlow(given, http.MethodGet, "/run/"+url.PathEscape(flow.Text(given["run"]))+below)
}
