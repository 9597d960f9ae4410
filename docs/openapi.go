package docs

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// openAPI is the part of an OpenAPI document that the reference uses.
type openAPI struct {
	Paths      map[string]map[string]*operation
	Webhooks   map[string]map[string]*operation
	Components struct {
		Schemas    map[string]*schema
		Parameters map[string]*parameter
	}
	common map[string][]string // codes that any request with a key may return, by status
}

// operation is an operation of an OpenAPI document, with the fields that the reference
// shows. method and path come from its place in the document.
type operation struct {
	OperationID, Summary, Description string
	Tags                              []string
	Parameters                        []*parameter
	RequestBody                       *content
	Responses                         map[string]*content
	Security                          []map[string][]string

	method, path string
}

// parameter is a parameter of an operation. If Ref is set, it refers to a parameter in
// Components and all other fields are empty.
type parameter struct {
	Ref         string `json:"$ref"`
	Name, In    string
	Description string
	Required    bool
	Schema      *schema
}

// content is the body of a request or a response, with a schema by media type. The
// description of an error lists its codes.
type content struct {
	Description string
	Content     map[string]struct{ Schema *schema }
}

// apiHead is the introduction of the API reference. The sections that are generated
// follow it.
const apiHead = `# API reference

Every operation of the HTTP API with its parameters, responses and errors.

All paths are relative to the URL of your server. Send a [key](keys.md) with each request, as the header ` + "`Authorization: Bearer slu_…`" + `. Bodies
are JSON (` + "`application/json`" + `) in UTF-8, times are RFC 3339 in UTC, and IDs are strings such as ` + "`run_…`" + `. Ignore fields that you do not know: within
` + "`v1`" + ` we only make additions.

` + "```sh" + `
curl http://127.0.0.1:8080/v1/flow -H "Authorization: Bearer $KEY"
` + "```" + `

This page is generated from the OpenAPI 3.1 document at ` + "`/v1/openapi.json`" + `, which needs no key. ` + "`/v1/flow/{flow_id}/openapi.json`" + ` describes a single flow with its
own field names: use that one to generate a client. Words in capitals in the samples, such as ` + "`$KEY`, `$FLOW` and `$RUN`" + `, stand for your own values.
`

// APIPage returns the API reference page in Markdown, generated from the
// OpenAPI document.
func APIPage(document []byte) (string, error) {
	var d openAPI
	if err := json.Unmarshal(document, &d); err != nil {
		return "", fmt.Errorf("read the OpenAPI document: %w", err)
	}
	if len(d.Paths) == 0 || len(d.Components.Schemas) == 0 {
		return "", errors.New("the OpenAPI document has no operations")
	}
	var b strings.Builder
	b.WriteString(apiHead)
	d.writeCommon(&b)
	for _, tag := range d.tags() {
		fmt.Fprintf(&b, "\n## %s\n", tag)
		for _, o := range d.operations(tag) {
			d.writeOperation(&b, o)
		}
	}
	b.WriteString("\n## Objects\n\nThe objects in requests and responses.\n")
	for _, name := range slices.Sorted(maps.Keys(d.Components.Schemas)) {
		d.writeObject(&b, name, d.Components.Schemas[name])
	}
	return b.String(), nil
}

// tagOrder is the order of tags; other tags follow by name.
var tagOrder = []string{"Runs", "Flows", "Files", "Webhooks", "Usage", "Credentials"}

// tags returns the groups of operations: those in tagOrder first, in that order, and
// then all others by name.
func (d *openAPI) tags() []string {
	seen := map[string]bool{}
	for _, item := range d.Paths {
		for _, o := range item {
			seen[o.tag()] = true
		}
	}
	return slices.SortedFunc(maps.Keys(seen), func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(tagOrder, a), rank(tagOrder, b)), cmp.Compare(a, b))
	})
}

// tag returns the group of an operation: its first tag, or "Other".
func (o *operation) tag() string {
	if len(o.Tags) == 0 {
		return "Other"
	}
	return o.Tags[0]
}

// rank returns the index of s in the list, or len(list).
func rank(list []string, s string) int {
	if i := slices.Index(list, s); i >= 0 {
		return i
	}
	return len(list)
}

// methodOrder is the order of operations that have the same path: creating comes first,
// deleting last.
var methodOrder = []string{"POST", "GET", "HEAD", "PUT", "PATCH", "DELETE"}

// operations returns the operations of a group, sorted by path and then by methodOrder.
// It sets their method and path.
func (d *openAPI) operations(tag string) []*operation {
	var list []*operation
	for path, item := range d.Paths {
		for method, o := range item {
			if o.method, o.path = strings.ToUpper(method), path; o.tag() == tag {
				list = append(list, o)
			}
		}
	}
	slices.SortFunc(list, func(a, b *operation) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(rank(methodOrder, a.method), rank(methodOrder, b.method)))
	})
	return list
}

// writeOperation writes the section of an operation: title, method and path,
// description, parameters, body, responses, and a sample with cURL.
func (d *openAPI) writeOperation(b *strings.Builder, o *operation) {
	fmt.Fprintf(b, "\n### %s\n\n`%s %s`\n", o.Summary, o.method, o.path)
	if o.Description != "" {
		fmt.Fprintf(b, "\n%s\n", o.Description)
	}
	d.writeParameters(b, o)
	d.writeBody(b, o)
	d.writeAnswers(b, o)
	fmt.Fprintf(b, "\n```sh\n%s\n```\n", d.sample(o))
}

// writeParameters writes the table of parameters, with references to shared ones
// resolved. Without parameters it writes nothing.
func (d *openAPI) writeParameters(b *strings.Builder, o *operation) {
	if len(o.Parameters) == 0 {
		return
	}
	b.WriteString("\n| Parameter | In | Type | Meaning |\n|---|---|---|---|\n")
	for _, p := range o.Parameters {
		if known := d.Components.Parameters[refName(p.Ref)]; known != nil {
			p = known
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", p.Name, p.In, cellOf(p.Schema.kind()), cellOf(p.Description+p.Schema.bounds()))
	}
}

// writeBody writes a sentence about the request body for each media type that is
// accepted.
func (d *openAPI) writeBody(b *strings.Builder, o *operation) {
	if o.RequestBody == nil {
		return
	}
	for _, kind := range slices.Sorted(maps.Keys(o.RequestBody.Content)) {
		fmt.Fprintf(b, "\nThe body is %s, as `%s`.\n", o.RequestBody.Content[kind].Schema.kind(), kind)
	}
}

// writeAnswers writes the table of responses by status. Codes that every operation can
// return are left out; see writeCommon.
func (d *openAPI) writeAnswers(b *strings.Builder, o *operation) {
	b.WriteString("\n| Status | Answer |\n|---|---|\n")
	for _, status := range slices.Sorted(maps.Keys(o.Responses)) {
		r := o.Responses[status]
		text := r.Description
		if r.problem() {
			if text = codeLinks(d.own(status, r)); text == "" {
				continue
			}
		} else if body := r.Content["application/json"].Schema; body != nil {
			text += " " + strings.ToUpper(body.kind()[:1]) + body.kind()[1:] + "."
		}
		fmt.Fprintf(b, "| `%s` | %s |\n", status, cellOf(text))
	}
}

// writeObject writes the section of a named schema: description, fields, and the first
// example. Types in the tables link to it.
func (d *openAPI) writeObject(b *strings.Builder, name string, s *schema) {
	fmt.Fprintf(b, "\n### `%s`\n", name)
	if s.Description != "" {
		fmt.Fprintf(b, "\n%s\n", s.Description)
	} else if len(s.Properties) == 0 {
		b.WriteString("\nA JSON object.\n")
	}
	if len(s.Properties) > 0 {
		b.WriteString("\n| Field | Type | Meaning |\n|---|---|---|\n")
		writeProperties(b, "", s)
	}
	if len(s.Examples) > 0 {
		fmt.Fprintf(b, "\n```json\n%s\n```\n", indented(s.Examples[0]))
	}
}

// writeProperties lists fields; those of a nested object have dotted names.
func writeProperties(b *strings.Builder, prefix string, s *schema) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		fmt.Fprintf(b, "| `%s%s` | %s | %s |\n", prefix, name, cellOf(p.kind()), cellOf(p.Description+p.bounds()))
		if p.Ref == "" {
			writeProperties(b, prefix+name+".", p)
		}
	}
}

// sampleNames are the shell variables that stand for parameters, if they are not the name of the
// parameter in capitals.
var sampleNames = map[string]string{"flow_id": "FLOW", "run_id": "RUN", "file_id": "FILE", "delivery_id": "DELIVERY", "path": "STEP", "from": "VERSION"}

// variable returns the shell variable that stands for a parameter in samples.
func variable(parameter string) string {
	return "$" + cmp.Or(sampleNames[parameter], strings.ToUpper(parameter))
}

// sample returns the request as a cURL command, with the parameters that it needs.
func (d *openAPI) sample(o *operation) string {
	url, query := o.path, ""
	var headers []string
	for _, p := range o.Parameters {
		if p.Ref != "" {
			p = d.Components.Parameters[refName(p.Ref)]
		}
		switch {
		case p.In == "path":
			url = strings.ReplaceAll(url, "{"+p.Name+"}", variable(p.Name))
		case p.In == "query" && p.Required:
			query += "&" + p.Name + "=" + variable(p.Name)
		case p.Name == "If-Match" && o.method != "GET" && o.method != "HEAD":
			headers = append(headers, `-H "If-Match: $ETAG"`)
		}
	}
	if query != "" {
		url = `"` + sampleURL + url + "?" + query[1:] + `"`
	} else {
		url = sampleURL + url
	}
	parts := []string{"curl " + curlFlags(o) + url}
	if o.Security == nil || len(o.Security) > 0 {
		parts = append(parts, `-H "Authorization: Bearer $KEY"`)
	}
	parts = append(parts, headers...)
	if o.RequestBody != nil {
		parts = append(parts, d.sampleBody(o.RequestBody)...)
	}
	line := strings.Join(parts, " ")
	if len(line) > 100 {
		return strings.Join(parts, " \\\n  ")
	}
	return line
}

// curlFlags returns the flags of curl that the method or the kind of response needs,
// such as -N for a stream of events, with a space at the end.
func curlFlags(o *operation) string {
	switch {
	case o.method == "HEAD":
		return "-I "
	case o.method == "POST" && o.RequestBody == nil, o.method == "DELETE", o.method == "PUT", o.method == "PATCH":
		return "-X " + o.method + " "
	case strings.HasSuffix(o.path, "/events"):
		return "-N "
	case strings.HasSuffix(o.path, "/{file_id}"):
		return "-OJ "
	}
	return ""
}

// sampleBody returns the arguments of curl for a body: a form with a file, or else the
// first example of its schema as JSON, with single quotes escaped for the shell.
func (d *openAPI) sampleBody(body *content) []string {
	if _, multipart := body.Content["multipart/form-data"]; multipart {
		return []string{"-F file=@cat.png"}
	}
	example := []byte("{}")
	if s := d.Components.Schemas[refName(body.Content["application/json"].Schema.Ref)]; s != nil && len(s.Examples) > 0 {
		example = compact(s.Examples[0])
	}
	return []string{`-H "Content-Type: application/json"`, "-d '" + strings.ReplaceAll(string(example), "'", `'\''`) + "'"}
}
