package flow

import (
	"maps"
	"strings"
)

// applyAndLift is ApplyEdits for edits that come from outside: literal secrets
// are taken out of the new document, of what was carried out and of what takes
// it back. Each leaves a reference there that the caller must name. The edits
// and the old document are used up.
func applyAndLift(d *Document, ops []Edit, kinds *Registry) (*Edited, []liftedField, error) {
	b := newEditor(d)
	b.kinds = kinds
	if err := b.all(ops); err != nil {
		return nil, nil, err
	}
	out := b.result()
	for _, l := range b.lifted {
		for i := range out.Ops {
			out.Ops[i].scrub(l)
		}
		for i := range out.Inverse {
			out.Inverse[i].scrub(l)
		}
	}
	return out, b.lifted, nil
}

// lift takes the literal secrets out of a node whose config was written to.
// One change can make a secret of another field, whose literal stood there
// before; the edits that come back say so to others.
func (b *editor) lift(n *Node, written string) (more []Edit) {
	if b.kinds == nil {
		return nil
	}
	k := b.kinds.For(n)
	if k == nil {
		return nil
	}
	for i := range k.Fields {
		f := k.Fields[i].Name
		found := n.lift(&k.Fields[i])
		for _, l := range found {
			b.lifted = append(b.lifted, liftedField{l, f})
		}
		if len(found) > 0 && f != written && written != "" {
			more = append(more, Edit{Op: OpSet, Node: n.ID, Field: f, Value: n.Config[f]})
		}
	}
	return more
}

// liftedField is a lifted secret with the config field that it was in.
type liftedField struct {
	*Lifted
	config string
}

// scrub replaces a secret that the edit wrote while its field was not yet known
// to be one.
func (e *Edit) scrub(l liftedField) {
	switch {
	case e.Op == OpSet && e.Node == l.Node && e.Field == l.config:
		e.Value = l.scrubbed(e.Value)
	case e.Op == OpAdd && e.New.ID == l.Node:
		if v, ok := e.New.Config[l.config]; ok {
			n := *e.New
			n.Config = maps.Clone(n.Config)
			n.Config[l.config] = l.scrubbed(v)
			e.New = &n
		}
	}
}

// scrubbed keeps every other reference the same object: it may have no name yet.
func (l liftedField) scrubbed(v any) any {
	if v == any(l.Secret) {
		return l.ref
	}
	named, _ := v.(map[string]any)
	for name, item := range named {
		if item == any(l.Secret) && strings.ToLower(name) == l.Field {
			named = maps.Clone(named)
			named[name] = l.ref
			return l.scrubbed(named)
		}
	}
	return v
}
