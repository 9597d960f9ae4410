package nodes

import "sluice/flow"

// The note kind is a remark on the canvas. It has no ports and never runs.
var _ = register(func(Deps) flow.Kind {
	return flow.Kind{
		Name: "note", Title: "Note", Group: groupCanvas, Icon: "sticky-note", Role: flow.RoleCanvas,
		Summary: "A remark on the canvas.",
		Doc:     "Explains a flow to the people who read it. It takes no part in a run and has no ports. It is exported with the flow.",
		Fields: []flow.Field{
			{Name: "text", Title: "Text", Type: flow.FieldArea, Typed: true, Default: "", Help: "The remark, in Markdown."},
		},
		Example: flow.Example{Config: map[string]any{"text": "Labels below 0.5 go to a person."}},
	}
})
