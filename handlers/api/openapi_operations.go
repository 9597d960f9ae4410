package api

import (
	"reflect"
	"strings"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/handlers/api/openapi"
)

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
	startAnswers = []openapi.Answer{
		{Status: 200, Text: "The run, if it ended within the requested wait; or its events, if text/event-stream was requested.", JSON: runType, Stream: true, Headers: startHeaders},
		{Status: 202, Text: "The run is stored.", JSON: runType, Headers: append([]string{"Retry-After"}, startHeaders...)},
	}
)

// Descriptions of the routes, in the order of the table.
var (
	docLive = openapi.Operation{ID: "live", Tag: "Server", Summary: "Check that the process responds", Answers: []openapi.Answer{{Status: 200, Text: "OK.", Schema: "Health"}}}

	docReady = openapi.Operation{ID: "ready", Tag: "Server", Summary: "Check that this instance accepts requests",
		Answers:  []openapi.Answer{{Status: 200, Text: "OK.", Schema: "Health"}},
		Problems: []flow.Code{flow.CodeDraining, flow.CodeUnavailable}}

	docAPI = openapi.Operation{ID: "showAPI", Tag: "Server", Summary: "This document", Answers: []openapi.Answer{{Status: 200, Text: "An OpenAPI document.", Schema: "OpenAPI"}}}

	docListFlows = openapi.Operation{ID: "listFlows", Tag: "Flows", Summary: "List the flows that the key may call",
		Params: []string{"limit", "cursor"}, Problems: []flow.Code{flow.CodeInputInvalid},
		Answers: []openapi.Answer{{Status: 200, Text: "One page of flows.", JSON: reflect.TypeFor[flowList]()}}}

	docShowFlow = openapi.Operation{ID: "showFlow", Tag: "Flows", Summary: "Show the inputs and outputs of a flow",
		Answers: []openapi.Answer{{Status: 200, Text: "The flow.", JSON: reflect.TypeFor[flowObject]()}}}

	docFlowAPI = openapi.Operation{ID: "showFlowAPI", Tag: "Flows", Summary: "Get the OpenAPI document of one flow",
		Problems: []flow.Code{flow.CodeNotPublished},
		Answers:  []openapi.Answer{{Status: 200, Text: "An OpenAPI document.", Schema: "OpenAPI"}}}

	docStartRun = openapi.Operation{ID: "startRun", Tag: "Runs", Summary: "Start a run",
		Text:   "The body is one flat object with the inputs by name and, optionally, run_options. Send an Idempotency-Key, so that you can safely resend the request if the response is lost.",
		Params: startParams, Body: "StartRun", Answers: startAnswers, Problems: append([]flow.Code{flow.CodeNotPublished}, startCodes...)}

	docListRuns = openapi.Operation{ID: "listRuns", Tag: "Runs", Summary: "List runs, newest first",
		Text:   "A key without the scope read only gets the runs that it started.",
		Params: []string{"status", "created_after", "created_before", "limit", "cursor"}, Problems: []flow.Code{flow.CodeInputInvalid},
		Answers: []openapi.Answer{{Status: 200, Text: "One page of runs.", JSON: reflect.TypeFor[runList]()}}}

	docListAllRuns = openapi.Operation{ID: "listAllRuns", Tag: "Runs", Summary: "List the runs of all flows, newest first",
		Text:   "Of the flows that the key may call. A key without the scope read only gets the runs that it started.",
		Params: []string{"status", "created_after", "created_before", "limit", "cursor"}, Problems: []flow.Code{flow.CodeInputInvalid},
		Answers: []openapi.Answer{{Status: 200, Text: "One page of runs.", JSON: reflect.TypeFor[runList]()}}}

	docListKinds = openapi.Operation{ID: "listKinds", Tag: "Flows", Summary: "List the kinds of nodes",
		Text:    "What `sluice kinds --json` prints: fields, ports and examples.",
		Answers: []openapi.Answer{{Status: 200, Text: "The kinds in the order of the palette.", Schema: "Kinds"}}}

	docShowRun = openapi.Operation{ID: "showRun", Tag: "Runs", Summary: "Show a run, or wait for its end",
		Params: []string{"wait", "If-None-Match"}, Problems: []flow.Code{flow.CodeInputInvalid},
		Answers: []openapi.Answer{
			{Status: 200, Text: "The current state of the run.", JSON: runType, Headers: []string{"ETag", "Retry-After"}},
			{Status: 304, Text: "Not modified.", Headers: []string{"ETag", "Retry-After"}},
		}}

	docEraseRun = openapi.Operation{ID: "eraseRun", Tag: "Runs", Summary: "Erase the content of a run that has ended",
		Text:     "Inputs, outputs, steps, files and pending deliveries are erased, and those of its child runs soon after. IDs, status, times, error code, usage and cost stay for 400 days.",
		Problems: []flow.Code{flow.CodeRunNotEnded, flow.CodeChildRun},
		Answers:  []openapi.Answer{{Status: 204, Text: "Erased."}}}

	docShowResult = openapi.Operation{ID: "showResult", Tag: "Runs", Summary: "Get only the outputs",
		Problems: []flow.Code{flow.CodeRunFailed, flow.CodeRunCanceled, flow.CodeResultNotSaved, flow.CodeRunExpired},
		Answers: []openapi.Answer{
			{Status: 200, Text: "The outputs by name.", Schema: "Outputs"},
			{Status: 202, Text: "The run has not ended.", JSON: runType, Headers: []string{"Retry-After"}},
		}}

	docListSteps = openapi.Operation{ID: "listSteps", Tag: "Runs", Summary: "List the steps of a run",
		Problems: []flow.Code{flow.CodeResultNotSaved, flow.CodeRunExpired},
		Answers:  []openapi.Answer{{Status: 200, Text: "The steps in the order of the flow.", JSON: reflect.TypeFor[stepList]()}}}

	docStreamEvents = openapi.Operation{ID: "streamEvents", Tag: "Runs", Summary: "Follow a run",
		Text: "Server-Sent Events: run (the run object without inputs), step (path, state, attempt) and output (name, value). They are numbered; a stream continues after Last-Event-ID and ends with the run. " +
			"While a step runs, delta events (path, text) carry the text that it produces, such as the output of a model. They have no number, are not stored and are not sent again: " +
			"append text to the earlier text of the same path. With reset, text is everything so far and replaces it; a client that connects late gets such a delta first, and so does every client when a new attempt starts. " +
			"With truncated, the step produced more than the 1 MiB that is streamed; its outputs contain all of it. If several instances share a database, only clients of the instance that executes the run get deltas; the others get the numbered events. " +
			"While a step waits for the items of a list, progress events (path, done, failed, total) count them, at most 4 times a second and without a number.",
		Params:   []string{"Last-Event-ID"},
		Problems: []flow.Code{flow.CodeInvalidHeader, flow.CodeResultNotSaved, flow.CodeRunExpired},
		Answers: []openapi.Answer{
			{Status: 200, Text: "The events so far, then further ones as they happen.", Stream: true},
			{Status: 204, Text: "The run has ended and Last-Event-ID is its last event."},
		}}

	docCancelRun = openapi.Operation{ID: "cancelRun", Tag: "Runs", Summary: "Cancel a run",
		Text:    "Canceling a run that has ended has no effect.",
		Answers: []openapi.Answer{{Status: 200, Text: "The run after canceling.", JSON: runType}}}

	docRerun = openapi.Operation{ID: "rerun", Tag: "Runs", Summary: "Rerun a run, completely or from a node",
		Text:   "Uses the document of this run. The chosen node, everything that depends on it and all steps that did not succeed run again; other steps are reused if their inputs are equal.",
		Params: startParams, Body: "Rerun", OptionalBody: true, Answers: startAnswers, Problems: append([]flow.Code{flow.CodeRunNotEnded}, startCodes...)}

	docListChildren = openapi.Operation{ID: "listChildren", Tag: "Runs", Summary: "List the child runs of a run",
		Text:   "The flows that its steps have started, once or for each item of a list, in the order of steps and items. Items that have not started are left out.",
		Params: []string{"status", "limit", "cursor"}, Problems: []flow.Code{flow.CodeInputInvalid, flow.CodeResultNotSaved, flow.CodeRunExpired},
		Answers: []openapi.Answer{{Status: 200, Text: "One page of items, and the steps that started them.", JSON: reflect.TypeFor[childList]()}}}

	docListApprovals = openapi.Operation{ID: "listApprovals", Tag: "Runs", Summary: "List the questions that a run asks people",
		Problems: []flow.Code{flow.CodeResultNotSaved, flow.CodeRunExpired},
		Answers:  []openapi.Answer{{Status: 200, Text: "The questions of the run, answered ones too.", JSON: reflect.TypeFor[approvalList]()}}}

	docDecideApproval = openapi.Operation{ID: "decideApproval", Tag: "Runs", Summary: "Approve or reject what a run waits for",
		Text: "The first answer counts. A key may not answer questions of runs that it started, unless the node allows it.",
		Body: "Decision", Problems: append([]flow.Code{flow.CodeInputInvalid, flow.CodeAnswerNotAllowed, flow.CodeAlreadyDecided, flow.CodeResultNotSaved, flow.CodeRunExpired}, bodyCodes...),
		Answers: []openapi.Answer{{Status: 200, Text: "The question with the decision.", JSON: reflect.TypeFor[approvalObject]()}}}

	docListDeliveries = openapi.Operation{ID: "listDeliveries", Tag: "Webhooks", Summary: "List webhook deliveries, newest first",
		Params: []string{"limit", "cursor"}, Problems: []flow.Code{flow.CodeInputInvalid},
		Answers: []openapi.Answer{{Status: 200, Text: "One page of deliveries.", JSON: reflect.TypeFor[deliveryList]()}}}

	docRedeliver = openapi.Operation{ID: "redeliver", Tag: "Webhooks", Summary: "Resend a webhook delivery",
		Text:     "Starts a new series of attempts under the same ID.",
		Problems: []flow.Code{flow.CodeResultNotSaved, flow.CodeRunExpired, flow.CodeStorageFull},
		Answers:  []openapi.Answer{{Status: 202, Text: "The delivery is queued.", JSON: reflect.TypeFor[deliveryObject]()}}}

	docListWebhooks = openapi.Operation{ID: "listWebhooks", Tag: "Webhooks", Summary: "List webhook nodes and their signing secrets",
		Text:     "A secret is created when it is first read or used, so a receiver can be set up before the first message. Reading secrets is recorded in the audit log.",
		Problems: []flow.Code{flow.CodeStorageFull},
		Answers:  []openapi.Answer{{Status: 200, Text: "The webhook nodes of the live version, and those of the draft that are new or send to another host.", JSON: reflect.TypeFor[webhookList]()}}}

	docKeySecret = openapi.Operation{ID: "showWebhookSecret", Tag: "Webhooks", Summary: "Read the webhook secret of the key",
		Text:    "Signs webhooks in run_options.webhook without a secret, for runs started with this key. Rotating the key keeps it.",
		Answers: []openapi.Answer{{Status: 200, Text: "The webhook secret of the key in the request.", JSON: reflect.TypeFor[KeySecret]()}}}

	docCreateFile = openapi.Operation{ID: "createFile", Tag: "Files", Summary: "Upload a file for an input of type file",
		Text: "One part named file. The response can be used as the value of the input. With curl: -F file=@cat.png.",
		Body: "Upload", BodyType: typeForm, Problems: []flow.Code{flow.CodeUnsupportedMediaType, flow.CodeInputInvalid, flow.CodeBodyTooLarge, flow.CodeQuotaExceeded, flow.CodeDraining, flow.CodeStorageFull},
		Answers: []openapi.Answer{{Status: 201, Text: "The file is stored.", JSON: reflect.TypeFor[fileObject](), Headers: []string{"Location"}}}}

	docShowFile = openapi.Operation{ID: "showFile", Tag: "Files", Summary: "Download a file",
		Text:   "With a key: a file that it uploaded, or a file of a run that it may see. Without a key: by the url of a file value in responses and webhooks, until it expires.",
		Params: fileParams, Problems: fileCodes,
		Answers: []openapi.Answer{
			{Status: 200, Text: "The content.", Binary: true, Headers: append([]string{"Accept-Ranges"}, fileHeaders...)},
			{Status: 206, Text: "The requested range.", Binary: true, Headers: append([]string{"Accept-Ranges", "Content-Range"}, fileHeaders...)},
			{Status: 304, Text: "Not modified.", Headers: []string{"ETag"}},
		}}

	docProbeFile = openapi.Operation{ID: "probeFile", Tag: "Files", Summary: "Get the headers of a file",
		Text: docShowFile.Text, Params: fileParams, Problems: fileCodes, Answers: []openapi.Answer{
			{Status: 200, Text: "The headers of the GET response.", Headers: append([]string{"Accept-Ranges"}, fileHeaders...)},
			{Status: 206, Text: "The headers of the GET response.", Headers: append([]string{"Accept-Ranges", "Content-Range"}, fileHeaders...)},
			{Status: 304, Text: "Not modified.", Headers: []string{"ETag"}},
		}}

	docEraseFile = openapi.Operation{ID: "eraseFile", Tag: "Files", Summary: "Erase a file",
		Text:    "The file is erased from all runs that use it. A key with only the scope run may erase files that it uploaded.",
		Answers: []openapi.Answer{{Status: 204, Text: "Erased."}}}

	docMCP = openapi.Operation{ID: "mcp", Tag: "MCP", Summary: "Use the Model Context Protocol",
		Text:   "Stateless streamable HTTP: one JSON-RPC message per request. Each published flow that the key may call is a tool. Calling a tool needs the scope run. With ?tools=authoring and the scope edit, the tools write flows instead: list kinds, validate, create, edit, compare, publish, run.",
		Params: []string{"tools"},
		Body:   "RPCMessage", Problems: []flow.Code{flow.CodeInvalidJSON, flow.CodeInvalidHeader, flow.CodeInputInvalid, flow.CodeUnsupportedMediaType, flow.CodeBodyTooLarge, flow.CodeOriginNotAllowed},
		Answers: []openapi.Answer{
			{Status: 200, Text: "The response to a request; in an event stream, after progress notifications.", Schema: "RPCMessage", Stream: true,
				Example: "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"It will arrive tomorrow.\"}]}}\n\n", Headers: []string{"Mcp-Session-Id"}},
			{Status: 202, Text: "The notification was accepted."},
			{Status: 400, Text: "A protocol error.", Schema: "RPCMessage"},
			{Status: 404, Text: "An unknown method, as a protocol error.", Schema: "RPCMessage"},
		}}

	fileParams  = []string{"expires", "signature", "Range", "If-None-Match"}
	fileHeaders = []string{"ETag", "Last-Modified", "Content-Disposition"}
	fileCodes   = []flow.Code{flow.CodePreconditionFailed, flow.CodeRangeNotSatisfiable}
)

// accessProblems returns the error codes that follow from the access class of a route.
func accessProblems(r *route) []flow.Code {
	if r.access.open {
		return nil
	}
	codes := []flow.Code{
		flow.CodeKeyInURL, flow.CodeKeyMissing, flow.CodeKeyInvalid, flow.CodeKeyExpired, flow.CodeKeyRevoked,
		flow.CodeScopeMissing, flow.CodeRateLimited, flow.CodeInternal, flow.CodeOverloaded, flow.CodeUnavailable,
	}
	if len(r.doc.Offers()) > 0 {
		codes = append(codes, flow.CodeNotAcceptable)
	}
	if strings.Contains(r.path, "/:") {
		codes = append(codes, flow.CodeNotFound, flow.CodeFlowNotAllowed)
	}
	return codes
}
