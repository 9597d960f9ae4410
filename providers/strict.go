package providers

import (
	"slices"
	"sluice/flow/value"
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
// matches the original. ok is false if the schema cannot be written in this form. Members keep
// their order.
func strictSchema(schema *value.Object) (strict *value.Object, ok bool) {
	out := &value.Object{}
	for name, v := range schema.All() {
		if name == "$schema" {
			continue
		}
		if !strictKeywords[name] {
			return nil, false
		}
		converted, ok := strictValue(name, v)
		if !ok {
			return nil, false
		}
		out.Set(name, converted)
	}
	if schema.Get("type") == "object" || schema.Get("properties") != nil {
		return closeObject(out)
	}
	return out, true
}

// strictValue converts the value of a keyword that contains schemas.
func strictValue(name string, v any) (any, bool) {
	switch name {
	case "properties", "$defs":
		return strictMap(v)
	case "anyOf":
		return strictList(v)
	case "items":
		return strictOne(v)
	}
	return v, true
}

// strictOne converts a schema for strict mode. It returns false if that is not
// possible, as strictSchema does, or if the value is not an object.
func strictOne(v any) (any, bool) {
	schema, ok := value.AsObject(v)
	if !ok {
		return nil, false
	}
	return strictSchema(schema)
}

// strictMap converts all schemas of an object, such as properties. It returns false if
// one cannot be converted.
func strictMap(v any) (any, bool) {
	schemas, ok := value.AsObject(v)
	if !ok {
		return nil, false
	}
	out := &value.Object{}
	for name, one := range schemas.All() {
		converted, ok := strictOne(one)
		if !ok {
			return nil, false
		}
		out.Set(name, converted)
	}
	return out, true
}

// strictList converts all schemas of a list, such as anyOf. It returns false if one
// cannot be converted.
func strictList(v any) (any, bool) {
	schemas, ok := v.([]any)
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
func closeObject(schema *value.Object) (*value.Object, bool) {
	properties, _ := schema.Get("properties").(*value.Object)
	if extra, there := schema.Lookup("additionalProperties"); there && extra != false || properties.Len() == 0 {
		return nil, false
	}
	listed, _ := schema.Get("required").([]any)
	required := make([]any, 0, properties.Len())
	properties, _ = properties.Replace(func(name string, property any) (any, error) {
		required = append(required, name)
		if slices.Contains(listed, any(name)) {
			return property, nil
		}
		return nullableCopy(property), nil
	})
	schema.Set("properties", properties)
	schema.Set("required", required)
	schema.Set("additionalProperties", false)
	return schema, true
}

// nullableCopy returns a schema that accepts null in addition. It does not change the original.
func nullableCopy(schema any) any {
	s, ok := value.AsObject(schema)
	if !ok || nullable(s) {
		return schema
	}
	null := value.FromMap(map[string]any{"type": "null"})
	types, hasTypes := s.Get("type").([]any)
	options, hasOptions := s.Get("anyOf").([]any)
	enum, isEnum := s.Get("enum").([]any)
	single := s.Get("type")
	switch {
	case s.Has("$ref") || s.Has("const") || hasOptions && single != nil:
		return value.FromMap(map[string]any{"anyOf": []any{s, null}})
	case hasOptions:
		s = s.Clone()
		s.Set("anyOf", append(slices.Clip(options), any(null)))
		return s
	}
	s = s.Clone()
	switch {
	case hasTypes && !slices.Contains(types, any("null")):
		s.Set("type", append(slices.Clip(types), "null"))
	case !hasTypes && single != nil && single != "null":
		s.Set("type", []any{single, "null"})
	}
	if isEnum {
		s.Set("enum", append(slices.Clip(enum), nil))
	}
	return s
}

// nullable reports whether a schema accepts null according to its values, its type or one of
// its alternatives, or because it accepts anything.
func nullable(schema any) bool {
	s, _ := value.AsObject(schema)
	enum, isEnum := s.Get("enum").([]any)
	options, hasOptions := s.Get("anyOf").([]any)
	switch {
	case s.Has("$ref") || s.Has("const") || isEnum && !slices.Contains(enum, nil):
		return false
	case hasOptions && !slices.ContainsFunc(options, nullable):
		return false
	case s.Get("type") == nil || s.Get("type") == "null":
		return true
	}
	types, _ := s.Get("type").([]any)
	return slices.Contains(types, any("null"))
}
