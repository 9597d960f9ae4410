package api

import (
	"reflect"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/contract"
)

// operation describes a route in the OpenAPI document. Path parameters, security and
// common problems are derived from the route and not repeated here. Routes with the
// zero value are not documented.
type operation struct {
	id, tag, summary, text string
	params                 []string // of queryParams and headerParams
	body                   string   // name of the schema of the request body
	bodyType               string   // its media type; empty means JSON
	optionalBody           bool
	answers                []answer
	problems               []flow.Code // in addition to accessProblems
}

// offers returns the media types that a response can have, JSON first. It is empty
// for routes without a body, and for files, whose type is not negotiable.
func (o *operation) offers() (types []string) {
	isJSON := func(a answer) bool { return a.json != nil || a.schema != "" }
	if slices.ContainsFunc(o.answers, isJSON) {
		types = append(types, TypeJSON)
	}
	if slices.ContainsFunc(o.answers, func(a answer) bool { return a.stream }) {
		types = append(types, TypeStream)
	}
	return types
}

// answer is a success response.
type answer struct {
	status  int
	text    string
	json    reflect.Type // type of the body; nil for none
	schema  string       // or the name of its schema
	stream  bool         // can be an event stream
	example string       // of the stream; empty means one of a run
	binary  bool         // the body is the content of a file
	headers []string
}

var (
	runType        = reflect.TypeFor[runObject]()
	problemType    = reflect.TypeFor[problem]()
	stepEventType  = reflect.TypeFor[stepEvent]()
	deltaEventType = reflect.TypeFor[deltaEvent]()

	progressEventType = reflect.TypeFor[progressEvent]()
	outputEventType   = reflect.TypeFor[contract.OutputEvent]()

	startCodes = []flow.Code{
		flow.CodeInvalidJSON, flow.CodeInvalidHeader, flow.CodeUnsupportedMediaType, flow.CodeBodyTooLarge, flow.CodeInputInvalid,
		flow.CodeBudgetExceeded, flow.CodePriceUnknown, flow.CodeQuotaExceeded, flow.CodeIdempotencyInProgress, flow.CodeIdempotencyMismatch, flow.CodeResultNotSaved, flow.CodeRunExpired,
		flow.CodeConcurrencyLimited, flow.CodeQueueFull, flow.CodeDraining, flow.CodeStorageFull,
	}
	startParams  = []string{"Prefer", "Idempotency-Key", "Last-Event-ID"}
	startHeaders = []string{"Location", "Preference-Applied", "Idempotent-Replayed"}
	startAnswers = []answer{
		{status: 200, text: "The run, if it ended within the requested wait; or its events, if text/event-stream was requested.", json: runType, stream: true, headers: startHeaders},
		{status: 202, text: "The run is stored.", json: runType, headers: append([]string{"Retry-After"}, startHeaders...)},
	}
)

// Descriptions of the routes, in the order of the table.
var (
	docLive = operation{id: "live", tag: "Server", summary: "Check that the process responds", answers: []answer{{status: 200, text: "OK.", schema: "Health"}}}

	docReady = operation{id: "ready", tag: "Server", summary: "Check that this instance accepts requests",
		answers:  []answer{{status: 200, text: "OK.", schema: "Health"}},
		problems: []flow.Code{flow.CodeDraining, flow.CodeUnavailable}}

	docAPI = operation{id: "showAPI", tag: "Server", summary: "This document", answers: []answer{{status: 200, text: "An OpenAPI document.", schema: "OpenAPI"}}}

	docListFlows = operation{id: "listFlows", tag: "Flows", summary: "List the flows that the key may call",
		params: []string{"limit", "cursor"}, problems: []flow.Code{flow.CodeInputInvalid},
		answers: []answer{{status: 200, text: "One page of flows.", json: reflect.TypeFor[flowList]()}}}

	docShowFlow = operation{id: "showFlow", tag: "Flows", summary: "Show the inputs and outputs of a flow",
		answers: []answer{{status: 200, text: "The flow.", json: reflect.TypeFor[flowObject]()}}}

	docFlowAPI = operation{id: "showFlowAPI", tag: "Flows", summary: "Get the OpenAPI document of one flow",
		problems: []flow.Code{flow.CodeNotPublished},
		answers:  []answer{{status: 200, text: "An OpenAPI document.", schema: "OpenAPI"}}}

	docStartRun = operation{id: "startRun", tag: "Runs", summary: "Start a run",
		text:   "The body is one flat object with the inputs by name and, optionally, run_options. Send an Idempotency-Key, so that you can safely resend the request if the response is lost.",
		params: startParams, body: "StartRun", answers: startAnswers, problems: append([]flow.Code{flow.CodeNotPublished}, startCodes...)}

	docListRuns = operation{id: "listRuns", tag: "Runs", summary: "List runs, newest first",
		text:   "A key without the scope read only gets the runs that it started.",
		params: []string{"status", "created_after", "created_before", "limit", "cursor"}, problems: []flow.Code{flow.CodeInputInvalid},
		answers: []answer{{status: 200, text: "One page of runs.", json: reflect.TypeFor[runList]()}}}

	docListAllRuns = operation{id: "listAllRuns", tag: "Runs", summary: "List the runs of all flows, newest first",
		text:   "Of the flows that the key may call. A key without the scope read only gets the runs that it started.",
		params: []string{"status", "created_after", "created_before", "limit", "cursor"}, problems: []flow.Code{flow.CodeInputInvalid},
		answers: []answer{{status: 200, text: "One page of runs.", json: reflect.TypeFor[runList]()}}}

	docListKinds = operation{id: "listKinds", tag: "Flows", summary: "List the kinds of nodes",
		text:    "What `sluice kinds --json` prints: fields, ports and examples.",
		answers: []answer{{status: 200, text: "The kinds in the order of the palette.", schema: "Kinds"}}}

	docShowRun = operation{id: "showRun", tag: "Runs", summary: "Show a run, or wait for its end",
		params: []string{"wait", "If-None-Match"}, problems: []flow.Code{flow.CodeInputInvalid},
		answers: []answer{
			{status: 200, text: "The current state of the run.", json: runType, headers: []string{"ETag", "Retry-After"}},
			{status: 304, text: "Not modified.", headers: []string{"ETag", "Retry-After"}},
		}}

	docEraseRun = operation{id: "eraseRun", tag: "Runs", summary: "Erase the content of a run that has ended",
		text:     "Inputs, outputs, steps, files and pending deliveries are erased, and those of its child runs soon after. IDs, status, times, error code, usage and cost stay for 400 days.",
		problems: []flow.Code{flow.CodeRunNotEnded, flow.CodeChildRun},
		answers:  []answer{{status: 204, text: "Erased."}}}

	docShowResult = operation{id: "showResult", tag: "Runs", summary: "Get only the outputs",
		problems: []flow.Code{flow.CodeRunFailed, flow.CodeRunCanceled, flow.CodeResultNotSaved, flow.CodeRunExpired},
		answers: []answer{
			{status: 200, text: "The outputs by name.", schema: "Outputs"},
			{status: 202, text: "The run has not ended.", json: runType, headers: []string{"Retry-After"}},
		}}

	docListSteps = operation{id: "listSteps", tag: "Runs", summary: "List the steps of a run",
		problems: []flow.Code{flow.CodeResultNotSaved, flow.CodeRunExpired},
		answers:  []answer{{status: 200, text: "The steps in the order of the flow.", json: reflect.TypeFor[stepList]()}}}

	docStreamEvents = operation{id: "streamEvents", tag: "Runs", summary: "Follow a run",
		text: "Server-Sent Events: run (the run object without inputs), step (path, state, attempt) and output (name, value). They are numbered; a stream continues after Last-Event-ID and ends with the run. " +
			"While a step runs, delta events (path, text) carry the text that it produces, such as the output of a model. They have no number, are not stored and are not sent again: " +
			"append text to the earlier text of the same path. With reset, text is everything so far and replaces it; a client that connects late gets such a delta first, and so does every client when a new attempt starts. " +
			"With truncated, the step produced more than the 1 MiB that is streamed; its outputs contain all of it. If several instances share a database, only clients of the instance that executes the run get deltas; the others get the numbered events. " +
			"While a step waits for the items of a list, progress events (path, done, failed, total) count them, at most 4 times a second and without a number.",
		params:   []string{"Last-Event-ID"},
		problems: []flow.Code{flow.CodeInvalidHeader, flow.CodeResultNotSaved, flow.CodeRunExpired},
		answers: []answer{
			{status: 200, text: "The events so far, then further ones as they happen.", stream: true},
			{status: 204, text: "The run has ended and Last-Event-ID is its last event."},
		}}

	docCancelRun = operation{id: "cancelRun", tag: "Runs", summary: "Cancel a run",
		text:    "Canceling a run that has ended has no effect.",
		answers: []answer{{status: 200, text: "The run after canceling.", json: runType}}}

	docRerun = operation{id: "rerun", tag: "Runs", summary: "Rerun a run, completely or from a node",
		text:   "Uses the document of this run. The chosen node, everything that depends on it and all steps that did not succeed run again; other steps are reused if their inputs are equal.",
		params: startParams, body: "Rerun", optionalBody: true, answers: startAnswers, problems: append([]flow.Code{flow.CodeRunNotEnded}, startCodes...)}

	docListChildren = operation{id: "listChildren", tag: "Runs", summary: "List the child runs of a run",
		text:   "The flows that its steps have started, once or for each item of a list, in the order of steps and items. Items that have not started are left out.",
		params: []string{"status", "limit", "cursor"}, problems: []flow.Code{flow.CodeInputInvalid, flow.CodeResultNotSaved, flow.CodeRunExpired},
		answers: []answer{{status: 200, text: "One page of items, and the steps that started them.", json: reflect.TypeFor[childList]()}}}

	docListApprovals = operation{id: "listApprovals", tag: "Runs", summary: "List the questions that a run asks people",
		problems: []flow.Code{flow.CodeResultNotSaved, flow.CodeRunExpired},
		answers:  []answer{{status: 200, text: "The questions of the run, answered ones too.", json: reflect.TypeFor[approvalList]()}}}

	docDecideApproval = operation{id: "decideApproval", tag: "Runs", summary: "Approve or reject what a run waits for",
		text: "The first answer counts. A key may not answer questions of runs that it started, unless the node allows it.",
		body: "Decision", problems: append([]flow.Code{flow.CodeInputInvalid, flow.CodeAnswerNotAllowed, flow.CodeAlreadyDecided, flow.CodeResultNotSaved, flow.CodeRunExpired}, bodyCodes...),
		answers: []answer{{status: 200, text: "The question with the decision.", json: reflect.TypeFor[approvalObject]()}}}

	docListDeliveries = operation{id: "listDeliveries", tag: "Webhooks", summary: "List webhook deliveries, newest first",
		params: []string{"limit", "cursor"}, problems: []flow.Code{flow.CodeInputInvalid},
		answers: []answer{{status: 200, text: "One page of deliveries.", json: reflect.TypeFor[deliveryList]()}}}

	docRedeliver = operation{id: "redeliver", tag: "Webhooks", summary: "Resend a webhook delivery",
		text:     "Starts a new series of attempts under the same ID.",
		problems: []flow.Code{flow.CodeResultNotSaved, flow.CodeRunExpired, flow.CodeStorageFull},
		answers:  []answer{{status: 202, text: "The delivery is queued.", json: reflect.TypeFor[deliveryObject]()}}}

	docListWebhooks = operation{id: "listWebhooks", tag: "Webhooks", summary: "List webhook nodes and their signing secrets",
		text:    "A secret is created when it is first read or used, so a receiver can be set up before the first message.",
		answers: []answer{{status: 200, text: "The webhook nodes of the live version, and those of the draft that are new or send to another host.", json: reflect.TypeFor[webhookList]()}}}

	docKeySecret = operation{id: "showWebhookSecret", tag: "Webhooks", summary: "Read the webhook secret of the key",
		text:    "Signs webhooks in run_options.webhook without a secret, for runs started with this key. Rotating the key keeps it.",
		answers: []answer{{status: 200, text: "The webhook secret of the key in the request.", json: reflect.TypeFor[keySecret]()}}}

	docCreateFile = operation{id: "createFile", tag: "Files", summary: "Upload a file for an input of type file",
		text: "One part named file. The response can be used as the value of the input. With curl: -F file=@cat.png.",
		body: "Upload", bodyType: typeForm, problems: []flow.Code{flow.CodeUnsupportedMediaType, flow.CodeInputInvalid, flow.CodeBodyTooLarge, flow.CodeQuotaExceeded, flow.CodeDraining, flow.CodeStorageFull},
		answers: []answer{{status: 201, text: "The file is stored.", json: reflect.TypeFor[fileObject](), headers: []string{"Location"}}}}

	docShowFile = operation{id: "showFile", tag: "Files", summary: "Download a file",
		text:   "With a key: a file that it uploaded, or a file of a run that it may see. Without a key: by the url of a file value in responses and webhooks, until it expires.",
		params: fileParams, problems: fileCodes,
		answers: []answer{
			{status: 200, text: "The content.", binary: true, headers: append([]string{"Accept-Ranges"}, fileHeaders...)},
			{status: 206, text: "The requested range.", binary: true, headers: append([]string{"Accept-Ranges", "Content-Range"}, fileHeaders...)},
			{status: 304, text: "Not modified.", headers: []string{"ETag"}},
		}}

	docProbeFile = operation{id: "probeFile", tag: "Files", summary: "Get the headers of a file",
		text: docShowFile.text, params: fileParams, problems: fileCodes, answers: []answer{
			{status: 200, text: "The headers of the GET response.", headers: append([]string{"Accept-Ranges"}, fileHeaders...)},
			{status: 206, text: "The headers of the GET response.", headers: append([]string{"Accept-Ranges", "Content-Range"}, fileHeaders...)},
			{status: 304, text: "Not modified.", headers: []string{"ETag"}},
		}}

	docEraseFile = operation{id: "eraseFile", tag: "Files", summary: "Erase a file",
		text:    "The file is erased from all runs that use it. A key with only the scope run may erase files that it uploaded.",
		answers: []answer{{status: 204, text: "Erased."}}}

	docMCP = operation{id: "mcp", tag: "MCP", summary: "Use the Model Context Protocol",
		text:   "Stateless streamable HTTP: one JSON-RPC message per request. Each published flow that the key may call is a tool. Calling a tool needs the scope run. With ?tools=authoring and the scope edit, the tools write flows instead: list kinds, validate, create, edit, compare, publish, run.",
		params: []string{"tools"},
		body:   "RPCMessage", problems: []flow.Code{flow.CodeInvalidJSON, flow.CodeInvalidHeader, flow.CodeInputInvalid, flow.CodeUnsupportedMediaType, flow.CodeBodyTooLarge, flow.CodeOriginNotAllowed},
		answers: []answer{
			{status: 200, text: "The response to a request; in an event stream, after progress notifications.", schema: "RPCMessage", stream: true,
				example: "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"It will arrive tomorrow.\"}]}}\n\n", headers: []string{"Mcp-Session-Id"}},
			{status: 202, text: "The notification was accepted."},
			{status: 400, text: "A protocol error.", schema: "RPCMessage"},
			{status: 404, text: "An unknown method, as a protocol error.", schema: "RPCMessage"},
		}}

	fileParams  = []string{"expires", "signature", "Range", "If-None-Match"}
	fileHeaders = []string{"ETag", "Last-Modified", "Content-Disposition"}
	fileCodes   = []flow.Code{flow.CodePreconditionFailed, flow.CodeRangeNotSatisfiable}
)

// accessProblems returns the error codes that follow from the access class of a route.
func accessProblems(r *route) []flow.Code {
	if r.access == accessOpen {
		return nil
	}
	codes := []flow.Code{
		flow.CodeKeyInURL, flow.CodeKeyMissing, flow.CodeKeyInvalid, flow.CodeKeyExpired, flow.CodeKeyRevoked,
		flow.CodeScopeMissing, flow.CodeRateLimited, flow.CodeInternal, flow.CodeOverloaded, flow.CodeUnavailable,
	}
	if len(r.doc.offers()) > 0 {
		codes = append(codes, flow.CodeNotAcceptable)
	}
	if strings.Contains(r.path, "/:") {
		codes = append(codes, flow.CodeNotFound, flow.CodeFlowNotAllowed)
	}
	return codes
}
