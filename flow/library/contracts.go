package library

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/document"
)

// A node that runs another flow stores the contract of that flow: the names and types of its
// inputs and outputs, which become the ports of the node. So a document can be validated without
// the other flow, and edges do not disappear when that flow changes.

// addContracts appends edits that store the contract of a flow to edits that select the flow in a
// node. A flow that does not exist is reported when the node runs.
func (l *Library) addContracts(ctx context.Context, ws flow.WorkspaceID, d *flow.Document, ops []document.Edit) ([]document.Edit, error) {
	var chosen []string // nodes
	for i := range ops {
		switch e := &ops[i]; {
		case e.Op == document.OpSet && (e.Field == "flow" || e.Field == "version"):
			chosen = append(chosen, e.Node)
		case e.Op == document.OpAdd && e.New != nil:
			chosen = append(chosen, e.New.ID)
		}
	}
	if len(chosen) == 0 {
		return ops, nil
	}
	after, err := document.ApplyEdits(d, ops)
	if err != nil {
		return ops, nil // rejected when they are applied
	}
	for i := range after.Document.Nodes {
		n := &after.Document.Nodes[i]
		if !l.runsFlow(n) || !slices.Contains(chosen, n.ID) {
			continue
		}
		contract, err := l.contractOf(ctx, ws, n)
		if err != nil {
			return nil, err
		}
		if over := loopInput(l.Kinds.Find(n.Kind), n, contract); over != "" {
			ops = append(slices.Clip(ops), document.Edit{Op: document.OpSet, Node: n.ID, Field: flow.LoopField, Value: []any{over}})
		}
		if contract != nil && !flow.EqualValues(n.Config["contract"], contract) {
			ops = append(slices.Clip(ops), document.Edit{Op: document.OpSet, Node: n.ID, Field: "contract", Value: contract})
		}
	}
	return ops, nil
}

// loopInput returns the input that a node of the kind should loop over after its flow was chosen: the first
// required text, else the first required input, else the first. It returns "" if the node does
// not loop, or already loops over an input of the flow.
func loopInput(k *flow.Kind, n *flow.Node, contract map[string]any) string {
	if k == nil || k.Field(flow.LoopField) == nil || contract == nil {
		return ""
	}
	chosen, _ := n.Config[flow.LoopField].([]any)
	inputs, _ := contract["inputs"].([]any)
	best, rank := "", -1
	for _, item := range inputs {
		in, _ := flow.AsMap(item)
		name, at := flow.Text(in["name"]), 0
		if slices.Contains(chosen, any(name)) {
			return ""
		}
		if in["required"] == true {
			at++
			if in["type"] == string(flow.TypeText) {
				at++
			}
		}
		if at > rank {
			best, rank = name, at
		}
	}
	return best
}

// FillContracts stores the contract in each node that runs a flow and has none, as in documents
// written by hand. Flows among the documents count as they will be after an import. Documents
// that could not be parsed are nil.
func (l *Library) FillContracts(ctx context.Context, ws flow.WorkspaceID, documents ...*flow.Document) error {
	for _, d := range documents {
		if d == nil {
			continue
		}
		for i := range d.Nodes {
			n := &d.Nodes[i]
			if !l.runsFlow(n) || n.Config["contract"] != nil {
				continue
			}
			contract, err := l.contractAmong(ctx, ws, d, n, documents)
			if err != nil {
				return err
			}
			if contract != nil {
				n.Config["contract"] = contract
			}
		}
	}
	return nil
}

// contractAmong returns the contract of the document whose slug a node of d names, unless the node
// also names a version. Otherwise it returns the contract of the stored flow.
func (l *Library) contractAmong(ctx context.Context, ws flow.WorkspaceID, d *flow.Document, n *flow.Node, among []*flow.Document) (map[string]any, error) {
	for _, other := range among {
		if isAmong(n, d, []*flow.Document{other}) {
			return newContract(other.Name, other, l.Kinds), nil
		}
	}
	return l.contractOf(ctx, ws, n)
}

// runsFlow reports whether a node runs another flow.
func (l *Library) runsFlow(n *flow.Node) bool {
	k := l.Kinds.Find(n.Kind)
	return k != nil && k.StartsRuns()
}

// calledRef returns the ID or slug of the flow that a node runs.
func calledRef(n *flow.Node) string {
	ref, _ := n.Config["flow"].(string)
	return strings.TrimSpace(ref)
}

// contractOf returns the contract of the flow that a node names, or nil if it does not exist.
func (l *Library) contractOf(ctx context.Context, ws flow.WorkspaceID, n *flow.Node) (map[string]any, error) {
	called, err := l.calledFlow(ctx, ws, n)
	if err != nil || called == nil {
		return nil, err
	}
	d, err := l.calledDocument(ctx, called, n)
	if err != nil || d == nil {
		return nil, err
	}
	return newContract(called.Name, d, l.Kinds), nil
}

// calledFlow finds the flow that a node runs, by slug or ID; nil if it does not exist.
func (l *Library) calledFlow(ctx context.Context, ws flow.WorkspaceID, n *flow.Node) (*flow.Flow, error) {
	f, err := findRef(ctx, l.Store, ws, calledRef(n))
	if err != nil {
		return nil, fmt.Errorf("find the flow %s of node %s: %w", calledRef(n), n.ID, err)
	}
	return f, nil
}

// findRef returns the flow with a slug, current or former, or with an ID; nil if it does not exist.
func findRef(ctx context.Context, store LibraryStore, ws flow.WorkspaceID, ref string) (*flow.Flow, error) {
	if document.ValidSlug(ref) {
		return findSlug(ctx, store, ws, ref)
	}
	return findID(ctx, store, ws, flow.FlowID(ref))
}

// findSlug returns the flow with a slug, current or former; nil if it does not exist.
func findSlug(ctx context.Context, store LibraryStore, ws flow.WorkspaceID, slug string) (*flow.Flow, error) {
	id, err := store.FindFlowID(ctx, ws, slug)
	if flow.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return findID(ctx, store, ws, id)
}

// findID returns the flow with an ID; nil if it does not exist.
func findID(ctx context.Context, store LibraryStore, ws flow.WorkspaceID, id flow.FlowID) (*flow.Flow, error) {
	if id == "" {
		return nil, nil
	}
	f, err := store.FindFlow(ctx, ws, id)
	if flow.IsNotFound(err) {
		return nil, nil
	}
	return f, err
}

// calledDocument returns the document that a node runs: the version that it names, else the live
// version, else the draft of an unpublished flow.
func (l *Library) calledDocument(ctx context.Context, f *flow.Flow, n *flow.Node) (*flow.Document, error) {
	hash, data := f.LiveHash, f.Draft
	if version, _ := flow.Float(n.Config["version"]); version > 0 {
		v, err := l.Store.FindVersion(ctx, f.WorkspaceID, f.ID, int64(version))
		if flow.IsNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		hash = v.DocumentHash
	}
	if hash != "" {
		var err error
		if data, err = l.Store.FindDocument(ctx, f.WorkspaceID, hash); err != nil {
			return nil, fmt.Errorf("read the document of %s: %w", f.ID, err)
		}
	}
	d, _ := document.ParseDocument(data)
	return d, nil
}

// maxContractSchema bounds the JSON Schema of an output in a contract, in bytes. For larger ones
// the contract has only the type.
const maxContractSchema = 8 << 10

// newContract returns the contract of a document. It excludes secret inputs, because other flows
// cannot set them. The name is for display.
func newContract(name string, d *flow.Document, kinds *flow.Registry) map[string]any {
	in, out := []any{}, []any{}
	for _, i := range contract.Inputs(d, kinds) {
		if !i.Secret {
			in = append(in, map[string]any{"name": i.Name, "type": string(i.Type), "required": i.Required && i.Default == nil})
		}
	}
	for _, o := range document.Outputs(d, kinds) {
		kept := map[string]any{"name": o.Name, "type": string(o.Type), "optional": o.Optional}
		if flow.TypeOf(any(o.Schema["type"])) != "text" || o.Type == flow.TypeJSON || o.Type == flow.TypeList { // says more than the type
			if data := flow.EncodeJSON(o.Schema); len(o.Schema) > 0 && len(data) <= maxContractSchema {
				kept["schema"], _ = flow.DecodeJSON(data)
			}
		}
		out = append(out, kept)
	}
	return map[string]any{"name": name, "inputs": in, "outputs": out}
}

// maxCallDepth bounds the search for flows that call themselves.
const maxCallDepth = flow.MaxChildDepth + 1

// CallProblems returns a problem for each node that runs a flow which does not exist, or by which a
// flow would run itself, directly or through other flows.
func (l *Library) CallProblems(ctx context.Context, f *flow.Flow, d *flow.Document) ([]flow.Problem, error) {
	missing, err := (&Calls{Library: l, WorkspaceID: f.WorkspaceID}).Missing(ctx, d)
	if err != nil {
		return nil, err
	}
	cycles, err := cycleProblems(ctx, l, f, d)
	return append(missing, cycles...), err
}

// cycleProblems returns a problem for each node by which a flow would run itself.
func cycleProblems(ctx context.Context, l *Library, f *flow.Flow, d *flow.Document) ([]flow.Problem, error) {
	var problems []flow.Problem
	for i := range d.Nodes {
		cycle, err := l.cycleProblem(ctx, f, i, &d.Nodes[i])
		if err != nil {
			return nil, err
		}
		if cycle != nil {
			problems = append(problems, *cycle)
		}
	}
	return problems, nil
}

// cycleProblem returns the problem of a node by which a flow runs itself, or nil.
func (l *Library) cycleProblem(ctx context.Context, f *flow.Flow, i int, n *flow.Node) (*flow.Problem, error) {
	cycle, err := l.findCycle(ctx, n, []*flow.Flow{f})
	if err != nil || cycle == "" {
		return nil, err
	}
	return &flow.Problem{
		Pointer: flow.Pointer("nodes", strconv.Itoa(i), "config", "flow"), Code: "cycle", Node: n.ID,
		Detail: "the flow would run itself: " + cycle + "; choose another flow",
	}, nil
}

// findCycle follows the flow that a node runs and returns the names of the flows in a cycle, or ""
// if there is no cycle.
func (l *Library) findCycle(ctx context.Context, n *flow.Node, chain []*flow.Flow) (string, error) {
	if !l.runsFlow(n) || n.Disabled {
		return "", nil
	}
	called, err := l.calledFlow(ctx, chain[0].WorkspaceID, n)
	if err != nil || called == nil {
		return "", err
	}
	chain = append(slices.Clip(chain), called)
	if called.ID == chain[0].ID || len(chain) > maxCallDepth {
		names := make([]string, len(chain))
		for i, f := range chain {
			names[i] = f.Name
		}
		return strings.Join(names, " → "), nil
	}
	below, err := l.calledDocument(ctx, called, n)
	if err != nil || below == nil {
		return "", err
	}
	for i := range below.Nodes {
		if cycle, err := l.findCycle(ctx, &below.Nodes[i], chain); cycle != "" || err != nil {
			return cycle, err
		}
	}
	return "", nil
}

// CalledUpgrade describes the changes of a node if it runs the live version of a flow instead of
// the older one that it names.
type CalledUpgrade struct {
	Flow     string // its name
	From, To int64
	Changes  []document.APIChange
	Dropped  []flow.Edge // edges to ports that the newer version lacks
}

// UpgradeCalled compares the version that a node names with the live one. It returns nil if the
// live one is not newer.
func (l *Library) UpgradeCalled(ctx context.Context, ws flow.WorkspaceID, d *flow.Document, n *flow.Node) (*CalledUpgrade, error) {
	version, _ := flow.Float(n.Config["version"])
	called, err := l.calledFlow(ctx, ws, n)
	if err != nil || called == nil || version < 1 || called.LiveVersion <= int64(version) {
		return nil, err
	}
	up := &CalledUpgrade{Flow: called.Name, From: int64(version), To: called.LiveVersion}
	newer := *n
	newer.Config = maps.Clone(n.Config)
	delete(newer.Config, "version") // so that it runs the live version
	now, err := l.calledDocument(ctx, called, &newer)
	if err != nil || now == nil {
		return nil, err
	}
	old, err := l.calledDocument(ctx, called, n)
	if err != nil {
		return nil, err
	}
	up.Changes = document.Compare(old, now, l.Kinds).API
	up.Dropped = l.droppedEdges(d, n, newContract(called.Name, now, l.Kinds))
	return up, nil
}

// droppedEdges returns the edges of a node to ports that it lacks with another contract.
func (l *Library) droppedEdges(d *flow.Document, n *flow.Node, contract map[string]any) (dropped []flow.Edge) {
	changed := *n
	changed.Config = maps.Clone(n.Config)
	changed.Config["contract"] = contract
	k := l.Kinds.For(&changed)
	for _, e := range d.Edges {
		_, from := e.Source()
		_, to := e.Target()
		if e.FromNode() == n.ID && !hasPort(flow.OutputPorts(&changed, k), from) || e.ToNode() == n.ID && !hasPort(flow.InputPorts(&changed, k), to) {
			dropped = append(dropped, e)
		}
	}
	return dropped
}

// Follower is a node in the live version of another flow that runs the live version of a flow.
type Follower struct {
	FlowID     flow.FlowID
	Slug, Name string // of the other flow
	Node       string
	Dropped    []flow.Edge // edges to ports that the node loses
}

// following is a node in the live version of a flow that runs the live version of another flow.
type following struct {
	parent *flow.Flow
	d      *flow.Document
	n      *flow.Node
}

// listFollowing returns the following nodes of a workspace by the ID of the flow that they run.
func (l *Library) listFollowing(ctx context.Context, ws flow.WorkspaceID) (map[flow.FlowID][]following, error) {
	heads, err := l.Store.ListFlowHeads(ctx, ws)
	if err != nil {
		return nil, err
	}
	byFlow := map[flow.FlowID][]following{}
	for i := range heads {
		parent := &heads[i]
		if parent.LiveHash == "" || !parent.ArchivedAt.IsZero() {
			continue
		}
		data, err := l.Store.FindDocument(ctx, ws, parent.LiveHash)
		if err != nil {
			return nil, fmt.Errorf("read the document of %s: %w", parent.ID, err)
		}
		d, _ := document.ParseDocument(data)
		if d == nil {
			continue
		}
		for j := range d.Nodes {
			n := &d.Nodes[j]
			if !l.runsFlow(n) || n.Config["version"] != nil {
				continue
			}
			called, err := l.calledFlow(ctx, ws, n)
			if err != nil {
				return nil, err
			}
			if called != nil {
				byFlow[called.ID] = append(byFlow[called.ID], following{parent, d, n})
			}
		}
	}
	return byFlow, nil
}

// Followers returns the nodes that will run a document once it is the live version of f.
func (l *Library) Followers(ctx context.Context, f *flow.Flow, now *flow.Document) ([]Follower, error) {
	all, err := l.listFollowing(ctx, f.WorkspaceID)
	return l.followersOf(all[f.ID], f, now), err
}

// followersOf returns the given nodes with the edges that they lose by running a document of f.
func (l *Library) followersOf(nodes []following, f *flow.Flow, now *flow.Document) (list []Follower) {
	contract := newContract(f.Name, now, l.Kinds)
	for _, at := range nodes {
		list = append(list, Follower{at.parent.ID, at.parent.Slug, at.parent.Name, at.n.ID, l.droppedEdges(at.d, at.n, contract)})
	}
	return list
}

// hasPort reports whether a list has a port with a name.
func hasPort(ports []flow.Port, name string) bool {
	return slices.ContainsFunc(ports, func(p flow.Port) bool { return p.Name == name })
}
