package api

import (
	"reflect"
	"slices"
	"strings"

	"sluice/flow"
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

	outputEventType = reflect.TypeFor[flow.OutputEvent]()

	startCodes = []flow.Code{
		flow.CodeInvalidJSON, flow.CodeInvalidHeader, flow.CodeUnsupportedMediaType, flow.CodeBodyTooLarge, flow.CodeInputInvalid,
		flow.CodeBudgetExceeded, flow.CodeQuotaExceeded, flow.CodeIdempotencyInProgress, flow.CodeIdempotencyMismatch, flow.CodeResultNotSaved, flow.CodeRunExpired,
		flow.CodeConcurrencyLimited, flow.CodeQueueFull, flow.CodeDraining, flow.CodeStorageFull,
	}
	startParams  = []string{"Prefer", "Idempotency-Key", "Last-Event-ID"}
	startHeaders = []string{"Location", "Preference-Applied", "Idempotent-Replayed"}
	startAnswers = []answer{
		{status: 200, text: "The run, ended in time; or its events, when text/event-stream was asked for.", json: runType, stream: true, headers: startHeaders},
		{status: 202, text: "The run is on disk and will end.", json: runType, headers: append([]string{"Retry-After"}, startHeaders...)},
	}
)

// Descriptions of the routes, in the order of the table.
var (
	docLive = operation{id: "live", tag: "Server", summary: "Whether the process answers", answers: []answer{{status: 200, text: "It does.", schema: "Health"}}}

	docReady = operation{id: "ready", tag: "Server", summary: "Whether this instance wants requests",
		answers:  []answer{{status: 200, text: "It does.", schema: "Health"}},
		problems: []flow.Code{flow.CodeDraining, flow.CodeUnavailable}}

	docAPI = operation{id: "showAPI", tag: "Server", summary: "This document", answers: []answer{{status: 200, text: "An OpenAPI document.", schema: "OpenAPI"}}}

	docListFlows = operation{id: "listFlows", tag: "Flows", summary: "List what the key may call",
		params: []string{"limit", "cursor"}, problems: []flow.Code{flow.CodeInputInvalid},
		answers: []answer{{status: 200, text: "One page of flows.", json: reflect.TypeFor[flowList]()}}}

	docShowFlow = operation{id: "showFlow", tag: "Flows", summary: "Show what a flow takes and gives",
		answers: []answer{{status: 200, text: "The flow.", json: reflect.TypeFor[flowObject]()}}}

	docFlowAPI = operation{id: "showFlowAPI", tag: "Flows", summary: "Describe this flow alone, with its own field names",
		problems: []flow.Code{flow.CodeNotPublished},
		answers:  []answer{{status: 200, text: "An OpenAPI document.", schema: "OpenAPI"}}}

	docStartRun = operation{id: "startRun", tag: "Runs", summary: "Start a run",
		text:   "The body is one flat object: input names and their values, and run_options where something about the run itself is to be said. Send an Idempotency-Key, so that a request whose answer was lost can be sent again.",
		params: startParams, body: "StartRun", answers: startAnswers, problems: append([]flow.Code{flow.CodeNotPublished}, startCodes...)}

	docListRuns = operation{id: "listRuns", tag: "Runs", summary: "List runs, newest first",
		text:   "A key without the scope read gets the runs that it started itself.",
		params: []string{"status", "created_after", "created_before", "limit", "cursor"}, problems: []flow.Code{flow.CodeInputInvalid},
		answers: []answer{{status: 200, text: "One page of runs.", json: reflect.TypeFor[runList]()}}}

	docShowRun = operation{id: "showRun", tag: "Runs", summary: "Show a run, now or when it has ended",
		params: []string{"wait", "If-None-Match"}, problems: []flow.Code{flow.CodeInputInvalid},
		answers: []answer{
			{status: 200, text: "The run as it is.", json: runType, headers: []string{"ETag", "Retry-After"}},
			{status: 304, text: "It is as the caller knows it.", headers: []string{"ETag", "Retry-After"}},
		}}

	docEraseRun = operation{id: "eraseRun", tag: "Runs", summary: "Erase the content of an ended run",
		text:     "Inputs, outputs, steps, files and pending deliveries are erased. IDs, status, times, error code, usage and cost stay for 400 days.",
		problems: []flow.Code{flow.CodeRunNotEnded},
		answers:  []answer{{status: 204, text: "It is erased."}}}

	docShowResult = operation{id: "showResult", tag: "Runs", summary: "Get the bare outputs",
		problems: []flow.Code{flow.CodeRunFailed, flow.CodeRunCanceled, flow.CodeResultNotSaved, flow.CodeRunExpired},
		answers: []answer{
			{status: 200, text: "The outputs by name.", schema: "Outputs"},
			{status: 202, text: "The run has not ended.", json: runType, headers: []string{"Retry-After"}},
		}}

	docListSteps = operation{id: "listSteps", tag: "Runs", summary: "List every step",
		problems: []flow.Code{flow.CodeResultNotSaved, flow.CodeRunExpired},
		answers:  []answer{{status: 200, text: "The steps in the order of the flow.", json: reflect.TypeFor[stepList]()}}}

	docStreamEvents = operation{id: "streamEvents", tag: "Runs", summary: "Follow a run",
		text: "Server-Sent Events: run (the run object without inputs), step (path, state, attempt) and output (name, value). They are numbered; a stream goes on after Last-Event-ID and ends with the run. " +
			"Between a step's running and its next state come delta events (path, text) with what the step says meanwhile, such as the words of a model. They have no number, are not stored and are not sent again: " +
			"text is to be appended to what came before on the path, except with reset, when it is all so far and replaces that. A caller who joins late gets such a delta first, and so does everyone when a new attempt begins. " +
			"With truncated, the step says more than the 1 MiB that is passed on; its outputs have it all. Where several instances share a database, deltas reach the callers of the instance that works on the run; the others get the numbered events alone.",
		params:   []string{"Last-Event-ID"},
		problems: []flow.Code{flow.CodeInvalidHeader, flow.CodeResultNotSaved, flow.CodeRunExpired},
		answers: []answer{
			{status: 200, text: "The events so far, and those to come.", stream: true},
			{status: 204, text: "The run has ended and Last-Event-ID is its last event."},
		}}

	docCancelRun = operation{id: "cancelRun", tag: "Runs", summary: "Cancel a run",
		text:    "Canceling a run that has ended changes nothing.",
		answers: []answer{{status: 200, text: "The run as it is now.", json: runType}}}

	docRerun = operation{id: "rerun", tag: "Runs", summary: "Run again, whole or from a node",
		text:   "Uses the document of this run. The chosen node, all that depends on it and all that did not succeed run again; other steps are reused while their inputs are equal.",
		params: startParams, body: "Rerun", optionalBody: true, answers: startAnswers, problems: append([]flow.Code{flow.CodeRunNotEnded}, startCodes...)}

	docListDeliveries = operation{id: "listDeliveries", tag: "Webhooks", summary: "List webhook deliveries, newest first",
		params: []string{"limit", "cursor"}, problems: []flow.Code{flow.CodeInputInvalid},
		answers: []answer{{status: 200, text: "One page of the log.", json: reflect.TypeFor[deliveryList]()}}}

	docRedeliver = operation{id: "redeliver", tag: "Webhooks", summary: "Send a delivery again",
		text:     "Starts a new series of attempts under the same ID.",
		problems: []flow.Code{flow.CodeResultNotSaved, flow.CodeRunExpired, flow.CodeStorageFull},
		answers:  []answer{{status: 202, text: "It is being sent.", json: reflect.TypeFor[deliveryObject]()}}}

	docListWebhooks = operation{id: "listWebhooks", tag: "Webhooks", summary: "List webhook nodes and their signing secrets",
		text:    "A secret is created when it is first read or used, so a receiver can be set up before the first message.",
		answers: []answer{{status: 200, text: "The webhook nodes of the live version, and those of the draft that are new or send to another host.", json: reflect.TypeFor[webhookList]()}}}

	docKeySecret = operation{id: "showWebhookSecret", tag: "Webhooks", summary: "Read the webhook secret of the key",
		text:    "Signs webhooks in run_options.webhook without a secret, for runs started with this key. Rotating the key keeps it.",
		answers: []answer{{status: 200, text: "The webhook secret of the key in the request.", json: reflect.TypeFor[keySecret]()}}}

	docCreateFile = operation{id: "createFile", tag: "Files", summary: "Upload a file for an input of type file",
		text: "One part, called file. The answer can be given to a run as the value of the input. With curl: -F file=@cat.png.",
		body: "Upload", bodyType: typeForm, problems: []flow.Code{flow.CodeUnsupportedMediaType, flow.CodeInputInvalid, flow.CodeBodyTooLarge, flow.CodeQuotaExceeded, flow.CodeDraining, flow.CodeStorageFull},
		answers: []answer{{status: 201, text: "The file is on disk.", json: reflect.TypeFor[fileObject](), headers: []string{"Location"}}}}

	docShowFile = operation{id: "showFile", tag: "Files", summary: "Download a file",
		text:   "With a key: a file that it uploaded, or one of a run that it may see. Without one: at the url that file values have in answers and webhooks, while it holds.",
		params: fileParams, problems: fileCodes,
		answers: []answer{
			{status: 200, text: "The content.", binary: true, headers: append([]string{"Accept-Ranges"}, fileHeaders...)},
			{status: 206, text: "The part of it that Range asks for.", binary: true, headers: append([]string{"Accept-Ranges", "Content-Range"}, fileHeaders...)},
			{status: 304, text: "It is as the caller knows it.", headers: []string{"ETag"}},
		}}

	docProbeFile = operation{id: "probeFile", tag: "Files", summary: "Ask about a file without its content",
		text: docShowFile.text, params: fileParams, problems: fileCodes, answers: []answer{
			{status: 200, text: "The headers that GET would give.", headers: append([]string{"Accept-Ranges"}, fileHeaders...)},
			{status: 206, text: "The headers that GET would give.", headers: append([]string{"Accept-Ranges", "Content-Range"}, fileHeaders...)},
			{status: 304, text: "It is as the caller knows it.", headers: []string{"ETag"}},
		}}

	docEraseFile = operation{id: "eraseFile", tag: "Files", summary: "Erase a file",
		text:    "It is gone for every run that has it. A key with the scope run alone may erase what it uploaded itself.",
		answers: []answer{{status: 204, text: "It is erased."}}}

	docMCP = operation{id: "mcp", tag: "MCP", summary: "Speak the Model Context Protocol",
		text: "Streamable HTTP without state: one JSON-RPC message a request. Each published flow that the key may call is a tool. A key needs the scope run to call one.",
		body: "RPCMessage", problems: []flow.Code{flow.CodeInvalidJSON, flow.CodeInvalidHeader, flow.CodeUnsupportedMediaType, flow.CodeBodyTooLarge, flow.CodeOriginNotAllowed},
		answers: []answer{
			{status: 200, text: "The answer to a request; as an event stream, after what is told of its progress.", schema: "RPCMessage", stream: true,
				example: "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"It will arrive tomorrow.\"}]}}\n\n", headers: []string{"Mcp-Session-Id"}},
			{status: 202, text: "A notification was taken."},
			{status: 400, text: "An error of the protocol.", schema: "RPCMessage"},
			{status: 404, text: "A method that is not there, by an answer of the protocol.", schema: "RPCMessage"},
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
