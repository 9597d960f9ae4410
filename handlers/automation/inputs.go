package automation

import (
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/flow/triggers"
	"sluice/flow/wording"
	view "sluice/views/automation"
	"sluice/views/components"
)

// inputsOf returns the inputs of the live version, or of the draft before the first publish.
func (c *call) inputsOf(f *flow.Flow) ([]contract.Input, error) {
	if f.LiveVersion > 0 {
		return c.s.Inputs(c.Ctx(), f.WorkspaceID, f.LiveHash)
	}
	doc, _ := document.ParseDocument(f.Draft)
	if doc == nil {
		return nil, nil
	}
	return contract.Inputs(doc, c.s.Kinds), nil
}

// refusals returns why the live version of a flow would refuse the inputs of a trigger at its next planned time, as sentences. inputs are
// those of inputsOf, and zone is the time zone of the workspace.
func (c *call) refusals(f *flow.Flow, t *triggers.Trigger, zone string, inputs []contract.Input) (list []string) {
	if f.LiveVersion == 0 {
		return nil
	}
	for _, p := range c.s.triggers.InputProblems(c.Ctx(), t, zone, inputs) {
		list = append(list, wording.Sentence(p.Detail))
	}
	return list
}

// withStored adds the values that a trigger has for inputs which the flow does not have, so that they can be seen and left out.
func withStored(inputs []contract.Input, values *flow.Object) []contract.Input {
	list := slices.Clone(inputs)
	for name, v := range values.All() {
		if slices.ContainsFunc(inputs, func(in contract.Input) bool { return in.Name == name }) {
			continue
		}
		in := contract.Input{Name: name}
		if _, ok := v.(string); ok {
			in.Type = flow.TypeText
		}
		list = append(list, in)
	}
	return list
}

// inputFields returns the fields that say what the inputs of a flow are made of.
func inputFields(inputs []contract.Input, values *flow.Object, sources []components.Option) (list []view.InputField) {
	unknown := slices.Clone(sources)
	unknown[0].Label = "Leave out"
	for i, in := range withStored(inputs, values) {
		f := view.InputField{Name: in.Name, Type: string(in.Type), Required: in.Required, Sources: sources}
		if i >= len(inputs) {
			f.Sources = unknown
		}
		if v, ok := values.Lookup(in.Name); ok {
			f.Source, f.Text = sourceOf(v, &in, sources)
		}
		list = append(list, f)
	}
	return list
}

// sourceOf returns the choice and the text that stand for a value or an expression.
func sourceOf(v any, in *contract.Input, sources []components.Option) (source, text string) {
	if o, ok := v.(*flow.Object); ok && o.Len() == 1 {
		if expression, ok := o.Get("cel").(string); ok {
			if slices.ContainsFunc(sources, func(s components.Option) bool { return s.Value == expression }) {
				return expression, ""
			}
			return "cel", expression
		}
	}
	if s, ok := v.(string); ok && isText(in) {
		return "value", s
	}
	return "value", string(flow.EncodeJSON(v))
}

// isText reports whether values of an input are written without quotes.
func isText(in *contract.Input) bool { return in.Type == flow.TypeText }

// readInputs reads these fields.
func readInputs(c *call, inputs []contract.Input, stored *flow.Object) (values *flow.Object, wrong map[string]string) {
	values, wrong = &flow.Object{}, map[string]string{}
	for _, in := range withStored(inputs, stored) {
		source, text := c.FormValue("source."+in.Name), strings.TrimSpace(c.FormValue("text."+in.Name))
		switch source {
		case "":
			continue
		case "value":
			if isText(&in) {
				values.Set(in.Name, c.FormValue("text."+in.Name))
				continue
			}
			v, err := flow.DecodeJSON([]byte(text))
			if err != nil {
				wrong[in.Name] = "Enter a value such as 3, true or [\"a\", \"b\"]."
				continue
			}
			values.Set(in.Name, v)
			continue
		case "cel":
			if source = text; text == "" {
				wrong[in.Name] = "Enter an expression."
				continue
			}
		}
		o := &flow.Object{}
		o.Set("cel", source)
		values.Set(in.Name, o)
	}
	if values.Len() == 0 {
		values = nil
	}
	return values, wrong
}
