package nodes

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/providers"
)

var schemaField = flow.Field{Name: "schema", Title: "Structured output (JSON Schema)", Type: flow.FieldJSON,
	Help: "A JSON Schema of an object. The answer is then JSON that fits it, and each of its properties is an output port. It refers to no other documents and has at most 64 KiB and 5,000 parts, each counted as often as it is referred to."}

// shapeChat grows an output port for each property of the typed schema, by
// name.
func shapeChat(n *flow.Node) flow.DynamicSchema {
	schema, _ := n.Config["schema"].(map[string]any)
	properties, _ := schema["properties"].(map[string]any)
	var shape flow.DynamicSchema
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if grows(name) {
			property, _ := properties[name].(map[string]any)
			shape.Outputs = append(shape.Outputs, propertyPort(name, property))
		}
	}
	return shape
}

// grows reports whether a property has a port of its own: some names are taken.
func grows(property string) bool {
	return property != "" && property != "text" && property != "json" && property != "finish" && property != flow.ErrorPort
}

func propertyPort(name string, property map[string]any) flow.Port {
	title, _ := property["title"].(string)
	help, _ := property["description"].(string)
	return flow.Port{Name: name, Title: cmp.Or(title, name), Help: cmp.Or(help, "The property "+name+" of the answer."), Type: propertyType(property["type"])}
}

// propertyType is the type of a port for a type of JSON Schema. What may be of
// several types, such as text or null, is any value.
func propertyType(kind any) flow.Type {
	switch kind {
	case "string":
		return flow.TypeText
	case "number", "integer":
		return flow.TypeNumber
	case "boolean":
		return flow.TypeBoolean
	case "array":
		return flow.TypeList
	}
	return flow.TypeJSON
}

func checkSchema(n *flow.Node) []flow.Problem {
	value := n.Config["schema"]
	if value == nil {
		return nil
	}
	if wrong := schemaProblem(value); wrong != "" {
		return []flow.Problem{{Pointer: "/schema", Code: "invalid", Detail: wrong}}
	}
	return nil
}

// readSchema takes an object, or by an edge a text that is one.
func readSchema(in *flow.In) (map[string]any, error) {
	value := in.Config["schema"]
	if text, isText := value.(string); isText {
		value, _ = flow.DecodeJSON([]byte(text)) // nil is no object
		if strings.TrimSpace(text) == "" {
			return nil, nil
		}
	} else if value == nil {
		return nil, nil
	}
	if wrong := schemaProblem(value); wrong != "" {
		return nil, flow.Errorf(flow.CodeInputInvalid, "The schema cannot be used: %s.", wrong)
	}
	schema, _ := value.(map[string]any)
	return schema, nil
}

// schemaProblem says what is wrong with a schema, empty when nothing is.
func schemaProblem(value any) string {
	schema, ok := value.(map[string]any)
	if !ok || schema["type"] != "object" {
		return `wanted a JSON Schema of an object, such as {"type": "object", "properties": {"answer": {"type": "string"}}}`
	}
	if err := providers.CheckSchema(schema); err != nil {
		return err.Error()
	}
	return ""
}
