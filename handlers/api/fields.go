package api

import (
	"maps"

	"sluice/flow"
	"sluice/flow/sorting"
	"sluice/handlers/api/openapi"
)

// Body declares a JSON object whose members change a T. Its reader and its schema in the OpenAPI
// document both derive from the declaration.
type Body[T any] struct {
	Name     string // of its schema; "" for a body of the operator
	Of       string // the noun that it changes, with an article, for problems
	Optional bool   // may be left out
	Fields   []Field[T]
	Least    int               // number of members, at least
	Refused  map[string]string // members that cannot be set, with the reason
	Example  map[string]any
}

// Field declares a member of a Body; see Member.
type Field[T any] struct {
	name     string
	required bool
	missing  string // what to do if a required member is missing; "" if the caller checks that
	schema   map[string]any
	read     func(v any) (set func(of *T), problem flow.Problem)
}

// Type is a type of members: it reads values as V.
type Type[V any] struct {
	Schema map[string]any
	Wanted string // describes valid values, after "wanted"
	Code   string // of the problem of another value; "" for wrong_type
	As     func(v any) (V, bool)
}

// OrNull returns the type that also has null, which is read as the zero value.
func (t Type[V]) OrNull() Type[V] {
	as := t.As
	t.Schema = maps.Clone(t.Schema)
	t.Schema["type"] = []any{t.Schema["type"], "null"}
	t.As = func(v any) (zero V, ok bool) {
		if v == nil {
			return zero, true
		}
		return as(v)
	}
	return t
}

// With returns the type with another keyword of JSON Schema.
func (t Type[V]) With(keyword string, value any) Type[V] {
	t.Schema = maps.Clone(t.Schema)
	t.Schema[keyword] = value
	return t
}

// Member declares a member. at returns where its value goes. text is for the OpenAPI document.
func Member[T, V any](name, text string, t Type[V], at func(of *T) *V) Field[T] {
	if text != "" {
		t = t.With("description", text)
	}
	return Field[T]{name: name, schema: t.Schema, read: func(given any) (func(of *T), flow.Problem) {
		v, ok := t.As(given)
		if ok {
			return func(of *T) { *at(of) = v }, flow.Problem{}
		}
		problem := flow.Problem{Pointer: flow.Pointer(name), Code: t.Code, Detail: "wanted " + t.Wanted}
		if t.Code == "" {
			problem.Code = "wrong_type"
		}
		return nil, problem
	}}
}

// Required returns the field as a required one. missing says what to do if it is absent or null; ""
// leaves that check to the caller.
func (f Field[T]) Required(missing string) Field[T] {
	f.required, f.missing = true, missing
	return f
}

// Read returns a function that sets the members of an object, and all problems of the object.
// Missing members change nothing.
func (b *Body[T]) Read(object map[string]any) (set func(of *T), problems []flow.Problem) {
	var sets []func(of *T)
	known := map[string]bool{}
	for _, f := range b.Fields {
		known[f.name] = true
		given, present := object[f.name]
		if given == nil && f.missing != "" {
			problems = append(problems, flow.Problem{Pointer: flow.Pointer(f.name), Code: "required", Detail: f.missing})
			continue
		}
		if !present {
			continue
		}
		set, problem := f.read(given)
		if set == nil {
			problems = append(problems, problem)
			continue
		}
		sets = append(sets, set)
	}
	for _, name := range sorting.Keys(object) {
		if known[name] {
			continue
		}
		detail := b.Refused[name]
		if detail == "" {
			detail = "this is not a setting of " + b.Of + flow.Closest(name, known)
		}
		problems = append(problems, flow.Problem{Pointer: flow.Pointer(name), Code: "unknown_field", Detail: detail})
	}
	return func(of *T) {
		for _, set := range sets {
			set(of)
		}
	}, problems
}

// ReadFrom reads the body of a request, and returns a function that sets its members.
func (b *Body[T]) ReadFrom(c *Call) (set func(of *T), err error) {
	object, _, err := c.ReadObject(b.Optional)
	if err != nil {
		return nil, err
	}
	set, wrong := b.Read(object)
	return set, Invalid(wrong...)
}

// Doc returns the body for the OpenAPI document.
func (b *Body[T]) Doc() openapi.Body {
	return openapi.Body{Name: b.Name, Schema: b.Schema(), Optional: b.Optional}
}

// Schema returns the JSON Schema of the body.
func (b *Body[T]) Schema() map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, f := range b.Fields {
		properties[f.name] = f.schema
		if f.required {
			required = append(required, f.name)
		}
	}
	schema := map[string]any{"type": "object", "additionalProperties": false, "properties": properties, "examples": []any{b.Example}}
	if len(required) > 0 {
		schema["required"] = required
	}
	if b.Least > 0 {
		schema["minProperties"] = b.Least
	}
	return schema
}
