package editor

import (
	"cmp"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/views/components"
)

// FeedTool is what an agent may call: by which name, and when people are asked first.
type FeedTool struct {
	Icon, Group, Name, Ask string
	Effect                 flow.Effect
}

// toolOf describes a node as a tool.
func toolOf(n *flow.Node, k *flow.Kind) *FeedTool {
	t := &FeedTool{Icon: k.Icon, Group: components.GroupWord(k.Group), Name: n.ToolName(), Effect: n.ToolEffect(k)}
	if k.Tool != nil && k.Tool.Offers != nil {
		offers := k.Tool.Offers(n, func(string) bool { return true })
		t.Name = components.Quantity(len(offers), "tool")
		if slices.ContainsFunc(offers, func(o flow.ToolOffer) bool { return o.Effect == flow.EffectWrite }) && (n.Tool == nil || n.Tool.Effect == "") {
			t.Effect = flow.EffectWrite
		}
	}
	approval := flow.ApprovalAuto
	if n.Tool != nil && n.Tool.Approval != "" {
		approval = n.Tool.Approval
	}
	switch {
	case approval == flow.ApprovalAlways:
		t.Ask = "Always ask"
	case approval == flow.ApprovalNever, approval == flow.ApprovalAuto && t.Effect != flow.EffectWrite:
		t.Ask = "Never ask"
	case approval == flow.ApprovalAuto:
		t.Ask = "If untrusted"
	default:
		t.Ask = "By condition"
	}
	return t
}

// NodeTool is the setting of a tool, as typed.
type NodeTool struct {
	Set                                          bool
	Name, Description, Effect, OnError, MaxCalls string
	Approval, Editable                           string
	NameHint, EffectHint                         string // what applies without them
	Kept                                         string // the whole setting as JSON
	Params                                       []ToolParam
	Error                                        string
}

// ToolParam is an input that the model fills.
type ToolParam struct{ Port, Title, Description string }

// tool returns the setting of a tool, or nil if nodes of the kind cannot be one.
func (b *paneBuilder) tool() *NodeTool {
	if b.k.Tool == nil {
		return nil
	}
	out := &NodeTool{NameHint: b.n.ToolName(), EffectHint: string(b.n.ToolEffect(b.k))}
	if t := b.n.Tool; t != nil {
		out.Set, out.Name, out.Description, out.Effect, out.OnError, out.MaxCalls = true, t.Name, t.Description, string(t.Effect), t.OnError, decimal(float64(t.MaxCalls))
		out.Approval, out.Editable = t.Approval, strings.Join(t.Editable, ", ")
		out.Kept = string(flow.EncodeJSON(t))
		for _, p := range flow.OpenPorts(b.n, b.k, func(port string) bool { return b.d.IsFed(b.n.ID, port) }) {
			param := ToolParam{Port: p.Name, Title: cmp.Or(p.Title, p.Name)}
			if given := t.Param(p.Name); given != nil {
				param.Description = given.Description
			}
			out.Params = append(out.Params, param)
		}
	}
	return out
}
