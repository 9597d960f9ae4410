package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// apiContract validates responses against the OpenAPI document of the server, with an
// independent JSON Schema validator.
type apiContract struct {
	mu       sync.Mutex
	document map[string]any
	compiler *jsonschema.Compiler
	compiled map[string]*jsonschema.Schema
	seen     map[string]bool // operation and status
}

// wholeAPI is the document that every response of every test is validated against.
var wholeAPI = sync.OnceValue(func() *apiContract {
	s := &Server{Config: Config{PublicURL: publicURL, Version: "1.2.3"}}
	for _, r := range s.table() {
		s.routes = append(s.routes, &r)
	}
	return newContract(s.apiDocument())
})

func newContract(document []byte) *apiContract {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		panic(err)
	}
	c := &apiContract{document: v.(map[string]any), compiler: jsonschema.NewCompiler(), compiled: map[string]*jsonschema.Schema{}, seen: map[string]bool{}}
	c.compiler.DefaultDraft(jsonschema.Draft2020)
	c.compiler.AssertFormat()
	if err := c.compiler.AddResource("https://api.test/openapi.json", v); err != nil {
		panic(err)
	}
	return c
}

// validate checks JSON against the schema at a pointer into the document.
func (c *apiContract) validate(pointer string, data []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.compiled[pointer]
	if !ok {
		var err error
		if s, err = c.compiler.Compile("https://api.test/openapi.json#" + pointer); err != nil {
			return fmt.Errorf("schema at %s: %w", pointer, err)
		}
		c.compiled[pointer] = s
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return err
	}
	return s.Validate(v)
}

func pointerTo(tokens ...string) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteString("/" + strings.ReplaceAll(strings.ReplaceAll(t, "~", "~0"), "/", "~1"))
	}
	return b.String()
}

func dig(v any, path ...string) any {
	for _, p := range path {
		m, _ := v.(map[string]any)
		v = m[p]
	}
	return v
}

// count is how many kinds of answers were seen so far.
func (c *apiContract) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.seen)
}

// check validates a response against the description of its route: status, media type,
// body, and that all its headers are described.
func (c *apiContract) check(t testing.TB, method, path string, a *reply) {
	t.Helper()
	if a.header.Get("X-Request-Id") == "" {
		t.Errorf("%s %s: no X-Request-Id", method, path)
	}
	media, status := a.header.Get("Content-Type"), strconv.Itoa(a.status)
	template := c.template(method, path)
	if template == "" || a.status == 405 {
		if media == typeProblem {
			c.report(t, method, path, c.validate("/components/schemas/Problem", a.raw))
		}
		return
	}
	at := []string{"paths", template, strings.ToLower(method), "responses", status}
	response, ok := dig(c.document, at...).(map[string]any)
	if !ok {
		t.Errorf("%s %s answers %s, which is not described", method, template, status)
		return
	}
	c.mu.Lock()
	c.seen[method+" "+template+" "+status] = true
	c.mu.Unlock()
	for _, name := range []string{"Location", "Retry-After", "ETag", "Preference-Applied", "Idempotent-Replayed", "WWW-Authenticate"} {
		if a.header.Get(name) != "" && dig(response, "headers", name) == nil && !(name == "Retry-After" && a.status == 409 || name == "WWW-Authenticate" && a.status == 403) {
			t.Errorf("%s %s %s: header %s is not described", method, template, status, name)
		}
	}
	if len(a.raw) == 0 || media == TypeStream || method == "HEAD" {
		return
	}
	if dig(response, "content", "*/*") != nil {
		return // a file, which is whatever it is
	}
	if dig(response, "content", media) == nil {
		t.Errorf("%s %s %s: media type %q is not described", method, template, status, media)
		return
	}
	c.report(t, method, path, c.validate(pointerTo(append(at, "content", media, "schema")...), a.raw))
	if media == typeProblem {
		var p struct{ Code string }
		_ = json.Unmarshal(a.raw, &p)
		if codes := strings.Split(response["description"].(string), ", "); !slices.Contains(codes, p.Code) {
			t.Errorf("%s %s %s: code %s is not among %v", method, template, status, p.Code, codes)
		}
	}
}

func (c *apiContract) report(t testing.TB, method, path string, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s %s breaks the contract: %v", method, path, err)
	}
}

// template is the described path that a request's path matches.
func (c *apiContract) template(method, path string) string {
	path, _, _ = strings.Cut(path, "?")
	parts := strings.Split(path, "/")
	for template, item := range c.document["paths"].(map[string]any) {
		names := strings.Split(template, "/")
		if len(names) != len(parts) || dig(item, strings.ToLower(method)) == nil {
			continue
		}
		match := true
		for i, n := range names {
			match = match && (n == parts[i] || strings.HasPrefix(n, "{") && parts[i] != "")
		}
		if match {
			return template
		}
	}
	return ""
}
