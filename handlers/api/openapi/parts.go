package openapi

import (
	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/document"
)

// FileField is the name of the only part of an upload.
const FileField = "file"

// RunStates are all states, in the order of the documentation.
var RunStates = []flow.RunState{flow.RunQueued, flow.RunRunning, flow.RunWaiting, flow.RunSucceeded, flow.RunFailed, flow.RunCanceled}

// params are the parameters, by the name that operations use.
var params = map[string]Schema{
	"flow_id":     flowParam(),
	"run_id":      pathParam("run_id", flow.PrefixRun),
	"path":        Schema{"name": "path", "in": "path", "required": true, "description": "The step that asks.", "schema": Schema{"type": "string"}},
	"delivery_id": pathParam("delivery_id", flow.PrefixDelivery),
	"file_id":     pathParam("file_id", flow.PrefixFile),

	"wait":           queryParam("wait", "Wait for the end of the run, at most this many seconds.", Schema{"type": "integer", "minimum": 0, "maximum": 60}),
	"limit":          queryParam("limit", "Page size.", Schema{"type": "integer", "minimum": 1, "maximum": 100, "default": 20}),
	"cursor":         queryParam("cursor", "next_cursor of an earlier response.", Schema{"type": "string"}),
	"under":          queryParam("under", "The steps inside of this node, or inside of a step of it such as agent.3.", Schema{"type": "string"}),
	"contents":       queryParam("contents", "With under: include input, output, tries and log.", Schema{"type": "boolean", "default": false}),
	"erase_cases":    queryParam("cases", "erase: deletes the test cases that were made from the run, too.", Schema{"type": "string", "enum": []string{"erase"}}),
	"created_after":  queryParam("created_after", "Only runs created after this time.", Schema{"type": "string", "format": "date-time"}),
	"created_before": queryParam("created_before", "Only runs created before this time.", Schema{"type": "string", "format": "date-time"}),
	"status":         statusParam(),
	"work":           queryParam("work", "Work runs of this kind instead of other runs: batches, or what Sluice itself runs for tests and knowledge bases.", Schema{"type": "string", "enum": []string{"batch", "test", "index", "backfill"}}),
	"results_format": queryParam("format", "The format; default csv.", Schema{"type": "string", "enum": []string{"csv", "jsonl", "xlsx"}}),
	"results_only":   queryParam("only", "failed leaves out all other rows.", Schema{"type": "string", "enum": []string{"failed"}}),
	"results_raw":    queryParam("raw", "true leaves texts that look like formulas as they are.", Schema{"type": "boolean", "default": false}),
	"expires":        queryParam("expires", "Part of a download url: when it expires.", Schema{"type": "string"}),
	"signature":      queryParam("signature", "Part of a download url: its signature, which replaces a key.", Schema{"type": "string"}),

	"Prefer":          headerParam("Prefer", "wait=N waits for the end of the run, at most N seconds (1 to 60).", Schema{"type": "string", "examples": []string{"wait=30"}}),
	"Idempotency-Key": headerParam("Idempotency-Key", "Makes the request idempotent for 24 hours: resending it returns the run of the first request.", Schema{"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[ -~]+$"}),
	"Last-Event-ID":   headerParam("Last-Event-ID", "Continue after this event.", Schema{"type": "string", "pattern": "^[0-9]+$"}),
	"version":         queryParam("version", "draft, live or the number of a version. Default: live.", Schema{"type": "string"}),
	"from":            queryParam("from", "draft, live or the number of a version. Default: live.", Schema{"type": "string"}),
	"to":              queryParam("to", "draft, live or the number of a version. Default: draft.", Schema{"type": "string"}),
	"tools":           queryParam("tools", "Which tools the client gets. Default: one for each flow.", Schema{"type": "string", "enum": []string{"authoring"}}),
	"take_alias":      queryParam("take_alias", "Take over a slug that another flow had before.", Schema{"type": "boolean", "default": false}),
	"If-Match":        headerParam("If-Match", "The ETag of the draft that the change is based on. Required.", Schema{"type": "string"}),
	"Range":           headerParam("Range", "Request a part of the content.", Schema{"type": "string", "examples": []string{"bytes=0-1023"}}),
	"If-None-Match":   headerParam("If-None-Match", "An ETag: respond with 304 if it is still current.", Schema{"type": "string"}),
}

// ExampleDocument is a small flow: a text goes in and comes out in a sentence.
var ExampleDocument = Schema{
	"schema": flow.Schema, "slug": "greet", "name": "Greet",
	"nodes": []any{
		Schema{"id": "who", "kind": "input", "config": Schema{"name": "who", "type": "text"}},
		Schema{"id": "words", "kind": "template", "config": Schema{"template": "Hello {{who}}"}},
		Schema{"id": "out", "kind": "output", "config": Schema{"name": "text"}},
	},
	"edges": []any{Schema{"from": "who.value", "to": "words.who"}, Schema{"from": "words.text", "to": "out.value"}},
}

// statusParam describes the repeated form of the parameter. Values joined by commas are
// accepted too.
func statusParam() Schema {
	p := queryParam("status", "Only runs in one of these states. May be repeated or contain several states separated by commas.", Schema{"type": "array", "items": Schema{"type": "string", "enum": RunStates}})
	p["style"], p["explode"] = "form", true
	return p
}

// headers are the response headers, by name.
var headers = map[string]Schema{
	"Location":            responseHeader("Path of the created object.", Schema{"type": "string"}),
	"Retry-After":         responseHeader("Seconds to wait before the next request.", Schema{"type": "integer"}),
	"ETag":                responseHeader("Changes whenever the response does.", Schema{"type": "string"}),
	"Preference-Applied":  responseHeader("The wait that was applied.", Schema{"type": "string"}),
	"Idempotent-Replayed": responseHeader("true when an earlier request with this Idempotency-Key started the run.", Schema{"type": "string", "enum": []string{"true"}}),
	"X-Request-Id":        responseHeader("Identifies the request in the server's log. A value sent by the client is echoed.", Schema{"type": "string"}),
	"RateLimit":           responseHeader("The remaining quota, as in draft-ietf-httpapi-ratelimit-headers.", Schema{"type": "string"}),
	"RateLimit-Policy":    responseHeader("The limits of this key.", Schema{"type": "string"}),
	"WWW-Authenticate":    responseHeader("How to authenticate.", Schema{"type": "string"}),
	"Last-Modified":       responseHeader("When the file was created.", Schema{"type": "string"}),
	"Content-Disposition": responseHeader("inline for images, audio and video, otherwise attachment; with the file name.", Schema{"type": "string"}),
	"Accept-Ranges":       responseHeader("Range requests are supported.", Schema{"type": "string", "enum": []string{"bytes"}}),
	"Content-Range":       responseHeader("The range and the total size.", Schema{"type": "string"}),
	"Mcp-Session-Id":      responseHeader("Sent in the response to initialize. Send it with later requests, so that a cancellation finds its call.", Schema{"type": "string"}),
}

// The following functions build parameter and header objects of OpenAPI 3.1.

func responseHeader(text string, s Schema) Schema { return Schema{"description": text, "schema": s} }

// flowParam describes the ID or the slug of a flow.
func flowParam() Schema {
	return Schema{"name": "flow_id", "in": "path", "required": true, "description": "The ID or the slug of the flow.",
		"schema": Schema{"type": "string", "pattern": "^(" + flow.PrefixFlow + "[0-9a-z]{26}|[a-z0-9](-?[a-z0-9])*)$"}}
}

func pathParam(name, prefix string) Schema {
	return Schema{"name": name, "in": "path", "required": true, "schema": Schema{"type": "string", "pattern": "^" + prefix + "[0-9a-z]{26}$"}}
}

func queryParam(name, text string, s Schema) Schema {
	return Schema{"name": name, "in": "query", "description": text, "schema": s}
}

func headerParam(name, text string, s Schema) Schema {
	return Schema{"name": name, "in": "header", "description": text, "schema": s}
}

// Bodies returns the schemas that are derived neither from Go types nor from the bodies of routes.
// runOptions is the schema of run_options.
func Bodies(runOptions Schema) Schema {
	return Schema{
		"RunOptions": runOptions,
		"StartRun": Schema{
			"type": "object", "description": "Inputs by name. The OpenAPI document of the flow lists them.",
			"properties": Schema{contract.ReservedInput: Ref("RunOptions")}, "additionalProperties": true,
			"examples": []any{Schema{"ticket": "My parcel has not arrived.", "run_options": Schema{"metadata": Schema{"customer": "4711"}}}},
		},
		"Kinds": Schema{
			"type": "object", "required": []string{"kinds"}, "additionalProperties": false,
			"properties": Schema{"kinds": Schema{"type": "array", "items": Ref("Kind")}},
		},
		"Kind": Schema{
			"type": "object", "required": []string{"kind", "title", "fields", "inputs", "outputs"}, "additionalProperties": true,
			"properties": Schema{
				"kind": Schema{"type": "string"}, "title": Schema{"type": "string"},
				"fields":  Schema{"type": []string{"array", "null"}, "items": Schema{"type": "object", "additionalProperties": true}},
				"inputs":  Schema{"type": []string{"array", "null"}, "items": Schema{"type": "object", "additionalProperties": true}},
				"outputs": Schema{"type": []string{"array", "null"}, "items": Schema{"type": "object", "additionalProperties": true}},
			},
		},
		"Document": Schema{
			"type": "object", "description": "A flow document in the format sluice.flow/v1.", "required": []string{"schema", "name", "nodes"}, "additionalProperties": true,
			"properties": Schema{
				"schema": Schema{"type": "string", "enum": []string{flow.Schema}},
				"slug":   Schema{"type": "string", "maxLength": document.MaxSlug, "pattern": "^[a-z0-9](-?[a-z0-9])*$", "description": "Name of the flow in URLs. Default: made from the name."},
				"name":   Schema{"type": "string"},
				"nodes":  Schema{"type": "array", "items": Schema{"type": "object", "additionalProperties": true}},
				"edges":  Schema{"type": "array", "items": Schema{"type": "object", "additionalProperties": true}},
			},
			"examples": []any{ExampleDocument},
		},
		"Companion": Schema{
			"type": "object", "description": "A file beside a flow or the workspace, such as sluice.triggers/v1: its member triggers lists schedules and incoming webhooks, each with name, kind and the members of its configuration.", "required": []string{"schema"}, "additionalProperties": true,
			"properties": Schema{"schema": Schema{"type": "string"}, "triggers": Schema{"type": "array", "items": Schema{"type": "object", "required": []string{"name", "kind"}, "additionalProperties": true,
				"properties": Schema{"name": Schema{"type": "string"}, "kind": Schema{"type": "string", "enum": []string{"schedule", "hook"}}}}}},
			"examples": []any{map[string]any{"schema": "sluice.triggers/v1", "triggers": []any{map[string]any{"name": "daily", "kind": "schedule", "cron": "0 9 * * *"}}}},
		},
		"Case": Schema{
			"type": "object", "description": "A test case as in a file sluice.tests/v1: inputs, and what must come out.", "additionalProperties": true,
			"properties": Schema{
				"id": Schema{"type": "string"}, "name": Schema{"type": "string"}, "inputs": Schema{"type": "object", "additionalProperties": true}, "expected": Schema{"type": "object", "additionalProperties": true},
				"checks": Schema{"type": "array", "items": Schema{"type": "object", "additionalProperties": true}}, "repeat": Schema{"type": "integer"}, "pass": Schema{"type": "integer"},
				"answers": Schema{"type": "object", "additionalProperties": true}, "stubs": Schema{"type": "object", "additionalProperties": true}, "tags": Schema{"type": "array", "items": Schema{"type": "string"}},
				"from_run": Schema{"type": "string"}, "notes": Schema{"type": "string"}, "now": Schema{"type": "string", "format": "date-time"},
			},
			"examples": []any{map[string]any{"inputs": map[string]any{"text": "Where is my parcel?"}, "checks": []any{map[string]any{"output": "answer", "contains": "parcel"}}}},
		},
		"Export": Schema{
			"type": "object", "description": "An export of AI-Flow, which has no name of its own.", "required": []string{"ai_flow"}, "additionalProperties": false,
			"properties": Schema{
				"ai_flow": Schema{"type": "array", "items": Schema{"type": "object", "additionalProperties": true}, "description": "The content of the exported file."},
				"slug":    Schema{"type": "string", "maxLength": document.MaxSlug, "pattern": "^[a-z0-9](-?[a-z0-9])*$", "description": "Name of the flow in URLs. Default: made from the name."},
				"name":    Schema{"type": "string"},
			},
		},
		"Upload": Schema{
			"type": "object", "additionalProperties": false, "required": []string{FileField},
			"properties": Schema{FileField: Schema{"type": "string", "format": "binary", "description": "The content, with a file name."}},
		},
		"Outputs": Schema{"type": "object", "description": "Values by output name; a skipped output is absent. A file is an object with its ID as file, its name, mime and size, and a url to download it.", "additionalProperties": true, "examples": []any{Schema{"answer": "It will arrive tomorrow."}}},
		"RPCMessage": Schema{
			"type": "object", "description": "A JSON-RPC 2.0 message of the Model Context Protocol.", "required": []string{"jsonrpc"},
			"properties": Schema{"jsonrpc": Schema{"const": "2.0"}, "id": Schema{"oneOf": []any{Schema{"type": "string"}, Schema{"type": "number"}, Schema{"type": "null"}}}, "method": Schema{"type": "string"}, "params": Schema{"type": "object"}, "result": Schema{"type": "object"}, "error": Schema{"type": "object"}},
			"examples":   []any{Schema{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}},
		},
		"Health": Schema{"type": "object", "required": []string{"status"}, "properties": Schema{"status": Schema{"type": "string", "const": "ok"}}},
		"OpenAPI": Schema{"type": "object", "required": []string{"openapi", "info", "paths"}, "properties": Schema{
			"openapi": Schema{"type": "string"}, "info": Schema{"type": "object"}, "paths": Schema{"type": "object"},
		}},
		"RunWaiting": Schema{
			"type": "object", "required": []string{"type", "timestamp", "data"},
			"properties": Schema{
				"type":      Schema{"type": "string", "const": "run.waiting"},
				"timestamp": Schema{"type": "string", "format": "date-time"},
				"data": Schema{
					"type": "object", "required": []string{"run_id", "flow_id", "node", "path", "title", "message", "values", "expires_at"},
					"properties": Schema{
						"run_id": Schema{"type": "string"}, "flow_id": Schema{"type": "string"}, "node": Schema{"type": "string"},
						"path":  Schema{"type": "string", "description": "Of the step; part of the URL that answers."},
						"title": Schema{"type": "string"}, "message": Schema{"type": "string", "description": "Markdown."},
						"values":     Schema{"type": "object", "description": "The values to approve, by name.", "additionalProperties": true},
						"expires_at": Schema{"type": "string", "format": "date-time"},
					},
				},
			},
		},
		"RunEnded": Schema{
			"type": "object", "required": []string{"type", "timestamp", "data"},
			"properties": Schema{
				"type":      Schema{"type": "string", "enum": []string{"run.succeeded", "run.failed", "run.canceled"}},
				"timestamp": Schema{"type": "string", "format": "date-time"},
				"data":      Ref("Run"),
			},
		},
	}
}
