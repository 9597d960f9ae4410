package document

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/sorting"
	"sluice/flow/value"
)

// Diff holds the changes between two documents, as sentences and as data.
type Diff struct {
	About   []string     // name and description
	Nodes   []NodeChange // added, changed and removed ones, in this order
	Moved   int          // number of nodes whose only change is their position
	Added   []flow.Edge
	Removed []flow.Edge
	// Connected and Disconnected are sentences about Added and Removed.
	Connected, Disconnected []string
	API                     []APIChange
	Breaking                []string // sentences of the API changes that break callers
}

// Count returns the number of changes, without nodes that only moved.
func (d *Diff) Count() int {
	return len(d.About) + len(d.Nodes) + len(d.Added) + len(d.Removed) + len(d.API)
}

// NodeChange is a node that a newer document adds, changes or removes.
type NodeChange struct {
	Change   string // ChangeAdded, ChangeChanged or ChangeRemoved
	Node     string
	Label    string   // or the ID of a node without one
	Kind     string   // title of its kind
	Fields   []string // names of the changed config fields and members such as label
	Values   []FieldChange
	Sentence string
}

// FieldChange is a field or member of a node before and after a change.
type FieldChange struct {
	Name, Title   string
	Before, After any
	WasSet, IsSet bool // whether it was set before and after
}

// Changes of a node, an input or an output.
const (
	ChangeAdded   = "added"
	ChangeChanged = "changed"
	ChangeRemoved = "removed"
)

// APIChange is a change of an input or output of the flow.
type APIChange struct {
	Change   string
	Role     flow.Role // RoleInput or RoleOutput
	Name     string
	Breaking bool // callers written for the older document may fail
	Sentence string
}

// Compare returns the changes from an old document to a new one. If old is nil, everything is
// new and nothing breaks callers.
func Compare(old, now *flow.Document, kinds *flow.Registry) *Diff {
	c := &comparison{old: old, now: now, kinds: kinds, diff: &Diff{}}
	if old == nil {
		c.old = &flow.Document{Name: now.Name, Description: now.Description}
	}
	c.about()
	c.nodes()
	c.diff.Removed = missingEdges(c.old.Edges, c.now.Edges)
	c.diff.Added = missingEdges(c.now.Edges, c.old.Edges)
	for _, e := range c.diff.Added {
		c.diff.Connected = append(c.diff.Connected, fmt.Sprintf("Connected %s to %s.", c.sourceOf(c.now, e), c.targetOf(c.now, e)))
	}
	for _, e := range c.diff.Removed {
		c.diff.Disconnected = append(c.diff.Disconnected, fmt.Sprintf("Disconnected %s from %s.", c.sourceOf(c.old, e), c.targetOf(c.old, e)))
	}
	c.inputs()
	c.outputs()
	for _, a := range c.diff.API {
		if a.Breaking && old != nil {
			c.diff.Breaking = append(c.diff.Breaking, a.Sentence)
		}
	}
	return c.diff
}

// Empty reports whether nothing changed except positions.
func (d *Diff) Empty() bool {
	return len(d.About)+len(d.Nodes)+len(d.Added)+len(d.Removed)+len(d.API) == 0
}

// Sentences returns all changes as sentences for users, those of the API first.
func (d *Diff) Sentences() []string {
	list := []string{}
	for _, a := range d.API {
		list = append(list, a.Sentence)
	}
	list = append(list, d.About...)
	for _, n := range d.Nodes {
		list = append(list, n.Sentence)
	}
	list = append(list, d.Connected...)
	list = append(list, d.Disconnected...)
	if d.Moved > 0 {
		list = append(list, flow.Count(d.Moved, "node")+" moved on the canvas.")
	}
	return list
}

// sourceOf and targetOf name the ends of an edge: the node, and its port if the kind has several.
func (c *comparison) sourceOf(d *flow.Document, e flow.Edge) string {
	node, port := e.Source()
	return c.end(d, node, port, func(k *flow.Kind) []flow.Port { return k.Outputs })
}

func (c *comparison) targetOf(d *flow.Document, e flow.Edge) string {
	node, port := e.Target()
	return c.end(d, node, port, func(k *flow.Kind) []flow.Port { return k.Inputs })
}

func (c *comparison) end(d *flow.Document, node, port string, ports func(*flow.Kind) []flow.Port) string {
	n := d.Node(node)
	if n == nil {
		return node + "." + port
	}
	k := c.kinds.For(n)
	title := NodeTitle(n, k)
	if k != nil && len(ports(k)) == 1 && ports(k)[0].Name == port && k.DynamicSchema == nil {
		return title
	}
	return title + " › " + port
}

// comparison collects the differences of two documents. It matches nodes by ID, and inputs and
// outputs by name, as callers do.
type comparison struct {
	old, now *flow.Document
	kinds    *flow.Registry
	diff     *Diff
}

// about compares the parts that runs ignore: the name, the description and the groups.
func (c *comparison) about() {
	if c.old.Name != c.now.Name {
		c.diff.About = append(c.diff.About, fmt.Sprintf("The name changed from %q to %q.", c.old.Name, c.now.Name))
	}
	if c.old.Description != c.now.Description {
		c.diff.About = append(c.diff.About, "The description changed.")
	}
	if string(flow.EncodeJSON(c.old.Groups)) != string(flow.EncodeJSON(c.now.Groups)) && len(c.old.Groups)+len(c.now.Groups) > 0 {
		c.diff.About = append(c.diff.About, "The groups changed.")
	}
}

// nodes compares the nodes by ID: added, changed and removed ones, in this order.
func (c *comparison) nodes() {
	before, after := nodesByID(c.old), nodesByID(c.now)
	var added, changed, removed []NodeChange
	for i := range c.now.Nodes {
		n := &c.now.Nodes[i]
		was := before[n.ID]
		if was == nil {
			added = append(added, c.node(ChangeAdded, n, &flow.Node{Kind: n.Kind}, n, nil, fmt.Sprintf("%s was added.", c.called(n))))
			continue
		}
		if fields := changedFields(was, n); len(fields) > 0 {
			sentence := fmt.Sprintf("%s: %s edited.", NodeTitle(n, c.kinds.For(n)), c.titles(n, fields))
			changed = append(changed, c.node(ChangeChanged, n, was, n, fields, sentence))
		} else if !reflect.DeepEqual(was.Position, n.Position) {
			c.diff.Moved++
		}
	}
	for i := range c.old.Nodes {
		if n := &c.old.Nodes[i]; after[n.ID] == nil {
			removed = append(removed, c.node(ChangeRemoved, n, n, &flow.Node{Kind: n.Kind}, nil, fmt.Sprintf("%s was removed.", c.called(n))))
		}
	}
	c.diff.Nodes = slices.Concat(added, changed, removed)
}

// nodesByID indexes the nodes of a document.
func nodesByID(d *flow.Document) map[string]*flow.Node {
	m := make(map[string]*flow.Node, len(d.Nodes))
	for i := range d.Nodes {
		m[d.Nodes[i].ID] = &d.Nodes[i]
	}
	return m
}

// node describes the change of a node n from one state to another.
func (c *comparison) node(change string, n, was, now *flow.Node, fields []string, sentence string) NodeChange {
	label, kind := c.names(n)
	return NodeChange{Change: change, Node: n.ID, Label: label, Kind: kind, Fields: fields, Values: c.values(was, now), Sentence: sentence}
}

// called returns the name of a node with the title of its kind, for sentences.
func (c *comparison) called(n *flow.Node) string {
	_, kind := c.names(n)
	return fmt.Sprintf("%q (%s)", NodeTitle(n, c.kinds.For(n)), kind)
}

// names returns the label of a node, or else its ID, and the title of its kind.
func (c *comparison) names(n *flow.Node) (label, kind string) {
	label, kind = n.Label, n.Kind
	if label == "" {
		label = n.ID
	}
	if k := c.kinds.Find(n.Kind); k != nil {
		kind = k.Title
	}
	return label, kind
}

// values returns the changes between two states of a node, in the order of changedFields.
func (c *comparison) values(was, now *flow.Node) []FieldChange {
	names := changedFields(was, now)
	titled := now
	if len(now.Config) == 0 {
		titled = was
	}
	list, k := make([]FieldChange, len(names)), c.kinds.For(titled)
	for i, name := range names {
		f := FieldChange{Name: name, Title: titleOf(k, name)}
		f.Before, f.WasSet = memberOrConfig(was, name)
		f.After, f.IsSet = memberOrConfig(now, name)
		list[i] = f
	}
	return list
}

// memberOrConfig returns the member or config field with a name of changedFields.
func memberOrConfig(n *flow.Node, name string) (v any, set bool) {
	if name == "kind" {
		return n.Kind, true
	}
	if isMember(name) {
		if v, set = NodeMember(n, name); set {
			return v, true
		}
	}
	v, set = n.Config[name]
	return v, set
}

// changedFields returns the names of the members and config fields in which two nodes differ,
// except their position.
func changedFields(was, n *flow.Node) []string {
	var list []string
	if was.Kind != n.Kind {
		list = append(list, "kind")
	}
	return slices.Concat(list, changedMembers(was, n), changedConfig(was, n, sameValue))
}

// changedMembers lists the members other than the config that differ. A member that is missing
// in only one of the nodes differs, too.
func changedMembers(was, n *flow.Node) (list []string) {
	for _, name := range members {
		before, had := NodeMember(was, name)
		after, has := NodeMember(n, name)
		if had != has || had && !sameValue(before, after) {
			list = append(list, name)
		}
	}
	return list
}

// changedConfig lists the config fields that differ, by name.
func changedConfig(was, n *flow.Node, same func(a, b any) bool) (list []string) {
	names := map[string]bool{}
	for name := range was.Config {
		names[name] = true
	}
	for name := range n.Config {
		names[name] = true
	}
	for _, name := range sorting.Keys(names) {
		before, had := was.Config[name]
		after, has := n.Config[name]
		if had != has || !same(before, after) {
			list = append(list, name)
		}
	}
	return list
}

// sameValue compares values as the document stores them, without the order of members.
func sameValue(a, b any) bool { return string(value.Canonical(a)) == string(value.Canonical(b)) }

// titles joins the titles of fields, as the editor shows them.
func (c *comparison) titles(n *flow.Node, fields []string) string {
	list, k := make([]string, len(fields)), c.kinds.For(n)
	for i, name := range fields {
		list[i] = titleOf(k, name)
	}
	return strings.Join(list, ", ")
}

// titleOf returns the title of a field, or its name in words if the kind no longer has it.
func titleOf(k *flow.Kind, name string) string {
	if k != nil {
		if f := k.Field(name); f != nil && f.Title != "" {
			return f.Title
		}
	}
	return strings.ReplaceAll(name, "_", " ")
}

// missingEdges returns the edges of one list that are missing in another. Equal edges count
// individually.
func missingEdges(list, other []flow.Edge) (missing []flow.Edge) {
	there := map[flow.Edge]int{}
	for _, e := range other {
		there[e]++
	}
	for _, e := range list {
		if there[e]--; there[e] < 0 {
			missing = append(missing, e)
		}
	}
	return missing
}
