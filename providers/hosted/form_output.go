package hosted

import (
	"cmp"
	"maps"
	"slices"
)

// outputOf returns the output of a model. If its schema is missing or says nothing about
// the type, the output is JSON.
func outputOf(m *Model, r *resolver) Output {
	s := r.resolve(m.Output)
	o := Output{Type: outputType(s)}
	switch {
	case o.Type == OutputText:
		o.Joined = s["type"] == "array"
	case o.Type == OutputObject:
		o.Properties = properties(s)
	}
	return o
}

// outputType returns the type of an output from its schema, or OutputJSON if no other
// applies.
func outputType(s map[string]any) OutputType {
	switch s["type"] {
	case "string":
		if s["format"] == "uri" {
			return OutputFile
		}
		return OutputText
	case "integer", "number":
		return OutputNumber
	case "boolean":
		return OutputSwitch
	case "array":
		return listType(s)
	}
	if props, _ := s["properties"].(map[string]any); len(props) > 0 {
		return OutputObject
	}
	return OutputJSON
}

// listType returns the type of a list: files, a text that arrives in pieces, or a list
// of other values. The platform marks such texts with x-cog-array-display.
func listType(s map[string]any) OutputType {
	items, _ := s["items"].(map[string]any)
	switch {
	case items["type"] == "string" && items["format"] == "uri":
		return OutputFiles
	case items["type"] == "string" && s["x-cog-array-display"] == "concatenate":
		return OutputText
	}
	return OutputList
}

// properties returns the properties of an object output, ordered by x-order and then by
// name.
func properties(s map[string]any) []Property {
	props, _ := s["properties"].(map[string]any)
	order := func(name string) float64 {
		p, _ := props[name].(map[string]any)
		return orderOf(p)
	}
	sorted := slices.SortedFunc(maps.Keys(props), func(a, b string) int {
		return cmp.Or(cmp.Compare(order(a), order(b)), cmp.Compare(a, b))
	})
	out := make([]Property, 0, len(sorted))
	for _, name := range sorted {
		p, _ := props[name].(map[string]any)
		out = append(out, Property{Name: name, Type: outputType(p)})
	}
	return out
}
