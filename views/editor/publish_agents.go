package editor

import (
	"sluice/flow"
	"sluice/views/components"
)

// AgentWrites is an agent with its tools that change something.
type AgentWrites struct {
	Title string
	Tools []ToolWrites
}

// ToolWrites is a tool whose calls change something.
type ToolWrites struct {
	Title      string
	Approval   string // see flow.Tool
	ClaimsRead bool   // its effect is set to read
	Nodes      []WritingNode
	More       int // nodes that are left out
}

// WritingNode is a node of a flow that is a tool, or of a flow below it.
type WritingNode struct {
	Flow, FlowName string
	Title          string
}

// asks says when people are asked before a call.
func (t ToolWrites) asks() string {
	switch t.Approval {
	case flow.ApprovalAlways:
		return "always asks people first"
	case flow.ApprovalNever:
		return "asks nobody"
	case "", flow.ApprovalAuto:
		if t.ClaimsRead {
			return "asks nobody: its effect is set to read"
		}
		return "asks people once there is content from outside"
	}
	return "asks people if " + t.Approval
}

// tone warns of tools that may not ask.
func (t ToolWrites) tone() components.Tone {
	if t.Approval == flow.ApprovalNever || t.ClaimsRead && t.Approval != flow.ApprovalAlways {
		return components.ToneWait
	}
	return ""
}
