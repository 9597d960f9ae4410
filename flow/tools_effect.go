package flow

import (
	"net"
	"slices"
	"strings"
)

// Writes reports whether a node changes something outside of the run, whatever its setting as a tool claims. For a node that runs a
// flow it says nothing: that depends on the flow.
func Writes(n *Node, k *Kind) bool {
	switch {
	case k.Writes || n.Tool != nil && n.Tool.Effect == EffectWrite:
		return true
	case k.Tool == nil || k.Tool.Effect == nil || k.StartsRuns():
		return false
	}
	return k.Tool.Effect(n) == EffectWrite
}

// ToolReach is what a call of a tool that runs a flow can do outside of the run, with all flows below it.
type ToolReach struct {
	Effect Effect   `json:"effect"`
	Open   bool     `json:"open,omitempty"`  // it sends data to hosts that no document names, or to a server of tools
	Hosts  []string `json:"hosts,omitempty"` // others that it sends data to, sorted
}

// Wider returns what a tool can do now and could not do before, as phrases for people; nil if that is nothing.
func (r ToolReach) Wider(now ToolReach) (more []string) {
	if r.Effect != EffectWrite && now.Effect == EffectWrite {
		more = append(more, "changes something")
	}
	if r.Open {
		return more
	}
	if now.Open {
		return append(more, "sends data to hosts that are not fixed")
	}
	for _, host := range now.Hosts {
		if !slices.Contains(r.Hosts, host) {
			more = append(more, "sends data to "+host)
		}
	}
	return more
}

// loosenedToRead is what Loosened notes of a tool that changes something although its setting says that it only reads.
const loosenedToRead = "effect read"

// Loosened returns the tools of a document that no person is asked about, or only under a condition, although their calls
// change something, those that change something although their setting says that they only read, and the agents that do not ask
// after content from outside. before is an earlier document whose own are left out; nil for none. writes reports whether a node
// changes something.
func Loosened(d, before *Document, kinds *Registry, writes func(n *Node) bool) (list []LoosenedNode) {
	loose := func(n *Node) string {
		k := kinds.For(n)
		switch {
		case k == nil:
		case k.Expand != nil && n.Config["ask_after_untrusted"] == false:
			return ApprovalNever
		case n.Tool == nil || k.Tool == nil:
		case !slices.Contains([]string{"", ApprovalAuto, ApprovalAlways}, n.Tool.Approval) && (writes(n) || k.Tool.Offers != nil && n.Tool.Effect == ""):
			return n.Tool.Approval
		case n.Tool.Effect == EffectRead && n.Tool.Approval != ApprovalAlways && writes(n):
			return loosenedToRead
		}
		return ""
	}
	for i := range d.Nodes {
		n := &d.Nodes[i]
		now := loose(n)
		if now == "" {
			continue
		}
		if before != nil {
			if old := before.Node(n.ID); old != nil && old.Kind == n.Kind && Text(old.Config["flow"]) == Text(n.Config["flow"]) && loose(old) == now {
				continue
			}
		}
		list = append(list, LoosenedNode{Index: i, Node: n.ID, How: now})
	}
	return list
}

// LoosenedNode is a node that asks people less.
type LoosenedNode struct {
	Index int // among the nodes of the document
	Node  string
	How   string // the setting, for the audit log
}

// ClaimsRead reports that the setting of the tool says that it only reads.
func (n *LoosenedNode) ClaimsRead() bool { return n.How == loosenedToRead }

// IsHost reports whether a host that a tool lists is a destination, which may have a port.
func IsHost(listed, destination string) bool {
	name, _, err := net.SplitHostPort(destination)
	return strings.EqualFold(listed, destination) || err == nil && strings.EqualFold(listed, name)
}

// IsHostOf is IsHost for the host of a URL.
func IsHostOf(listed, url string) bool { return IsHost(listed, HostOf(url)) }
