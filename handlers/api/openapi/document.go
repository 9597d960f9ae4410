package openapi

import (
	"cmp"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"sluice/flow"
	"sluice/flow/sorting"
)

// Config is what a document needs to know about the API that it describes.
type Config struct {
	Title, Text, Version string
	// URL is where clients reach the server.
	URL string
	// Names are the Go types with a component of their own; others are inlined.
	Names map[reflect.Type]string
	// Leaves are types whose JSON does not follow from their Go kind.
	Leaves map[reflect.Type]Schema
	// Bodies are the components that are not derived from Go types.
	Bodies Schema
	// Always are types that the document refers to by name.
	Always []reflect.Type
	// Events are the types of the data in the events of a run.
	Events []reflect.Type
	// Problem returns the status of the responses with a code, and an example of their body.
	Problem func(code flow.Code) (status int, example any)
}

// Document is an OpenAPI 3.1 document in the making: add routes and webhooks, then call JSON.
type Document struct {
	Schemas
	Known map[string]Schema // parameters that routes may name

	cfg          Config
	info, server Schema
	paths, hooks Schema
	params       Schema
	headers      Schema
	callbacks    Schema // of starts, by ID
}

// New returns a document without paths.
func New(cfg Config) *Document {
	d := &Document{
		Schemas: Schemas{Components: cfg.Bodies, names: cfg.Names, leaves: cfg.Leaves}, cfg: cfg,
		info:   Schema{"title": cfg.Title, "version": cmp.Or(cfg.Version, "dev")},
		server: Schema{"url": cfg.URL},
		paths:  Schema{}, hooks: Schema{}, params: Schema{}, headers: Schema{}, callbacks: Schema{}, Known: maps.Clone(params),
	}
	if cfg.Text != "" {
		d.info["description"] = cfg.Text
	}
	for name, h := range headers {
		d.headers[name] = h
	}
	for _, t := range cfg.Always {
		d.Of(t)
	}
	return d
}

// opStart is the operation whose body can name the URL of a webhook.
const opStart = "startRun"

// Add describes a route, unless it has no ID.
func (d *Document) Add(r *Route) {
	if r.ID == "" {
		return
	}
	item, ok := d.paths[r.Path].(Schema)
	if !ok {
		item = Schema{}
		d.paths[r.Path] = item
	}
	op := Schema{"operationId": r.ID, "tags": []string{r.Tag}, "summary": r.Summary, "responses": d.responses(r)}
	if r.Text != "" {
		op["description"] = r.Text
	}
	if params := d.parameters(r); len(params) > 0 {
		op["parameters"] = params
	}
	if b := r.Body; b.Name != "" {
		if b.Schema != nil {
			d.Components[b.Name] = b.Schema
		}
		op["requestBody"] = Schema{"required": !b.Optional, "content": Schema{cmp.Or(b.Type, TypeJSON): Schema{"schema": Ref(b.Name)}}}
	}
	switch {
	case r.Scopes == "":
		op["security"] = []Schema{}
	case r.KeyOptional:
		op["security"] = []Schema{{"key": []string{}}, {}}
		op["description"] = r.Text + " A key needs the scope " + r.Scopes + "."
	default:
		op["description"] = strings.TrimSpace(r.Text + " Needs the scope " + r.Scopes + ".")
	}
	if r.ID == opStart {
		op["callbacks"] = d.callbacks
	}
	item[strings.ToLower(r.Method)] = op
}

// parameters returns the parameters in the path and those that the operation lists.
func (d *Document) parameters(r *Route) []Schema {
	var list []Schema
	use := func(name, component string) {
		d.params[component] = d.Known[name]
		list = append(list, Schema{"$ref": "#/components/parameters/" + component})
	}
	for part := range strings.SplitSeq(r.Path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			name = strings.TrimSuffix(name, "}")
			use(name, "path_"+name) // generators would take the parameter "trigger" for the schema "Trigger"
		}
	}
	for _, name := range r.Params {
		use(name, name)
	}
	return list
}

// responses describes the success and error responses by status.
func (d *Document) responses(r *Route) Schema {
	responses := Schema{}
	for _, a := range r.Answers {
		responses[strconv.Itoa(a.Status)] = d.response(r, &a)
	}
	byStatus := map[int][]string{}
	for _, code := range r.Codes {
		status, _ := d.cfg.Problem(code)
		if !slices.Contains(byStatus[status], string(code)) {
			byStatus[status] = append(byStatus[status], string(code))
		}
	}
	for status, codes := range byStatus {
		p := d.problemResponse(status, codes)
		if also, ok := responses[strconv.Itoa(status)].(Schema); ok { // a status with a success response too
			maps.Copy(p["content"].(Schema), also["content"].(Schema))
		}
		responses[strconv.Itoa(status)] = p
	}
	if r.Method == http.MethodHead { // no response body
		for _, response := range responses {
			delete(response.(Schema), "content")
		}
	}
	return responses
}

// runStreamExample is the example of an event stream, as the client receives it.
const runStreamExample = "id: 1\nevent: step\ndata: {\"path\":\"write\",\"state\":\"running\",\"attempt\":1}\n\nevent: delta\ndata: {\"path\":\"write\",\"text\":\"Your parcel\"}\n\n"

// streamSchema describes an event stream as text, with the schema of the data of its
// events.
func (d *Document) streamSchema(a *Answer) Schema {
	data := Ref(a.Schema)
	if a.Schema == "" {
		any := make([]Schema, len(d.cfg.Events))
		for i, t := range d.cfg.Events {
			any[i] = d.Of(t)
		}
		data = Schema{"anyOf": any}
	}
	data["description"] = "The data of one event."
	return Schema{"type": "string", "contentMediaType": TypeJSON, "contentSchema": data}
}

// response describes one success response with its headers and media types.
func (d *Document) response(r *Route, a *Answer) Schema {
	headers := append([]string{"X-Request-Id"}, a.Headers...)
	if r.Scopes != "" {
		headers = append(headers, "RateLimit", "RateLimit-Policy")
	}
	content := Schema{}
	switch {
	case a.JSON != nil:
		content[TypeJSON] = Schema{"schema": d.Of(reflect.TypeOf(a.JSON))}
	case a.Schema != "":
		content[TypeJSON] = Schema{"schema": Ref(a.Schema)}
	case a.Binary:
		content["*/*"] = Schema{"schema": Schema{"type": "string", "format": "binary"}}
	}
	if a.Stream && a.JSON == nil { // a choice beside JSON would make clients return "Run or text"; GET events describes the stream
		content[TypeStream] = Schema{"schema": d.streamSchema(a), "example": cmp.Or(a.Example, runStreamExample)}
	}
	response := Schema{"description": a.Text, "headers": headerRefs(headers)}
	if len(content) > 0 {
		response["content"] = content
	}
	return response
}

// problemResponse describes the problems with one status. The description lists their
// codes; the example is the first of them.
func (d *Document) problemResponse(status int, codes []string) Schema {
	sorting.Strings(codes)
	headers := []string{"X-Request-Id"}
	switch status {
	case http.StatusUnauthorized:
		headers = append(headers, "WWW-Authenticate")
	case http.StatusPaymentRequired, http.StatusTooManyRequests:
		headers = append(headers, "Retry-After", "RateLimit", "RateLimit-Policy")
	case http.StatusServiceUnavailable:
		headers = append(headers, "Retry-After")
	}
	_, example := d.cfg.Problem(flow.Code(codes[0]))
	return Schema{
		"description": strings.Join(codes, ", "), "headers": headerRefs(headers),
		"content": Schema{TypeProblem: Schema{"schema": Ref("Problem"), "example": example}},
	}
}

// headerRefs returns references to headers of the components, by the name of the header.
func headerRefs(names []string) Schema {
	refs := Schema{}
	for _, n := range names {
		refs[n] = Schema{"$ref": "#/components/headers/" + n}
	}
	return refs
}

// Webhook describes a message that Sluice sends, with the headers of Standard Webhooks.
func (d *Document) Webhook(id, summary, text string, body Schema) {
	d.hooks[id] = Schema{"post": d.message(id, summary, text, body)}
}

// Callback describes a webhook that goes to the URL that a start names, as a webhook and as a callback of that operation.
func (d *Document) Callback(id, summary, text string, body Schema) {
	d.Webhook(id, summary, text, body)
	d.callbacks[id] = Schema{"{$request.body#/run_options/webhook/url}": Schema{"post": d.message("on"+strings.ToUpper(id[:1])+id[1:], summary, text, body)}}
}

// message describes the request of a webhook.
func (d *Document) message(id, summary, text string, body Schema) Schema {
	header := func(name, text string) Schema {
		return Schema{"name": name, "in": "header", "required": true, "description": text, "schema": Schema{"type": "string"}}
	}
	return Schema{
		"operationId": id, "tags": []string{"Webhooks"}, "summary": summary, "description": text, "security": []Schema{},
		"parameters": []Schema{
			header("webhook-id", "The same for every attempt."),
			header("webhook-timestamp", "Unix time of this attempt in seconds."),
			header("webhook-signature", "v1 and the base64 HMAC-SHA256 of id.timestamp.body, as in Standard Webhooks."),
		},
		"requestBody": Schema{"required": true, "content": Schema{TypeJSON: Schema{"schema": body}}},
		"responses":   Schema{"2XX": Schema{"description": "Received. Any other status is retried."}},
	}
}

// JSON returns the finished document without unused components.
func (d *Document) JSON() []byte {
	d.prune()
	encoded := flow.EncodeJSON(Schema{
		"openapi": "3.1.0", "info": d.info, "servers": []Schema{d.server}, "paths": d.paths, "webhooks": d.hooks,
		"security": []Schema{{"key": []string{}}},
		"components": Schema{
			"schemas": d.Components, "parameters": d.params, "headers": d.headers,
			"securitySchemes": Schema{"key": Schema{"type": "http", "scheme": "bearer", "description": "An API key: Authorization: Bearer slu_…"}},
		},
	})
	document, err := flow.DecodeJSON(encoded)
	if err != nil {
		panic(err) // EncodeJSON writes JSON
	}
	withoutDefaults(document)
	return flow.EncodeJSON(document)
}

// prune removes components without a reference: the document of a single flow needs few
// of them.
func (d *Document) prune() {
	parts := map[string]Schema{"schemas": d.Components, "parameters": d.params, "headers": d.headers}
	used := map[string]bool{}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case Schema:
			if to, ok := v["$ref"].(string); ok && !used[to] {
				used[to] = true
				part, name, _ := strings.Cut(strings.TrimPrefix(to, "#/components/"), "/")
				walk(parts[part][name])
			}
			for _, member := range v {
				walk(member)
			}
		case *flow.Object:
			for _, member := range v.All() {
				walk(member)
			}
		case []Schema:
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
