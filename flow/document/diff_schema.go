package document

import (
	"slices"

	"sluice/flow"
	"sluice/flow/sorting"
)

// wider returns where, such as items.price, and why values of a newer schema can break a client
// that was written for an older one. Both are "" if they cannot. It compares what clients rely
// on: types, members, items and allowed values.
func wider(was, now map[string]any, at string) (where, why string) {
	if len(was) == 0 {
		return "", "" // could be anything
	}
	types := typesIn(was)
	for _, t := range typesIn(now) {
		if len(types) > 0 && !slices.Contains(types, t) && !(t == "integer" && slices.Contains(types, "number")) {
			return at, "can now be of the type " + t
		}
	}
	if len(types) > 0 && len(typesIn(now)) == 0 {
		return at, "can now be of any type"
	}
	if allowed, limited := was["enum"].([]any); limited {
		values, still := now["enum"].([]any)
		if !still || !containsAll(allowed, values) {
			return at, "can have new values"
		}
	}
	if where, why := widerMembers(was, now, at); why != "" {
		return where, why
	}
	items, _ := flow.AsMap(was["items"])
	others, _ := flow.AsMap(now["items"])
	return wider(items, others, inside(at, "items"))
}

// widerMembers compares the members of objects.
func widerMembers(was, now map[string]any, at string) (where, why string) {
	before, _ := flow.AsMap(was["properties"])
	after, _ := flow.AsMap(now["properties"])
	required := textsIn(now["required"])
	for _, name := range textsIn(was["required"]) {
		if !slices.Contains(required, name) {
			return inside(at, name), "can now be missing"
		}
	}
	for _, name := range sorting.Keys(before) {
		old, _ := flow.AsMap(before[name])
		next, still := flow.AsMap(after[name])
		if !still && len(old) > 0 {
			return inside(at, name), "is no longer described"
		}
		if where, why := wider(old, next, inside(at, name)); why != "" {
			return where, why
		}
	}
	return "", ""
}

// inside appends the name of a property to a path in a schema, as in "address.city".
func inside(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

// typesIn returns the types that a schema allows; none if it does not say.
func typesIn(s map[string]any) (types []string) {
	alternatives, _ := s["anyOf"].([]any)
	for _, a := range alternatives {
		schema, _ := flow.AsMap(a)
		of := typesIn(schema)
		if len(of) == 0 {
			return nil
		}
		types = append(types, of...)
	}
	return append(types, textsIn(s["type"])...)
}

// textsIn returns a text, or the texts of a list.
func textsIn(v any) (texts []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []string:
		return v
	case []any:
		for _, item := range v {
			texts = append(texts, flow.Text(item))
		}
	}
	return texts
}
