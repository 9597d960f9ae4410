package providers

import (
	"maps"
	"slices"

	"sluice/flow/sorting"
)

// strictKeywords are the JSON Schema keywords that OpenAI's strict mode supports, according
// to its guide to structured outputs.
var strictKeywords = map[string]bool{
	"type": true, "properties": true, "required": true, "additionalProperties": true, "items": true, "enum": true,
	"const": true, "anyOf": true, "$ref": true, "$defs": true, "title": true, "description": true,
	"pattern": true, "format": true, "minimum": true, "maximum": true, "exclusiveMinimum": true,
	"exclusiveMaximum": true, "multipleOf": true, "minItems": true, "maxItems": true,
}

// strictSchema copies a schema to the form that strict mode requires: every object is closed
// and every property required. Optional properties accept null, which form.read drops, so that
// the model need not invent a value. Without these nulls, an answer that matches the copy also
// matches the original. ok is false if the schema cannot be written in this form.
func strictSchema(schema map[string]any) (strict map[string]any, ok bool) {
	out := make(map[string]any, len(schema)+2)
	for name, value := range schema {
		if name == "$schema" {
			continue
		}
		if !strictKeywords[name] {
			return nil, false
		}
		if out[name], ok = strictValue(name, value); !ok {
			return nil, false
		}
	}
	if schema["type"] == "object" || schema["properties"] != nil {
		return closeObject(out)
	}
	return out, true
}

// strictValue converts the value of a keyword that contains schemas.
func strictValue(name string, value any) (any, bool) {
	switch name {
	case "properties", "$defs":
		return strictMap(value)
	case "anyOf":
		return strictList(value)
	case "items":
		return strictOne(value)
	}
	return value, true
}

// strictOne converts a schema for strict mode. It returns false if that is not
// possible, as strictSchema does, or if the value is not an object.
func strictOne(value any) (any, bool) {
	schema, ok := value.(map[string]any)
	if !ok {
		return nil, false
	}
	return strictSchema(schema)
}

// strictMap converts all schemas of an object, such as properties. It returns false if
// one cannot be converted.
func strictMap(value any) (any, bool) {
	schemas, ok := value.(map[string]any)
	if !ok {
		return nil, false
	}
	out := make(map[string]any, len(schemas))
	for name, one := range schemas {
		if out[name], ok = strictOne(one); !ok {
			return nil, false
		}
	}
	return out, true
}

// strictList converts all schemas of a list, such as anyOf. It returns false if one
// cannot be converted.
func strictList(value any) (any, bool) {
	schemas, ok := value.([]any)
	if !ok {
		return nil, false
	}
	out := make([]any, len(schemas))
	for i, one := range schemas {
		if out[i], ok = strictOne(one); !ok {
			return nil, false
		}
	}
	return out, true
}

// closeObject forbids other members of an object and requires all properties, as strict
// mode demands; the optional ones accept null. It returns false if the schema explicitly allows
// other members or has no properties.
func closeObject(schema map[string]any) (map[string]any, bool) {
	properties, _ := schema["properties"].(map[string]any)
	if extra, there := schema["additionalProperties"]; there && extra != false || len(properties) == 0 {
		return nil, false
	}
	listed, _ := schema["required"].([]any)
	names := sorting.Keys(properties)
	required := make([]any, len(names))
	for i, name := range names {
		if !slices.Contains(listed, any(name)) {
			properties[name] = nullableCopy(properties[name])
		}
		required[i] = name
	}
	schema["additionalProperties"], schema["required"] = false, required
	return schema, true
}

// nullableCopy returns a schema that accepts null in addition. It does not change the original.
func nullableCopy(schema any) any {
	s, ok := schema.(map[string]any)
	if !ok || nullable(s) {
		return schema
	}
	null := map[string]any{"type": "null"}
	types, hasTypes := s["type"].([]any)
	options, hasOptions := s["anyOf"].([]any)
	_, isRef := s["$ref"]
	_, isConst := s["const"]
	enum, isEnum := s["enum"].([]any)
	s = maps.Clone(s)
	switch {
	case isRef || isConst || hasOptions && s["type"] != nil:
		return map[string]any{"anyOf": []any{s, null}}
	case hasOptions:
		s["anyOf"] = append(slices.Clip(options), null)
		return s
	case hasTypes && !slices.Contains(types, any("null")):
		s["type"] = append(slices.Clip(types), "null")
	case !hasTypes && s["type"] != nil && s["type"] != "null":
		s["type"] = []any{s["type"], "null"}
	}
	if isEnum {
		s["enum"] = append(slices.Clip(enum), nil)
	}
	return s
}

// nullable reports whether a schema accepts null according to its values, its type or one of
// its alternatives, or because it accepts anything.
func nullable(schema any) bool {
	s, _ := schema.(map[string]any)
	_, isRef := s["$ref"]
	_, isConst := s["const"]
	enum, isEnum := s["enum"].([]any)
	options, hasOptions := s["anyOf"].([]any)
	switch {
	case isRef || isConst || isEnum && !slices.Contains(enum, nil):
		return false
	case hasOptions && !slices.ContainsFunc(options, nullable):
		return false
	case s["type"] == nil || s["type"] == "null":
		return true
	}
	types, _ := s["type"].([]any)
	return slices.Contains(types, any("null"))
}
