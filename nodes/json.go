package nodes

import (
	"context"

	"sluice/flow"
	"sluice/flow/value"
)

// Options of the field "do".
const (
	jsonParse = "parse a text"
	jsonBuild = "build an object"
	jsonPick  = "pick fields"
)

// jsonPorts are reserved: members cannot have these names.
var jsonPorts = []string{"do", "from", "json", "members"}

// The json kind parses JSON, builds objects and picks members.
var _ = register(func(Deps) flow.Kind {
	return flow.Kind{
		Name: "json", Title: "JSON", Group: groupText, Icon: "file-json",
		Summary: "Parses JSON, builds an object, or picks members of one.",
		Doc: "Parses JSON text (*parse a text*), builds an object with a member for each name under *Members* (*build an object*; each name becomes an input port), " +
			"or outputs members of an object (*pick fields*; each name becomes an output port, and a missing member has no value).\n\n" +
			"To find JSON within the answer of a model, use *Extract*.",
		Fields: []flow.Field{
			{Name: "do", Title: "Do", Type: flow.FieldSelect, Typed: true, Default: jsonParse, Options: []string{jsonParse, jsonBuild, jsonPick}, Help: "What to do."},
		},
		DynamicSchema: jsonSchema,
		Outputs:       []flow.Port{{Name: "json", Title: "JSON", Type: flow.TypeAny, Help: "The value, or the object."}},
		Example: flow.Example{
			Config:  map[string]any{"do": jsonParse, "from": `{"city": "Oslo", "days": 3}`},
			Outputs: map[string]any{"json": map[string]any{"city": "Oslo", "days": flow.Number(3)}},
		},
		Check: func(n *flow.Node) []flow.Problem { return checkPortNames(n, "members", jsonPorts) },
		Run:   convertJSON,
	}
})

// jsonSchema declares the fields and ports for the chosen option of "do".
func jsonSchema(n *flow.Node) flow.DynamicSchema {
	names := portNames(n.Config["members"])
	members := flow.Field{Name: "members", Title: "Members", Type: flow.FieldList, Typed: true, Required: true, Help: "Names of members. Each becomes a port."}
	switch n.Config["do"] {
	case jsonBuild:
		return flow.DynamicSchema{Fields: append([]flow.Field{members}, namedInputs(names, jsonPorts, "The value of this member.")...)}
	case jsonPick:
		return flow.DynamicSchema{
			Fields:  []flow.Field{members, {Name: "from", Title: "From", Type: flow.FieldJSON, Required: true, Help: "The object, or its JSON as a text."}},
			Outputs: namedOutputs(names, jsonPorts, "The value of this member."),
		}
	}
	return flow.DynamicSchema{Fields: []flow.Field{{Name: "from", Title: "Text", Type: flow.FieldArea, Value: flow.TypeAny, Template: true, Required: true, Help: "The JSON to parse."}}}
}

// convertJSON builds an object, parses a text, or outputs the chosen members of an object. A
// missing member is not an error and has no output.
func convertJSON(_ context.Context, in *flow.In) (flow.Out, error) {
	names := portNames(in.Config["members"])
	if in.Text("do") == jsonBuild {
		object := &flow.Object{}
		for _, name := range names {
			object.Set(name, in.Config[name])
		}
		return flow.Out{Outputs: map[string]any{"json": object}}, nil
	}
	from := in.Config["from"]
	if text, isText := from.(string); isText {
		var err error
		if from, err = flow.DecodeReceived([]byte(text)); err != nil {
			return flow.Out{}, flow.Errorf(flow.CodeInputInvalid, "The text is not JSON: %s. To find JSON within a text, use Extract.", err)
		}
	}
	outputs := map[string]any{"json": from}
	if in.Text("do") == jsonPick {
		if !value.IsObject(from) {
			return flow.Out{}, flow.Errorf(flow.CodeInputInvalid, "Members can only be picked from an object, got a %s.", flow.TypeOf(from))
		}
		for _, name := range names {
			if member, exists := value.Lookup(from, name); exists {
				outputs[name] = member
			}
		}
	}
	return flow.Out{Outputs: outputs}, nil
}
