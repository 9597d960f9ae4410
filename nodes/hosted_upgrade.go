package nodes

import (
	"maps"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/sorting"
	"sluice/flow/value"
	"sluice/nodes/pinned"
	"sluice/providers/hosted"
)

// PinModel sets the model of a node and stores its version and schema, so that
// the node keeps working when the model changes. Typed inputs are kept. For a
// model that cannot be used it returns an error with CodeModelIncompatible and
// leaves the node unchanged.
func PinModel(n *flow.Node, m *hosted.Model) error {
	form := hosted.NewForm(m)
	if form.Incompatible != "" {
		return flow.Errorf(flow.CodeModelIncompatible, "%s Model: %s.", form.Incompatible, m.Path())
	}
	schema, err := keepSchema(m)
	if err != nil {
		return err
	}
	if n.Config == nil {
		n.Config = map[string]any{}
	}
	n.Config["model"], n.Config["schema"] = m.Path(), schema
	if form.Open {
		delete(n.Config, "schema") // the model has no schema
	}
	delete(n.Config, "version")
	if m.Version != "" && !m.Official { // official models have no version to pin
		n.Config["version"] = m.Version
	}
	return nil
}

// keepSchema returns the schema that a node stores, a deep copy; pinned.ModelOf
// reads it.
func keepSchema(m *hosted.Model) (map[string]any, error) {
	shared := maps.Clone(m.All)
	delete(shared, "Input")
	delete(shared, "Output")
	schema := map[string]any{"version": m.Version, "input": m.Input}
	if m.Output != nil {
		schema["output"] = m.Output
	}
	if len(shared) > 0 {
		schema["all"] = shared
	}
	if m.Official {
		schema["official"] = true
	}
	text := flow.EncodeJSON(schema)
	if len(text) > pinned.MaxBytes {
		return nil, flow.Errorf(flow.CodeModelIncompatible, "The schema of %s is larger than 256 KiB, so it cannot be stored. Use the model without a schema.", m.Path())
	}
	kept, err := flow.DecodeJSON(text)
	if err != nil {
		return nil, flow.Errorf(flow.CodeModelIncompatible, "The schema of %s cannot be stored: %v. Choose another version of the model.", m.Path(), err)
	}
	object, _ := flow.AsMap(kept)
	return object, nil
}

// Upgrade describes the effect of a new version of a model on a node.
type Upgrade struct {
	From, To string         // versions
	Changes  hosted.Changes // of the model
	// Values and Edges do not fit the new version. They are kept until the user
	// changes them.
	Values []Misfit
	Edges  []Misfit
}

// Misfit is a typed value or an edge that does not fit the new version.
type Misfit struct {
	Field string    `json:"field,omitempty"` // of the node's config
	Edge  flow.Edge `json:"edge,omitzero"`
	Why   string    `json:"why"`
}

// UpgradeModel changes the version of a node's model. All typed values and
// edges are kept; those that do not fit the new version are listed for the user
// to decide. The changes of the model are only known if the node stores a
// schema.
func UpgradeModel(n *flow.Node, edges []flow.Edge, newer *hosted.Model) (Upgrade, error) {
	up := Upgrade{To: newer.Version}
	if schema, ok := flow.AsMap(value.Plain(n.Config["schema"])); ok {
		old := pinned.ModelOf(schema)
		up.From, up.Changes = old.Version, hosted.Compare(old, newer)
	}
	if err := PinModel(n, newer); err != nil {
		return up, err
	}
	up.Values = misfitValues(n, hosted.NewForm(newer))
	up.Edges = misfitEdges(n, edges)
	return up, nil
}

// misfitValues returns the typed values that the form rejects. A value with
// references or a template is only checked by name, since its content is not
// known yet.
func misfitValues(n *flow.Node, form *hosted.Form) []Misfit {
	fixed, names := map[string]any{}, map[string]any{}
	for field, value := range n.Config {
		input, ok := strings.CutPrefix(field, pinned.InputPrefix)
		switch {
		case !ok:
		case pinned.FillsIn(value):
			names[input] = nil // only the name can be checked
		default:
			fixed[input] = value
		}
	}
	var list []Misfit
	for _, p := range append(form.Check(pinned.WithSampleURLs(form, pinned.Coerce(form, fixed))), form.Check(names)...) {
		list = append(list, Misfit{Field: pinned.InputPrefix + p.Field, Why: p.Detail})
	}
	sorting.By(list, func(a, b Misfit) int { return strings.Compare(a.Field, b.Field) })
	return list
}

// misfitEdges returns the edges whose port no longer exists.
func misfitEdges(n *flow.Node, edges []flow.Edge) []Misfit {
	k := flow.NewRegistry(hostedKind(Deps{}, defaultTiming)).For(n)
	var list []Misfit
	for _, e := range edges {
		to, in, _ := strings.Cut(e.To, ".")
		from, out, _ := strings.Cut(e.From, ".")
		switch {
		case to == n.ID && !hasPort(flow.InputPorts(n, k), in):
			list = append(list, Misfit{Edge: e, Why: "The model no longer has an input " + strings.TrimPrefix(in, pinned.InputPrefix) + "."})
		case from == n.ID && !hasPort(flow.OutputPorts(n, k), out):
			list = append(list, Misfit{Edge: e, Why: "The model no longer has an output " + out + "."})
		}
	}
	return list
}

// hasPort reports whether ports contains a name.
func hasPort(ports []flow.Port, name string) bool {
	return slices.ContainsFunc(ports, func(p flow.Port) bool { return p.Name == name })
}
