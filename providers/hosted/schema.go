package hosted

import (
	"maps"
	"slices"
	"strings"

	"sluice/flow/pattern"
	"sluice/flow/sorting"
)

// Limits that keep a hostile schema from costing much more than a real one. Of 3,808 public
// models, the largest has 90 inputs, 4 levels, and 120 parts in one input.
const (
	maxInputs      = 500
	maxSchemaDepth = 12
	maxParts       = 20_000 // of a form, after references are replaced
	maxOptions     = 2000
	maxPattern     = 1000 // bytes of a pattern, and steps of it once its repetitions are written out
	patternSteps   = 20   // steps of a pattern that take about as long to compile as one part
)

// resolver replaces references by their targets and keeps only the valid parts of a schema,
// so that its results compile. One resolver serves a whole form, because the limit of parts
// applies to all schemas of a form together.
type resolver struct {
	all    map[string]any
	left   int      // parts that can still be created
	path   []string // references being replaced, to detect cycles
	cycles int      // cycles found so far
	known  map[refAtDepth]resolved
}

// refAtDepth is a reference at a depth. The depth decides how much of the target is kept.
type refAtDepth struct {
	name  string
	depth int
}

// resolved is the schema that replaces a reference. It is shared and must not be changed.
type resolved struct {
	schema map[string]any
	parts  int
}

// newResolver returns a resolver for references among all schemas of a version. Its
// budget of maxParts bounds what schemas that refer to each other many times can expand
// to.
func newResolver(all map[string]any) *resolver {
	return &resolver{all: all, left: maxParts, known: map[refAtDepth]resolved{}}
}

// resolve returns a schema without references. Parts that are recursive, too deep or too
// large become a schema that accepts everything.
func (r *resolver) resolve(schema any) map[string]any { return r.schema(schema, 0) }

// take reserves n parts and reports whether the budget allows them.
func (r *resolver) take(n int) bool {
	r.left -= min(n, r.left+1)
	return r.left >= 0
}

// schema returns a schema with all references replaced. A part beyond the maximum depth
// or the budget becomes the empty schema, which accepts everything; the platform
// validates inputs as well.
func (r *resolver) schema(v any, depth int) map[string]any {
	s, ok := v.(map[string]any)
	if !r.take(1) || !ok || depth > maxSchemaDepth {
		return map[string]any{}
	}
	if ref, ok := s["$ref"].(string); ok && len(s) == 1 {
		return r.reference(ref, depth)
	}
	b := builder{out: map[string]any{}, copied: map[string]bool{}}
	r.bases(&b, s, depth)
	own := map[string]any{}
	for _, key := range sorting.Keys(s) { // in order, so that the same parts are always cut
		if kept, ok := r.keyword(key, s[key], depth); ok {
			own[key] = kept
		}
	}
	b.merge(own)
	normalize(b.out)
	return b.out
}

// builder merges schemas without changing them.
type builder struct {
	out    map[string]any
	copied map[string]bool // keywords whose value is a copy and can be changed
}

// merge adds a schema. Properties and required names accumulate; other keywords are
// overwritten.
func (b *builder) merge(from map[string]any) {
	for key, value := range from {
		switch value := value.(type) {
		case map[string]any:
			if old, ok := b.out[key].(map[string]any); ok && key == "properties" {
				if !b.copied[key] {
					old, b.copied[key] = maps.Clone(old), true
				}
				maps.Copy(old, value)
				b.out[key] = old
				continue
			}
		case []any:
			if old, ok := b.out[key].([]any); ok && key == "required" {
				if !b.copied[key] {
					old, b.copied[key] = slices.Clip(old), true
				}
				b.out[key] = append(old, value...)
				continue
			}
		}
		b.out[key] = value
	}
}

// bases merges the schemas that a schema extends: the target of its reference and all parts
// of allOf, which code generators use for a reference with a description.
func (r *resolver) bases(b *builder, s map[string]any, depth int) {
	add := func(base map[string]any) {
		if r.take(copySize(base)) { // merging copies it
			b.merge(withoutTitle(base))
		}
	}
	if ref, ok := s["$ref"].(string); ok {
		add(r.reference(ref, depth))
	}
	parts, _ := s["allOf"].([]any)
	for _, part := range parts {
		if r.left < 0 {
			return
		}
		add(r.schema(part, depth+1))
	}
}

// withoutTitle removes the keywords that describe the schema itself and are not inherited.
func withoutTitle(s map[string]any) map[string]any {
	delete(s, "title")
	delete(s, "description")
	return s
}

// copySize returns how many parts of a schema are copied when another one extends it.
func copySize(s map[string]any) int {
	props, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	enum, _ := s["enum"].([]any)
	return len(props) + len(required) + len(enum)
}

// reference returns the schema that replaces a reference. A cached one is shared but counts
// toward the limit again, because a compiler does not benefit from sharing.
func (r *resolver) reference(ref string, depth int) map[string]any {
	name := refName(ref)
	target, ok := r.all[name]
	if !ok {
		return map[string]any{}
	}
	if slices.Contains(r.path, name) {
		r.cycles++
		return map[string]any{}
	}
	at := refAtDepth{name, depth}
	if again, ok := r.known[at]; ok {
		if !r.take(again.parts) {
			return map[string]any{}
		}
		return again.schema
	}
	left, cuts := r.left, r.cycles
	r.path = append(r.path, name)
	out := withoutTitle(r.schema(target, depth+1))
	r.path = r.path[:len(r.path)-1]
	if r.cycles == cuts && r.left >= 0 { // complete, so it is the same for every reference
		r.known[at] = resolved{out, left - r.left}
	}
	return out
}

// refName returns the name of a schema in the same document, or "" for a reference to
// another document.
func refName(ref string) string {
	for _, prefix := range []string{"#/components/schemas/", "#/definitions/", "#/$defs/"} {
		if name, ok := strings.CutPrefix(ref, prefix); ok {
			return strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		}
	}
	return ""
}

// keyword returns the value of a keyword, resolved, and whether it is valid.
func (r *resolver) keyword(key string, value any, depth int) (any, bool) {
	switch key {
	case "type":
		return typeKeyword(value)
	case "title", "description", "format":
		_, ok := value.(string)
		return value, ok
	case "pattern":
		s, ok := value.(string)
		return value, ok && r.pattern(s)
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "x-order":
		_, isNumber := number(value)
		_, isBool := value.(bool) // exclusiveMinimum of OpenAPI 3.0
		return value, isNumber || isBool && strings.HasPrefix(key, "exclusive")
	case "multipleOf":
		n, ok := number(value)
		return value, ok && n > 0
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties":
		n, ok := number(value)
		return value, ok && n >= 0 && n == float64(int64(n))
	case "uniqueItems", "nullable", "writeOnly", "x-cog-secret":
		_, ok := value.(bool)
		return value, ok
	case "enum":
		list, ok := value.([]any)
		return list, ok && len(list) > 0 && len(list) <= maxOptions && r.take(len(list))
	case "required":
		list, ok := names(value)
		return list, ok && r.take(len(list))
	case "const", "default", "x-cog-array-type", "x-cog-array-display":
		return value, true
	}
	return r.nested(key, value, depth)
}

// pattern reports whether a pattern is valid and cheap enough to compile. Repetitions make
// even short ones expensive: a{1000} has a thousand steps.
func (r *resolver) pattern(s string) bool {
	if len(s) > maxPattern {
		return false
	}
	p, err := pattern.Compile(s)
	return err == nil && p.Size <= maxPattern && r.take(p.Weight/patternSteps)
}

// nested resolves the schemas within a keyword and reports whether the keyword is valid
// and kept. Options and properties beyond the limits are dropped.
func (r *resolver) nested(key string, value any, depth int) (any, bool) {
	switch key {
	case "items", "additionalProperties", "not":
		if b, ok := value.(bool); ok {
			return b, key == "additionalProperties"
		}
		if _, ok := value.(map[string]any); !ok {
			return nil, false
		}
		return r.schema(value, depth+1), true
	case "anyOf", "oneOf":
		list, ok := value.([]any)
		out := make([]any, 0, min(len(list), maxOptions))
		for _, part := range list[:min(len(list), maxOptions)] {
			out = append(out, r.schema(part, depth+1))
		}
		return out, ok && len(out) > 0
	case "properties":
		props, ok := value.(map[string]any)
		out := make(map[string]any, min(len(props), maxInputs))
		for _, name := range sorting.Keys(props)[:min(len(props), maxInputs)] {
			out[name] = r.schema(props[name], depth+1)
		}
		return out, ok
	}
	return nil, false
}

// typeNames are the values that JSON Schema allows for "type".
var typeNames = []string{"string", "number", "integer", "boolean", "array", "object", "null"}

// typeKeyword checks the value of "type" and reports whether it is valid: a known name,
// or a list of known names.
func typeKeyword(value any) (any, bool) {
	if s, ok := value.(string); ok {
		return s, slices.Contains(typeNames, s)
	}
	list, ok := names(value)
	for _, name := range list {
		ok = ok && slices.Contains(typeNames, name.(string))
	}
	return list, ok && len(list) > 0
}

// names returns the texts in a list without duplicates, and whether value is a list of texts
// only.
func names(value any) ([]any, bool) {
	list, ok := value.([]any)
	var out []any
	seen := map[string]bool{}
	for _, v := range list {
		s, isText := v.(string)
		ok = ok && isText
		if isText && !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out, ok
}

// normalize normalizes the notations of other JSON Schema drafts and of code generators.
func normalize(s map[string]any) {
	for _, side := range []string{"Minimum", "Maximum"} {
		plain := strings.ToLower(side)
		if exclusive, ok := s["exclusive"+side].(bool); ok {
			delete(s, "exclusive"+side)
			if limit, has := s[plain]; exclusive && has {
				s["exclusive"+side] = limit
				delete(s, plain)
			}
		}
	}
	if required, ok := s["required"].([]any); ok {
		s["required"], _ = names(required)
	}
	normalizeNull(s)
	normalizeEnum(s)
	normalizeBounds(s)
}

// normalizeBounds drops bounds that no value satisfies. Some authors swap them,
// and a field that accepts no value is useless.
func normalizeBounds(s map[string]any) {
	low, high := bound(s["minimum"]), bound(s["maximum"])
	above, below := bound(s["exclusiveMinimum"]), bound(s["exclusiveMaximum"])
	beyond := func(a, b *float64, orEqual bool) bool {
		return a != nil && b != nil && (*a > *b || orEqual && *a == *b)
	}
	if beyond(low, high, false) || beyond(above, high, true) || beyond(low, below, true) || beyond(above, below, true) {
		for _, key := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"} {
			delete(s, key)
		}
	}
	for _, of := range []string{"Length", "Items", "Properties"} {
		if beyond(bound(s["min"+of]), bound(s["max"+of]), false) {
			delete(s, "min"+of)
			delete(s, "max"+of)
		}
	}
}

// normalizeNull converts the three ways to allow null to nullable. In a form, null is the same
// as no value.
func normalizeNull(s map[string]any) {
	if list, ok := s["type"].([]any); ok {
		rest := slices.DeleteFunc(slices.Clone(list), func(t any) bool { return t == "null" })
		if len(rest) < len(list) {
			s["nullable"] = true
		}
		if len(rest) == 1 {
			s["type"] = rest[0]
		}
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		list, _ := s[key].([]any)
		rest := slices.DeleteFunc(slices.Clone(list), isNullSchema)
		if len(rest) == len(list) || len(rest) == 0 {
			continue
		}
		s["nullable"] = true
		s[key] = rest
		if len(rest) == 1 {
			delete(s, key)
			for k, v := range rest[0].(map[string]any) {
				if _, taken := s[k]; !taken {
					s[k] = v
				}
			}
		}
	}
}

// isNullSchema reports whether a schema accepts only null, as in the anyOf by which the
// platform marks an optional property.
func isNullSchema(v any) bool {
	s, ok := v.(map[string]any)
	return ok && s["type"] == "null"
}

// normalizeEnum converts the options of a select to the type of the schema. Old generators
// wrote the options of numbers as texts.
func normalizeEnum(s map[string]any) {
	list, ok := s["enum"].([]any)
	kind, typed := s["type"].(string)
	if !ok || !typed {
		return
	}
	out := make([]any, 0, len(list))
	for _, v := range list {
		out = append(out, asType(v, kind))
	}
	s["enum"] = out
}

// reachable returns the named schemas and all schemas that they refer to, directly or not.
func reachable(all map[string]any, from ...string) map[string]any {
	out := map[string]any{}
	for len(from) > 0 && len(out) < maxParts {
		name := from[len(from)-1]
		from = from[:len(from)-1]
		schema, ok := all[name]
		if _, seen := out[name]; !ok || seen {
			continue
		}
		out[name] = schema
		from = append(from, referenced(schema, 0)...)
	}
	return out
}

// referenced returns the names of the schemas that a schema refers to.
func referenced(v any, depth int) []string {
	if depth > 4*maxSchemaDepth {
		return nil
	}
	var out []string
	switch v := v.(type) {
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok {
			out = append(out, refName(ref))
		}
		for _, part := range v {
			out = append(out, referenced(part, depth+1)...)
		}
	case []any:
		for _, part := range v {
			out = append(out, referenced(part, depth+1)...)
		}
	}
	return out
}
