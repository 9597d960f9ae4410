package codes

import (
	"slices"
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
var table = slices.Concat(ofRequests, ofRuns)

// ofRequests has the codes of rejected requests. Some are also errors of runs.
var ofRequests = []Facts{
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
}
