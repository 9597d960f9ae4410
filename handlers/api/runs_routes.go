package api

import (
	"net/http"

	"sluice/flow"
	"sluice/handlers/api/openapi"
)

// runRoutes returns the routes of runs and of the questions that they ask.
func (s *Server) runRoutes() []Route {
	return []Route{{
		Method: http.MethodGet, Path: "/v1/runs", Scopes: scopesSee, Handle: s.listAllRuns,
		Role: flow.MemberViewer,
		Doc: openapi.Operation{ID: "listAllRuns", Tag: "Runs", Summary: "List the runs of all flows, newest first",
			Text:   "Of the flows that the key may call. A key without the scope read only gets the runs that it started.",
			Params: []string{"status", "work", "created_after", "created_before", "limit", "cursor"}, Problems: []flow.Code{flow.CodeInputInvalid},
			Answers: openapi.OK("One page of runs.", runList{})},
	}, {
		Method: http.MethodGet, Path: "/v1/run/:run_id", Scopes: scopesSee, Handle: s.showRun,
		Role: flow.MemberViewer, Commands: []string{"run show", "run watch"},
		Doc: openapi.Operation{ID: "findRun", Tag: "Runs", Summary: "Find a run by its ID alone, or wait for its end",
			Text:   "For a run ID without its flow, such as one from a log. The response is that of GET /v1/flow/{flow_id}/run/{run_id}.",
			Params: []string{"wait", "If-None-Match"}, Problems: []flow.Code{flow.CodeInputInvalid},
			Answers: currentAnswers},
	}, {
		Method: http.MethodPost, Path: "/v1/flow/:flow_id/run", Scopes: scopesRun, Recent: true, Handle: s.startRun,
		Role: flow.MemberEditor, Commands: []string{"flow run", "dev"}, Tool: "run_flow",
		Doc: openapi.Operation{ID: "startRun", Tag: "Runs", Summary: "Start a run",
			Text:   "The body is one flat object with the inputs by name and, optionally, run_options. Send an Idempotency-Key, so that you can safely resend the request if the response is lost.",
			Params: startParams, Body: openapi.Body{Name: "StartRun"}, Answers: startAnswers, Problems: append([]flow.Code{flow.CodeNotPublished}, startCodes...)},
	}, {
		Method: http.MethodGet, Path: "/v1/flow/:flow_id/runs", Scopes: scopesSee, Handle: s.listRuns,
		Role: flow.MemberViewer, Commands: []string{"run list"},
		Doc: openapi.Operation{ID: "listRuns", Tag: "Runs", Summary: "List runs, newest first",
			Text:   "A key without the scope read only gets the runs that it started.",
			Params: []string{"status", "work", "created_after", "created_before", "limit", "cursor"}, Problems: []flow.Code{flow.CodeInputInvalid},
			Answers: openapi.OK("One page of runs.", runList{})},
	}, {
		Method: http.MethodGet, Path: "/v1/flow/:flow_id/run/:run_id", Scopes: scopesSee, Handle: s.showRun,
		Role: flow.MemberViewer, Commands: []string{"run show", "run watch", "flow run"}, Tool: "read_run",
		Doc: openapi.Operation{ID: "showRun", Tag: "Runs", Summary: "Show a run, or wait for its end",
			Params: []string{"wait", "If-None-Match"}, Problems: []flow.Code{flow.CodeInputInvalid},
			Answers: currentAnswers},
	}, {
		Method: http.MethodDelete, Path: "/v1/flow/:flow_id/run/:run_id", Scopes: scopesManage, Handle: s.eraseRun,
		Audit: []string{"run.erase"},
		Doc: openapi.Operation{ID: "eraseRun", Tag: "Runs", Summary: "Erase the content of a run that has ended",
			Text:     "Inputs, outputs, steps, files and pending deliveries are erased, and those of its child runs soon after. Runs that continue the conversation of the run are canceled and erased, too, and the answer lists them, as well as the test cases that were made from the run: these stay unless they are erased, too, which needs the scope edit. IDs, status, times, error code, usage and cost stay for 400 days.",
			Params:   []string{"erase_cases"},
			Problems: []flow.Code{flow.CodeInputInvalid, flow.CodeRunNotEnded, flow.CodeChildRun},
			Answers:  append(openapi.NoContent("Erased."), openapi.Answer{Status: 200, Text: "Erased, with runs that continued it; or it has test cases.", JSON: erasedRuns{}})},
	}, {
		Method: http.MethodGet, Path: "/v1/flow/:flow_id/run/:run_id/result", Scopes: scopesSee, Handle: s.showResult,
		Role: flow.MemberViewer,
		Doc: openapi.Operation{ID: "showResult", Tag: "Runs", Summary: "Get only the outputs",
			Problems: []flow.Code{flow.CodeRunFailed, flow.CodeRunCanceled, flow.CodeResultNotSaved, flow.CodeRunExpired},
			Answers: []openapi.Answer{
				{Status: 200, Text: "The outputs by name.", Schema: "Outputs"},
				{Status: 202, Text: "The run has not ended.", JSON: runObject{}, Headers: []string{"Retry-After"}},
			}},
	}, {
		Method: http.MethodGet, Path: "/v1/flow/:flow_id/run/:run_id/steps", Scopes: scopesSee, Handle: s.listSteps,
		Role: flow.MemberViewer, Commands: []string{"run show", "run steps"}, Tool: "list_steps",
		Doc: openapi.Operation{ID: "listSteps", Tag: "Runs", Summary: "List the steps of a run",
			Text:   "One for each node, all on one page. With under, the turns of an agent and the calls of its tools, 100 a page, without their content unless contents is set.",
			Params: []string{"under", "contents", "cursor"}, Problems: []flow.Code{flow.CodeInputInvalid, flow.CodeResultNotSaved, flow.CodeRunExpired},
			Answers: openapi.OK("The steps in the order of the flow.", stepList{})},
	}, {
		Method: http.MethodGet, Path: "/v1/flow/:flow_id/run/:run_id/events", Scopes: scopesSee, Handle: s.streamEvents,
		Role: flow.MemberViewer, Commands: []string{"run watch"},
		Doc: openapi.Operation{ID: "streamEvents", Tag: "Runs", Summary: "Follow a run",
			Text: "Server-Sent Events: run (the run object without inputs), step (path, state, attempt) and output (name, value). Steps inside of a node, such as the turns and calls of an agent, are sent only with under. They are numbered; a stream continues after Last-Event-ID and ends with the run. " +
				"While a step runs, delta events (path, text) carry the text that it produces, such as the output of a model. They have no number, are not stored and are not sent again: " +
				"append text to the earlier text of the same path. With reset, text is everything so far and replaces it; a client that connects late gets such a delta first, and so does every client when a new attempt starts. " +
				"With truncated, the step produced more than the 1 MiB that is streamed; its outputs contain all of it. If several instances share a database, only clients of the instance that executes the run get deltas; the others get the numbered events. " +
				"While a step waits for the items of a list, progress events (path, done, failed, total) count them, at most 4 times a second and without a number.",
			Params:   []string{"under", "Last-Event-ID"},
			Problems: []flow.Code{flow.CodeInvalidHeader, flow.CodeResultNotSaved, flow.CodeRunExpired},
			Answers: []openapi.Answer{
				{Status: 200, Text: "The events so far, then further ones as they happen.", Stream: true},
				{Status: 204, Text: "The run has ended and Last-Event-ID is its last event."},
			}},
	}, {
		Method: http.MethodGet, Path: "/v1/flow/:flow_id/run/:run_id/approvals", Scopes: []flow.Scope{flow.ScopeRead, flow.ScopeRun, flow.ScopeApprove}, Handle: s.listApprovals,
		Role: flow.MemberViewer, Commands: []string{"run approvals"},
		Doc: openapi.Operation{ID: "listApprovals", Tag: "Runs", Summary: "List the questions that a run asks people",
			Problems: []flow.Code{flow.CodeResultNotSaved, flow.CodeRunExpired},
			Answers:  openapi.OK("The questions of the run, answered ones too.", approvalList{})},
	}, {
		Method: http.MethodPost, Path: "/v1/flow/:flow_id/run/:run_id/approvals/:path", Scopes: []flow.Scope{flow.ScopeApprove}, Handle: s.decideApproval,
		Role: flow.MemberEditor, Audit: []string{"approval.answer"}, Commands: []string{"run approve", "run reject"},
		Doc: openapi.Operation{ID: "decideApproval", Tag: "Runs", Summary: "Approve or reject what a run waits for",
			Text: "The first answer counts. A key may not answer questions of runs that it started, unless the node allows it.",
			Body: decisionBody.Doc(), Problems: []flow.Code{flow.CodeAnswerNotAllowed, flow.CodeAlreadyDecided, flow.CodeResultNotSaved, flow.CodeRunExpired},
			Answers: openapi.OK("The question with the decision.", approvalObject{})},
	}, {
		Method: http.MethodGet, Path: "/v1/flow/:flow_id/run/:run_id/children", Scopes: scopesSee, Handle: s.listChildren,
		Role: flow.MemberViewer, Commands: []string{"run children"},
		Doc: openapi.Operation{ID: "listChildren", Tag: "Runs", Summary: "List the child runs of a run",
			Text:   "The flows that its steps have started, once or for each item of a list, in the order of steps and items. Items that have not started are left out.",
			Params: []string{"status", "limit", "cursor"}, Problems: []flow.Code{flow.CodeInputInvalid, flow.CodeResultNotSaved, flow.CodeRunExpired},
			Answers: openapi.OK("One page of items, and the steps that started them.", childList{})},
	}, {
		Method: http.MethodPost, Path: "/v1/flow/:flow_id/run/:run_id/cancel", Scopes: scopesRun, Handle: s.cancelRun,
		Role: flow.MemberEditor, Audit: []string{"run.cancel"}, Commands: []string{"run cancel"},
		Doc: openapi.Operation{ID: "cancelRun", Tag: "Runs", Summary: "Cancel a run",
			Text: "Canceling a run that has ended has no effect.",
			Body: cancelBody.Doc(), Problems: []flow.Code{flow.CodeInputInvalid},
			Answers: openapi.OK("The run after canceling.", runObject{})},
	}, {
		Method: http.MethodPost, Path: "/v1/flow/:flow_id/run/:run_id/rerun", Scopes: scopesRun, Handle: s.rerun,
		Role: flow.MemberEditor, Commands: []string{"run rerun"},
		Doc: openapi.Operation{ID: "rerun", Tag: "Runs", Summary: "Rerun a run, completely or from a node",
			Text:   "Uses the document of this run. The chosen node, everything that depends on it and all steps that did not succeed run again; other steps are reused if their inputs are equal.",
			Params: startParams, Body: rerunBody.Doc(), Answers: startAnswers, Problems: append([]flow.Code{flow.CodeRunNotEnded}, startCodes...)},
	}}
}

// Parts of the documentation of a start and of a rerun.
var (
	startCodes = []flow.Code{
		flow.CodeInvalidHeader, flow.CodeInputInvalid,
		flow.CodeBudgetExceeded, flow.CodePriceUnknown, flow.CodeQuotaExceeded, flow.CodeIdempotencyInProgress, flow.CodeIdempotencyMismatch, flow.CodeResultNotSaved, flow.CodeRunExpired,
		flow.CodeConcurrencyLimited, flow.CodeQueueFull, flow.CodeDraining, flow.CodeUpgradeInProgress, flow.CodeStorageFull,
	}
	currentAnswers = []openapi.Answer{
		{Status: 200, Text: "The current state of the run.", JSON: runObject{}, Headers: []string{"ETag", "Retry-After"}},
		{Status: 304, Text: "Not modified.", Headers: []string{"ETag", "Retry-After"}},
	}
	startParams  = []string{"Prefer", "Idempotency-Key", "Last-Event-ID"}
	startHeaders = []string{"Location", "Preference-Applied", "Idempotent-Replayed"}
	startAnswers = []openapi.Answer{
		{Status: 200, Text: "The run, if it ended within the requested wait; or its events, if text/event-stream was requested.", JSON: runObject{}, Stream: true, Headers: startHeaders},
		{Status: 202, Text: "The run is stored.", JSON: runObject{}, Headers: append([]string{"Retry-After"}, startHeaders...)},
	}
)
