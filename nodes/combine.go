package nodes

import (
	"context"
	"strings"

	"sluice/flow"
)

// Options of the field "to".
const (
	combineText   = "text"
	combineList   = "list"
	combineObject = "object"
)

// The combine kind merges several values into one.
var _ = register(func(Deps) flow.Kind {
	return flow.Kind{
		Name: "combine", Title: "Combine", Group: groupText, Icon: "combine",
		Summary: "Combines several values into one text, list or object.",
		Doc: "Takes the values of all edges, in their order. As *text*, they are joined with a separator; values that are not text are written as JSON. As *list*, each value " +
			"becomes an item. As *object*, the members of all objects are merged; if a name occurs twice, the later one wins.\n\n" +
			"If the only value is a list, its items are combined.",
		Fields: []flow.Field{
			{Name: "to", Title: "Combine to", Type: flow.FieldSelect, Typed: true, Default: combineText, Options: []string{combineText, combineList, combineObject}, Help: "What to make of the values."},
		},
		DynamicSchema: combineSchema,
		Inputs:        []flow.Port{{Name: "values", Title: "Values", Type: flow.TypeAny, Required: true, List: true, Help: "The values, in the order of the edges."}},
		Example: flow.Example{
			Config:  map[string]any{"to": combineText, "separator": ", "},
			Ports:   map[string]any{"values": []any{"red", "green", flow.Number(3)}},
			Outputs: map[string]any{"text": "red, green, 3"},
		},
		Run: combine,
	}
})

// combineSchema declares the fields and the output port for the chosen option of "to".
func combineSchema(n *flow.Node) flow.DynamicSchema {
	switch n.Config["to"] {
	case combineList:
		return flow.DynamicSchema{Outputs: []flow.Port{{Name: "list", Title: "List", Type: flow.TypeList, Help: "All values."}}}
	case combineObject:
		return flow.DynamicSchema{Outputs: []flow.Port{{Name: "json", Title: "JSON", Type: flow.TypeJSON, Help: "The merged object."}}}
	}
	return flow.DynamicSchema{
		Fields: []flow.Field{
			{Name: "separator", Title: "Separator", Type: flow.FieldText, Default: `\n`, Help: `The text between values. Write \n for a line break and \t for a tab.`},
			{Name: "prefix", Title: "Prefix", Type: flow.FieldText, Default: "", Help: "A text before the first value."},
			{Name: "suffix", Title: "Suffix", Type: flow.FieldText, Default: "", Help: "A text after the last value."},
		},
		Outputs: []flow.Port{{Name: "text", Title: "Text", Type: flow.TypeText, Help: "The values, joined."}},
	}
}

// combine merges the values that were not skipped. If the only value is a list, it combines
// the items, so that the output of a map can be combined.
func combine(_ context.Context, in *flow.In) (flow.Out, error) {
	values, _ := in.Ports["values"].([]any)
	if len(values) == 1 {
		if list, isList := values[0].([]any); isList {
			values = list
		}
	}
	switch in.Text("to") {
	case combineList:
		if len(values) > maxListItems {
			return flow.Out{}, errTooManyItems()
		}
		return flow.Out{Outputs: map[string]any{"list": values}}, nil
	case combineObject:
		return mergeObjects(values)
	}
	var b strings.Builder
	b.WriteString(separatorSigns.Replace(in.Text("prefix")))
	separator := separatorSigns.Replace(in.Text("separator"))
	for i, v := range values {
		if i > 0 {
			b.WriteString(separator)
		}
		if b.WriteString(flow.Text(v)); b.Len() > flow.MaxTextBytes {
			return flow.Out{}, errTooMuchText()
		}
	}
	b.WriteString(separatorSigns.Replace(in.Text("suffix")))
	return flow.Out{Outputs: map[string]any{"text": b.String()}}, nil
}

// mergeObjects merges objects; later members replace earlier ones.
func mergeObjects(values []any) (flow.Out, error) {
	merged := &flow.Object{}
	for i, v := range values {
		object, isObject := flow.AsObject(v)
		if !isObject {
			return flow.Out{}, flow.Errorf(flow.CodeInputInvalid, "Value %d is a %s. Only objects can be merged; combine others to a list.", i+1, flow.TypeOf(v))
		}
		for name, item := range object.All() {
			merged.Set(name, item)
		}
	}
	return flow.Out{Outputs: map[string]any{"json": merged}}, nil
}
