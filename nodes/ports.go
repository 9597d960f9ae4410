package nodes

import (
	"fmt"
	"slices"
	"strings"

	"sluice/flow"
)

// This file holds the parts that kinds share whose users name ports in a list field.

// portNames returns the names in a list field, up to one more than a node may have.
func portNames(list any) []string {
	var names []string
	items, _ := list.([]any)
	for _, item := range items[:min(len(items), flow.MaxPorts+1)] {
		if s, isText := item.(string); isText {
			names = append(names, strings.TrimSpace(s))
		}
	}
	return names
}

// valueNames returns the names in a list field; the default is "value".
func valueNames(list any) []string {
	if list == nil {
		return []string{"value"}
	}
	return portNames(list)
}

// isPortName reports whether a user may give a port this name. own are the names of the
// fixed fields and ports of the kind.
func isPortName(name string, own []string) bool {
	return flow.InputNamePattern.MatchString(name) && name != flow.ErrorPort && !slices.Contains(own, name)
}

// checkPortNames reports invalid, reserved and duplicate names in a list field.
func checkPortNames(n *flow.Node, field string, own []string) (problems []flow.Problem) {
	names := portNames(n.Config[field])
	if len(names) > flow.MaxPorts {
		return []flow.Problem{{Pointer: flow.Pointer(field), Code: "too_many", Detail: fmt.Sprintf("at most %d names", flow.MaxPorts)}}
	}
	for i, name := range names {
		why := ""
		switch {
		case slices.Contains(names[:i], name):
			why = "is listed twice"
		case slices.Contains(own, name) || name == flow.ErrorPort:
			why = "is the name of another field or port of this node"
		case !flow.InputNamePattern.MatchString(name):
			why = "cannot be the name of a port: use letters, digits, _ and -, and begin with a letter"
		default:
			continue
		}
		problems = append(problems, flow.Problem{Pointer: flow.Pointer(field), Code: "invalid", Detail: fmt.Sprintf("%q %s", name, why)})
	}
	return problems
}

// namedInputs returns a required field of any type for each valid name.
func namedInputs(names, own []string, help string) (fields []flow.Field) {
	for _, name := range names {
		if isPortName(name, own) {
			fields = append(fields, flow.Field{Name: name, Title: name, Type: flow.FieldJSON, Required: true, Help: help})
		}
	}
	return fields
}

// namedOutputs returns an optional output port of any type for each valid name.
func namedOutputs(names, own []string, help string) (ports []flow.Port) {
	for _, name := range names {
		if isPortName(name, own) {
			ports = append(ports, flow.Port{Name: name, Title: name, Type: flow.TypeAny, Optional: true, Help: help})
		}
	}
	return ports
}
