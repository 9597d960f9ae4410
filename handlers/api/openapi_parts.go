package api

import (
	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/document"
)

// apiParams are the parameters, by the name that operations use.
var apiParams = map[string]schema{
	"flow_id":     flowParam(),
	"run_id":      pathParam("run_id", flow.PrefixRun),
	"path":        schema{"name": "path", "in": "path", "required": true, "description": "The step that asks.", "schema": schema{"type": "string"}},
	"delivery_id": pathParam("delivery_id", flow.PrefixDelivery),
	"file_id":     pathParam("file_id", flow.PrefixFile),

	"wait":           queryParam("wait", "Wait for the end of the run, at most this many seconds.", schema{"type": "integer", "minimum": 0, "maximum": 60}),
	"limit":          queryParam("limit", "Page size.", schema{"type": "integer", "minimum": 1, "maximum": 100, "default": 20}),
	"cursor":         queryParam("cursor", "next_cursor of an earlier response.", schema{"type": "string"}),
	"created_after":  queryParam("created_after", "Only runs created after this time.", schema{"type": "string", "format": "date-time"}),
	"created_before": queryParam("created_before", "Only runs created before this time.", schema{"type": "string", "format": "date-time"}),
	"status":         statusParam(),
	"expires":        queryParam("expires", "Part of a download url: when it expires.", schema{"type": "string"}),
	"signature":      queryParam("signature", "Part of a download url: its signature, which replaces a key.", schema{"type": "string"}),

	"Prefer":          headerParam("Prefer", "wait=N waits for the end of the run, at most N seconds (1 to 60).", schema{"type": "string", "examples": []string{"wait=30"}}),
	"Idempotency-Key": headerParam("Idempotency-Key", "Makes the request idempotent for 24 hours: resending it returns the run of the first request.", schema{"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[ -~]+$"}),
	"Last-Event-ID":   headerParam("Last-Event-ID", "Continue after this event.", schema{"type": "string", "pattern": "^[0-9]+$"}),
	"version":         queryParam("version", "draft, live or the number of a version. Default: live.", schema{"type": "string"}),
	"from":            queryParam("from", "draft, live or the number of a version. Default: live.", schema{"type": "string"}),
	"to":              queryParam("to", "draft, live or the number of a version. Default: draft.", schema{"type": "string"}),
	"tools":           queryParam("tools", "Which tools the client gets. Default: one for each flow.", schema{"type": "string", "enum": []string{"authoring"}}),
	"take_alias":      queryParam("take_alias", "Take over a slug that another flow had before.", schema{"type": "boolean", "default": false}),
	"If-Match":        headerParam("If-Match", "The ETag of the draft that the change is based on. Required.", schema{"type": "string"}),
	"Range":           headerParam("Range", "Request a part of the content.", schema{"type": "string", "examples": []string{"bytes=0-1023"}}),
	"If-None-Match":   headerParam("If-None-Match", "An ETag: respond with 304 if it is still current.", schema{"type": "string"}),
}

// exampleDocument is a small flow: a text goes in and comes out in a sentence.
var exampleDocument = schema{
	"schema": flow.Schema, "slug": "greet", "name": "Greet",
	"nodes": []any{
		schema{"id": "who", "kind": "input", "config": schema{"name": "who", "type": "text"}},
		schema{"id": "words", "kind": "template", "config": schema{"template": "Hello {{who}}"}},
		schema{"id": "out", "kind": "output", "config": schema{"name": "text"}},
	},
	"edges": []any{schema{"from": "who.value", "to": "words.who"}, schema{"from": "words.text", "to": "out.value"}},
}

// statusParam describes the repeated form of the parameter. Values joined by commas are
// accepted too.
func statusParam() schema {
	p := queryParam("status", "Only runs in one of these states. May be repeated or contain several states separated by commas.", schema{"type": "array", "items": schema{"type": "string", "enum": runStates}})
	p["style"], p["explode"] = "form", true
	return p
}

// apiHeaders are the response headers, by name.
var apiHeaders = map[string]schema{
	"Location":            apiHeader("Path of the created object.", schema{"type": "string"}),
	"Retry-After":         apiHeader("Seconds to wait before the next request.", schema{"type": "integer"}),
	"ETag":                apiHeader("Changes whenever the response does.", schema{"type": "string"}),
	"Preference-Applied":  apiHeader("The wait that was applied.", schema{"type": "string"}),
	"Idempotent-Replayed": apiHeader("true when an earlier request with this Idempotency-Key started the run.", schema{"type": "string", "enum": []string{"true"}}),
	"X-Request-Id":        apiHeader("Identifies the request in the server's log. A value sent by the client is echoed.", schema{"type": "string"}),
	"RateLimit":           apiHeader("The remaining quota, as in draft-ietf-httpapi-ratelimit-headers.", schema{"type": "string"}),
	"RateLimit-Policy":    apiHeader("The limits of this key.", schema{"type": "string"}),
	"WWW-Authenticate":    apiHeader("How to authenticate.", schema{"type": "string"}),
	"Last-Modified":       apiHeader("When the file was created.", schema{"type": "string"}),
	"Content-Disposition": apiHeader("inline for images, audio and video, otherwise attachment; with the file name.", schema{"type": "string"}),
	"Accept-Ranges":       apiHeader("Range requests are supported.", schema{"type": "string", "enum": []string{"bytes"}}),
	"Content-Range":       apiHeader("The range and the total size.", schema{"type": "string"}),
	"Mcp-Session-Id":      apiHeader("Sent in the response to initialize. Send it with later requests, so that a cancellation finds its call.", schema{"type": "string"}),
}

// The following functions build parameter and header objects of OpenAPI 3.1.

func apiHeader(text string, s schema) schema { return schema{"description": text, "schema": s} }

// flowParam describes the ID or the slug of a flow.
func flowParam() schema {
	return schema{"name": "flow_id", "in": "path", "required": true, "description": "The ID or the slug of the flow.",
		"schema": schema{"type": "string", "pattern": "^(" + flow.PrefixFlow + "[0-9a-z]{26}|[a-z0-9](-?[a-z0-9])*)$"}}
}

func pathParam(name, prefix string) schema {
	return schema{"name": name, "in": "path", "required": true, "schema": schema{"type": "string", "pattern": "^" + prefix + "[0-9a-z]{26}$"}}
}

func queryParam(name, text string, s schema) schema {
	return schema{"name": name, "in": "query", "description": text, "schema": s}
}

func headerParam(name, text string, s schema) schema {
	return schema{"name": name, "in": "header", "description": text, "schema": s}
}

// bodySchemas are the schemas that are not derived from Go types, such as request bodies.
func bodySchemas() schema {
	options := optionsSchema()
	return schema{
		"RunOptions": options,
		"StartRun": schema{
			"type": "object", "description": "Inputs by name. The OpenAPI document of the flow lists them.",
			"properties": schema{contract.ReservedInput: ref("RunOptions")}, "additionalProperties": true,
			"examples": []any{schema{"ticket": "My parcel has not arrived.", "run_options": schema{"metadata": schema{"customer": "4711"}}}},
		},
		"Rerun": schema{
			"type": "object", "additionalProperties": false,
			"properties": schema{
				"from":   schema{"type": []string{"string", "null"}, "description": "The node to run again, with everything that depends on it."},
				"inputs": schema{"type": []string{"object", "null"}, "description": "New inputs. Default: those of the first run."},
				"children": schema{"type": []string{"string", "null"}, "enum": []any{childrenRecorded, childrenLive, nil}, "default": childrenRecorded,
					"description": "The version that steps run of other flows: the one that the first run recorded, or the one that is live now."},
			},
			"examples": []any{schema{"from": "write"}},
		},
		"Kinds": schema{
			"type": "object", "required": []string{"kinds"}, "additionalProperties": false,
			"properties": schema{"kinds": schema{"type": "array", "items": ref("Kind")}},
		},
		"Kind": schema{
			"type": "object", "required": []string{"kind", "title", "fields", "inputs", "outputs"}, "additionalProperties": true,
			"properties": schema{
				"kind": schema{"type": "string"}, "title": schema{"type": "string"},
				"fields":  schema{"type": []string{"array", "null"}, "items": schema{"type": "object", "additionalProperties": true}},
				"inputs":  schema{"type": []string{"array", "null"}, "items": schema{"type": "object", "additionalProperties": true}},
				"outputs": schema{"type": []string{"array", "null"}, "items": schema{"type": "object", "additionalProperties": true}},
			},
		},
		"Decision": schema{
			"type": "object", "additionalProperties": false, "required": []string{"decision"},
			"properties": schema{
				"decision": schema{"type": "string", "enum": []flow.Outcome{flow.OutcomeApproved, flow.OutcomeRejected}},
				"values":   schema{"type": []string{"object", "null"}, "description": "New values of editable ones, by name. A value keeps its type."},
				"comment":  schema{"type": []string{"string", "null"}, "maxLength": flow.MaxComment},
			},
			"examples": []any{schema{"decision": "approved", "comment": "Looks good."}},
		},
		"Document": schema{
			"type": "object", "description": "A flow document in the format sluice.flow/v1.", "required": []string{"schema", "name", "nodes"}, "additionalProperties": true,
			"properties": schema{
				"schema": schema{"type": "string", "enum": []string{flow.Schema}},
				"slug":   schema{"type": "string", "maxLength": document.MaxSlug, "pattern": "^[a-z0-9](-?[a-z0-9])*$", "description": "Name of the flow in URLs. Default: made from the name."},
				"name":   schema{"type": "string"},
				"nodes":  schema{"type": "array", "items": schema{"type": "object", "additionalProperties": true}},
				"edges":  schema{"type": "array", "items": schema{"type": "object", "additionalProperties": true}},
			},
			"examples": []any{exampleDocument},
		},
		"Publish": schema{
			"type": "object", "additionalProperties": false,
			"properties": schema{
				"version":        schema{"type": []string{"integer", "null"}, "minimum": 1, "description": "An older version to make live. Default: the draft."},
				"notes":          schema{"type": []string{"string", "null"}, "maxLength": 200, "description": "Release notes."},
				"allow_breaking": schema{"type": []string{"boolean", "null"}, "description": "Publish even if callers break."},
			},
			"examples": []any{schema{"notes": "Shorter answers."}},
		},
		"Apply": schema{
			"type": "object", "additionalProperties": false, "required": []string{"documents"},
			"properties": schema{
				"documents":      schema{"type": "array", "items": ref("Document")},
				"source":         schema{"type": []string{"string", "null"}, "description": "Names where the documents come from, such as a repository."},
				"publish":        schema{"type": []string{"boolean", "null"}, "description": "Publish each flow."},
				"allow_breaking": schema{"type": []string{"boolean", "null"}, "description": "Publish even if callers break."},
				"prune":          schema{"type": []string{"boolean", "null"}, "description": "Archive flows last applied from the same source that are not in the request."},
				"force":          schema{"type": []string{"boolean", "null"}, "description": "Replace drafts that were edited since the last apply."},
				"dry_run":        schema{"type": []string{"boolean", "null"}, "description": "Only report what would happen."},
			},
			"examples": []any{schema{"documents": []any{exampleDocument}, "source": "github.com/acme/flows", "publish": true}},
		},
		"Upload": schema{
			"type": "object", "additionalProperties": false, "required": []string{fileField},
			"properties": schema{fileField: schema{"type": "string", "format": "binary", "description": "The content, with a file name."}},
		},
		"Outputs": schema{"type": "object", "description": "Values by output name; a skipped output is absent. A file is an object with its ID as file, its name, mime and size, and a url to download it.", "additionalProperties": true, "examples": []any{schema{"answer": "It will arrive tomorrow."}}},
		"RPCMessage": schema{
			"type": "object", "description": "A JSON-RPC 2.0 message of the Model Context Protocol.", "required": []string{"jsonrpc"},
			"properties": schema{"jsonrpc": schema{"const": "2.0"}, "id": schema{"type": []string{"string", "number", "null"}}, "method": schema{"type": "string"}, "params": schema{"type": "object"}, "result": schema{"type": "object"}, "error": schema{"type": "object"}},
			"examples":   []any{schema{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}},
		},
		"Health": schema{"type": "object", "required": []string{"status"}, "properties": schema{"status": schema{"const": "ok"}}},
		"OpenAPI": schema{"type": "object", "required": []string{"openapi", "info", "paths"}, "properties": schema{
			"openapi": schema{"type": "string"}, "info": schema{"type": "object"}, "paths": schema{"type": "object"},
		}},
		"RunWaiting": schema{
			"type": "object", "required": []string{"type", "timestamp", "data"},
			"properties": schema{
				"type":      schema{"const": "run.waiting"},
				"timestamp": schema{"type": "string", "format": "date-time"},
				"data": schema{
					"type": "object", "required": []string{"run_id", "flow_id", "node", "path", "title", "message", "values", "expires_at"},
					"properties": schema{
						"run_id": schema{"type": "string"}, "flow_id": schema{"type": "string"}, "node": schema{"type": "string"},
						"path":  schema{"type": "string", "description": "Of the step; part of the URL that answers."},
						"title": schema{"type": "string"}, "message": schema{"type": "string", "description": "Markdown."},
						"values":     schema{"type": "object", "description": "The values to approve, by name.", "additionalProperties": true},
						"expires_at": schema{"type": "string", "format": "date-time"},
					},
				},
			},
		},
		"RunEnded": schema{
			"type": "object", "required": []string{"type", "timestamp", "data"},
			"properties": schema{
				"type":      schema{"type": "string", "enum": []string{"run.succeeded", "run.failed", "run.canceled"}},
				"timestamp": schema{"type": "string", "format": "date-time"},
				"data":      ref("Run"),
			},
		},
	}
}

// optionsSchema describes run_options, using the declarations that also validate them.
func optionsSchema() schema {
	options := schema(contract.Schema(runOptions))
	properties := options["properties"].(schema)
	set := func(name, text string, s schema) {
		s["description"] = text
		properties[name] = s
	}
	webhook := schema(contract.Schema(webhookOptions))
	set("version", "A version other than the live one; needs the scope manage.", schema{"anyOf": []schema{{"type": "integer", "minimum": 1}, {"const": "draft"}, {"type": "null"}}})
	set("webhook", "Called when the run has ended.", nullable(webhook))
	set("metadata", "Stored with the run and returned with it; at most 16 KiB of JSON.", schema{"type": []string{"object", "null"}})
	set("timeout_s", "Time limit of the run in seconds.", nullable(properties["timeout_s"].(schema)))
	set("save", "false erases the run's content once it and its deliveries have ended.", nullable(properties["save"].(schema)))
	secret := webhook["properties"].(schema)["secret"].(schema)
	secret["description"], secret["pattern"] = "Signs the message. Default: the webhook secret of the key, see GET /v1/webhook-secret.", "^whsec_[A-Za-z0-9+/]+=*$"
	return options
}
