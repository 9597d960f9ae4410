package nodes

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/sorting"
	"sluice/nodes/pinned"
)

// This file holds the parts that the kinds subflow and map share: both run other flows as
// child runs.

// childWait is the fallback interval at which a step checks its children, in case a wake-up
// was lost.
const childWait = time.Hour

// outputPrefix precedes the port name of an output of the other flow that would collide with
// a port of the node. Inputs always have pinned.InputPrefix, as in hosted models.
const outputPrefix = "output."

// childFields returns the fields for choosing the flow and its version, followed by the
// fields of the kind itself.
func childFields(own ...flow.Field) []flow.Field {
	return append([]flow.Field{
		{Name: "flow", Title: "Flow", Type: flow.FieldFlow, Typed: true, Required: true, Help: "Only published flows are listed."},
		{Name: "version", Title: "Version", Type: flow.FieldInteger, Typed: true, More: true, Min: ptr(1),
			Help: "Empty: always the live version."},
	}, append(own, flow.Field{Name: "contract", Title: "Contract", Type: flow.FieldJSON, Typed: true, More: true,
		Help: "The inputs and outputs of the flow, which become ports. Sluice keeps it up to date."})...)
}

// contractPort is an input or output of the other flow, as stored in the field "contract".
type contractPort struct {
	name     string
	typ      flow.Type
	required bool
	optional bool           // of an output: a run may lack it; true in old contracts, which do not say
	schema   map[string]any // of an output: JSON Schema, if it is more specific than the type
}

// contractPorts reads the "inputs" or "outputs" of a stored contract.
func contractPorts(config map[string]any, list string) (ports []contractPort) {
	contract, _ := flow.AsMap(config["contract"])
	items, _ := contract[list].([]any)
	for _, item := range items {
		o, _ := flow.AsMap(item)
		name, _ := o["name"].(string)
		typ, _ := o["type"].(string)
		if name != "" && !slices.ContainsFunc(ports, func(p contractPort) bool { return p.name == name }) {
			schema, _ := flow.AsMap(o["schema"])
			ports = append(ports, contractPort{name, flow.Type(typ), o["required"] == true, o["optional"] != false, schema})
		}
	}
	return ports
}

// childSchema declares a field for each input and a port for each output of the contract.
// The fields of inputs named in over take a list. Without a contract, any input is accepted.
// own are the ports of the kind itself.
func childSchema(n *flow.Node, own, over []string) flow.DynamicSchema {
	var shape flow.DynamicSchema
	inputs := contractPorts(n.Config, "inputs")
	for _, p := range inputs {
		f := childField(p)
		if slices.Contains(over, p.name) {
			f.Type, f.Value, f.Template, f.Items, f.Help = flow.FieldList, flow.TypeList, false, true, "One value for each item."
		}
		shape.Fields = append(shape.Fields, f)
	}
	for _, p := range contractPorts(n.Config, "outputs") {
		shape.Outputs = append(shape.Outputs, flow.Port{Name: childOutput(p.name, own), Title: p.name, Type: portType(p.typ), Optional: p.optional, Schema: p.schema, Help: "The output " + p.name + " of the flow."})
	}
	if inputs != nil {
		return shape
	}
	shape.Open = pinned.InputPrefix
	for _, input := range pinned.Inputs(n) {
		shape.Fields = append(shape.Fields, flow.Field{Name: pinned.InputPrefix + input, Title: input, Type: flow.FieldJSON, Template: true, Help: "An input of the flow."})
	}
	return shape
}

// childField returns the field for an input of the other flow.
func childField(p contractPort) flow.Field {
	f := flow.Field{Name: pinned.InputPrefix + p.name, Title: p.name, Required: p.required, Value: portType(p.typ), Help: "The input " + p.name + " of the flow."}
	switch p.typ {
	case flow.TypeText:
		f.Type, f.Template = flow.FieldArea, true
	case flow.TypeNumber:
		f.Type = flow.FieldNumber
	case flow.TypeBoolean:
		f.Type = flow.FieldBoolean
	case flow.TypeList:
		f.Type = flow.FieldList
	case flow.TypeFile:
		f.Type, f.Value = flow.FieldFile, flow.TypeSource
	default:
		f.Type, f.Template = flow.FieldJSON, true
	}
	return f
}

// portType returns the port type for a type in a contract, or TypeAny for one that this
// version does not know.
func portType(t flow.Type) flow.Type {
	switch t {
	case flow.TypeText, flow.TypeNumber, flow.TypeBoolean, flow.TypeList, flow.TypeFile, flow.TypeJSON, flow.TypeMessages:
		return t
	}
	return flow.TypeAny
}

// childOutput returns the name of the port for an output. The ports of the node itself take
// precedence.
func childOutput(name string, own []string) string {
	if name == flow.ErrorPort || slices.Contains(own, name) {
		return outputPrefix + name
	}
	return name
}

// givenInputs returns the connected and typed inputs of the other flow, in the order of its
// contract. Inputs that the contract does not have follow by name.
func givenInputs(in *flow.In) *flow.Object {
	values, given := map[string]any{}, &flow.Object{}
	pinned.AddInputs(in, values)
	for _, p := range contractPorts(in.Config, "inputs") {
		if v, ok := values[p.name]; ok {
			given.Set(p.name, v)
		}
	}
	for _, name := range sorting.Keys(values) {
		given.Set(name, values[name])
	}
	return given
}

// childRequest returns a request to run the flow that the node names, one item at a time.
func childRequest(in *flow.In, items []*flow.Object) flow.ChildRequest {
	return flow.ChildRequest{Flow: strings.TrimSpace(in.Text("flow")), Version: int64(in.Int("version")), Items: items, Concurrency: 1}
}

// childSuspension suspends the step until its children wake it or its time limit ends. The
// limit counts from the first start and includes the waits.
func childSuspension(in *flow.In) *flow.Suspension {
	until, state := in.Now().Add(childWait), ""
	if deadline, ok := childDeadline(in); ok {
		until, state = deadline, deadline.UTC().Format(time.RFC3339Nano)
	}
	return &flow.Suspension{Until: until, State: map[string]any{"deadline": state}, Event: true}
}

// childDeadline returns the time when the node's time limit ends; false if it has none.
func childDeadline(in *flow.In) (time.Time, bool) {
	if state, ok := flow.AsMap(in.State); ok {
		return delayState(state["deadline"])
	}
	return in.Now().Add(in.Timeout), in.Timeout > 0
}

// childError returns the error of a step whose child did not succeed.
func childError(what string, r *flow.ChildResult) error {
	if r.Error == nil {
		return flow.Errorf(flow.CodeChildFailed, "%s ended as %s.", what, r.State)
	}
	place := ""
	if r.RunID != "" {
		place = " See run " + string(r.RunID) + "."
	}
	return &flow.Error{
		Code: flow.CodeChildFailed, Retryable: r.Error.Retryable, After: r.Error.After,
		Message: fmt.Sprintf("%s failed with %s: %s%s", what, r.Error.Code, r.Error.Message, place),
	}
}
