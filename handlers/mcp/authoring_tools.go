package mcp

import (
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sluice/flow"
	"sluice/flow/contract"
)

// reads are the annotations of tools that change nothing.
var reads = sdk.ToolAnnotations{ReadOnlyHint: true}

// changes are the annotations of tools whose changes can be undone.
var changes = sdk.ToolAnnotations{DestructiveHint: new(bool)}

// scheduleInput is the configuration of a schedule.
var scheduleInput = contract.Input{Name: "schedule", Type: flow.TypeJSON, Required: true, Description: "The schedule: exactly one of cron, every and at, and what differs from the defaults."}

// baseInput names a knowledge base.
var baseInput = contract.Input{Name: "knowledge", Type: flow.TypeText, Required: true, Description: "Slug or ID of the knowledge base."}

// baselineInput is the version that a test compares with.
var baselineInput = contract.Input{Name: "baseline", Type: flow.TypeText, Pattern: "^(draft|live|[0-9]{1,15})$", Description: "The version to compare with: draft, live, or a number. Default: none."}

// authorTools are the tools of ?tools=authoring, in the order in which a model uses them. The route
// that names a tool has its method, its path and its body.
var authorTools = []authorTool{
	{name: "list_kinds", title: "List kinds of nodes", hints: reads,
		text:   "Without names: all kinds with a one-line summary. With names: the complete declarations of these kinds, with their fields, input ports and output ports.",
		inputs: []contract.Input{optional("names", flow.TypeList, nil, "Kinds to describe in full, such as template or chat.")},
		adjust: func(_ map[string]any, r *apiRequest) { r.query = nil }, convert: filterKinds},

	{name: "list_flows", title: "List flows", hints: reads,
		text:   "The flows that the key may call, with their inputs and outputs. Needs the scope read.",
		inputs: []contract.Input{optional("cursor", flow.TypeText, nil, "next_cursor of an earlier answer.")},
		adjust: func(_ map[string]any, r *apiRequest) { r.query.Set("limit", "100") }},

	{name: "get_document", title: "Get a document", hints: reads,
		text:    "The document of a flow and its etag, which edit_flow needs.",
		inputs:  []contract.Input{flowInput, versionInput("version", "draft")},
		convert: func(_, body map[string]any) map[string]any { return map[string]any{"document": body} }},

	{name: "validate_flow", title: "Check a document", hints: reads,
		text:   "Every problem of a document with its location. Stores nothing.",
		inputs: []contract.Input{documentInput}, whole: "document"},

	{name: "create_flow", title: "Create a flow", hints: changes,
		text:   "Makes a flow from a document. It is a draft until it is published.",
		inputs: []contract.Input{documentInput}, whole: "document"},

	{name: "edit_flow", title: "Edit a flow", hints: changes,
		text: "Replaces the draft with a document. Open editors show the change, and people can undo it. If the draft has changed since the etag was read, nothing is replaced: get the document again and merge.",
		inputs: []contract.Input{flowInput, documentInput,
			{Name: "etag", Type: flow.TypeText, Required: true, Description: "The etag of the draft that the document is based on, from get_document or the last edit."}},
		whole: "document", adjust: func(given map[string]any, r *apiRequest) {
			r.headers = map[string]string{"If-Match": flow.Text(given["etag"])}
		}},

	{name: "diff_flow", title: "Compare versions", hints: reads,
		text:   "What one version of a flow changes over another: nodes, inputs and outputs, and which changes break callers.",
		inputs: []contract.Input{flowInput, versionInput("from", "live"), versionInput("to", "draft")}},

	{name: "list_cases", title: "List test cases", hints: reads,
		text:   "The test cases of a flow, with their checks, and the gate that a version must pass before it goes live.",
		inputs: []contract.Input{flowInput}},

	{name: "save_case", title: "Save a test case", hints: changes,
		text: "Adds a test case to a flow, or replaces the one with its ID. Needs the scope edit.",
		inputs: []contract.Input{flowInput,
			{Name: "id", Type: flow.TypeText, Required: true, Pattern: "^[a-z0-9][a-z0-9_-]{0,63}$", Description: "ID of the case, such as refund-late."},
			{Name: "case", Type: flow.TypeJSON, Required: true, Description: `The case: inputs, checks such as {"output": "label", "equals": "refund"}, and if needed expected, answers, stubs, tags, notes. A secret input names a credential: {"credential": "name"}.`}},
		whole: "case"},

	{name: "save_event_as_case", title: "Save a captured request as a test case", hints: changes,
		text:   "Makes a test case of a request that an incoming webhook received and kept. Secrets are removed, and inputs from headers are left out. It counts once it has expected outputs: label_cases sets these. Needs the scope edit.",
		inputs: []contract.Input{flowInput}},

	{name: "label_cases", title: "Set what test cases expect", hints: changes,
		text:   "Sets the expected outputs of many test cases from a CSV table. If a row is wrong, nothing is stored, and the problems are listed by row. Needs the scope edit.",
		inputs: []contract.Input{flowInput}},

	{name: "run_tests", title: "Run the tests of a flow", hints: changes,
		text: "Starts a test of a version and returns its ID; read_report has the result. Nothing is sent or changed outside. replay costs nothing and uses recorded results only; fill calls models and reads what is not recorded. Other versions than the live one need the scope manage.",
		inputs: []contract.Input{flowInput, versionInput("version", "draft"), baselineInput,
			{Name: "mode", Type: flow.TypeText, Default: "fill", HasDefault: true, Enum: []any{"replay", "fill"}, Description: "replay or fill."}},
		leaveOut: []string{"candidates", "allow"}, adjust: startTest}, // allow is for the mode live

	{name: "read_report", title: "Read the report of a test", hints: reads,
		text: "What a test found, also while it is running: status tells. With a case, the reasons of each of its checks.",
		inputs: []contract.Input{flowInput, {Name: "test", Type: flow.TypeText, Required: true, Pattern: "^[a-z0-9_]{1,64}$", Description: "The ID of the test, from run_tests."},
			optional("case", flow.TypeText, nil, "ID of a case.")}},

	{name: "publish_flow", title: "Publish a flow",
		text:   "Makes the draft live, or an older version. Changes that break callers are refused, with the keys that would notice, unless allow_breaking is true.",
		inputs: []contract.Input{flowInput, optional("allow_breaking", flow.TypeBoolean, nil, "Publish even if callers break. Ask the person first.")}},

	{name: "list_triggers", title: "List triggers", hints: reads,
		text:   "The triggers of a flow, which start runs without a caller, with their next times.",
		inputs: []contract.Input{flowInput}},

	{name: "list_knowledge", title: "List knowledge bases", hints: reads,
		text: "The knowledge bases of the workspace, which the kinds knowledge_add and knowledge_search use by slug."},

	{name: "add_document", title: "Add a document", hints: changes,
		text:   "Adds a text or the file at a URL to a knowledge base, or replaces the document with the same source. Starts a run; read_run tells when it has ended.",
		inputs: []contract.Input{baseInput}},

	{name: "search_knowledge", title: "Search a knowledge base", hints: reads,
		text:   "The passages of a knowledge base that fit a question best, with the ranks by words and by meaning. Quoted phrases must occur.",
		inputs: []contract.Input{baseInput}},

	{name: "preview_schedule", title: "Preview a schedule", hints: reads,
		text:   "A schedule in words, and its next five times. Stores nothing.",
		inputs: []contract.Input{scheduleInput}, whole: "schedule"},

	{name: "set_trigger", title: "Set a schedule", hints: changes,
		text:   "Makes a schedule of a flow, or replaces its configuration. It starts runs of the live version at the planned times or, with test, a test. Ask the person first.",
		inputs: []contract.Input{flowInput, {Name: "name", Type: flow.TypeText, Required: true, Description: "The name of the schedule: lower-case letters, digits and hyphens."}, scheduleInput},
		whole:  "schedule"},

	{name: "set_webhook", title: "Set an incoming webhook", hints: changes,
		text: "Makes an incoming webhook of a flow, or replaces its configuration, and returns its URL, which is a secret. Ask the person first.",
		inputs: []contract.Input{flowInput, {Name: "name", Type: flow.TypeText, Required: true, Description: "The name of the webhook: lower-case letters, digits and hyphens."},
			{Name: "webhook", Type: flow.TypeJSON, Required: true, Description: `The configuration. verify names credentials: {"scheme": "github", "secrets": ["NAME"]}.`}},
		whole: "webhook"},

	{name: "start_batch", title: "Start a batch",
		text:   "Runs a flow for every row of a table. Needs the scope run. Try a sample of five rows first, and ask the person before all rows.",
		inputs: []contract.Input{flowInput}},

	{name: "read_batch", title: "Read a batch", hints: reads,
		text:   "The state, the counts of rows and the cost of a batch.",
		inputs: []contract.Input{flowInput, runInput}},

	{name: "run_flow", title: "Run a flow",
		text: "Starts a run and waits for its end. A run that takes longer is returned as it is; read_run returns it later. Needs the scope run, and manage for anything but the live version.",
		inputs: []contract.Input{flowInput, optional("inputs", flow.TypeJSON, nil, "The inputs by name."), versionInput("version", "live"),
			{Name: "max_usd", Type: flow.TypeNumber, Min: new(0.000001), Max: new(flow.MaxUSD.Dollars()), Description: "Dollars that the run may cost, with all runs below it."},
			optional("continue", flow.TypeText, nil, "The ID of an earlier run of the flow: agents go on with their conversations in it."),
			{Name: "wait_s", Type: flow.TypeNumber, Default: flow.Number(30), HasDefault: true, Min: new(1.0), Max: new(60.0), Description: "Whole seconds to wait for the end."}},
		adjust: startRun},

	{name: "read_run", title: "Read a run", hints: reads,
		text:   "The state, inputs, outputs, error and cost of a run.",
		inputs: []contract.Input{flowInput, runInput}},

	{name: "list_steps", title: "List the steps of a run", hints: reads,
		text:   "The inputs, outputs and error of each node of a run.",
		inputs: []contract.Input{flowInput, runInput}},
}
