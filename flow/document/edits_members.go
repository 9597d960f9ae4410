package document

import (
	"slices"
	"strings"

	"sluice/flow"
)

// members are the members of a node that a put may write: all except the config and the ID.
var members = []string{"label", "color", "disabled", "retry", "timeout_s", "on_error", "tool"}

// isMember reports whether a put may write a member of that name.
func isMember(name string) bool { return slices.Contains(members, name) }

// memberOf parses the value of a put with the parser for documents, and returns a node that has
// it as its member. The pointers of problems refer to the value of the edit at the place at.
func memberOf(e *Edit, at string) (flow.Node, []flow.Problem) {
	if e.Unset {
		return flow.Node{}, nil
	}
	r := &reader{}
	n := r.node(map[string]any{"id": "n", "kind": "k", e.Member: e.Value}, at)
	for i := range r.problems {
		p := &r.problems[i]
		p.Pointer, p.Node = at+"/value"+strings.TrimPrefix(p.Pointer, at+"/"+e.Member), e.Node
	}
	return n, r.problems
}

// putMember copies one member from another node.
func putMember(n *flow.Node, name string, from *flow.Node) {
	switch name {
	case "label":
		n.Label = from.Label
	case "color":
		n.Color = from.Color
	case "disabled":
		n.Disabled = from.Disabled
	case "retry":
		n.Retry = from.Retry
	case "timeout_s":
		n.TimeoutS = from.TimeoutS
	case "on_error":
		n.OnError = from.OnError
	case "tool":
		n.Tool = from.Tool
	}
}

// NodeMember returns the value with which a put would set a member, and whether it is set.
func NodeMember(n *flow.Node, name string) (v any, ok bool) {
	switch name {
	case "label":
		return n.Label, n.Label != ""
	case "color":
		return n.Color, n.Color != ""
	case "disabled":
		return true, n.Disabled
	case "retry":
		return retryValue(n.Retry), n.Retry != nil
	case "timeout_s":
		return flow.Number(n.TimeoutS), n.TimeoutS != 0
	case "on_error":
		return onErrorValue(n.OnError), n.OnError != nil
	case "tool":
		return toolValue(n.Tool), n.Tool != nil
	}
	return nil, false
}

// retryValue returns the JSON value of a retry policy.
func retryValue(r *flow.Retry) any {
	if r == nil {
		return nil
	}
	m := map[string]any{"attempts": flow.Number(r.Attempts)}
	if r.BackoffS != 0 {
		m["backoff_s"] = flow.Number(r.BackoffS)
	}
	return m
}

// toolValue returns the JSON value of the setting of a tool.
func toolValue(t *flow.Tool) any {
	if t == nil {
		return nil
	}
	v, err := flow.DecodeJSON(flow.EncodeJSON(t))
	if err != nil {
		panic("document: decode the setting of a tool: " + err.Error())
	}
	return v
}

// onErrorValue returns the JSON value of an error handling; nil is the default, which fails.
func onErrorValue(o *flow.OnError) any {
	switch {
	case o == nil:
		return nil
	case o.Route:
		return "route"
	case o.Continue == nil:
		return map[string]any{"continue": map[string]any{}}
	}
	return map[string]any{"continue": o.Continue}
}
