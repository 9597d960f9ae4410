package codes

import (
	"time"

	"sluice/flow"
)

// Texts of forms that several codes share.
const (
	formBusy       = "This form is busy right now. Wait a moment and send it again; what you typed is still here."
	formDown       = "The form is temporarily unavailable. Send it again in a few seconds; what you typed is still here."
	inputsUnusable = "These inputs could not be processed. Change them and try again."
	serviceDown    = "A service that this form uses did not respond. Try again in a few minutes."
	tookTooLong    = "This took too long and was stopped. Try again, with shorter inputs if possible."
)

// table has all codes in the order of docs/errors.md. Its sections are written by
// go test ./docs -run TestErrorPage_explains_every_code -update.
var table = []Facts{
	// Codes of rejected requests. Some are also errors of runs.
	{
		Code: flow.CodeInvalidJSON, Status: 400, Title: "Invalid JSON",
		Request: "The body is not a single JSON object in UTF-8, or it is incomplete. `errors` says where parsing stopped. Sluice parses JSON strictly: no trailing " +
			"commas, no duplicate keys, nothing after the object, at most 64 levels of nesting. Send `{}` if a flow has no inputs.",
	},
	{
		Code: flow.CodeInvalidHeader, Status: 400, Title: "Invalid header",
		Request: "A header is malformed. `Prefer` accepts `wait=1` to `wait=60`, `Idempotency-Key` accepts 1 to 255 printable ASCII characters, `Last-Event-ID` accepts " +
			"the number of an event. Each may be sent only once.",
	},
	{
		Code: flow.CodeKeyInURL, Status: 400, Title: "Key in the URL",
		Request: "The URL contains a key, and URLs are kept in logs and browser histories. Send the key as a header, `Authorization: Bearer slu_…`, and [rotate " +
			"it](keys.md#rotate), because it may have leaked.",
	},
	{
		Code: flow.CodeSignatureInvalid, Status: 401, Title: "Signature invalid",
		Request: "An incoming webhook is not signed, or not with a secret of its trigger. The page of the trigger says what was checked. Choose the credential that has " +
			"the sender's secret, and leave the body as it was sent.",
	},
	{
		Code: flow.CodeEventTooOld, Status: 401, Title: "Event too old",
		Request: "The signature of an incoming webhook is right, but its time is more than 5 minutes off. The request was sent again by somebody else, or a clock is wrong.",
	},
	{
		Code: flow.CodeKeyMissing, Status: 401, Title: "Key missing",
		Request: "There is no `Authorization` header. Send `Authorization: Bearer slu_…`. Being signed in to the dashboard does not count: `/v1` ignores cookies.",
	},
	{
		Code: flow.CodeKeyInvalid, Status: 401, Title: "Key invalid",
		Request: "This server does not recognize the key. It may be incomplete or belong to another server, or the header does not have the form `Bearer slu_…`.",
	},
	{
		Code: flow.CodeKeyExpired, Status: 401, Title: "Key expired",
		Request: "The key has expired. Create a new one, or [rotate](keys.md#rotate) keys before they expire.",
	},
	{
		Code: flow.CodeKeyRevoked, Status: 401, Title: "Key revoked",
		Request: "The key was revoked. This cannot be undone; create a new one.",
	},
	{
		Code: flow.CodeBudgetExceeded, Status: 402, Title: "Budget exceeded",
		Request: "today's budget of the key or of the flow is used up, so no run was started. Runs that were already accepted continue.",
		Run: "the budget was used up while the run was in progress, and its next paid step was not started. See [budgets](keys.md#limits-and-budgets). " +
			"If the run or a batch has a limit of its own, `max_usd`, start it again with a higher one; a rerun has the same limit, and reuses what has succeeded.",
		Advice:        "The budget of the key, the flow or the run is used up. Raise it, or wait until that of the key or flow resets.",
		BuilderAdvice: "Raise the budget under Usage, or wait for the next period.",
		FormRefusal:   "The budget of this form is used up. Try again later, or tell the person who gave you the link.",
		FormFailure:   "The budget of this form is used up. Try again later.",
	},
	{
		Code: flow.CodePriceUnknown, Status: 402, Title: "Price unknown",
		Request: "the key or the flow has a budget in dollars, and Sluice does not know the price of a model that the flow uses, so the budget could not stop it. " +
			"`detail` names the models. Enter their prices with `sluice price set`, or allow models without a price in the limits of the flow or key. A run with " +
			"`max_usd` is never started with a model without a price.",
		Run:           "the model was chosen while the run was in progress, or an *Agent* has `max_usd`, and the price of the model is unknown.",
		Advice:        "Set the price of the model with 'sluice price set', or allow models without a price under Limits.",
		BuilderAdvice: "Set the price of the model, or allow models without a price under Limits.",
		FormRefusal:   "This form cannot be used right now. Tell the person who gave you the link; what you typed is still here.",
	},
	{
		Code: flow.CodeQuotaExceeded, Status: 402, Title: "Quota exceeded",
		Request: "The workspace has used up a quota, or the request would exceed it. `detail` and `quota` name the quota (`bytes` stored, `flows`, or `runs` kept), its " +
			"limit and how much is used.\n" +
			"\n" +
			"```json\n" +
			"{\n" +
			"  \"status\": 402,\n" +
			"  \"code\": \"quota_exceeded\",\n" +
			"  \"detail\": \"This workspace keeps 10,000 of at most 10,000 runs. Delete runs, start runs with \\\"save\\\": false, or ask the operator of this " +
			"server to raise the quota or shorten the retention.\",\n" +
			"  \"quota\": { \"unit\": \"runs\", \"limit\": 10000, \"used\": 10000 }\n" +
			"}\n" +
			"```\n" +
			"\n" +
			"Retrying does not help until there is room. Delete runs or files, archive flows, or ask the operator to raise the " +
			"[quota](configuration.md#quotas-of-workspaces) or shorten the retention. Accepted runs continue.",
		Advice:      "The Usage page shows what this workspace stores. Delete runs or files, or ask the operator to raise the quota.",
		FormRefusal: "This form cannot accept anything right now because its storage is full. Tell the person who gave you the link; what you typed is still here.",
	},
	{
		Code: flow.CodeScopeMissing, Status: 403, Title: "Scope missing",
		Request: "The key lacks a [scope](keys.md#scopes), which `detail` names. Scopes are chosen when a key is created.",
	},
	{
		Code: flow.CodeFlowNotAllowed, Status: 403, Title: "Flow not allowed",
		Request: "The key is limited to certain flows that do not include this one. Create a key for it.",
	},
	{
		Code: flow.CodeExceedsKey, Status: 403, Title: "Exceeds the key",
		Request: "A key that manages keys may do so only within its own rights: the other key's scopes and flows must be among its own, it must not expire later, and " +
			"none of its limits may be higher. `errors` names each setting that goes beyond them. Lower it, or use a key with more rights. See [keys over " +
			"HTTP](keys.md#keys-over-http).",
	},
	{
		Code: flow.CodeOriginNotAllowed, Status: 403, Title: "Origin not allowed",
		Request: "A web page on another origin called `/mcp`. Only pages on the server's own public URL may; programs should not send the header `Origin`.",
	},
	{
		Code: flow.CodeNotFound, Status: 404, Title: "Not found",
		Request: "Nothing was found at this URL: the ID is mistyped or belongs to another workspace, the object was deleted, or the key may not access it. The response " +
			"does not say which, on purpose. Check that the key and the flow belong to the same workspace.",
	},
	{
		Code: flow.CodeMethodNotAllowed, Status: 405, Title: "Method not allowed",
		Request: "The path exists but does not support this method. The header `Allow` lists the supported methods.",
	},
	{
		Code: flow.CodeNotAcceptable, Status: 406, Title: "Not acceptable",
		Request: "The header `Accept` excludes the media type of the response. Omit the header, or send `application/json`; to [stream](streaming.md), send `text/event-stream`.",
	},
	{
		Code: flow.CodeIdempotencyInProgress, Status: 409, Title: "Request in progress", After: time.Second,
		Request: "Another request with this `Idempotency-Key` is being accepted right now. Retry after a second; the response is then the run of that request.",
	},
	{
		Code: flow.CodeNotPublished, Status: 409, Title: "Flow not published",
		Request: "The flow has no published version, so there is nothing to call. [Publish](publishing.md) it. A key with the scope `manage` can run the draft with " +
			"`\"run_options\": {\"version\": \"draft\"}`.",
	},
	{
		Code: flow.CodeBreakingChange, Status: 409, Title: "Breaking change",
		Request: "Publishing would break programs that call the flow: an input or output that they rely on was removed or changed. `diffs` lists the changes of each " +
			"flow, and the keys that called it in the last 30 days. Keep the old input or output, or send `\"allow_breaking\": true`.",
	},
	{
		Code: flow.CodeDraftChanged, Status: 409, Title: "Draft changed",
		Request: "The draft was edited since the last apply, for example in the browser, and applying would undo that. Get the document, merge the changes into your " +
			"file and apply again, or send `\"force\": true` to replace them.",
	},
	{
		Code: flow.CodeSlugTaken, Status: 409, Title: "Slug taken",
		Request: "Another flow has this slug now, or had it in the past. Choose another slug. To take over a former slug of another flow, send `?take_alias=true`, or " +
			"`\"take_alias\": true` in an apply; programs that still use it then call your flow. The error of an apply names the other flow; `alias` in its " +
			"`diffs` lists the keys that used the slug in the last 30 days.",
	},
	{
		Code: flow.CodeTriggerPaused, Status: 409, Title: "Trigger paused",
		Request: "The [trigger](triggers.md) is paused, so it starts nothing. Resume it, then send the request again; or start the flow itself.",
	},
	{
		Code: flow.CodeAlreadyDecided, Status: 409, Title: "Already decided",
		Request: "Someone else answered this approval first, it expired, or its run has ended. The message says which. The first answer counts; do not retry.",
	},
	{
		Code: flow.CodeAnswerNotAllowed, Status: 403, Title: "Answer not allowed",
		Request: "This key may not answer this approval: it or a [related key](keys.md#keys-over-http) started the run, or the node allows only members or named " +
			"people. Use another key with the scope `approve`, or change *Who may answer* in the node.",
	},
	{
		Code: flow.CodeRunNotEnded, Status: 409, Title: "Run not ended",
		Request: "Erasing or rerunning a run requires that it has ended. Wait for its end, or cancel it first.",
	},
	{
		Code: flow.CodeChildRun, Status: 409, Title: "Child run",
		Request: "Another run started this one and shows its result, so it cannot be erased separately. Erase the run in `caller.run_id`, or the one above that; child runs are erased with it.",
	},
	{
		Code: flow.CodePreconditionRequired, Status: 428, Title: "Precondition required",
		Request: "Replacing a draft needs the header `If-Match` with the draft's `ETag`, so that you do not overwrite a change that you have not seen. Get it from `GET " +
			"/v1/flow/{flow_id}/document?version=draft`.",
	},
	{
		Code: flow.CodeSecretInDocument, Status: 422, Title: "Secret in the document",
		Request: "The document contains a secret in clear text. Save it under Credentials and refer to it by name. `errors` lists the nodes. Rotate secrets that were committed to a repository.",
	},
	{
		Code: flow.CodeResultNotSaved, Status: 410, Title: "Result not saved",
		Request: "The run's content was erased, by `DELETE` or because it was started with `\"save\": false`. Its status, times and cost are kept.",
	},
	{
		Code: flow.CodeRunExpired, Status: 410, Title: "Run expired",
		Request: "The content of the run has exceeded the server's retention time (30 days by default) and was deleted. `expires_at` of a run says when this happens. " +
			"Fetch results earlier, or receive them through a [webhook](webhooks.md).",
	},
	{
		Code: flow.CodePreconditionFailed, Status: 412, Title: "Precondition failed",
		Request: "The file does not match the `If-Match` or `If-Unmodified-Since` header of the download.",
	},
	{
		Code: flow.CodeBodyTooLarge, Status: 413, Title: "Body too large",
		Request:     "The body exceeds the limit: 1 MiB for JSON, or the server's limit for a file. Pass long texts as [files](files.md). See [limits](limits.md).",
		FormRefusal: "This is more than the form accepts. Shorten the texts or choose smaller files.",
	},
	{
		Code: flow.CodeUnsupportedMediaType, Status: 415, Title: "Unsupported media type",
		Request: "The body must be `application/json` in UTF-8, without compression; an upload must be `multipart/form-data`. With curl, add `-H \"Content-Type: application/json\"`.",
	},
	{
		Code: flow.CodeRangeNotSatisfiable, Status: 416, Title: "Range not satisfiable",
		Request: "The header `Range` asks for a part beyond the end of the file. The header `Content-Range` of the response states the length of the file.",
	},
	{
		Code: flow.CodeInputInvalid, Status: 422, Title: "Input invalid",
		Request: "inputs or options are invalid. `errors` lists every one of them with its location. The API does not convert values: a number must be sent as `3`, not " +
			"as `\"3\"`. The codes within `errors` are [below](#places-in-a-request).",
		Run:           "a node received a value it cannot use, such as an empty text to translate, a file of the wrong type, or an invalid URL. The message says which value, and what is expected.",
		Advice:        "The node does not accept a value. Compare the input of the step with the types of the node's ports.",
		BuilderAdvice: "Check the node's input: it received a value that it does not accept.",
		FormFailure:   inputsUnusable,
	},
	{
		Code: flow.CodeScheduleInvalid, Status: 422, Title: "Schedule invalid",
		Request: "The [schedule](triggers.md) cannot be used; `errors` lists every problem with its field. A crontab expression has five fields: minute, hour, day of the " +
			"month, month and weekday. Try one with `POST /v1/schedules/preview`.",
	},
	{
		Code: flow.CodeDocumentInvalid, Status: 422, Title: "Document invalid",
		Request: "A flow document cannot be imported or published. `errors` lists every problem with its location in the document. See [flows as files](flows.md).",
	},
	{
		Code: flow.CodeIdempotencyMismatch, Status: 422, Title: "Idempotency key used for another request",
		Request: "This `Idempotency-Key` was used for another request within the last 24 hours: another path, another body, or another key. Use a new one for each new " +
			"request, and reuse it only to retry the same request.",
	},
	{
		Code: flow.CodeRunFailed, Status: 424, Title: "Run failed",
		Request: "You requested the [result](runs.md#read-the-result) of a run that failed. The field `error` contains the error of the run.",
	},
	{
		Code: flow.CodeRunCanceled, Status: 424, Title: "Run canceled",
		Request: "You requested the result of a run that was canceled. Outputs that were known before are in the run object.",
	},
	{
		Code: flow.CodeRateLimited, Status: 429, Title: "Too many requests", After: time.Second,
		Request: "The key has exceeded its requests per minute, or too many requests with an invalid key came from your IP address (valid keys are still accepted). " +
			"Wait as long as `Retry-After` says. Responses to a rate-limited key report the remaining quota in `RateLimit` and `RateLimit-Policy`.",
		FormRefusal: formBusy,
	},
	{
		Code: flow.CodeConcurrencyLimited, Status: 429, Title: "Too many open runs", After: time.Second,
		Request:     "The key has reached its limit of concurrent runs. Wait for one to end, or raise the [key's limit](keys.md#limits-and-budgets).",
		FormRefusal: formBusy,
	},
	{
		Code: flow.CodeQueueFull, Status: 429, Title: "Queue full", After: 5 * time.Second,
		Request:     "The queue of this flow is full. Nothing was accepted. Retry when some of its runs have ended.",
		Advice:      "Too many runs are queued. Try again later, or raise the queue limit of the flow.",
		FormRefusal: formBusy,
	},
	{
		Code: flow.CodeInternal, Status: 500, Title: "Internal error",
		Request:       "something failed inside Sluice. It is our fault, not yours. The log has the details under the `request_id`. No accepted run is lost.",
		Run:           "something failed inside Sluice. The log has the details under the run's ID. It is also the error of a run whose stored data can no longer be read; restore a backup to get the data back.",
		Advice:        "This is a bug in Sluice. The server's log has the details. A rerun may work.",
		BuilderAdvice: "See the server's log for details. If it happens again, report it with the run's ID.",
	},
	{
		Code: flow.CodeDraining, Status: 503, Title: "Shutting down", After: 5 * time.Second,
		Request:     "This server is shutting down and accepts no new work. Accepted runs continue after its restart, or on another instance. Retry after `Retry-After` seconds.",
		FormRefusal: formDown,
	},
	{
		Code: flow.CodeOverloaded, Status: 503, Title: "Overloaded", After: time.Second,
		Request: "Too many requests are in progress, waiting, streaming or transferring files, other requests and runs need the memory that the request would take, or " +
			"another program has held the database lock for 5 seconds. Nothing was accepted. Retry after `Retry-After` seconds; leave out `wait` where you do not " +
			"need it.",
		FormRefusal: formDown,
	},
	{
		Code: flow.CodeSetupRequired, Status: 503, Title: "Set-up required", After: time.Minute,
		Request: "The server has no owner yet. Open the [set-up link](quickstart.md) that it printed in its terminal or log.",
	},
	{
		Code: flow.CodeStorageFull, Status: 503, Title: "Storage full", After: 30 * time.Second,
		Request:     "The disk is full. Stored data is safe and can be read; new work is rejected until there is free space. This also applies to a server that was started on a full disk. Tell the operator.",
		FormRefusal: "This form cannot accept anything right now. Try again later, or tell the person who gave you the link.",
	},
	{
		Code: flow.CodeStorageUnavailable, Status: 503, Title: "File storage unavailable", After: 5 * time.Second,
		Request: "The object storage that holds the content of files (`SLUICE_FILES`) cannot be reached or refuses access. Nothing was stored. Retry after `Retry-After` seconds. " +
			"Requests and runs without files are not affected. If it lasts, tell the operator: `sluice doctor` says what is wrong.",
		Run:         "The object storage that holds the content of files could not be used, even after several attempts. Run the flow again. If it lasts, `sluice doctor` says what is wrong.",
		Advice:      "Run it again. If it lasts, tell the operator that the storage of files is unavailable.",
		FormRefusal: formDown, FormFailure: formDown,
	},
	{
		Code: flow.CodeUpgradeInProgress, Status: 503, Title: "Upgrade in progress", After: 30 * time.Second,
		Request: "An instance of an earlier release is still running and does not know this feature. Try again when all instances have been upgraded.",
	},
	{
		Code: flow.CodeUnavailable, Status: 503, Title: "Database unavailable", After: 2 * time.Second,
		Request: "The database cannot be reached, is restarting, or has no free connection. Retry after `Retry-After` seconds. If the request starts a run, send it " +
			"with the same [`Idempotency-Key`](runs.md#start-it-only-once): if the connection to the database was lost at the wrong moment, the run may have " +
			"started. Accepted runs continue when the database is back, as do open event streams and waiting requests.",
		FormRefusal: formDown,
	},

	// Codes of failed runs only.
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
