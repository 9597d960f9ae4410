package pinned

import (
	"fmt"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/sorting"
	"sluice/flow/value"
	"sluice/providers/hosted"
)

// Ref returns the model that a node names, at the version that the node is pinned to.
func Ref(config map[string]any) (hosted.Ref, error) {
	ref, err := hosted.ParseRef(flow.Text(config["model"]))
	if err != nil {
		return ref, err
	}
	if version := strings.ToLower(strings.TrimSpace(flow.Text(config["version"]))); ref.Version == "" && version != "" {
		return hosted.ParseRef(ref.Path() + ":" + version)
	}
	if schema, _ := flow.AsMap(config["schema"]); ref.Version == "" {
		ref.Version = flow.Text(schema["version"])
	}
	return ref, nil
}

// Check checks the reference, the pinned version and the typed inputs against the
// model's form, without a request.
func Check(n *flow.Node) []flow.Problem {
	if n.Config["model"] == nil || n.Config["model"] == "" {
		return nil // reported as missing
	}
	var problems []flow.Problem
	add := func(at, code, format string, args ...any) {
		problems = append(problems, flow.Problem{Pointer: flow.Pointer(at), Code: code, Detail: fmt.Sprintf(format, args...)})
	}
	named, err := hosted.ParseRef(flow.Text(n.Config["model"]))
	if err != nil {
		add("model", "invalid", "%v", err)
		return problems
	}
	ref, err := Ref(n.Config)
	typed := flow.Text(n.Config["version"])
	switch {
	case err != nil:
		add("version", "invalid", "%v", err)
	case named.Version != "" && typed != "" && !strings.EqualFold(named.Version, typed):
		add("version", "invalid", "the model names another version; remove one of them")
	}
	problems = append(problems, checkAllInputs(n.Config[AllInputs])...)
	if n.Config["schema"] == nil {
		return problems
	}
	pin, why := Read(n.Config["schema"])
	switch {
	case why != "":
		add("schema", "invalid", "%s", why)
	case pin.Version != "" && ref.Version != "" && !strings.EqualFold(pin.Version, ref.Version):
		add("schema", "invalid", "this is the schema of version %.12s…, but the node is pinned to version %.12s…; choose the model again", pin.Version, ref.Version)
	case pin.Form.Incompatible != "":
		add("model", string(flow.CodeModelIncompatible), "%s", pin.Form.Incompatible)
	default:
		problems = append(problems, checkValues(n, pin.Form)...)
	}
	return problems
}

// checkAllInputs requires an object without secrets, because they would be stored unencrypted
// in the flow.
func checkAllInputs(value any) []flow.Problem {
	if text, isText := value.(string); value == nil || isText && strings.Contains(text, "{{") || value == "" {
		return nil
	}
	object, ok := flow.AsMap(value)
	if !ok {
		return []flow.Problem{{Pointer: flow.Pointer(AllInputs), Code: "wrong_type", Detail: "wanted a JSON object with the model's inputs by name"}}
	}
	var problems []flow.Problem
	for _, name := range sorting.Keys(object) {
		if UnknownField(name).Type == flow.FieldSecret {
			problems = append(problems, flow.Problem{Pointer: flow.Pointer(AllInputs, name), Code: "invalid", Detail: "a secret would stay readable here; connect or set it as " + InputPrefix + name})
		}
	}
	return problems
}

// checkValues validates typed values against the model's schema. Values from templates and
// edges are checked when the node runs.
func checkValues(n *flow.Node, form *hosted.Form) []flow.Problem {
	typed := map[string]any{}
	all, _ := flow.AsMap(n.Config[AllInputs])
	for field, value := range all {
		if !FillsIn(value) {
			typed[field] = value
		}
	}
	for name, value := range n.Config {
		field, isInput := strings.CutPrefix(name, InputPrefix)
		if isInput && !FillsIn(value) {
			typed[field] = value
		}
	}
	var problems []flow.Problem
	for _, p := range form.Check(WithSampleURLs(form, Coerce(form, typed))) {
		problems = append(problems, flow.Problem{Pointer: flow.Pointer(InputPrefix + p.Field), Code: "invalid", Detail: p.Detail})
	}
	return problems
}

// FillsIn reports whether a value contains a template, at any depth.
func FillsIn(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(v, "{{")
	case []any:
		return slices.ContainsFunc(v, FillsIn)
	case *flow.Object, map[string]any:
		for _, item := range value.Members(v) {
			if FillsIn(item) {
				return true
			}
		}
	}
	return false
}
