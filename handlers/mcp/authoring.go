package mcp

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/value"
	"sluice/handlers/api"
	"sluice/handlers/web"
)

// maxAuthoring bounds a message for the authoring tools, in bytes. It exceeds
// flow.MaxDocumentBytes by enough for the other arguments.
const maxAuthoring = 5 << 20

// authoring is the set of tools that write flows. Each call is a request to the API with the key
// of the client, so the same scopes, limits, validation and audit log apply.
type authoring []authorTool

// authorTool is a tool for one operation of the API: the one whose route names it. Method, path and
// the members of the body come from the route, so that a new member of a body is also a new argument.
type authorTool struct {
	name, title, text string
	hints             sdk.ToolAnnotations
	// inputs are parameters of the path and, for a GET, of the query. One with the name of a member of
	// the body replaces the argument that derives from it.
	inputs []contract.Input
	// whole names the input whose value is the whole body. "" makes the members of the body arguments.
	whole string
	// leaveOut are members of the body that are no arguments.
	leaveOut []string
	// adjust changes the request to one that differs from these rules; nil for none.
	adjust func(given map[string]any, r *apiRequest)
	// convert changes the body of a successful response before it becomes the result; nil keeps
	// it.
	convert func(given, body map[string]any) map[string]any

	route   *api.Route
	schemas map[string]any // of the arguments that derive from the body, by name
}

// pathInputs are the inputs for parameters of paths whose names differ.
var pathInputs = map[string]string{"flow_id": "flow", "run_id": "run", "trigger": "name", "hook": "name", "case": "id"}

// newAuthoring returns the tools with their routes. It panics if no route names a tool.
func newAuthoring(routes []*api.Route) authoring {
	tools := slices.Clone(authorTools)
	for i := range tools {
		t := &tools[i]
		at := slices.IndexFunc(routes, func(r *api.Route) bool { return r.Tool == t.name })
		if at < 0 {
			panic("no route has the tool " + t.name)
		}
		t.bind(routes[at])
	}
	return tools
}

// bind derives arguments from the body of the route.
func (t *authorTool) bind(r *api.Route) {
	t.route, t.schemas = r, map[string]any{}
	if t.whole != "" && r.Doc.Body.Schema != nil {
		schema := maps.Clone(r.Doc.Body.Schema)
		schema["description"] = t.inputs[t.input(t.whole)].Description
		t.schemas[t.whole] = schema
	}
	if t.whole != "" {
		return
	}
	t.inputs = slices.Clone(t.inputs)
	for _, m := range r.Doc.Body.Members {
		if t.input(m.Name) < 0 && !slices.Contains(t.leaveOut, m.Name) {
			t.inputs = append(t.inputs, contract.Input{Name: m.Name, Type: argumentTypes[m.Type()], Required: m.Required, Description: m.Text()})
			t.schemas[m.Name] = m.Schema
		}
	}
}

// argumentTypes are the types of arguments by the types of JSON. The API checks the rest.
var argumentTypes = map[string]flow.Type{"string": flow.TypeText, "integer": flow.TypeNumber, "number": flow.TypeNumber, "boolean": flow.TypeBoolean, "array": flow.TypeList, "object": flow.TypeJSON, "": flow.TypeAny}

// input returns the index of the input with a name, or -1.
func (t *authorTool) input(name string) int {
	return slices.IndexFunc(t.inputs, func(in contract.Input) bool { return in.Name == name })
}

// request returns the request to the API for the arguments of a call.
func (t *authorTool) request(given map[string]any) apiRequest {
	r, inPath := apiRequest{method: t.route.Method, query: url.Values{}}, map[string]bool{}
	for part := range strings.SplitSeq(strings.TrimPrefix(t.route.Path, "/"), "/") {
		if param, ok := strings.CutPrefix(part, ":"); ok {
			name := cmp.Or(pathInputs[param], param)
			part, inPath[name] = url.PathEscape(flow.Text(given[name])), true
		}
		r.path += "/" + part
	}
	members := map[string]any{}
	for _, in := range t.inputs {
		v := given[in.Name]
		if inPath[in.Name] || v == nil || v == "" {
			continue
		}
		if r.method == http.MethodGet {
			r.query.Set(in.Name, flow.Text(v))
		}
		members[in.Name] = v
	}
	switch {
	case t.whole != "":
		r.body = given[t.whole]
	case t.route.Doc.Body.Members != nil:
		r.body = members
	}
	if t.adjust != nil {
		t.adjust(given, &r)
	}
	return r
}

// apiRequest is a request to the API.
type apiRequest struct {
	method, path string
	query        url.Values
	headers      map[string]string
	body         any          // encoded as JSON; nil omits it
	scopes       []flow.Scope // in place of those of the key; nil keeps them
}

// instructions returns the text that tells a model in which order to use the tools.
func (a authoring) instructions() string {
	return "These tools write flows of Sluice. Read list_kinds first, then check a document with validate_flow before you create or edit a flow. " +
		"Edits change the draft; save_case and run_tests prove that nothing broke; publish_flow makes it live for callers. Documents name credentials and never contain secrets."
}

func (a authoring) maxMessage() int64 { return maxAuthoring }

// list returns all tools, whatever the key may do: the API rejects calls that its scopes do not
// allow.
func (a authoring) list(*message) ([]tool, error) {
	list := make([]tool, len(a))
	for i := range a {
		list[i].Tool = a[i].declaration()
	}
	return list, nil
}

// declaration returns the tool as clients see it.
func (t *authorTool) declaration() *sdk.Tool {
	return &sdk.Tool{Name: t.name, Title: t.title, Description: t.text, Annotations: &t.hints, InputSchema: t.schema()}
}

// find returns the tool with a name, or nil. The tool has no declaration, which calls do not need.
func (a authoring) find(m *message, name string) (*tool, error) {
	i := slices.IndexFunc(a, func(t authorTool) bool { return t.name == name })
	if i < 0 {
		return nil, nil
	}
	return &tool{call: func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return m.callAPI(&a[i]), nil }}, nil
}

// schema returns the JSON Schema of the arguments.
func (t *authorTool) schema() map[string]any {
	s := contract.Schema(t.inputs)
	properties, _ := s["properties"].(*flow.Object)
	for _, in := range t.inputs {
		if derived := t.schemas[in.Name]; derived != nil {
			properties.Set(in.Name, derived)
		} else if in.Type == flow.TypeJSON {
			property, _ := flow.AsMap(value.Get(s, "properties", in.Name))
			property["type"] = "object" // a map, which the schema shares
		}
	}
	return s
}

// callAPI executes a call as a request to the API and converts the response. Error responses become
// results, so that the model can correct its call.
func (m *message) callAPI(t *authorTool) *sdk.CallToolResult {
	checked, problems := contract.Check(t.inputs, m.arguments(), false)
	if problems = append(problems, t.checkObjects(checked)...); len(problems) > 0 {
		return m.toolError(&flow.Error{Code: flow.CodeInputInvalid, Message: "The arguments of the tool are invalid.", Fields: problems}, "")
	}
	given := checked.Map()
	w, err := m.request(t.request(given))
	if err != nil {
		return m.toolError(err, "")
	}
	decoded, err := flow.DecodeJSON(w.Body.Bytes())
	body, isObject := flow.AsMap(decoded)
	if err != nil || !isObject {
		return m.toolError(fmt.Errorf("%s: the API responded with %d and no JSON object: %w", t.name, w.Status, err), "")
	}
	failed := w.Status >= http.StatusBadRequest
	if !failed && t.convert != nil {
		body = t.convert(given, body)
	}
	if tag := w.Header().Get("ETag"); tag != "" && !failed {
		body["etag"] = tag
	}
	result := &sdk.CallToolResult{IsError: failed, Content: []sdk.Content{&sdk.TextContent{Text: string(flow.EncodeJSON(body))}}}
	if failed {
		result.Meta = sdk.Meta{"code": body["code"]}
	} else {
		result.StructuredContent = body
	}
	return result
}

// checkObjects returns a problem for each argument that the schema declares as an object and that is something else, such as an object that
// a model wrote as a text.
func (t *authorTool) checkObjects(given *flow.Object) (problems []flow.Problem) {
	for _, in := range t.inputs {
		if v := given.Get(in.Name); in.Type == flow.TypeJSON && v != nil && !value.IsObject(v) {
			problems = append(problems, flow.Problem{Pointer: flow.Pointer(in.Name), Code: "wrong_type", Detail: "wanted an object, got " + flow.TypeOf(v)})
		}
	}
	return problems
}

// request sends a request to the API with the key of the client. It is exempt from the rate limit
// of the key, which has already counted the message.
func (m *message) request(a apiRequest) (*web.ResponseRecorder, error) {
	var body bytes.Buffer
	if a.body != nil {
		body.Write(flow.EncodeJSON(a.body))
	}
	r, err := http.NewRequestWithContext(m.Request().Context(), a.method, m.s.api.PublicURL+a.path, &body)
	if err != nil {
		return nil, err
	}
	r.URL.RawQuery = a.query.Encode()
	r.RemoteAddr, r.RequestURI = m.Request().RemoteAddr, r.URL.RequestURI()
	if a.body != nil {
		r.Header.Set("Content-Type", api.TypeJSON)
	}
	for name, v := range a.headers {
		r.Header.Set(name, v)
	}
	key := *m.Key
	key.Trigger, key.RPM = flow.TriggerMCP, 0
	if a.scopes != nil {
		key.Scopes = a.scopes
	}
	w := web.NewResponseRecorder()
	m.s.api.ServeAs(&key, w, r)
	return w, nil
}

// Arguments shared by several tools.
var (
	flowInput     = contract.Input{Name: "flow", Type: flow.TypeText, Required: true, Pattern: "^[a-z0-9_-]{1,64}$", Description: "The slug or the ID of the flow."}
	documentInput = contract.Input{Name: "document", Type: flow.TypeJSON, Required: true, Description: "The whole document, in the format sluice.flow/v1: schema, name, nodes and edges."}
	runInput      = contract.Input{Name: "run", Type: flow.TypeText, Required: true, Pattern: "^[a-z0-9_]{1,64}$", Description: "The run_id."}
)

// optional returns an optional input. A default of nil leaves it unset.
func optional(name string, t flow.Type, otherwise any, text string) contract.Input {
	return contract.Input{Name: name, Type: t, Default: otherwise, HasDefault: otherwise != nil, Description: text}
}

// versionInput returns an optional input that selects the draft, the live version or a number.
func versionInput(name, otherwise string) contract.Input {
	in := optional(name, flow.TypeText, otherwise, "draft, live, or the number of a version.")
	in.Pattern = "^(draft|live|[0-9]{1,15})$"
	return in
}

// versionOf returns a version as requests name it: draft, live, or a number.
func versionOf(v any) any {
	text := flow.Text(v)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	return text
}

// pick returns the members of given with these names, except nulls.
func pick(given map[string]any, names ...string) map[string]any {
	m := map[string]any{}
	for _, name := range names {
		if v := given[name]; v != nil {
			m[name] = v
		}
	}
	return m
}

// startRun makes a request one that starts a run and waits for its end.
func startRun(given map[string]any, r *apiRequest) {
	inputs, _ := flow.AsObject(given["inputs"])
	body, options := inputs.Clone(), pick(given, "max_usd", "continue")
	if sent, ok := flow.AsMap(body.Get(contract.ReservedInput)); ok { // among the inputs, as in a request to the API
		sent = maps.Clone(sent)
		maps.Copy(sent, options)
		options = sent
	}
	switch version := flow.Text(given["version"]); version {
	case "live":
	case "draft":
		options["version"] = "draft"
	default:
		options["version"], _ = strconv.ParseInt(version, 10, 64)
	}
	if len(options) > 0 {
		body.Set(contract.ReservedInput, options)
	}
	r.body, r.headers = body, map[string]string{"Prefer": "wait=" + flow.Text(given["wait_s"])}
}

// startTest names the versions that a test compares as the API does.
func startTest(given map[string]any, r *apiRequest) {
	body, _ := flow.AsMap(r.body)
	delete(body, "version")
	body["candidates"] = []any{map[string]any{"version": versionOf(given["version"])}}
	if baseline := flow.Text(given["baseline"]); baseline != "" {
		body["baseline"] = map[string]any{"version": versionOf(baseline)}
	}
}

// filterKinds returns the complete declarations of the requested kinds, with the names that no kind has, or, without names, a summary
// of all kinds: all declarations together would fill the context of a model.
func filterKinds(given, body map[string]any) map[string]any {
	names, _ := given["names"].([]any)
	list, _ := body["kinds"].([]any)
	kinds, unknown := []any{}, slices.Clone(names)
	for _, v := range list {
		k, _ := flow.AsMap(v)
		unknown = slices.DeleteFunc(unknown, func(name any) bool { return name == k["kind"] })
		switch {
		case len(names) == 0:
			kinds = append(kinds, pick(k, "kind", "title", "group", "summary"))
		case slices.Contains(names, k["kind"]):
			kinds = append(kinds, k)
		}
	}
	if len(unknown) > 0 {
		return map[string]any{"kinds": kinds, "unknown": unknown}
	}
	return map[string]any{"kinds": kinds}
}
