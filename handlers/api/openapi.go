package api

import (
	"cmp"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"sluice/flow"
)

// showAPI is GET openapi.json: the whole API.
func (s *Server) showAPI(c *Call) error { return c.writeBody(http.StatusOK, s.api()) }

// apiDocument describes the whole API.
func (s *Server) apiDocument() []byte {
	d := newAPI(s, "Sluice", "Draw a flow of AI models. Call it as an API.", s.Version)
	d.names = map[reflect.Type]string{}
	for _, e := range s.extensions {
		maps.Copy(d.known, e.Params)
		maps.Copy(d.names, e.Names)
		for name, body := range e.Schemas {
			d.components[name] = body
		}
	}
	for i := range s.routes {
		d.add(&s.routes[i], pathOf(s.routes[i].path))
	}
	d.webhook("runEnded", "The webhook of a run", "Sent to run_options.webhook when the run has ended.", ref("RunEnded"))
	d.webhook("runWaiting", "The webhook of a run that waits", "Sent to run_options.webhook when the run waits for a person to answer an approval.", ref("RunWaiting"))
	return flow.EncodeJSON(d.document())
}

// api builds an OpenAPI 3.1 document from routes.
type api struct {
	schemas
	info, server schema
	paths, hooks schema
	params       schema
	headers      schema
	known        map[string]schema // parameters that routes may name
}

// newAPI returns a document without paths.
func newAPI(s *Server, title, text, version string) *api {
	if version == "" {
		version = "dev"
	}
	d := &api{
		schemas: schemas{components: bodySchemas()},
		info:    schema{"title": title, "version": version},
		server:  schema{"url": s.PublicURL},
		paths:   schema{}, hooks: schema{}, params: schema{}, headers: schema{}, known: maps.Clone(apiParams),
	}
	if text != "" {
		d.info["description"] = text
	}
	for name, h := range apiHeaders {
		d.headers[name] = h
	}
	d.of(runType) // these two are referenced by name
	d.of(problemType)
	return d
}

// add describes a route. The path is separate, because the document of a single flow has
// the ID of the flow in place of the parameter.
func (d *api) add(r *route, path string) {
	if r.doc.id == "" {
		return
	}
	item, ok := d.paths[path].(schema)
	if !ok {
		item = schema{}
		d.paths[path] = item
	}
	op := schema{"operationId": r.doc.id, "tags": []string{r.doc.tag}, "summary": r.doc.summary, "responses": d.responses(r)}
	if r.doc.text != "" {
		op["description"] = r.doc.text
	}
	if params := d.parameters(r, path); len(params) > 0 {
		op["parameters"] = params
	}
	if r.doc.body != "" {
		op["requestBody"] = schema{"required": !r.doc.optionalBody, "content": schema{cmp.Or(r.doc.bodyType, TypeJSON): schema{"schema": ref(r.doc.body)}}}
	}
	switch r.access {
	case accessOpen:
		op["security"] = []schema{}
	case accessFile:
		op["security"] = []schema{{"key": []string{}}, {}}
		op["description"] = r.doc.text + " A key needs the scope " + scopeNames(r.access) + "."
	default:
		op["description"] = strings.TrimSpace(r.doc.text + " Needs the scope " + scopeNames(r.access) + ".")
	}
	item[strings.ToLower(r.method)] = op
}

// scopeNames returns the scopes of a class as text: "read or run".
func scopeNames(a access) string {
	names := []string{}
	for _, s := range accessScopes[a] {
		names = append(names, string(s))
	}
	return strings.Join(names, " or ")
}

// parameters returns the parameters in the path and those that the operation lists.
func (d *api) parameters(r *route, path string) []schema {
	var list []schema
	use := func(name string) {
		d.params[name] = d.known[name]
		list = append(list, schema{"$ref": "#/components/parameters/" + name})
	}
	for part := range strings.SplitSeq(path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			use(strings.TrimSuffix(name, "}"))
		}
	}
	for _, name := range r.doc.params {
		use(name)
	}
	return list
}

// responses describes the success and error responses by status.
func (d *api) responses(r *route) schema {
	responses := schema{}
	for _, a := range r.doc.answers {
		responses[strconv.Itoa(a.status)] = d.response(r, &a)
	}
	byStatus := map[int][]string{}
	for _, code := range append(accessProblems(r), r.doc.problems...) {
		status := problemKinds[code].status
		if !slices.Contains(byStatus[status], string(code)) {
			byStatus[status] = append(byStatus[status], string(code))
		}
	}
	for status, codes := range byStatus {
		p := d.problemResponse(status, codes)
		if also, ok := responses[strconv.Itoa(status)].(schema); ok { // a status with a success response too
			maps.Copy(p["content"].(schema), also["content"].(schema))
		}
		responses[strconv.Itoa(status)] = p
	}
	if r.method == http.MethodHead { // no response body
		for _, response := range responses {
			delete(response.(schema), "content")
		}
	}
	return responses
}

// runStreamExample is the example of an event stream, as the client receives it.
const runStreamExample = "id: 1\nevent: step\ndata: {\"path\":\"write\",\"state\":\"running\",\"attempt\":1}\n\nevent: delta\ndata: {\"path\":\"write\",\"text\":\"Your parcel\"}\n\n"

// streamSchema describes an event stream as text, with the schema of the data of its
// events.
func (d *api) streamSchema(a *answer) schema {
	data := ref(a.schema)
	if a.schema == "" {
		data = schema{"anyOf": []schema{d.of(runType), d.of(stepEventType), d.of(outputEventType), d.of(deltaEventType), d.of(progressEventType)}}
	}
	data["description"] = "The data of one event."
	return schema{"type": "string", "contentMediaType": TypeJSON, "contentSchema": data}
}

// response describes one success response with its headers and media types.
func (d *api) response(r *route, a *answer) schema {
	headers := append([]string{"X-Request-Id"}, a.headers...)
	if r.access != accessOpen {
		headers = append(headers, "RateLimit", "RateLimit-Policy")
	}
	content := schema{}
	switch {
	case a.json != nil:
		content[TypeJSON] = schema{"schema": d.of(a.json)}
	case a.schema != "":
		content[TypeJSON] = schema{"schema": ref(a.schema)}
	case a.binary:
		content["*/*"] = schema{"schema": schema{"type": "string", "format": "binary"}}
	}
	if a.stream {
		content[TypeStream] = schema{"schema": d.streamSchema(a), "example": cmp.Or(a.example, runStreamExample)}
	}
	response := schema{"description": a.text, "headers": headerRefs(headers)}
	if len(content) > 0 {
		response["content"] = content
	}
	return response
}

// problemResponse describes the problems with one status. The description lists their
// codes; the example is the first of them.
func (d *api) problemResponse(status int, codes []string) schema {
	slices.Sort(codes)
	headers := []string{"X-Request-Id"}
	switch status {
	case http.StatusUnauthorized:
		headers = append(headers, "WWW-Authenticate")
	case http.StatusPaymentRequired, http.StatusTooManyRequests:
		headers = append(headers, "Retry-After", "RateLimit", "RateLimit-Policy")
	case http.StatusServiceUnavailable:
		headers = append(headers, "Retry-After")
	}
	return schema{
		"description": strings.Join(codes, ", "), "headers": headerRefs(headers),
		"content": schema{typeProblem: schema{"schema": ref("Problem"), "example": exampleProblem(flow.Code(codes[0]))}},
	}
}

func exampleProblem(code flow.Code) problem {
	k := problemKinds[code]
	return problem{Type: "https://sluice.example/docs/errors#" + string(code), Title: k.title, Status: k.status, Detail: k.title + ".", Instance: "/v1/flow", Code: code, RequestID: "req_EXAMPLE"}
}

func headerRefs(names []string) schema {
	refs := schema{}
	for _, n := range names {
		refs[n] = schema{"$ref": "#/components/headers/" + n}
	}
	return refs
}

// webhook describes a message that Sluice sends, with the headers of Standard Webhooks.
func (d *api) webhook(id, summary, text string, body schema) {
	header := func(name, text string) schema {
		return schema{"name": name, "in": "header", "required": true, "description": text, "schema": schema{"type": "string"}}
	}
	d.hooks[id] = schema{"post": schema{
		"operationId": id, "tags": []string{"Webhooks"}, "summary": summary, "description": text, "security": []schema{},
		"parameters": []schema{
			header("webhook-id", "The same for every attempt."),
			header("webhook-timestamp", "Unix time of this attempt in seconds."),
			header("webhook-signature", "v1 and the base64 HMAC-SHA256 of id.timestamp.body, as in Standard Webhooks."),
		},
		"requestBody": schema{"required": true, "content": schema{TypeJSON: schema{"schema": body}}},
		"responses":   schema{"2XX": schema{"description": "Received. Any other status is retried."}},
	}}
}

// document returns the finished document without unused components.
func (d *api) document() schema {
	d.prune()
	return schema{
		"openapi": "3.1.0", "info": d.info, "servers": []schema{d.server}, "paths": d.paths, "webhooks": d.hooks,
		"security": []schema{{"key": []string{}}},
		"components": schema{
			"schemas": d.components, "parameters": d.params, "headers": d.headers,
			"securitySchemes": schema{"key": schema{"type": "http", "scheme": "bearer", "description": "An API key: Authorization: Bearer slu_…"}},
		},
	}
}

// prune removes components without a reference: the document of a single flow needs few
// of them.
func (d *api) prune() {
	parts := map[string]schema{"schemas": d.components, "parameters": d.params, "headers": d.headers}
	used := map[string]bool{}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case schema:
			if to, ok := v["$ref"].(string); ok && !used[to] {
				used[to] = true
				part, name, _ := strings.Cut(strings.TrimPrefix(to, "#/components/"), "/")
				walk(parts[part][name])
			}
			for _, member := range v {
				walk(member)
			}
		case []schema:
			for _, element := range v {
				walk(element)
			}
		}
	}
	walk(d.paths)
	walk(d.hooks)
	for part, members := range parts {
		maps.DeleteFunc(members, func(name string, _ any) bool { return !used["#/components/"+part+"/"+name] })
	}
}

// pathOf turns /flow/:flow_id into /flow/{flow_id}.
func pathOf(route string) string {
	parts := strings.Split(route, "/")
	for i, p := range parts {
		if name, ok := strings.CutPrefix(p, ":"); ok {
			parts[i] = "{" + name + "}"
		}
	}
	return strings.Join(parts, "/")
}
