package reference

import (
	"slices"

	"sluice/flow"
	"sluice/flow/document"
)

// schema is a JSON Schema, written as a map to keep the code close to the result.
type schema = map[string]any

// dialect is draft 7, the version of JSON Schema that editors support best.
const dialect = "http://json-schema.org/draft-07/schema#"

// Schema returns the JSON Schema of flow documents, as far as it follows from the
// declarations of the kinds: editors complete and check files with it. It accepts every
// document that Sluice accepts, and some invalid ones: missing values that an edge could
// provide, dangling edges and duplicate names are only found by "sluice flow validate". id
// is the URL of the schema, or "".
func Schema(kinds *flow.Registry, id string) map[string]any {
	definitions, names, summaries, rules := schema{"credential": credentialSchema()}, []string{}, []string{}, []schema{}
	for _, k := range kinds.List() {
		names, summaries = append(names, k.Name), append(summaries, k.Summary)
		definitions["config_"+k.Name] = configSchema(k)
		rules = append(rules, schema{
			"if":   schema{"required": []string{"kind"}, "properties": schema{"kind": schema{"const": k.Name}}},
			"then": schema{"properties": schema{"config": ref("config_" + k.Name)}},
		})
	}
	definitions["node"] = nodeSchema(names, summaries, rules)
	document := object(schema{
		"$schema":     text("The URL or path of the JSON Schema, for editors. Sluice does not store it."),
		"schema":      schema{"const": flow.Schema, "description": "The format of the document."},
		"slug":        schema{"type": "string", "maxLength": document.MaxSlug, "pattern": "^[a-z0-9](-?[a-z0-9])*$", "description": "Name of the flow in URLs. Default: made from the name."},
		"name":        schema{"type": "string", "minLength": 1, "description": "Name of the flow."},
		"description": text("What the flow does, for people."),
		"nodes":       schema{"type": "array", "maxItems": flow.MaxNodes, "items": ref("node")},
		"edges":       schema{"type": "array", "maxItems": flow.MaxEdges, "items": edgeSchema()},
		"groups":      schema{"type": "array", "items": groupSchema()},
	}, "schema", "name", "nodes")
	document["$schema"], document["title"], document["definitions"] = dialect, "Flow of Sluice", definitions
	if id != "" {
		document["$id"] = id
	}
	return document
}

// nodeSchema describes a node. rules choose the schema of its config by its kind.
func nodeSchema(kinds, summaries []string, rules []schema) schema {
	values := schema{"type": "object", "description": "Values of output ports, by name."}
	node := object(schema{
		"id":        schema{"type": "string", "pattern": flow.NodeIDPattern.String(), "description": "Unique in the document; edges refer to it."},
		"kind":      schema{"type": "string", "enum": kinds, "enumDescriptions": summaries, "description": "What the node does."},
		"label":     text("Shown on the canvas in place of the title of the kind."),
		"color":     text("Of the node on the canvas."),
		"disabled":  schema{"type": "boolean", "description": "Runs skip the node."},
		"timeout_s": schema{"type": "number", "minimum": 0, "maximum": flow.MaxNodeTimeoutS, "description": "Time limit of a step in seconds."},
		"position":  object(schema{"x": schema{"type": "number"}, "y": schema{"type": "number"}}),
		"retry": object(schema{
			"attempts":  schema{"type": "integer", "minimum": 1, "maximum": flow.MaxRetryAttempts, "description": "Maximum number of attempts, the first included."},
			"backoff_s": schema{"type": "number", "minimum": 0, "maximum": flow.MaxBackoffS, "description": "Pause after the first failure in seconds; doubled after each."},
		}, "attempts"),
		"on_error": schema{"description": "What a failed step does to the run.", "anyOf": []schema{
			{"enum": []string{"fail", "route"}}, object(schema{"continue": values}, "continue"),
		}},
		"tool":   toolSchema(),
		"config": schema{"type": []string{"object", "null"}, "description": "The fields of the kind."},
	}, "id", "kind")
	node["allOf"] = rules
	return node
}

// toolSchema describes the setting of a node that is a tool of agents.
func toolSchema() schema {
	param := object(schema{"description": text("Of the parameter, for the model."), "schema": schema{"type": "object", "description": "JSON Schema of the value."}})
	tool := object(schema{
		"name":        schema{"type": "string", "pattern": "^[a-z0-9_]{1,48}$", "description": "As the model calls it; the ID of the node if it is missing."},
		"description": schema{"type": "string", "maxLength": flow.MaxToolDescription, "description": "When to call the tool and what it returns, for the model."},
		"params":      schema{"type": "object", "additionalProperties": param, "description": "What the model fills, by input port."},
		"effect":      schema{"enum": []flow.Effect{flow.EffectRead, flow.EffectWrite}, "description": "Whether a call changes something."},
		"on_crash":    schema{"enum": []string{flow.OnCrashRepeat, flow.OnCrashOnce}, "description": "Whether a call that a crash interrupted is made again."},
		"on_error":    schema{"enum": []string{flow.ToolErrorModel, flow.ToolErrorFail}, "description": "Whether the model gets an error, or the agent fails."},
		"approval":    schema{"type": "string", "maxLength": 2000, "description": "When people are asked before a call: auto (before a write, once the conversation has content from outside), always, never, or a condition over the arguments, such as amount > 50."},
		"editable":    schema{"type": "array", "items": schema{"type": "string"}, "description": "Arguments that people may change before they allow a call."},
		"hosts":       schema{"type": "array", "items": schema{"type": "string"}, "description": "Hosts that calls may reach, such as api.example.com; without it, all."},
		"max_calls":   schema{"type": "integer", "minimum": 1, "maximum": flow.MaxToolCalls, "description": "Maximum number of calls in one run of the agent."},
	}) // the tools of an MCP server have descriptions of their own
	tool["description"] = "Makes the node a tool: an edge leads from its port \"tool\" to the port \"tools\" of an agent."
	return tool
}

// edgeSchema returns the schema of an edge, whose ends are references node.port.
func edgeSchema() schema {
	end := func(description string) schema {
		return schema{"type": "string", "pattern": `^[a-z0-9_-]{1,64}\..+$`, "description": description}
	}
	return object(schema{"from": end("node.port of the output."), "to": end("node.port of the input.")}, "from", "to")
}

// groupSchema returns the schema of a frame around nodes.
func groupSchema() schema {
	return object(schema{"id": text("Unique among the groups."), "label": text("Title of the frame."), "color": text("Color of the frame."),
		"nodes": schema{"type": "array", "items": schema{"type": "string"}, "description": "IDs of the nodes in the frame."}}, "id", "nodes")
}

// configSchema describes the config of a kind. The config of some kinds declares
// further fields; their example shows whether it does.
func configSchema(k *flow.Kind) schema {
	properties, required := schema{}, []string{}
	for i := range k.Fields {
		f := &k.Fields[i]
		properties[f.Name] = fieldSchema(f)
		if f.Required && f.Typed && f.Default == nil {
			required = append(required, f.Name) // no edge can provide it
		}
	}
	s := object(properties, required...)
	s["type"] = []string{"object", "null"}
	if grows(k) {
		delete(s, "additionalProperties")
	}
	return s
}

// grows reports whether the config of a node can declare further fields.
func grows(k *flow.Kind) bool {
	if k.Open != "" {
		return true
	}
	return k.DynamicSchema != nil && len(k.DynamicSchema(&flow.Node{ID: "example", Kind: k.Name, Config: k.Example.Config}).Fields) > 0
}

// fieldSchema describes the values that Field.Check accepts.
func fieldSchema(f *flow.Field) schema {
	s := schema{}
	switch {
	case f.Type == flow.FieldSecret:
		s["anyOf"] = []schema{ref("credential"), {"type": "string"}}
	case f.Type == flow.FieldMap:
		item := schema{"anyOf": []schema{{"type": []string{"string", "number", "boolean", "null"}}, ref("credential")}}
		s["type"], s["additionalProperties"] = "object", schema{"anyOf": []schema{item, {"type": "array", "items": item}}}
	case f.Values != nil:
		s["enum"] = f.Values
	case f.Type == flow.FieldSelect:
		s["enum"] = f.Options
	default:
		if types := valueTypes(f); types != nil {
			s["type"] = types
		}
	}
	s["title"], s["description"] = f.Title, f.Help
	if f.Default != nil {
		s["default"] = f.Default
	}
	if slices.Contains([]flow.FieldType{flow.FieldNumber, flow.FieldInteger}, f.Type) {
		bound(s, f, "minimum", "maximum")
	} else if f.Type == flow.FieldList {
		bound(s, f, "minItems", "maxItems")
	}
	return s
}

// bound adds the bounds of a field. least and most are the keywords for its type, such as
// minLength and maxLength.
func bound(s schema, f *flow.Field, least, most string) {
	if f.Min != nil {
		s[least] = *f.Min
	}
	if f.Max != nil {
		s[most] = *f.Max
	}
}

// valueTypes returns the JSON types that a field accepts, or nil if it accepts any.
func valueTypes(f *flow.Field) any {
	switch f.Type {
	case flow.FieldText, flow.FieldArea:
		if f.Value == flow.TypeAny || f.Value == flow.TypeJSON {
			return nil
		}
		return "string"
	case flow.FieldValueType, flow.FieldModel:
		return "string"
	case flow.FieldNumber:
		return "number"
	case flow.FieldInteger:
		return "integer"
	case flow.FieldBoolean:
		return "boolean"
	case flow.FieldFile:
		if f.Value == flow.TypeSource {
			return []string{"object", "string"}
		}
		return "object"
	case flow.FieldList:
		types := []string{"array"}
		if f.Value.Is("text") {
			types = append(types, "string")
		}
		if f.Value.Is(map[string]any{"file": "file_example"}) {
			types = append(types, "object")
		}
		return types
	}
	return nil
}

// credentialSchema describes a reference to a credential.
func credentialSchema() schema {
	return object(schema{"credential": schema{"type": "string", "minLength": 1, "description": "Name of a credential. Secrets are never stored in a document."}}, "credential")
}

// object returns the schema of an object without additional properties.
func object(properties schema, required ...string) schema {
	s := schema{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// text returns the schema of a string with a description.
func text(description string) schema { return schema{"type": "string", "description": description} }

// ref returns a reference to a schema under "definitions".
func ref(name string) schema { return schema{"$ref": "#/definitions/" + name} }
