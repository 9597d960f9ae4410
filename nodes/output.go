package nodes

import "sluice/flow"

// The output kind makes a value a result of the run. It also outputs the value,
// so that other nodes can use it.
var _ = register(func(Deps) flow.Kind {
	return flow.Kind{
		Name: "output", Title: "Output", Group: groupAPI, Icon: "log-out", Role: flow.RoleOutput,
		Summary: "An output of the flow: one field of the result.",
		Doc: "Every output node is one field of the run's outputs, set as soon as its value is known. " +
			"An output whose branch was not taken is absent from the result. Several edges may end here, one for each branch of a condition: the first one " +
			"that was not skipped counts.\n\n" +
			"The value is passed on unchanged, so an output can also feed other nodes.",
		Fields: []flow.Field{
			{Name: "name", Title: "API name", Type: flow.FieldText, Typed: true, Required: true,
				Help: "Field name in the API. Letters, digits, _ and -."},
			{Name: "reply", Title: "Reply", Type: flow.FieldBoolean, Typed: true, Default: false, More: true,
				Help: "Makes this output the answer in a chat. Off everywhere: the first text output answers."},
		},
		Inputs: []flow.Port{{Name: "value", Title: "Value", Type: flow.TypeAny, Required: true, List: true, First: true,
			Help: "The value to return under this name; of several edges, the first that was not skipped."}},
		Outputs: []flow.Port{{Name: "value", Title: "Value", Type: flow.TypeAny, Passes: "value", Help: "The same value."}},
		Example: flow.Example{
			Config:  map[string]any{"name": "answer"},
			Ports:   map[string]any{"value": "It arrives on Tuesday."},
			Outputs: map[string]any{"value": "It arrives on Tuesday."},
		},
		Run: firstOf("value"),
	}
})
