package openapi

import (
	"maps"
	"reflect"
	"strings"
)

// Schema is a JSON Schema, or any other JSON object of the OpenAPI document.
type Schema = map[string]any

// Schemas derives component schemas from Go types: names from json tags, descriptions
// from doc tags, and null for pointers.
type Schemas struct {
	Components Schema

	names  map[reflect.Type]string
	leaves map[reflect.Type]Schema
}

// Of returns the schema of a type, and adds the components it refers to.
func (s *Schemas) Of(t reflect.Type) Schema {
	if leaf, ok := s.leaves[t]; ok {
		return maps.Clone(leaf)
	}
	if t.Kind() != reflect.Pointer && t.Implements(reflect.TypeFor[described]()) {
		return reflect.Zero(t).Interface().(described).JSONSchema()
	}
	switch t.Kind() {
	case reflect.Pointer:
		return Nullable(s.Of(t.Elem()))
	case reflect.Slice:
		return Schema{"type": "array", "items": s.Of(t.Elem())}
	case reflect.Map:
		return Schema{"type": []string{"object", "null"}}
	case reflect.Struct:
		return s.named(t)
	case reflect.Bool:
		return Schema{"type": "boolean"}
	case reflect.String:
		return Schema{"type": "string"}
	case reflect.Int, reflect.Int64:
		return Schema{"type": "integer"}
	}
	return Schema{}
}

// described is a type that writes its own JSON.
type described interface{ JSONSchema() map[string]any }

// named returns a reference to the component of a type, or its schema if the type has no
// name in the document.
func (s *Schemas) named(t reflect.Type) Schema {
	name := s.names[t]
	if name == "" {
		return s.object(t)
	}
	if s.Components[name] == nil {
		s.Components[name] = Schema{} // for types that refer to themselves
		s.Components[name] = s.object(t)
	}
	return Ref(name)
}

// object returns the schema of a struct. Fields without omitempty are required, so that
// generated clients need not expect them to be absent.
func (s *Schemas) object(t reflect.Type) Schema {
	properties, required := Schema{}, []string{}
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous { // its fields are part of the same object in JSON
			inner := s.object(f.Type)
			maps.Copy(properties, inner["properties"].(Schema))
			required = append(required, inner["required"].([]string)...)
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		p := s.Of(f.Type)
		if doc := f.Tag.Get("doc"); doc != "" {
			p["description"] = doc
		}
		properties[name] = p
		if !strings.Contains(options, "omitempty") {
			required = append(required, name)
		}
	}
	return Schema{"type": "object", "properties": properties, "required": required}
}

func Ref(name string) Schema { return Schema{"$ref": "#/components/schemas/" + name} }

// Nullable returns a schema that also allows null.
func Nullable(s Schema) Schema {
	switch t := s["type"].(type) {
	case string:
		s["type"] = []string{t, "null"}
	case nil:
		if s["$ref"] != nil {
			return Schema{"anyOf": []Schema{s, {"type": "null"}}}
		}
	}
	return s
}
