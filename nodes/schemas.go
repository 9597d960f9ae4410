package nodes

import (
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/value"
)

// JSON Schemas of port values. They are shared and must not be modified.
var (
	textSchema   = map[string]any{"type": "string"}
	numberSchema = map[string]any{"type": "number"}
)

// tablesSchema describes the tables of a document. Only sheets of a workbook have hidden parts.
var tablesSchema = listSchema(map[string]any{
	"type": "object",
	"properties": map[string]any{
		"name": textSchema, "rows": listSchema(map[string]any{"type": "object", "additionalProperties": textSchema}),
		"hidden": map[string]any{"type": "boolean"}, "hidden_rows": listSchema(numberSchema), "hidden_columns": listSchema(textSchema),
	},
	"required": []any{"name", "rows"},
})

// listSchema returns the JSON Schema of a list whose items all have the schema items.
func listSchema(items any) map[string]any { return map[string]any{"type": "array", "items": items} }

// objectSchema returns the schema of an object. members alternates names and schemas; all
// members are required.
func objectSchema(members ...any) map[string]any {
	properties, required := map[string]any{}, []any{}
	for i := 0; i < len(members); i += 2 {
		properties[members[i].(string)] = members[i+1]
		required = append(required, members[i])
	}
	return map[string]any{"type": "object", "properties": properties, "required": required}
}

// plainWords are the JSON Schema keywords that client generators understand. Each has the same
// meaning when other keywords are dropped.
var plainWords = []string{"type", "title", "description", "enum", "const", "required", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"}

// maxPlainDepth is the depth below which plainSchema accepts any value. It also ends the
// recursion of schemas that refer to themselves.
const maxPlainDepth = 12

// plainSchema simplifies a part of a schema: the result has no references and accepts at least
// the same values. Local references are resolved in root.
func plainSchema(root, part any, depth int) map[string]any {
	s, _ := flow.AsMap(part)
	plain := map[string]any{}
	if depth > maxPlainDepth || s == nil {
		return plain
	}
	if ref, has := s["$ref"].(string); has {
		return plainSchema(root, resolveRef(root, ref), depth+1)
	}
	for _, word := range plainWords {
		if v, has := s[word]; has {
			plain[word] = v
		}
	}
	if properties, ok := flow.AsObject(s["properties"]); ok {
		plain["properties"], _ = properties.Replace(func(_ string, p any) (any, error) { return plainSchema(root, p, depth+1), nil })
	}
	if items, ok := flow.AsMap(s["items"]); ok && s["prefixItems"] == nil {
		plain["items"] = plainSchema(root, items, depth+1)
	}
	if more, has := s["additionalProperties"]; has && s["patternProperties"] == nil {
		plain["additionalProperties"] = more
		if _, isSchema := flow.AsMap(more); isSchema {
			plain["additionalProperties"] = plainSchema(root, more, depth+1)
		}
	}
	for _, word := range []string{"anyOf", "oneOf"} { // oneOf becomes anyOf, because several simplified schemas may match
		list, _ := s[word].([]any)
		if len(list) == 0 || plain["anyOf"] != nil {
			continue
		}
		described := make([]any, len(list))
		for i, p := range list {
			described[i] = plainSchema(root, p, depth+1)
		}
		plain["anyOf"] = described
	}
	return plain
}

// resolveRef resolves a local reference such as #/$defs/item, or returns nil.
func resolveRef(root any, ref string) any {
	path, local := strings.CutPrefix(ref, "#")
	if !local {
		return nil
	}
	at := root
	for _, name := range strings.Split(path, "/")[1:] {
		at = value.Get(at, strings.NewReplacer("~1", "/", "~0", "~").Replace(name))
	}
	return at
}

// isRequired reports whether the schema of an object requires a member.
func isRequired(schema map[string]any, name string) bool {
	list, _ := schema["required"].([]any)
	return slices.ContainsFunc(list, func(v any) bool { return flow.Text(v) == name })
}
