package nodes

import "sluice/flow"

// The note kind is a comment on the canvas. It has no ports and never runs.
var _ = register(func(Deps) flow.Kind {
	return flow.Kind{
		Name: "note", Title: "Note", Group: groupCanvas, Icon: "sticky-note", Role: flow.RoleCanvas,
		Summary: "A comment on the canvas.",
		Doc:     "Explains a flow to the people who read it. It has no ports and no effect on runs. It is exported with the flow.",
		Fields: []flow.Field{
			{Name: "text", Title: "Text", Type: flow.FieldArea, Typed: true, Default: "", Help: "The text, in Markdown."},
			{Name: "width", Title: "Width", Type: flow.FieldInteger, Typed: true, More: true, Min: ptr(120), Max: ptr(2000),
				Help: "Width on the canvas. You can also drag the lower right corner."},
			{Name: "height", Title: "Height", Type: flow.FieldInteger, Typed: true, More: true, Min: ptr(60), Max: ptr(2000),
				Help: "Minimum height. The note grows with its text."},
		},
		Example: flow.Example{Config: map[string]any{"text": "Labels below 0.5 go to a person."}},
	}
})
