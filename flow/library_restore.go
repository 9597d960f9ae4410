package flow

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"slices"
)

// Restored says how a version came back to the draft.
type Restored struct {
	Changed  bool        // the draft was not equal to the version already
	Edit     *EditResult // the transaction; nil when the draft was replaced as a whole
	Replaced bool        // tabs that show the draft have to load it again
}

// restoreTries is how often a restore begins anew because others were faster.
const restoreTries = 5

// RestoreVersion makes the draft equal to a version. It does so by a
// transaction of the log, so that it can be undone and other tabs follow it.
// Where edits cannot lead there (too many, or nodes in another order), the
// draft is replaced, which others hear of as CodeEditsGone.
func (l *Library) RestoreVersion(ctx context.Context, ws, flowID string, n int64, user, txID string) (*Restored, error) {
	d, err := l.Document(ctx, ws, flowID, n)
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		out, err := l.restore(ctx, ws, flowID, d, user, txID)
		if err == nil || try == restoreTries || !errors.Is(err, &Error{Code: CodeEditsMissed}) {
			return out, err
		}
	}
}

func (l *Library) restore(ctx context.Context, ws, flowID string, to *Document, user, txID string) (*Restored, error) {
	f, err := l.Store.FindFlow(ctx, ws, flowID)
	if err != nil {
		return nil, err
	}
	if err := l.keepSecrets(ctx, f, to); err != nil { // it may be older than a rule that finds them
		return nil, err
	}
	want := to.Canonical()
	if bytes.Equal(f.Draft, want) {
		return &Restored{}, nil
	}
	if from, _ := ParseDocument(f.Draft); from != nil {
		if ops, ok := editsBetween(from, to); ok {
			out, err := l.EditFlow(ctx, ws, flowID, user, EditRequest{Base: f.Rev, Tab: "versions", TxID: txID, Ops: ops})
			if err != nil {
				return nil, err
			}
			return &Restored{Changed: true, Edit: out}, nil
		}
	}
	return &Restored{Changed: true, Replaced: true}, l.Store.UpdateDraft(ctx, ws, flowID, to.Name, to.Description, want)
}

// editsBetween are the edits that make one document the other, byte for byte;
// false when there are none within the limits of a transaction.
func editsBetween(from, to *Document) ([]Edit, bool) {
	t := transition{from: nodesByID(from), to: nodesByID(to)}
	t.leave(from)
	t.enter(to)
	t.edges(from, to)
	t.groups(from, to)
	if from.Name != to.Name || from.Description != to.Description {
		t.do(Edit{Op: OpName, Name: &to.Name, Description: &to.Description})
	}
	if len(t.ops) > MaxEdits || len(EncodeJSON(t.ops)) > MaxEditBytes {
		return nil, false
	}
	out, err := ApplyEdits(from, t.ops)
	return t.ops, err == nil && len(out.Skipped) == 0 && bytes.Equal(out.Document.Canonical(), to.Canonical())
}

type transition struct {
	from, to map[string]*Node
	ops      []Edit
}

func (t *transition) do(e Edit) { t.ops = append(t.ops, e) }

// stays tells whether a node is in both documents; of another kind, it is
// another node.
func (t *transition) stays(id string) bool {
	was, now := t.from[id], t.to[id]
	return was != nil && now != nil && was.Kind == now.Kind
}

func (t *transition) leave(from *Document) {
	var gone []string
	for i := range from.Nodes {
		if id := from.Nodes[i].ID; !t.stays(id) {
			gone = append(gone, id)
		}
	}
	if len(gone) > 0 {
		t.do(Edit{Op: OpRemove, Nodes: gone})
	}
}

func (t *transition) enter(to *Document) {
	places := map[string]*Position{}
	for i := range to.Nodes {
		n := to.Nodes[i]
		if !t.stays(n.ID) {
			t.do(Edit{Op: OpAdd, New: &n, At: &i})
			continue
		}
		was := t.from[n.ID]
		t.change(was, &n)
		if !reflect.DeepEqual(was.Position, n.Position) {
			places[n.ID] = n.Position
		}
	}
	if len(places) > 0 {
		t.do(Edit{Op: OpMove, Places: places})
	}
}

func (t *transition) change(was, now *Node) {
	for _, name := range changedMembers(was, now) {
		v, has := now.member(name)
		t.do(Edit{Op: OpPut, Node: now.ID, Member: name, Value: v, Unset: !has})
	}
	for _, name := range changedConfig(was, now) {
		v, has := now.Config[name]
		t.do(Edit{Op: OpSet, Node: now.ID, Field: name, Value: v, Unset: !has})
	}
}

// edges keeps those at the beginning that are the same; what follows is taken
// out and connected again, since the order of edges counts at list ports.
func (t *transition) edges(from, to *Document) {
	left := slices.DeleteFunc(slices.Clone(from.Edges), func(e Edge) bool {
		a, _ := e.source()
		b, _ := e.target()
		return !t.stays(a) || !t.stays(b)
	})
	same := 0
	for same < len(left) && same < len(to.Edges) && left[same] == to.Edges[same] {
		same++
	}
	for i := len(left) - 1; i >= same; i-- {
		at := arriving(left[:i], left[i].To)
		t.do(Edit{Op: OpDisconnect, Edge: left[i], At: &at})
	}
	for i := same; i < len(to.Edges); i++ {
		at := arriving(to.Edges[:i], to.Edges[i].To)
		t.do(Edit{Op: OpConnect, Edge: to.Edges[i], At: &at, Place: &i})
	}
}

func (t *transition) groups(from, to *Document) {
	if string(EncodeJSON(from.Groups)) == string(EncodeJSON(to.Groups)) && !t.regrouped(from) {
		return
	}
	for i := range from.Groups {
		t.do(Edit{Op: OpGroup, ID: from.Groups[i].ID})
	}
	for i := range to.Groups {
		g := to.Groups[i]
		t.do(Edit{Op: OpGroup, ID: g.ID, Group: &g, At: &i})
	}
}

// regrouped tells whether a group lost a node that comes back.
func (t *transition) regrouped(from *Document) bool {
	return slices.ContainsFunc(from.Groups, func(g Group) bool {
		return slices.ContainsFunc(g.Nodes, func(id string) bool { return !t.stays(id) })
	})
}
