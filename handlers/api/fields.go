package api

import (
	"cmp"
	"maps"
	"slices"

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
	Limit    int64  // bytes, at most; 0 for MaxBody
	Fields   []Field[T]
	Ordered  bool              // the schema lists the members in this order, not by name
	Unknown  string            // code of the problem of an unknown member; "" for unknown_field
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
	read     func(v any) (set func(of *T), problems []flow.Problem)
}

// Type is a type of members: it reads values as V.
type Type[V any] struct {
	Schema map[string]any
	Wanted string // describes valid values, after "wanted"
	Code   string // of the problem of another value; "" for wrong_type
	As     func(v any) (V, bool)
	Read   func(v any) (V, []flow.Problem) // instead of As, with problems whose pointers lead into v

	absent bool // null is like a missing member
}

// OrNull returns the type that also has null, which is read as the zero value.
func (t Type[V]) OrNull() Type[V] {
	of := t
	t.Schema = Nullable(t.Schema)
	t.Read = func(v any) (zero V, problems []flow.Problem) {
		if v == nil {
			return zero, nil
		}
		return of.read(v)
	}
	return t
}

// OrAbsent returns the type that also has null, which leaves the member out.
func (t Type[V]) OrAbsent() Type[V] {
	t.Schema, t.absent = Nullable(t.Schema), true
	return t
}

// Nullable returns a schema that also allows null.
func Nullable(of map[string]any) map[string]any {
	s := maps.Clone(of)
	switch t := s["type"].(type) {
	case nil, []any, []string: // any type, or it is nullable already
	default:
		s["type"] = []any{t, "null"}
	}
	if enum, ok := s["enum"].([]any); ok {
		s["enum"] = append(slices.Clone(enum), nil)
	}
	return s
}

// read reads a value.
func (t *Type[V]) read(v any) (V, []flow.Problem) {
	if t.Read != nil {
		return t.Read(v)
	}
	value, ok := t.As(v)
	if ok {
		return value, nil
	}
	return value, []flow.Problem{{Code: cmp.Or(t.Code, "wrong_type"), Detail: "wanted " + t.Wanted}}
}

// With returns the type with another keyword of JSON Schema.
func (t Type[V]) With(keyword string, value any) Type[V] {
	t.Schema = maps.Clone(t.Schema)
	t.Schema[keyword] = value
	return t
}

// Member declares a member. at returns where its value goes. text is for the OpenAPI document.
func Member[T, V any](name, text string, t Type[V], at func(of *T) *V) Field[T] {
	return SetMember(name, text, t, func(of *T, v V) { *at(of) = v })
}

// SetMember is Member with a function that stores the value.
func SetMember[T, V any](name, text string, t Type[V], store func(of *T, v V)) Field[T] {
	if text != "" {
		t = t.With("description", text)
	}
	return Field[T]{name: name, schema: t.Schema, read: func(given any) (func(of *T), []flow.Problem) {
		if given == nil && t.absent {
			return func(*T) {}, nil
		}
		v, problems := t.read(given)
		for i := range problems {
			problems[i].Pointer = flow.Pointer(name) + problems[i].Pointer
		}
		return func(of *T) { store(of, v) }, problems
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
		set, wrong := f.read(given)
		if len(wrong) == 0 {
			sets = append(sets, set)
		}
		problems = append(problems, wrong...)
	}
	for _, name := range sorting.Keys(object) {
		if known[name] {
			continue
		}
		detail := b.Refused[name]
		if detail == "" {
			detail = "this is not a setting of " + b.Of + flow.Closest(name, known)
		}
		problems = append(problems, flow.Problem{Pointer: flow.Pointer(name), Code: cmp.Or(b.Unknown, "unknown_field"), Detail: detail})
	}
	return func(of *T) {
		for _, set := range sets {
			set(of)
		}
	}, problems
}

// ReadFrom reads the body of a request, and returns a function that sets its members.
func (b *Body[T]) ReadFrom(c *Call) (set func(of *T), err error) {
	object, err := c.ReadObjectUpTo(b.Optional, cmp.Or(b.Limit, MaxBody))
	if err != nil {
		return nil, err
	}
	set, wrong := b.Read(object)
	return set, Invalid(wrong...)
}

// Doc returns the body for the OpenAPI document, for tools and for commands.
func (b *Body[T]) Doc() openapi.Body {
	doc := openapi.Body{Name: b.Name, Schema: b.Schema(), Optional: b.Optional}
	for _, f := range b.Fields {
		doc.Members = append(doc.Members, openapi.Member{Name: f.name, Schema: f.schema, Required: f.required})
	}
	return doc
}

// Bodies returns the bodies of this package that commands have flags for.
func Bodies() []openapi.Body { return []openapi.Body{batchBody.Doc(), runOptionsBody.Doc()} }

// Schema returns the JSON Schema of the body.
func (b *Body[T]) Schema() map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, f := range b.Fields {
		properties[f.name] = f.schema
		if f.required {
			required = append(required, f.name)
		}
	}
	schema := map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
	if b.Ordered {
		ordered := &flow.Object{}
		for _, f := range b.Fields {
			ordered.Set(f.name, f.schema)
		}
		schema["properties"] = ordered
	}
	if b.Example != nil {
		schema["examples"] = []any{b.Example}
	}
	if len(required) > 0 {
		schema["required"] = required
	}
	if b.Least > 0 {
		schema["minProperties"] = b.Least
	}
	return schema
}
