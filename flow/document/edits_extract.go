package document

import (
	"maps"

	"sluice/flow"
)

// ApplyAndExtract is ApplyEdits for edits that come from outside: literal secrets
// are taken out of the new document, of what was carried out and of what takes
// it back. name chooses the credentials that they move to.
func ApplyAndExtract(d *flow.Document, ops []Edit, kinds *flow.Registry, name func(l *ExtractedSecret) string) (*Edited, []*ExtractedSecret, error) {
	b := newEditor(d)
	b.kinds = kinds
	b.extractor = &secretExtractor{kinds: kinds, name: name, fed: b.d.IsFed}
	if err := b.all(ops); err != nil {
		return nil, nil, err
	}
	out := b.result()
	for i := range out.Ops {
		b.clean(&out.Ops[i])
	}
	for i := range out.Inverse {
		b.clean(&out.Inverse[i])
	}
	return out, b.extractor.list, nil
}

// extractSecrets takes the literal secrets out of a node whose config was written to.
// One change can make a secret of another field, whose literal stood there
// before; the edits that come back say so to others.
func (b *editor) extractSecrets(n *flow.Node, written string) (more []Edit) {
	if b.extractor == nil {
		return nil
	}
	before := len(b.extractor.list)
	changed := b.extractor.node(n)
	if len(changed) == 0 {
		return nil
	}
	b.owned[n.ID] = true // the secretExtractor made a copy
	for _, l := range b.extractor.list[before:] {
		b.moved = append(b.moved, *l)
	}
	for _, f := range changed {
		if f != written && written != "" {
			more = append(more, Edit{Op: OpSet, Node: n.ID, Field: f, Value: n.Config[f]})
		}
	}
	return more
}

// clean moves literal secrets out of an edit that is about to be stored,
// including secrets from the draft that the edit writes back.
func (b *editor) clean(e *Edit) {
	switch {
	case e.Op == OpSet && !e.Unset:
		n := b.nodeOf(e.Node)
		if n == nil {
			return
		}
		e.Value = b.replaceMoved(n.ID, e.Field, e.Value)
		if k := b.kinds.For(n); k != nil && k.Field(e.Field) != nil {
			e.Value = b.extractor.field(n, k, k.Field(e.Field), e.Value)
		}
	case e.Op == OpAdd && e.New != nil:
		n := *e.New
		n.Config = maps.Clone(n.Config)
		for name := range n.Config {
			n.Config[name] = b.replaceMoved(n.ID, name, n.Config[name])
		}
		b.extractor.node(&n)
		e.New = &n
	}
}

// nodeOf finds a node in the new document, or in the old one if it is gone.
func (b *editor) nodeOf(id string) *flow.Node {
	if n := b.d.Node(id); n != nil {
		return n
	}
	return b.before.Node(id)
}

// Replaced returns edits that set the config fields that hold something else
// after a transaction than was sent with it: references to credentials where a
// secret was typed, and fields that a secret moved to. sent is what came from
// outside, done is what was carried out.
func Replaced(sent, done []Edit) []Edit {
	typed := map[[2]string]string{}
	eachValue(sent, func(e Edit) { typed[[2]string{e.Node, e.Field}] = string(flow.EncodeJSON(e.Value)) })
	var fields [][2]string
	last := map[[2]string]Edit{}
	eachValue(done, func(e Edit) {
		at := [2]string{e.Node, e.Field}
		if _, known := last[at]; !known {
			fields = append(fields, at)
		}
		last[at] = e
	})
	var list []Edit
	for _, at := range fields {
		if text, same := typed[at]; !same || text != string(flow.EncodeJSON(last[at].Value)) {
			list = append(list, last[at])
		}
	}
	return list
}

// eachValue visits every config field that edits write, as an edit that sets it.
func eachValue(edits []Edit, visit func(e Edit)) {
	for i := range edits {
		switch e := &edits[i]; {
		case e.Op == OpSet && !e.Unset:
			visit(Edit{Op: OpSet, Node: e.Node, Field: e.Field, Value: e.Value})
		case e.Op == OpAdd && e.New != nil:
			for _, field := range flow.SortedNames(e.New.Config) {
				visit(Edit{Op: OpSet, Node: e.New.ID, Field: field, Value: e.New.Config[field]})
			}
		}
	}
}

// replaceMoved replaces other occurrences of a moved secret in the same node by
// references: their field may not have been known as a secret yet.
func (b *editor) replaceMoved(node, field string, v any) any {
	for i := range b.moved {
		if l := &b.moved[i]; l.Node == node {
			v = replaceLiteral(v, l.Secret, b.extractor.name(l), "")
		}
	}
	return v
}

// replaceLiteral returns v with every text that equals secret replaced by a
// reference. With a name, only members of that name are replaced.
func replaceLiteral(v any, secret, credential, name string) any {
	switch v := v.(type) {
	case string:
		if v == secret && name == "" {
			return flow.SecretRefTo(credential)
		}
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = replaceLiteral(v[i], secret, credential, name)
		}
		return out
	case map[string]any:
		if flow.IsSecretRef(v) {
			return v
		}
		out := make(map[string]any, len(v))
		for member, item := range v {
			within := name
			if member == name {
				within = ""
			}
			out[member] = replaceLiteral(item, secret, credential, within)
		}
		return out
	}
	return v
}
