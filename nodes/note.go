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
			{Name: "width", Title: "Width", Type: flow.FieldInteger, Typed: true, More: true, Min: ptr(120), Max: ptr(2000),
				Help: "How wide the note is on the canvas. Drag its lower right corner, or type it."},
			{Name: "height", Title: "Height", Type: flow.FieldInteger, Typed: true, More: true, Min: ptr(60), Max: ptr(2000),
				Help: "How high the note is at least. A longer text makes it higher."},
		},
		Example: flow.Example{Config: map[string]any{"text": "Labels below 0.5 go to a person."}},
	}
})
