package document

import (
	"slices"

	"sluice/flow"
)

// Reach is what runs of a document can do outside of the run, with the flows below it.
type Reach struct {
	Writes    []Reached // nodes that change something
	Untrusted bool      // results have content from outside
	Private   string    // a node with a credential; empty for none
	Open      string    // a node that sends data to a host which the document leaves open, or to a server of tools; empty for none
	Hosts     []string  // other hosts that data is sent to, sorted
}

// Reached is a node in a document or in a flow below it.
type Reached struct {
	Flow  flow.FlowID // below; empty for the document itself
	Name  string      // of that flow
	Node  string
	Title string // of the node
}

// Effect returns EffectWrite if a node changes something.
func (r *Reach) Effect() flow.Effect {
	if r != nil && len(r.Writes) == 0 {
		return flow.EffectRead
	}
	return flow.EffectWrite
}

// Tool returns what is stored of the reach of a tool.
func (r *Reach) Tool() flow.ToolReach {
	return flow.ToolReach{Effect: r.Effect(), Open: r.Open != "", Hosts: r.Hosts}
}

// Below returns the flow that a node runs and its document. The document is nil if the flow cannot run.
type Below func(n *flow.Node) (f *flow.Flow, d *flow.Document, err error)

// ReachOf returns the reach of a document.
func ReachOf(d *flow.Document, kinds *flow.Registry, below Below) (*Reach, error) {
	w := reachWalk{kinds: kinds, below: below, seen: map[flow.FlowID][]*flow.Document{}}
	err := w.add(d, Reached{}, 0)
	slices.Sort(w.Hosts)
	w.Hosts = slices.Compact(w.Hosts)
	return &w.Reach, err
}

// ReachOfNode returns the reach of the flow that a node runs; nil if the node runs none.
func ReachOfNode(n *flow.Node, kinds *flow.Registry, below Below) (*Reach, error) {
	if k := kinds.For(n); k == nil || !k.StartsRuns() {
		return nil, nil
	}
	called := *n
	called.Disabled, called.Tool = false, nil
	return ReachOf(&flow.Document{Nodes: []flow.Node{called}}, kinds, below)
}

// reachWalk collects the reach of a document and of all flows below it.
type reachWalk struct {
	Reach
	kinds *flow.Registry
	below Below
	seen  map[flow.FlowID][]*flow.Document
}

// add adds the nodes of a document. at has the flow of the document.
func (w *reachWalk) add(d *flow.Document, at Reached, depth int) error {
	w.Untrusted = w.Untrusted || hasUntrustedInput(d, w.kinds)
	for i := range d.Nodes {
		n := &d.Nodes[i]
		k := w.kinds.For(n)
		if k == nil || n.Disabled {
			continue
		}
		w.Untrusted = w.Untrusted || k.Untrusted != nil && k.Untrusted(n)
		title := NodeTitle(n, k)
		if flow.Writes(n, k) {
			w.Writes = append(w.Writes, Reached{Flow: at.Flow, Name: at.Name, Node: n.ID, Title: title})
		}
		if k.StartsRuns() {
			if err := w.addBelow(n, depth); err != nil {
				return err
			}
			continue
		}
		if w.Private == "" && len(SentCredentials(n, k)) > 0 {
			w.Private = title
		}
		if k.Sends != nil {
			hosts, _ := FindDestination(d, n, k.Sends)
			w.Hosts = append(w.Hosts, hosts...)
		}
		if w.Open == "" && sendsAnywhere(d, n, k) {
			w.Open = title
		}
	}
	return nil
}

// addBelow adds the flow that a node runs. Each document is read once.
func (w *reachWalk) addBelow(n *flow.Node, depth int) error {
	if depth > flow.MaxChildDepth {
		return nil // such a run fails
	}
	f, d, err := w.below(n)
	if err != nil || d == nil {
		return err
	}
	same := func(other *flow.Document) bool { return string(other.Compact()) == string(d.Compact()) }
	if slices.ContainsFunc(w.seen[f.ID], same) {
		return nil
	}
	w.seen[f.ID] = append(w.seen[f.ID], d)
	return w.add(d, Reached{Flow: f.ID, Name: f.Name}, depth+1)
}

// sendsAnywhere reports whether the run, and so a model, may choose where a node sends data. A server of tools counts: its operator
// and its other users see what it is sent. It does not count if people are always asked, or if the hosts are listed.
func sendsAnywhere(d *flow.Document, n *flow.Node, k *flow.Kind) bool {
	if n.Tool != nil && (n.Tool.Approval == flow.ApprovalAlways || len(n.Tool.Hosts) > 0) {
		return false
	}
	if k.Tool != nil && k.Tool.Offers != nil {
		return true
	}
	if k.Sends == nil || k.Sends.Field == "" {
		return false
	}
	if f := k.Field(k.Sends.Field); f != nil && f.Type == flow.FieldModel {
		return false
	}
	if n.Tool != nil { // a bound address is not the model's choice
		return !d.IsFed(n.ID, k.Sends.Field) && len(k.Sends.Hosts(n)) == 0
	}
	_, open := FindDestination(d, n, k.Sends)
	return open
}
