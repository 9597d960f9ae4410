package api

import (
	"net/http"

	"sluice/flow"
	"sluice/handlers/api/openapi"
)

// batchRoutes returns the routes of batches.
func (s batchServer) batchRoutes() []Route {
	const path, tag = "/v1/flow/:flow_id/batches", "Batches"
	return []Route{{
		Method: http.MethodPost, Path: path, Scopes: scopesRun, Handle: s.startBatch, Commands: []string{"batch start"}, Tool: "start_batch",
		Doc: openapi.Operation{ID: "startBatch", Tag: tag, Summary: "Run a flow for every row of a table",
			Text: "A batch is a run whose rows are child runs: cancel, rerun, events and erasing are those of runs, and a rerun starts only the rows that failed. " +
				"Send a multipart/form-data body with one part named file instead of JSON to upload the table with the request. The header, the columns and the first 1,000 rows are checked before the response, the others before any row starts.",
			Params: []string{"Idempotency-Key"}, Body: batchBody.Doc(),
			Problems: append([]flow.Code{flow.CodeBatchInvalid, flow.CodeNotPublished, flow.CodeExceedsKey, flow.CodeUnsupportedMediaType, flow.CodeBodyTooLarge}, startCodes...),
			Answers:  []openapi.Answer{{Status: 202, Text: "The batch is stored.", JSON: batchObject{}, Headers: []string{"Location"}}}},
	}, {
		Method: http.MethodGet, Path: path, Scopes: scopesSee, Handle: s.listBatches, Commands: []string{"batch list"},
		Doc: openapi.Operation{ID: "listBatches", Tag: tag, Summary: "List batches, newest first",
			Params: []string{"status", "created_after", "created_before", "limit", "cursor"}, Problems: []flow.Code{flow.CodeInputInvalid},
			Answers: openapi.OK("One page of batches.", batchList{})},
	}, {
		Method: http.MethodGet, Path: path + "/:run_id", Scopes: scopesSee, Handle: s.showBatch, Commands: []string{"batch show", "batch watch"}, Tool: "read_batch",
		Doc: openapi.Operation{ID: "showBatch", Tag: tag, Summary: "Show a batch",
			Problems: []flow.Code{flow.CodeResultNotSaved, flow.CodeRunExpired},
			Answers:  openapi.OK("The batch.", batchObject{})},
	}, {
		Method: http.MethodPatch, Path: path + "/:run_id", Scopes: scopesRun, Handle: s.changeBatch, Commands: []string{"batch pause", "batch resume"},
		Doc: openapi.Operation{ID: "changeBatch", Tag: tag, Summary: "Pause a batch, let it continue, or change its concurrency",
			Body: batchChangeBody.Doc(), Problems: []flow.Code{flow.CodeInputInvalid, flow.CodeResultNotSaved, flow.CodeRunExpired},
			Answers: openapi.OK("The batch.", batchObject{})},
	}, {
		Method: http.MethodGet, Path: path + "/:run_id/results", Scopes: scopesSee, Handle: s.showBatchResults, Commands: []string{"batch results"},
		Doc: openapi.Operation{ID: "showBatchResults", Tag: tag, Summary: "Download the rows with their results",
			Text: "At any time, in the order of the table: its columns, the outputs by name, and _status, _code, _error, _run_id and _usd. " +
				"In CSV, texts that programs would read as formulas get an apostrophe, unless raw is true.",
			Params: []string{"results_format", "results_only", "results_raw"}, Problems: []flow.Code{flow.CodeInputInvalid, flow.CodeResultNotSaved, flow.CodeRunExpired},
			Answers: []openapi.Answer{{Status: 200, Text: "The rows.", Binary: true}}},
	}}
}
