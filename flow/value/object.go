package value

import (
	"iter"
	"maps"
	"slices"

	"sluice/flow/sorting"
)

// indexed is the number of members from which an object has an index. Fewer are found faster by
// comparing their names.
const indexed = 12

// Object is a JSON object that keeps the order of its members. The zero value is an empty object,
// and a nil *Object reads as one. Values are shared between steps, so an object must not be
// changed once it was passed on; Clone it first.
type Object struct {
	members []Member
	index   map[string]int // position by name; nil below indexed members
}

// Member is one name and value of an object.
type Member struct {
	Name  string
	Value any
}

// NewObject returns an object with members in the order given. Of two members with the same name
// the later value counts, in the place of the earlier.
func NewObject(members ...Member) *Object {
	o := &Object{members: make([]Member, 0, len(members))}
	for _, m := range members {
		o.Set(m.Name, m.Value)
	}
	return o
}

// FromMap returns an object with the members of m, sorted by name.
func FromMap(m map[string]any) *Object {
	o := &Object{members: make([]Member, 0, len(m))}
	for _, name := range sorting.Keys(m) {
		o.Set(name, m[name])
	}
	return o
}

// Len returns the number of members.
func (o *Object) Len() int {
	if o == nil {
		return 0
	}
	return len(o.members)
}

// At returns the member at a position, which counts from 0.
func (o *Object) At(i int) Member { return o.members[i] }

// position returns the position of a member, or -1.
func (o *Object) position(name string) int {
	if o == nil {
		return -1
	}
	if o.index != nil {
		if i, ok := o.index[name]; ok {
			return i
		}
		return -1
	}
	for i := range o.members {
		if o.members[i].Name == name {
			return i
		}
	}
	return -1
}

// Get returns the value of a member, or nil if the object has no such member.
func (o *Object) Get(name string) any {
	v, _ := o.Lookup(name)
	return v
}

// Lookup returns the value of a member and reports whether it exists.
func (o *Object) Lookup(name string) (v any, ok bool) {
	if i := o.position(name); i >= 0 {
		return o.members[i].Value, true
	}
	return nil, false
}

// Has reports whether there is a member with the name.
func (o *Object) Has(name string) bool { return o.position(name) >= 0 }

// Set changes the value of a member in its place, or adds the member at the end.
func (o *Object) Set(name string, v any) {
	if i := o.position(name); i >= 0 {
		o.members[i].Value = v
		return
	}
	o.members = append(o.members, Member{name, v})
	switch {
	case o.index != nil:
		o.index[name] = len(o.members) - 1
	case len(o.members) >= indexed:
		o.reindex()
	}
}

// Delete removes a member. The others keep their order.
func (o *Object) Delete(name string) {
	if i := o.position(name); i >= 0 {
		o.members = slices.Delete(o.members, i, i+1)
		o.reindex()
	}
}

func (o *Object) reindex() {
	if o.index = nil; len(o.members) < indexed {
		return
	}
	o.index = make(map[string]int, len(o.members))
	for i := range o.members {
		o.index[o.members[i].Name] = i
	}
}

// All iterates over the members in order.
func (o *Object) All() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		if o == nil {
			return
		}
		for i := range o.members {
			if !yield(o.members[i].Name, o.members[i].Value) {
				return
			}
		}
	}
}

// Names returns the names of the members in order.
func (o *Object) Names() []string {
	if o.Len() == 0 {
		return nil
	}
	names := make([]string, 0, o.Len())
	for name := range o.All() {
		names = append(names, name)
	}
	return names
}

// Clone returns a copy whose members can be changed. Their values are shared.
func (o *Object) Clone() *Object {
	if o == nil {
		return &Object{}
	}
	return &Object{members: slices.Clone(o.members), index: maps.Clone(o.index)}
}

// Map returns the members as a map, without their order. The values are shared.
func (o *Object) Map() map[string]any {
	m := make(map[string]any, o.Len())
	for name, v := range o.All() {
		m[name] = v
	}
	return m
}

// MarshalJSON encodes the object with its members in order.
func (o *Object) MarshalJSON() ([]byte, error) {
	if o == nil {
		return []byte("null"), nil
	}
	return Encode(o), nil
}

// UnmarshalJSON decodes an object strictly, so that structs can have ordered members.
func (o *Object) UnmarshalJSON(data []byte) error {
	v, err := Decode(data)
	if err != nil {
		return err
	}
	decoded, ok := AsObject(v)
	if !ok {
		if v == nil {
			return nil // null leaves the value unchanged, as encoding/json has it
		}
		return &SyntaxError{Code: "invalid_json", Detail: "wanted an object"}
	}
	*o = *decoded
	return nil
}

// AsObject returns a value as an object. A map counts as an object with sorted members. ok is
// false for all other values, null included.
func AsObject(v any) (o *Object, ok bool) {
	switch v := v.(type) {
	case *Object:
		return v, v != nil
	case map[string]any:
		if v == nil {
			return nil, false
		}
		return FromMap(v), true
	}
	return nil, false
}

// AsMap is AsObject for readers to whom the order has no meaning. The map must not be changed.
func AsMap(v any) (m map[string]any, ok bool) {
	switch v := v.(type) {
	case *Object:
		if v == nil {
			return nil, false
		}
		return v.Map(), true
	case map[string]any:
		return v, v != nil
	}
	return nil, false
}

// IsObject reports whether a value is an object.
func IsObject(v any) bool { return Len(v) >= 0 }

// Len returns the number of members of an object, and -1 for other values.
func Len(v any) int {
	switch v := v.(type) {
	case *Object:
		if v != nil {
			return v.Len()
		}
	case map[string]any:
		if v != nil {
			return len(v)
		}
	}
	return -1
}

// Lookup returns a member of a value and reports whether it exists, which it does not if the value
// is no object.
func Lookup(v any, name string) (item any, ok bool) {
	switch v := v.(type) {
	case *Object:
		return v.Lookup(name)
	case map[string]any:
		item, ok = v[name]
	}
	return item, ok
}

// Get returns a member of a value, or nil if the value is no object or has no such member. It
// takes several names to look into nested objects.
func Get(v any, names ...string) any {
	for _, name := range names {
		v, _ = Lookup(v, name)
	}
	return v
}

// Members iterates over the members of an object in order. It yields nothing for other values.
func Members(v any) iter.Seq2[string, any] {
	if m, ok := v.(map[string]any); ok {
		v = FromMap(m)
	}
	o, _ := v.(*Object)
	return o.All()
}

// Plain returns a value without any *Object: objects become map[string]any at every level, for
// libraries that read plain JSON values.
func Plain(v any) any {
	switch v := v.(type) {
	case *Object:
		if v == nil {
			return nil
		}
		m := make(map[string]any, v.Len())
		for name, item := range v.All() {
			m[name] = Plain(item)
		}
		return m
	case map[string]any:
		m := make(map[string]any, len(v))
		for name, item := range v {
			m[name] = Plain(item)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = Plain(v[i])
		}
		return list
	}
	return v
}

// Ordered returns a map as an object with sorted members, and every other value unchanged, so that
// a switch needs one case for objects. The members of the object are not converted.
func Ordered(v any) any {
	if m, ok := v.(map[string]any); ok && m != nil {
		return FromMap(m)
	}
	return v
}

// Replace returns an object whose values are the results of f. It keeps names and order, and stops
// at an error.
func (o *Object) Replace(f func(name string, v any) (any, error)) (*Object, error) {
	out := o.Clone()
	for i := range out.members {
		v, err := f(out.members[i].Name, out.members[i].Value)
		if err != nil {
			return nil, err
		}
		out.members[i].Value = v
	}
	return out, nil
}
