package snippets

import (
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/document"
)

// maxTypeText is the maximum length of the outputs' declaration in a snippet, in characters.
// Longer ones would distract from the call.
const maxTypeText = 1200

// scriptOutputs declares the outputs of a flow as a TypeScript type.
func scriptOutputs(outputs []document.Output) string {
	if len(outputs) == 0 {
		return "unknown"
	}
	text := scriptType(document.OutputsSchema(outputs), 0)
	if len(text) > maxTypeText {
		return "Record<string, unknown>"
	}
	return text
}

// scriptType writes a JSON Schema as a TypeScript type. Missing and deeply nested schemas
// become unknown.
func scriptType(schema map[string]any, depth int) string {
	const deepest = 4
	alternatives, _ := schema["anyOf"].([]any)
	values, _ := schema["enum"].([]any)
	types, _ := schema["type"].([]any)
	var list []string
	add := func(t string) {
		if !slices.Contains(list, t) {
			list = append(list, t)
		}
	}
	switch {
	case depth > deepest:
	case len(values) > 0:
		for _, v := range values {
			if s, isText := v.(string); isText {
				add(scriptText(s))
			} else {
				add(string(flow.EncodeJSON(v)))
			}
		}
	case len(alternatives) > 0:
		for _, a := range alternatives {
			inner, _ := flow.AsMap(a)
			add(scriptType(inner, depth+1))
		}
	case len(types) > 0:
		for _, t := range types {
			add(scriptTypeOf(t, schema, depth))
		}
	default:
		add(scriptTypeOf(schema["type"], schema, depth))
	}
	if len(list) == 0 || slices.Contains(list, "unknown") {
		return "unknown"
	}
	return strings.Join(list, " | ")
}

// scriptTypeOf writes a type of JSON Schema, by its name, in TypeScript. The schema has the
// items or properties. A missing or unsupported name becomes unknown.
func scriptTypeOf(name any, schema map[string]any, depth int) string {
	switch name {
	case "string", "number", "boolean", "null":
		return name.(string)
	case "integer":
		return "number"
	case "array":
		items, _ := flow.AsMap(schema["items"])
		return "Array<" + scriptType(items, depth+1) + ">"
	case "object":
		return scriptObject(schema, depth)
	}
	return "unknown"
}

// scriptObject writes an object type. Without properties it is a Record; properties that are
// not required are optional.
func scriptObject(schema map[string]any, depth int) string {
	properties, _ := flow.AsObject(schema["properties"])
	if properties.Len() == 0 {
		values, _ := flow.AsMap(schema["additionalProperties"])
		return "Record<string, " + scriptType(values, depth+1) + ">"
	}
	var members []string
	for name, described := range properties.All() {
		property, _ := flow.AsMap(described)
		optional := "?"
		if slices.Contains(requiredIn(schema), name) {
			optional = ""
		}
		members = append(members, scriptKey(name)+optional+": "+scriptType(property, depth+1))
	}
	return "{ " + strings.Join(members, "; ") + " }"
}

// requiredIn returns the members that a schema requires.
func requiredIn(schema map[string]any) (names []string) {
	switch list := schema["required"].(type) {
	case []string:
		return list
	case []any:
		for _, v := range list {
			names = append(names, flow.Text(v))
		}
	}
	return names
}
