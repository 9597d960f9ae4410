package openapi

import (
	"net/http"
	"slices"

	"sluice/flow"
)

// Media types of bodies.
const (
	TypeJSON    = "application/json"
	TypeStream  = "text/event-stream"
	TypeProblem = "application/problem+json"
)

// Route is an operation at a path.
type Route struct {
	Method, Path string // a path of OpenAPI, such as /v1/flow/{flow_id}
	Operation
	Scopes      string      // a key needs one of them: "read or run"; "" if no key is needed
	KeyOptional bool        // signed links need no key
	Codes       []flow.Code // all errors
}

// Operation describes a route in the OpenAPI document. Path parameters, security and
// common problems are derived from the route and not repeated here. Routes with the
// zero value are not documented.
type Operation struct {
	ID, Tag, Summary, Text string
	Params                 []string // query and header parameters by name
	Body                   Body
	Answers                []Answer
	Problems               []flow.Code // in addition to those of keys and paths
}

// Body is the body of a request.
type Body struct {
	Name     string // of its schema; "" for no body
	Schema   Schema // nil if the document has it already
	Type     string // media type; "" for JSON
	Optional bool
	Members  []Member // of a declared JSON object, in the order of the declaration
}

// Member is a member of a JSON object. The flags of commands and the arguments of tools derive from
// it, so that they offer a new member without another line.
type Member struct {
	Name     string
	Schema   Schema // with a description
	Required bool
}

// Text returns the description of the member.
func (m *Member) Text() string {
	text, _ := m.Schema["description"].(string)
	return text
}

// Type returns the JSON type of the member's values, of the first alternative if there are several.
func (m *Member) Type() string {
	schema := m.Schema
	if of, _ := schema["oneOf"].([]any); len(of) > 0 {
		schema, _ = of[0].(Schema)
	}
	switch t := schema["type"].(type) {
	case string:
		return t
	case []any: // with null; see api.Nullable
		text, _ := t[0].(string)
		return text
	}
	return ""
}

// Nullable reports whether the member may be null.
func (m *Member) Nullable() bool {
	types, _ := m.Schema["type"].([]any)
	return slices.Contains(types, any("null"))
}

// Offers returns the media types that a response can have, JSON first. It is empty
// for routes without a body, and for files, whose type is not negotiable.
func (o *Operation) Offers() (types []string) {
	isJSON := func(a Answer) bool { return a.JSON != nil || a.Schema != "" }
	if slices.ContainsFunc(o.Answers, isJSON) {
		types = append(types, TypeJSON)
	}
	if slices.ContainsFunc(o.Answers, func(a Answer) bool { return a.Stream }) {
		types = append(types, TypeStream)
	}
	return types
}

// Answer is a success response.
type Answer struct {
	Status  int
	Text    string
	JSON    any    // a value of the type of the body; nil for none
	Schema  string // or the name of its schema
	Stream  bool   // can be an event stream
	Example string // of the stream; empty means one of a run
	Binary  bool   // the body is the content of a file
	Headers []string
}

// OK returns the only answer of an operation that responds with a body of the type of v.
func OK(text string, v any) []Answer {
	return []Answer{{Status: http.StatusOK, Text: text, JSON: v}}
}

// Created is OK for an operation that creates something.
func Created(text string, v any) []Answer {
	return []Answer{{Status: http.StatusCreated, Text: text, JSON: v}}
}

// NoContent returns the only answer of an operation that responds without a body.
func NoContent(text string) []Answer { return []Answer{{Status: http.StatusNoContent, Text: text}} }
