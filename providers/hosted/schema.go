package hosted

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Bounds that keep a hostile schema from costing more than a real one. The
// largest of 3,808 public models has 90 inputs, 4 levels and 120 parts.
const (
	maxInputs      = 500
	maxSchemaDepth = 12
	maxSchemaParts = 5000 // of one input or output, after references are replaced
	maxOptions     = 2000
)

// resolver replaces references by what they refer to and keeps of a schema only
// what is well formed, so that whatever it returns compiles.
type resolver struct {
	all   map[string]any
	parts int
	path  []string // references being replaced, to find circles
}

// resolve returns a schema without references. What refers to itself, is too
// deep or too large becomes a schema that takes anything.
func resolve(schema any, all map[string]any) map[string]any {
	r := &resolver{all: all}
	return r.schema(schema, 0)
}

func (r *resolver) schema(v any, depth int) map[string]any {
	s, ok := v.(map[string]any)
	r.parts++
	if !ok || depth > maxSchemaDepth || r.parts > maxSchemaParts {
		return map[string]any{}
	}
	out := map[string]any{}
	for _, base := range r.bases(s, depth) {
		delete(base, "title") // the name of the shared schema, not of this one
		delete(base, "description")
		merge(out, base)
	}
	own := map[string]any{}
	for key, value := range s {
		if kept, ok := r.keyword(key, value, depth); ok {
			own[key] = kept
		}
	}
	merge(out, own)
	settle(out)
	return out
}

// merge adds a schema to another: properties and required names of both count,
// of anything else the later.
func merge(into, from map[string]any) {
	for key, value := range from {
		switch value := value.(type) {
		case map[string]any:
			if old, ok := into[key].(map[string]any); ok && key == "properties" {
				maps.Copy(old, value)
				continue
			}
		case []any:
			if old, ok := into[key].([]any); ok && key == "required" {
				both, _ := names(append(slices.Clone(old), value...))
				into[key] = both
				continue
			}
		}
		into[key] = value
	}
}

// bases are the schemas that a schema builds on: what it refers to, and all
// parts of allOf, as code generators write a reference that has a description.
func (r *resolver) bases(s map[string]any, depth int) []map[string]any {
	var out []map[string]any
	if ref, ok := s["$ref"].(string); ok {
		out = append(out, r.reference(ref, depth))
	}
	parts, _ := s["allOf"].([]any)
	for _, part := range parts {
		if r.parts > maxSchemaParts {
			break
		}
		out = append(out, r.schema(part, depth+1))
	}
	return out
}

func (r *resolver) reference(ref string, depth int) map[string]any {
	name := refName(ref)
	target, ok := r.all[name]
	if !ok || slices.Contains(r.path, name) {
		return map[string]any{}
	}
	r.path = append(r.path, name)
	defer func() { r.path = r.path[:len(r.path)-1] }()
	return r.schema(target, depth+1)
}

// refName is the last part of a reference within the document; references to
// other documents name nothing.
func refName(ref string) string {
	for _, prefix := range []string{"#/components/schemas/", "#/definitions/", "#/$defs/"} {
		if name, ok := strings.CutPrefix(ref, prefix); ok {
			return strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		}
	}
	return ""
}

// keyword is the value of a keyword if it is well formed.
func (r *resolver) keyword(key string, value any, depth int) (any, bool) {
	switch key {
	case "type":
		return typeKeyword(value)
	case "title", "description", "format":
		_, ok := value.(string)
		return value, ok
	case "pattern":
		s, ok := value.(string)
		if ok {
			_, err := regexp.Compile(s)
			ok = err == nil && len(s) <= 1000
		}
		return value, ok
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "x-order":
		_, isNumber := number(value)
		_, isBool := value.(bool) // exclusiveMinimum of OpenAPI 3.0
		return value, isNumber || isBool && strings.HasPrefix(key, "exclusive")
	case "multipleOf":
		n, ok := number(value)
		return value, ok && n > 0
	case "minLength", "maxLength", "minItems", "maxItems":
		n, ok := number(value)
		return value, ok && n >= 0 && n == float64(int64(n))
	case "uniqueItems", "nullable", "writeOnly", "x-cog-secret":
		_, ok := value.(bool)
		return value, ok
	case "enum":
		list, ok := value.([]any)
		return list, ok && len(list) > 0 && len(list) <= maxOptions
	case "required":
		return names(value)
	case "const", "default", "x-cog-array-type", "x-cog-array-display":
		return value, true
	}
	return r.nested(key, value, depth)
}

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
		for _, name := range slices.Sorted(maps.Keys(props))[:min(len(props), maxInputs)] {
			out[name] = r.schema(props[name], depth+1)
		}
		return out, ok
	}
	return nil, false
}

var typeNames = []string{"string", "number", "integer", "boolean", "array", "object", "null"}

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

// names is a list of texts without repetition.
func names(value any) ([]any, bool) {
	list, ok := value.([]any)
	var out []any
	for _, v := range list {
		s, isText := v.(string)
		ok = ok && isText
		if isText && !slices.Contains(out, any(s)) {
			out = append(out, s)
		}
	}
	return out, ok
}

// settle brings the spellings of other drafts and of code generators to one.
func settle(s map[string]any) {
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
	settleNull(s)
	settleEnum(s)
}

// settleNull turns the three ways to allow null into nullable: for a form a
// null is the same as nothing set.
func settleNull(s map[string]any) {
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

func isNullSchema(v any) bool {
	s, ok := v.(map[string]any)
	return ok && s["type"] == "null"
}

// settleEnum gives the options of a select the type that the schema states: old
// generators wrote the options of a number as texts.
func settleEnum(s map[string]any) {
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

// reachable are the schemas that some of them refer to, themselves included.
func reachable(all map[string]any, from ...string) map[string]any {
	out := map[string]any{}
	for len(from) > 0 && len(out) < maxSchemaParts {
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

// referenced are the names that a schema refers to.
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
