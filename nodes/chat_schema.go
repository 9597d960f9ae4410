package nodes

import (
	"cmp"
	"strings"

	"sluice/flow"
	"sluice/flow/value"
	"sluice/providers"
)

// schemaField is checked in the draft (checkSchema) and again when the step
// runs, because an edge may provide the schema.
var schemaField = flow.Field{Name: "schema", Title: "Structured output (JSON Schema)", Type: flow.FieldJSON,
	Help: "The answer follows this schema; each property becomes an output port."}

// chatPorts adds an output port for each property of the typed schema, in the order of the schema.
func chatPorts(n *flow.Node) flow.DynamicSchema {
	schema, _ := flow.AsMap(n.Config["schema"])
	var shape flow.DynamicSchema
	for name, v := range value.Members(schema["properties"]) {
		if hasOwnPort(name) {
			property, _ := flow.AsMap(v)
			port := propertyPort(name, property)
			port.Schema, port.Optional = plainSchema(schema, property, 0), !isRequired(schema, name)
			if shown := propertyType(port.Schema["type"]); shown != port.Type { // of a reference
				port.Shown = shown
			}
			shape.Outputs = append(shape.Outputs, port)
		}
	}
	if schema != nil {
		shape.Outputs = append(shape.Outputs, flow.Port{Name: "json", Type: flow.TypeJSON, Help: "The answer as a value.", Schema: plainSchema(schema, schema, 0)})
	}
	return shape
}

// hasOwnPort reports whether a property gets an output port. The names of the fixed
// ports are reserved.
func hasOwnPort(property string) bool {
	return property != "" && property != "text" && property != "json" && property != "finish" && property != flow.ErrorPort
}

// propertyPort derives the port of a property from its title, description and
// type.
func propertyPort(name string, property map[string]any) flow.Port {
	title, _ := property["title"].(string)
	help, _ := property["description"].(string)
	return flow.Port{Name: name, Title: cmp.Or(title, name), Help: cmp.Or(help, "The property "+name+" of the answer."), Type: propertyType(property["type"])}
}

// propertyType maps a JSON Schema type to a port type. A union such as text or
// null maps to JSON, which accepts any value.
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

// checkSchema reports a typed schema that is invalid.
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

// readSchema returns the schema, which is an object or, from an edge, the JSON
// text of one. It returns nil if there is no schema.
func readSchema(in *flow.In) (any, error) {
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
	return value, nil
}

// schemaProblem describes why a schema is invalid; it returns "" for a valid
// one.
func schemaProblem(value any) string {
	schema, ok := flow.AsObject(value)
	if !ok || schema.Get("type") != "object" {
		return `wanted a JSON Schema of an object, such as {"type": "object", "properties": {"answer": {"type": "string"}}}`
	}
	if err := providers.CheckSchema(schema); err != nil {
		return err.Error()
	}
	return ""
}
