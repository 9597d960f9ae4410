package editor

import (
	"fmt"
	"time"

	"sluice/flow"
	"sluice/views/components"
)

// ServerToolsPage is the page on which somebody chooses the tools of a server that a node may call.
type ServerToolsPage struct {
	FlowID, Flow, Node, NodeName string
	Server                       string                 // name of the credential; "" if none is chosen
	Title                        string                 // by which the server introduces itself
	Connection                   *components.Connection // nil for a server without a sign-in
	Now                          time.Time
	Error                        string // why the server could not be asked
	SignedOut                    bool   // because it refuses the credential, which a person can connect again
	Tools                        []ServerToolRow
}

// ServerToolRow is a tool of the server, or one that the node stores.
type ServerToolRow struct {
	flow.ServerTool
	State   flow.ToolState // "" for a tool that the node does not store
	Allowed bool
	Now     *flow.ServerTool // as the server lists it; nil if it does not
	// Description and Schema are the differences of a changed tool.
	DescriptionDiff, SchemaDiff []Piece
}

// path returns the URL of the page.
func (p *ServerToolsPage) path() string { return "/flows/" + p.FlowID + "/node/" + p.Node + "/tools" }

// summary counts the allowed tools.
func (p *ServerToolsPage) summary() string {
	allowed, tokens, off := 0, 0, 0
	for i := range p.Tools {
		t := &p.Tools[i]
		if t.Allowed {
			allowed++
			tokens += t.Tokens()
		}
		if t.Allowed && t.State != flow.ToolSame {
			off++
		}
	}
	text := fmt.Sprintf("%s of %s · %s tokens per turn", components.Count(allowed), flow.Count(len(p.Tools), "tool"), components.Count(tokens))
	if off > 0 {
		text += fmt.Sprintf(" · %s off until accepted", components.Count(off))
	}
	return text
}

// text returns a description as people read it: with its invisible characters.
func (r *ServerToolRow) text() string { return flow.ShowInvisible(r.Description) }

// effectWord names an effect.
func effectWord(e flow.Effect) string {
	if e == flow.EffectRead {
		return "Read"
	}
	return "Write"
}
