package companion

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/sorting"
)

// List describes files that hold a list of entries, each with a name of its own, such as the triggers of a flow.
type List[E any] struct {
	Schema string
	Noun   string // of one entry; the list is the member of its plural
	Key    string // the member with the name; empty: name
	Most   int    // entries in a file

	Name   func(e *E) string
	Object func(e *E) *flow.Object // the JSON of an entry
}

// member returns the name of the member with the entries.
func (l *List[E]) member() string { return l.Noun + "s" }

// Write returns a file with the entries, sorted by name.
func (l *List[E]) Write(list []E) *flow.Object {
	list = slices.Clone(list)
	sorting.By(list, func(a, b E) int { return strings.Compare(l.Name(&a), l.Name(&b)) })
	entries := make([]any, len(list))
	for i := range list {
		entries[i] = l.Object(&list[i])
	}
	o := &flow.Object{}
	o.Set("schema", l.Schema)
	o.Set(l.member(), entries)
	return o
}

// Parse reads a file. one reads an entry; pointers of its problems start at the entry.
func (l *List[E]) Parse(o *flow.Object, one func(v any) (E, []flow.Problem)) (list []E, problems []flow.Problem) {
	fail := func(code, detail, member string) {
		problems = append(problems, flow.Problem{Pointer: flow.Pointer(member), Code: code, Detail: detail})
	}
	known := map[string]bool{"$schema": true, "schema": true, l.member(): true}
	for name := range o.All() {
		if !known[name] {
			fail("unknown", "is no member of this file"+flow.Closest(name, known), name)
		}
	}
	entries, ok := o.Get(l.member()).([]any)
	if !ok {
		fail("required", "must be the list of "+l.member(), l.member())
	}
	if len(entries) > l.Most {
		fail("invalid", fmt.Sprintf("must have at most %d %s", l.Most, l.member()), l.member())
		return nil, problems
	}
	seen := map[string]bool{}
	for i, v := range entries {
		e, wrong := one(v)
		name := l.Name(&e)
		if seen[name] && len(wrong) == 0 {
			key := cmp.Or(l.Key, "name")
			wrong = append(wrong, flow.Problem{Pointer: flow.Pointer(key), Code: "duplicate", Detail: fmt.Sprintf("another %s has the %s %q", l.Noun, key, name)})
		}
		seen[name] = true
		for _, p := range wrong {
			p.Pointer = flow.Pointer(l.member(), i) + p.Pointer
			problems = append(problems, p)
		}
		list = append(list, e)
	}
	return list, problems
}

// Same reports whether two entries are the same in a file.
func (l *List[E]) Same(a, b *E) bool {
	return string(flow.EncodeJSON(l.Object(a))) == string(flow.EncodeJSON(l.Object(b)))
}
