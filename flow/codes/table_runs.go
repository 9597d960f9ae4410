package codes

import (
	"time"

	"sluice/flow"
)

// ofRuns has the codes of failed runs only.
var ofRuns = []Facts{
	{
		Code: flow.CodeProviderAuth,
		Run: "The model provider rejected the credential, or no credential exists. Add or fix it under *Credentials*; *Test* shows whether the provider accepts it. " +
			"See [models and credentials](models.md).\n" +
			"\n" +
			"If the message names a credential:\n" +
			"\n" +
			"| Message | What to do |\n" +
			"|---|---|\n" +
			"| *may not be sent to …* | The node sends the credential to a host it is not bound to. Add the host under *Credentials* or with `sluice credential " +
			"hosts`, or choose another credential. |\n" +
			"| *has no hosts* | The server runs with `SLUICE_UNBOUND_CREDENTIALS=refuse`. Enter the hosts of the credential. |\n" +
			"| *cannot be opened with this server's master key* | The credential was encrypted with another master key. Set the right key in `SLUICE_MASTER_KEY` " +
			"or `SLUICE_MASTER_KEY_FILE` and restart, or enter the secret again. |",
		Advice:        "The provider rejects the credential. Test it under Credentials, or choose another one in the node.",
		BuilderAdvice: "Check the credential that the node uses under Credentials, then run from here.",
	},
	{
		Code: flow.CodeProviderRateLimited, Status: 429, Title: "Rate limit of a provider", After: 5 * time.Second,
		Run:           "You have exceeded the provider's rate limit or your quota with it. Retryable. Give the node more attempts with a back-off, or lower the flow's concurrency.",
		Advice:        "Too many requests. Try again shortly, or add retries under Error handling.",
		BuilderAdvice: "Wait a moment and run from here, or turn on retries for the node.",
		FormFailure:   serviceDown,
	},
	{
		Code: flow.CodeProviderRejected,
		Run: "The provider understood the request and refused it: a content filter, a parameter the model does not support, no credit, or a model that failed on " +
			"this input. The message quotes the provider's reason. Retrying rarely helps.",
		Advice:        "The provider rejected the request. Check the input of the step: its length, its files, and the settings of the model.",
		BuilderAdvice: "Change the model, the prompt or the options of the node.",
		FormFailure:   inputsUnusable,
	},
	{
		Code: flow.CodeProviderUnavailable,
		Run: "The provider did not respond, closed the connection early, returned a server error, or ended the answer with a finish reason such as `error` or " +
			"`abort`. Retryable, unless an answer had begun, which costs money. For a model server on your machine: check that it runs.",
		Advice:        "The provider is unavailable, probably for a short time. Run it again, or give the node retries.",
		BuilderAdvice: "Run from here in a moment, or turn on retries for the node.",
		FormFailure:   serviceDown,
	},
	{
		Code:          flow.CodeModelNotFound,
		Run:           "The provider has no model with this name, or your account has no access to it. Check the spelling; the list of models in the node shows what the provider has.",
		Advice:        "The provider does not know this model, or this account may not use it. Choose another model in the node.",
		BuilderAdvice: "Choose another model in the node.",
	},
	{
		Code:          flow.CodeModelIncompatible,
		Run:           "The model does not support what the node needs: generating images, image inputs, or structured output. The message says what, and which models support it.",
		Advice:        "The model does not support what the node needs. Choose another model, or change the settings of the node.",
		BuilderAdvice: "Choose a model that supports this, or remove the option.",
	},
	{
		Code: flow.CodeOutputInvalid,
		Run: "The response cannot be used: an answer without text, JSON that does not match the schema, no image, an empty recording, a file that exceeds the " +
			"server's limit, an answer truncated by `max_tokens`, or one that ended with a finish reason such as `tool_calls`. What often helps: allow more " +
			"tokens, simplify the schema, add a retry.",
		Advice:        "The output does not match the schema. Loosen the schema, or describe the expected output in the prompt.",
		BuilderAdvice: "Check the output. Loosen the schema or make the prompt more specific.",
	},
	{
		Code:          flow.CodeOutputTooLarge,
		Run:           "The results of a *Map* node exceed 16 MiB in total. Set its *Results* to `file`.",
		Advice:        "The results of the map are too large for lists. Set its results to file.",
		BuilderAdvice: "Let the map write its results to a file.",
	},
	{
		Code: flow.CodeBatchInvalid, Status: 422, Title: "Batch invalid",
		Request: "The table of a [batch](batches.md) cannot be read, its columns do not fit the inputs of the flow, or rows are invalid. `errors` has the first 100 rows with their " +
			"numbers in the file. Nothing was started. Fix the rows, name the columns in `columns`, or send `on_invalid: skip`.",
		Run:           "A row after the first 1,000 is invalid, so no row was started. The message and `errors` name the rows. Fix the file and start a new batch.",
		Advice:        "Rows of the table are invalid. Fix the ones that the message names, then start a new batch, or skip invalid rows.",
		BuilderAdvice: "Fix the rows that the message names.",
		FormFailure:   inputsUnusable,
	},
	{
		Code: flow.CodeCaseInvalid, Status: 422, Title: "Case invalid",
		Request: "A [test case](tests.md) is invalid. `errors` says what is wrong where. Nothing was changed.",
	},
	{
		Code: flow.CodeTestsRequired, Status: 409, Title: "Tests required",
		Request: "The [gate](tests.md#gate) of the flow needs a report of exactly this document, its cases and the flows below, and there is no such report. For a gate with the mode `replay` the test was started; the message and `errors` " +
			"have its ID. Publish again when it has ended.",
	},
	{
		Code: flow.CodeTestsFailed, Status: 409, Title: "Tests failed",
		Request: "The report of this document does not pass the [gate](tests.md#gate) of the flow. `errors` lists the cases and limits. Fix the flow or the cases, then publish again.",
	},
	{
		Code:          flow.CodeJudgeFailed,
		Run:           "A judge of a [test](tests.md) answered with something else than the JSON object that it was asked for, so there is no verdict. The check is errored, which is neither a pass nor a fail. Run the test again, or choose another model for the judge.",
		Advice:        "The judge gave no verdict. Choose another model for it.",
		BuilderAdvice: "Choose another model for the judge.",
		FormFailure:   inputsUnusable,
	},
	{
		Code: flow.CodeNotRecorded,
		Run: "A run of a [test case](tests.md) needs the result of a step that is not recorded, or the answer to an approval that the case does not have. The message says what differs from " +
			"the last recording. Run the test once in the mode `fill`, or add a stub to the case.",
		Advice:        "The result of this step is not recorded. Run the test in the mode fill, or add a stub to the case.",
		BuilderAdvice: "Run the test in the mode fill, or add a stub to the case.",
		FormFailure:   inputsUnusable,
	},
	{
		Code: flow.CodeKnowledgeNotFound, Status: 404, Title: "Knowledge base not found",
		Request:       "There is no such [knowledge base](knowledge.md) in the workspace of the key. `sluice knowledge list` lists them.",
		Run:           "The [knowledge base](knowledge.md) that a node names does not exist. Create it, or choose another in the node.",
		Advice:        "The knowledge base that the node names does not exist. Create it, or choose another.",
		BuilderAdvice: "Choose a knowledge base that exists.",
	},
	{
		Code: flow.CodePartRequired, Status: 422, Title: "Part required",
		Request:       "The [knowledge base](knowledge.md#parts) separates its documents by part, such as a customer, so additions and searches must name one. Send `part`.",
		Run:           "The [knowledge base](knowledge.md#parts) separates its documents by part, and the node got none. Type one, or connect one.",
		Advice:        "The knowledge base needs a part, such as a customer. Set Part in the node.",
		BuilderAdvice: "Set Part in the node.",
	},
	{
		Code:          flow.CodeEmbeddingChanged,
		Run:           "The model answered with vectors of another length than those that the [knowledge base](knowledge.md) has, so they cannot be compared. The provider changed the model. Make a new base for it.",
		Advice:        "The embedding model has changed. Make a new knowledge base, and add the documents to it.",
		BuilderAdvice: "Make a new knowledge base for the changed model.",
	},
	{
		Code: flow.CodeDocumentUnreadable, Status: 422, Title: "Document unreadable",
		Request:       "The document cannot be read, or nothing in it can be searched. The message says why, with the page. An earlier version of it is still searched.",
		Run:           "A document cannot be read, or nothing in it can be searched, such as scanned pages without text. The message says why. An earlier version of it is still searched.",
		Advice:        "The document cannot be read. Save it in another format, or use one with text.",
		BuilderAdvice: "Check the document that the message names.",
	},
	{
		Code: flow.CodeRemovalTooLarge, Status: 422, Title: "Removal too large",
		Request:       "More than half of the documents would be removed, or all of them. Allow that explicitly, if it is what you want.",
		Run:           "*Add to knowledge* with the action `keep_only` would remove more than half of the documents, or got an empty list. Often the list is incomplete, for example after a failed crawl. Nothing was removed. Set *Allow large removals* if it is what you want.",
		Advice:        "Too many documents would be removed. Check the list, or allow large removals in the node.",
		BuilderAdvice: "Check the list of documents to keep, or allow large removals.",
	},
	{
		Code: flow.CodeInUse, Status: 409, Title: "In use",
		Request: "Live versions of flows use it; the message names them. Change these first. An owner can delete it anyway with `?force=true`.",
	},
	{
		Code: flow.CodeChildFailed,
		Run: "A flow that a *Subflow* or *Map* node runs has failed. The message has the code and the message of the failure, and the ID of the child run. It is " +
			"retryable if the failure is. A *Map* node can keep the other items instead: set *If an item fails* to `keep`.",
		Advice:        "A flow that this node runs failed. Open its run below for the cause. To keep the other items of a map, set \"If an item fails\" to keep.",
		BuilderAdvice: "Open the child run for the cause and the fix.",
	},
	{
		Code: flow.CodeAgentLimit,
		Run: "An *Agent* node reached its limit of turns, calls or dollars before it had an answer, and its *At a limit* is `fail`, or the model gave no answer when it was " +
			"asked for one, or no dollars were left to ask. The page of the run shows each turn. Raise the limit, or describe the task and the tools more clearly.",
		Advice:        "The agent reached its limit of turns, calls or dollars. Look at its turns: raise the limit, or describe the task and the tools more clearly.",
		BuilderAdvice: "Raise the limit of the agent, or describe the task and the tools more clearly.",
		FormFailure:   tookTooLong,
	},
	{
		Code: flow.CodeAgentStuck,
		Run: "An *Agent* node made the same call with the same result again and again, although it was told so, and its *At a limit* is `fail`. " +
			"Often the tool's description promises something that its result does not contain.",
		Advice:        "The agent repeated the same call without progress. Check what the tool returns, and describe when to call it.",
		BuilderAdvice: "Check what the tool returns, and describe when to call it.",
		FormFailure:   tookTooLong,
	},
	{
		Code: flow.CodeToolFailed,
		Run: "A call of a tool of an *Agent* node failed, and the tool's *If a call fails* is `fail`. The message has the tool, the code and the message of the " +
			"failure. It is retryable if the failure is.",
		Advice:        "A tool of the agent failed. Open the call below for the cause, or let the tool tell the model about errors.",
		BuilderAdvice: "Open the call for the cause, or let the tool tell the model about errors.",
	},
	{
		Code: flow.CodeToolChanged,
		Run: "A server describes a tool differently than when it was allowed for an *MCP server* node, or does not have it any more, so the tool was not called. An agent continues without it, unless " +
			"*If a tool has changed* is `fail`. Compare the tools in the builder with *Check tools*, and accept the change or turn the tool off.",
		Advice:        "A tool of an MCP server has changed. Check the tools of the node in the builder, then accept the change or turn the tool off.",
		BuilderAdvice: "Check the tools of the server, then accept the change or turn the tool off.",
	},
	{
		Code: flow.CodeOutcomeUnknown,
		Run: "A call of a tool that acts at most once was interrupted after it may have been sent: the server stopped, or no response came. It was not made again. " +
			"Whether it took effect is unknown; the agent was told to check before it repeats the call.",
		Advice:        "It is unknown whether this call took effect, and it was not made again. Check in the service that it called.",
		BuilderAdvice: "Check in the service that was called whether the call took effect.",
	},
	{
		Code:          flow.CodeStepTimeout,
		Run:           "A step exceeded its time limit: 60 seconds, or 10 minutes for a model, unless the node sets `timeout_s`. Time spent waiting does not count.",
		Advice:        "The step took too long. Give the node a longer time limit or less work.",
		BuilderAdvice: "Raise the time limit of the node, or give it less work.",
		FormFailure:   tookTooLong,
	},
	{
		Code:          flow.CodeRunTimeout,
		Run:           "The run exceeded its time limit: 1 hour, unless `run_options.timeout_s` says otherwise. A [rerun](runs.md#run-again) can reuse what succeeded.",
		Advice:        "The run took too long. Start it with a longer timeout_s, or split it into several runs.",
		BuilderAdvice: "Find the slow step. A run may take at most an hour.",
		FormFailure:   tookTooLong,
	},
	{
		Code:          flow.CodeExpressionFailed,
		Run:           "An expression, a pattern or a template could not be evaluated with this value. The message shows where. Run the flow in the builder and check the input of the node.",
		Advice:        "The expression failed for this value. Try it in the node with the input of this step.",
		BuilderAdvice: "Fix the expression in the node, then run from here.",
	},
	{
		Code: flow.CodeCodeFailed,
		Run: "The code of a [`code`](nodes.md#code) node failed: it threw an exception, computed for too long, took too much memory, or returned something other " +
			"than its outputs. The message names the line if it is known; the log of the step contains what `console.log` wrote before the failure. Try the code " +
			"in the builder with the values of the last run. On a server with `SLUICE_CODE=off`, code does not run at all.",
		Advice:        "The code of the node failed. Try it in the node with the input of this step.",
		BuilderAdvice: "Fix the code in the node, then run from here.",
	},
	{
		Code: flow.CodeDestinationBlocked,
		Run: "The flow called an address in a private or reserved network. An operator can allow ranges with [`SLUICE_ALLOW_PRIVATE`](configuration.md); link-local " +
			"and metadata addresses are never allowed.",
		Advice:        "The address is in a private or reserved network. An operator can allow it with SLUICE_ALLOW_PRIVATE.",
		BuilderAdvice: "An operator can allow private addresses with SLUICE_ALLOW_PRIVATE.",
	},
	{
		Code: flow.CodeHTTPFailed,
		Run: "A service that the flow called returned an unexpected status, did not respond in time, or could not be reached. The message names the host and the " +
			"status, or says why no response could be used: a host that does not exist, an unknown `Content-Encoding`, a redirect that cannot be followed. " +
			"`expect` of the [`http_request`](nodes.md#http_request) node lists the statuses that count as success.",
		Advice: "The server responded with an error. Check the URL and the response in the step. If the error is temporary, give the node retries; if the status is " +
			"one to expect, add it to the expected statuses.",
		BuilderAdvice: "Open the URL yourself, or add the status to the codes that count as success.",
		FormFailure:   serviceDown,
	},
	{
		Code: flow.CodePoisoned,
		Run: "The server crashed several times while it was executing this run, with no progress recorded in between, the last time while it was trying only this " +
			"run. Sluice ended the run to protect the others. Look for a step that needs far more memory than the server has. A run that was only waiting for a " +
			"response never ends this way.",
		Advice:        "This run crashed the server several times, so it is not retried. See the server's log for the cause.",
		BuilderAdvice: "See the server's log for the cause. Change the flow before you run it again.",
	},
}
