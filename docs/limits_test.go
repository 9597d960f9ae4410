package docs

import (
	"go/ast"
	"strings"
	"testing"
	"text/template"
)

// limits maps the first cell of each row of docs/limits.md to a template of the
// second, in which every number comes from the code: `bytes`, `span` and
// `number` format a constant of a package, `found` a match in a file.
var limits = map[string]string{
	"Body of a JSON request":                            "{{bytes `handlers/api` `MaxBody`}} (`/v1/chat/completions`: {{bytes `handlers/openai` `maxBody`}})",
	"Values of a JSON request":                          `{{number "flow/value" "MaxValues"}}`,
	"Wait for memory that other requests and runs need": "{{span `handlers/web` `memoryPatience`}}; then 503 [`overloaded`](errors.md#overloaded)",
	"Nesting of JSON":                                   `{{number "flow" "MaxJSONDepth"}} levels`,
	"Messages of a conversation":                        `{{number "flow" "MaxMessages"}}; {{number "handlers/forms" "maxChatPictures"}} pictures on a form`,
	"Models that a chat node tries":                     `1, and {{number "nodes" "maxFallbacks"}} fallback models`,
	"Calls with a credential":                           `unlimited; at once and per minute up to {{number "flow" "MaxCallLimit"}}`,
	"Headers":                                           `{{bytes "handlers/web" "maxHeader"}}`,
	"`Prefer: wait=N` and `?wait=N`":                    `{{span "handlers/api" "maxWait"}}`,
	"`Idempotency-Key`":                                 "{{number `handlers/api` `maxIdempotencyKey`}} characters, kept {{span `flow` `IdempotencyLife`}}",
	"`run_options.metadata`":                            `{{bytes "handlers/api" "maxMetadata"}}`,
	"URL of a run's webhook":                            `{{number "handlers/api" "maxURL"}} characters`,
	"Items of a list":                                   "{{found `handlers/api/query.go` `\"limit\", 1, \\d+, (\\d+)`}} per page by default; `limit` can be up to {{found `handlers/api/query.go` `\"limit\", 1, (\\d+)`}}",
	"Notes of a report":                                 `{{number "flow/cases" "MaxNotes"}} characters`,
	"Concurrent requests, per server":                   "{{found `handlers/api/server.go` `c.MaxInFlight = (\\d+)`}}; beyond that 503 [`overloaded`](errors.md#overloaded)",
	"Concurrent requests that wait, stream or transfer files, per server": "{{found `handlers/api/server.go` `c.MaxHeld = (\\d+)`}}",

	"Rest of a refused body that is read and dropped, so that the response arrives": `{{bytes "handlers/web" "MaxDrain"}}, for up to {{span "handlers/web" "drainTime"}}`,

	"Time limit of a run":                                  "{{span `flow` `RunTimeout`}}; `run_options.timeout_s` up to {{span `handlers/api` `maxRunTimeout`}}",
	"Time limit of a step":                                 "{{span `flow` `StepTimeout`}}, {{span `flow` `ModelTimeout`}} for a model; `timeout_s` of a node up to {{span `flow` `nodeTimeout`}}",
	"Attempts of a step":                                   "1; `retry` of a node up to {{number `flow` `MaxRetryAttempts`}}, with a back-off up to {{span `flow` `nodeBackoff`}}",
	"Items of a `map` node":                                `{{number "flow" "MaxChildItems"}}`,
	"Items of a `map` node at once":                        `{{number "flow" "MaxChildConcurrency"}}`,
	"Results of a `map` node in lists":                     `{{bytes "nodes" "maxMapResults"}}`,
	"Items listed on the page of a run":                    `{{number "handlers/console" "maxShown"}}; the codes of {{number "handlers/console" "maxFailures"}} failed items are counted`,
	"Nesting of flows that run each other":                 `{{number "flow" "MaxChildDepth"}} levels`,
	"Turns and calls of an `agent` node":                   "{{number `nodes` `defaultTurns`}} and {{number `nodes` `defaultCalls`}}; up to {{number `nodes` `maxTurns`}} and {{number `flow` `MaxToolCalls`}}, see [agents](agents.md#limits)",
	"Conversation that a run continues":                    `{{bytes "flow" "MaxContext"}}`,
	"Cost of a run and the runs below it":                  "unlimited; `run_options.max_usd`, `max_usd` of a batch, up to {{found `flow/money.go` `MaxUSD = (\\d+)_000_000`}},000,000 USD. Exceeded by one step at most; see [the cost of one run](runs.md#limit-the-cost-of-one-run)",
	"Cost of an `agent` node":                              "unlimited; *Dollars*, up to {{found `flow/money.go` `MaxUSD = (\\d+)_000_000`}},000,000 USD",
	"Steps inside of nodes, of one run":                    `{{number "flow" "MaxSubSteps"}}`,
	"Tools of an `agent` node":                             `{{number "flow" "MaxTools"}}, with {{bytes "flow" "MaxToolSchemas"}} of names, descriptions and schemas`,
	"Tools that an MCP server may list":                    `{{number "flow" "MaxServerTools"}}, with {{bytes "mcpclient" "maxList"}} of definitions`,
	"Tools that an `mcp` node stores":                      `{{number "flow" "MaxTools"}}, each with {{bytes "flow" "MaxServerToolBytes"}}, all with {{bytes "flow" "MaxServerToolsBytes"}}`,
	"Answer of an MCP server":                              `{{bytes "mcpclient" "MaxAnswer"}}; {{bytes "mcpclient" "maxStream"}} with messages about its progress`,
	"Time until tools of an MCP server are compared again": `{{span "mcpclient" "KnownFor"}}`,
	"Triggers":                                                      `{{number "flow/triggers" "MaxPerFlow"}} of a flow, {{number "flow/triggers" "MaxPerWorkspace"}} of a workspace; {{number "flow/triggers" "PerStranger"}} of a workspace with open sign-up`,
	"Times of a schedule":                                           `at least {{span "flow/schedule" "MinEvery"}} apart; {{span "flow/triggers" "StrangerGap"}} with open sign-up`,
	"Missed times that start after downtime":                        "{{number `flow/triggers` `MaxCatchUp`}}, with `catch_up: all`",
	"Lateness of a planned time":                                    "{{span `flow/triggers` `DefaultMaxLate`}}; `max_late`",
	"Events of a trigger":                                           `30 days; the newest {{number "flow/triggers" "MaxEvents"}} that started or were ignored, and {{number "flow/triggers" "MaxEvents"}} others`,
	"Requests that the events of a trigger keep":                    `{{bytes "flow/triggers" "MaxRequests"}}; they count toward the bytes of the workspace`,
	"Planned times of a backfill":                                   `{{number "flow/library" "MaxBackfill"}}`,
	"Body of an incoming webhook":                                   "{{bytes `flow/hooks` `DefaultBody`}}; `max_body` up to {{bytes `flow/hooks` `MaxBody`}}",
	"Requests to an incoming webhook":                               "{{number `flow/hooks` `DefaultPerMinute`}} per minute; `per_minute`",
	"Runs of an incoming webhook without verification":              "{{number `flow/hooks` `DefaultPerDay`}} per day; `per_day`",
	"Wait for outputs of a reply":                                   "{{number `flow/hooks` `DefaultWait`}} seconds; `wait_s` up to {{number `flow/hooks` `MaxWait`}} seconds",
	"Old URL of an incoming webhook":                                `{{span "flow/triggers" "LongestOverlap"}} at most`,
	"Capture of requests":                                           `{{span "flow/triggers" "CaptureFor"}}`,
	"Alarms":                                                        `{{number "flow/alarms" "MaxPerWorkspace"}} of a workspace; {{number "flow/alarms" "PerStranger"}} with open sign-up`,
	"Receivers of an alarm":                                         `{{number "flow/alarms" "MaxReceivers"}}`,
	"Looks of an alarm":                                             `every {{span "flow/alarms" "Interval"}}, at the last {{number "flow/alarms" "MaxRuns"}} runs of a flow; in a row, the last {{number "flow/alarms" "RecentRuns"}}`,
	"Messages of alarms":                                            `{{span "flow/alarms" "MessageLife"}}`,
	"Knowledge bases of a workspace":                                `{{number "flow/knowledge" "MaxBases"}}`,
	"Documents and passages of a knowledge base":                    `{{number "flow/knowledge" "MaxDocuments"}} and {{number "flow/knowledge" "MaxPassages"}}`,
	"Passages of all knowledge bases of a workspace":                `{{number "flow/knowledge" "MaxWorkspacePassages"}}`,
	"Text of a document in a knowledge base":                        `{{bytes "flow/knowledge" "MaxText"}}`,
	"Passages that a search finds; query":                           `{{number "flow/knowledge" "MaxTop"}}; {{number "flow/knowledge" "MaxQuery"}} characters`,
	"Dimensions of a stored vector":                                 `{{number "flow/knowledge" "MaxDimensions"}}`,
	"Metadata of a document":                                        `{{number "flow/knowledge" "MaxMembers"}} members, {{bytes "flow/knowledge" "MaxMetadata"}}`,
	"Knowledge bases of one search":                                 `{{number "flow/knowledge" "MaxBasesInSearch"}}`,
	"Revisions of a file beside a flow":                             `{{number "flow/companion" "MaxBodies"}}`,
	"Rows of a batch that are checked before it is accepted":        `{{number "nodes/batches" "CheckedRows"}}`,
	"Test cases":                                                    `{{number "flow/cases" "MaxCases"}} of a flow, {{bytes "flow/cases" "MaxCase"}} each, {{bytes "flow/cases" "MaxBytes"}} together`,
	"A test":                                                        `{{number "flow/cases" "MaxCandidates"}} candidates, {{number "flow/cases" "MaxRepeats"}} repeats, {{number "flow/cases" "MaxVerdicts"}} runs; {{span "flow/library" "testTimeout"}}`,
	"Recorded results in a request":                                 `{{number "flow/cases" "MaxRecordings"}}`,
	"Reports of tests":                                              `kept for {{span "db/cases" "reportLife"}}; what they have of the content of runs is erased with these`,
	"Recorded results that no test uses":                            `kept for {{span "db/cases" "recordingLife"}}`,
	"A report as Markdown":                                          `{{number "flow/cases/reports" "maxMarkdown"}} bytes; the first {{number "flow/cases/reports" "maxDetails"}} cases that do not pass with their reasons`,
	"Parallel steps of a run":                                       `{{number "flow" "StepParallel"}}`,
	"Concurrent runs, per server":                                   "{{number `cmd/sluice/memory` `maxWorkers`}}, or one for each {{bytes `cmd/sluice/memory` `memoryPerWorker`}} of memory if that is less (`SLUICE_WORKERS`)",
	"Memory of the JSON body of one request, decoded":               "{{bytes `flow/inflight` `eachBody`}}, or that of a run if that is less",
	"Memory of the values of one run":                               "3/8 of the memory that Go may use, see [memory](deploy.md#memory)",
	"Queued runs":                                                   `{{number "flow/fairness" "DefaultMaxQueued"}} in a workspace`,
	"Time to test runs suspected of crashing the server, per start": `{{span "jobs" "suspectTimeout"}}, in parallel with normal work`,
	"Attempts before a permanent database error ends a run":         `{{number "flow" "PermanentTries"}}`,
	"Wait for a database lock held by another program (SQLite)":     "{{span `db/core` `defaultBusyTimeout`}}; then 503 [`overloaded`](errors.md#overloaded)",
	"Wait for a free connection to PostgreSQL":                      "{{span `db/dbconn` `acquireTimeout`}}; then 503 [`unavailable`](errors.md#unavailable)",
	"Time limit of a statement (PostgreSQL)":                        "{{span `db/dbconn` `statementTimeout`}}; see [settings](configuration.md#postgresql)",
	"Wait for a lock (PostgreSQL)":                                  "{{span `db/dbconn` `LockTimeout`}}, of all that a request waits for; then 503 [`overloaded`](errors.md#overloaded)",
	"Idle time within a transaction (PostgreSQL)":                   "{{span `db/dbconn` `idleInTransaction`}}",
	"Content of an ended run":                                       "{{found `cmd/sluice/config.go` `SLUICE_RETENTION\" default:\"(\\d+)d`}} days (`SLUICE_RETENTION`), its record {{span `jobs` `tombstoneAge`}}",
	"A text in a flow":                                              `{{bytes "flow" "MaxTextBytes"}}`,
	"Nesting of a value":                                            `{{number "flow" "MaxValueDepth"}} levels`,
	"Text in a stream":                                              `{{bytes "jobs" "maxText"}} per step, {{bytes "jobs" "maxRunText"}} per run`,

	"Inputs, and outputs, that the fields of one node declare": `{{number "flow" "MaxPorts"}}`,
	"Checking the patterns, schemas and expressions of a flow": `{{span "flow/document" "maxChecking"}} of CPU time; nodes beyond that are reported as not checked`,
	"Regular expressions":                  `{{number "flow/pattern" "MaxSource"}} bytes; {{number "flow/pattern" "MaxSize"}} instructions, with repetitions expanded`,
	"Matching in `extract` and `replace`":  `{{number "nodes" "maxPatternWork"}} steps, each one character times one instruction of the pattern; for texts above 1 MiB, {{number "nodes" "patternWorkPerByte"}} steps per byte`,
	"`approval`: message, with the values": `{{bytes "flow" "MaxQuestion"}}; it is rendered once, with quotes and lists up to {{number "markdown" "maxDepth"}} levels deep and tables up to {{number "markdown" "maxCells"}} cells. Paragraphs that would take long to render appear as they were typed`,
	"Matching the `pattern` of inputs":     `{{number "flow/contract" "maxPatternWork"}} steps for all inputs of a request`,

	"Nodes":                           `{{number "flow" "MaxNodes"}}`,
	"Edges":                           `{{number "flow" "MaxEdges"}}`,
	"Document":                        `{{bytes "flow" "MaxDocumentBytes"}}`,
	"Documents of an apply or import": `{{number "handlers/api" "maxDocuments"}}, {{bytes "handlers/api" "maxApply"}}`,
	"Problems that an error lists":    `{{number "flow/document" "maxProblems"}} of a document, {{number "handlers/api" "maxProblems"}} of an apply or import`,
	"Tags":                            `{{number "flow/library" "MaxTags"}}, of {{number "flow/library" "MaxTagLetters"}} characters each`,
	"Pinned outputs of a node":        `{{bytes "flow" "MaxPinBytes"}}`,
	"Concurrent runs, queued runs, runs per day, dollars per day": "Off unless you set them: *Settings* of the flow, or `sluice flow limits ID`",

	"One file":              "{{found `cmd/sluice/config.go` `SLUICE_MAX_FILE\" default:\"(\\d+)MiB`}} MiB (`SLUICE_MAX_FILE`)",
	"One file given by URL": "{{found `cmd/sluice/config.go` `SLUICE_MAX_FETCH\" default:\"(\\d+)MiB`}} MiB (`SLUICE_MAX_FETCH`)",
	"Links in responses":    "1 to {{found `handlers/api/files_links.go` `linkLifetime = (\\d+) `}} hours",
	"Links in webhooks":     `{{span "flow/filelinks" "linkLifetime"}}`,

	"Bytes stored":                "unlimited (`SLUICE_QUOTA_BYTES`); {{found `flow/quotas.go` `Bytes: (\\d+) << 30`}} GiB with open sign-up",
	"Flows that are not archived": "unlimited (`SLUICE_QUOTA_FLOWS`); {{found `flow/quotas.go` `Flows: (\\d+)`}} with open sign-up",
	"Runs kept":                   "unlimited (`SLUICE_QUOTA_RUNS`); {{found `flow/quotas.go` `SignupQuota.*Runs: (\\d+)`}} with open sign-up",

	"Time to respond":                                            `{{span "jobs" "deliveryTimeout"}}`,
	"Attempts":                                                   `{{attempts}} in about {{attemptDays}} days`,
	"Stored part of a response":                                  `{{bytes "jobs" "maxLoggedResponse"}}`,
	"Concurrent attempts of one instance":                        `{{number "flow/fairness" "DeliverySlots"}}`,
	"Concurrent attempts to one endpoint":                        `{{number "flow/fairness" "EndpointSlots"}}`,
	"Concurrent attempts of a workspace at one host":             `{{number "flow/fairness" "HostSlots"}}`,
	"URLs of a node at one host that are endpoints of their own": `{{number "db/core" "maxEndpointURLs"}}; the others share {{number "db/core" "sharedEndpoints"}}`,
	"Overlap of two secrets":                                     `{{span "flow" "SigningOverlap"}}, at most {{span "flow" "LongestOverlap"}}`,

	"Connections from other instances":              `{{number "jobs/peers" "maxConnections"}}`,
	"Runs whose text is relayed to other instances": `{{number "jobs/peers" "maxRunsPerConnection"}} on one connection, {{number "jobs/peers" "maxRuns"}} in total`,
	"Validity of a request":                         `{{span "jobs/peers" "validity"}}`,

	"Requests with an invalid key":           `{{number "handlers/api" "invalidKeysPerMinute"}} per minute from one address`,
	"Overlap when a key is rotated":          `{{span "flow" "MaxOverlap"}} at most`,
	"Keys that a key has created":            "{{number `flow` `maxMadeKeys`}}, not counting revoked ones",
	"Levels of keys that created each other": "{{number `flow` `MaxKeyMakers`}} above a key",
	"Tools that MCP lists":                   `{{number "handlers/mcp" "maxTools"}}`,
	"An MCP call":                            `{{span "handlers/mcp" "maxCall"}}`,
	"An MCP message":                         "{{bytes `handlers/api` `MaxBody`}}; {{bytes `handlers/mcp` `maxAuthoring`}} with [`?tools=authoring`](mcp.md#let-an-assistant-write-flows)",

	"Built-in model: text":     `{{number "providers/builtin" "MaxText"}} characters; {{number "providers/builtin" "MaxBatch"}} for all texts of one step`,
	"`classify`: labels":       `{{number "nodes" "maxLabels"}}`,
	"`summarize`: sentences":   `{{number "providers/builtin" "MaxSentences"}}`,
	"`find_answer`: passages":  `{{number "nodes" "maxPassages"}}`,
	"`document`: file":         `{{bytes "documents" "MaxSize"}}, {{number "nodes" "mostPages"}} pages; unpacked {{bytes "documents" "maxOfficeBytes"}}`,
	"`document`: output":       `{{bytes "documents" "MaxText"}} of text, {{bytes "documents" "maxTables"}} of tables, {{number "documents" "MaxImages"}} page images of {{number "documents" "ImageSize"}} pixels`,
	"`document`: e-mail":       `{{number "documents" "maxMailParts"}} parts, {{number "documents" "maxMailDepth"}} levels of parts within parts`,
	"Detection of an encoding": `the first lines with other characters than ASCII, up to {{bytes "documents/charset" "maxSample"}}`,
	"`document`: computing":    `{{number "documents" "childCPU"}} seconds, {{bytes "documents" "childMemory"}} of memory`,
	"`web_page`: page":         `{{bytes "nodes" "maxPage"}}`,
	"`http_request`: response": `{{bytes "outbound" "DefaultMaxBody"}}, or the maximum file size when it is stored as a file`,
	"`chat`: images":           `{{bytes "nodes" "maxPicture"}} each, {{bytes "nodes" "maxPictures"}} together`,
	"`transcribe`: recording":  `{{bytes "nodes" "maxRecording"}}`,
	"Expressions":              `{{number "nodes/expression" "maxLength"}} characters`,
	"JSONPath in `extract`":    `{{number "nodes/jsonpath" "MaxSource"}} bytes, nested {{number "nodes/jsonpath" "maxNesting"}} levels; {{number "nodes" "maxPatternWork"}} steps, {{number "nodes/jsonpath" "visitCost"}} for each value looked at; {{number "nodes" "maxPathPatterns"}} different patterns; {{number "nodes" "maxListItems"}} results`,
	"`code`":                   `{{bytes "javascript" "MaxSource"}}; {{span "javascript" "CheckCPU"}} to compile it when the flow is checked; {{span "javascript" "MaxCPU"}} of computing, {{bytes "javascript" "MaxMemory"}} of memory; inputs and result {{bytes "javascript" "MaxValue"}} each; {{bytes "javascript" "MaxLog"}} of log`,
	"A session":                "ends after {{found `cmd/sluice/config.go` `SLUICE_SESSION_IDLE\" default:\"(\\d+)d`}} days unused (`SLUICE_SESSION_IDLE`), {{found `cmd/sluice/config.go` `SLUICE_SESSION_MAX\" default:\"(\\d+)d`}} days at most (`SLUICE_SESSION_MAX`)",
	"Links":                    `{{span "flow" "InviteLife"}} to join, {{span "flow" "ResetLife"}} to set a password`,
	"Invalid links":            `{{number "handlers/account" "freeLinkTries"}} from one address, then increasing waits`,
	"Wrong passwords":          `{{number "handlers/web" "FreeTriesPerAccount"}} for one account and {{number "handlers/web" "FreeTriesPerAddress"}} from one address, then increasing waits`,
	"A password":               `{{number "handlers/passwords" "shortestPassword"}} to {{number "handlers/passwords" "longestPassword"}} characters`,
	"An export of runs":        `{{number "handlers/console" "maxExport"}} runs`,
	"A text search in the list of runs": `The first page reads as many of the newest matching runs as it can in {{span "handlers/console" "firstSearchTime"}}, ` +
		`and every later page continues for up to {{span "db" "searchTime"}} or {{number "db/lists" "SearchDepth"}} runs. The page says how far it got`,
	"Runs counted for each version of a flow": `{{number "db" "maxCountedRuns"}} for each combination of key and result in the last 30 days`,
}

// TestLimits compares every number of the page with the code.
func TestLimits(t *testing.T) {
	t.Parallel()
	page, err := Source("limits")
	if err != nil {
		t.Fatal(err)
	}
	code := &numbers{packages: map[string]map[string]ast.Expr{}}
	seen := map[string]bool{}
	for line := range strings.Lines(page) {
		label, have, ok := cells(line)
		if !ok {
			continue
		}
		want, known := limits[label]
		if !known || seen[label] {
			t.Errorf("the row %q is not in the table of limits", label)
			continue
		}
		seen[label] = true
		var b strings.Builder
		if err := template.Must(template.New(label).Funcs(code.funcs()).Parse(want)).Execute(&b, nil); err != nil {
			t.Error(err)
		} else if b.String() != have {
			t.Errorf("%s is %q on the page, and %q in the code", label, have, &b)
		}
	}
	for label := range limits {
		if !seen[label] {
			t.Errorf("the page has no row %q", label)
		}
	}
}

// cells returns the two cells of a table row; ok is false for any other line.
func cells(line string) (first, second string, ok bool) {
	parts := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
	if len(parts) != 2 || !strings.HasPrefix(line, "| ") {
		return "", "", false
	}
	first, second = strings.TrimSpace(parts[0]), strings.TrimSpace(parts[1])
	return first, second, first != ""
}

// TestPauses compares the table of retries with the code.
func TestPauses(t *testing.T) {
	t.Parallel()
	page, err := Source("webhooks")
	if err != nil {
		t.Fatal(err)
	}
	list, err := (&numbers{packages: map[string]map[string]ast.Expr{}}).pauses()
	if err != nil {
		t.Fatal(err)
	}
	row := "| After |"
	for _, d := range list {
		words := strings.Fields(span(d))
		row += " " + words[0] + " " + map[string]string{"second": "s", "minute": "min", "hour": "h"}[strings.TrimSuffix(words[1], "s")] + " |"
	}
	if !strings.Contains(page, row) {
		t.Errorf("docs/webhooks.md has not the row %s", row)
	}
}
