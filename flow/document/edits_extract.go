package document

import (
	"maps"

	"sluice/flow"
	"sluice/flow/sorting"
	"sluice/flow/value"
)

// ApplyAndExtract is ApplyEdits for edits of clients: it extracts literal secrets from the new
// document, from the applied edits and from their inverse. name chooses the credentials that
// the secrets move to.
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

// extractSecrets extracts the literal secrets of a node whose config was changed. A change can
// turn the literal of another field into a secret; the returned edits replace such fields for
// other editors.
func (b *editor) extractSecrets(n *flow.Node, written string) (more []Edit) {
	if b.extractor == nil {
		return nil
	}
	before := len(b.extractor.list)
	changed := b.extractor.node(n)
	if len(changed) == 0 {
		return nil
	}
	b.owned[n.ID] = true // the extractor made a copy
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

// clean extracts literal secrets from an edit before it is stored, including secrets of the
// draft that an inverse edit contains.
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

// nodeOf returns a node of the new document, or of the old one if it was removed.
func (b *editor) nodeOf(id string) *flow.Node {
	if n := b.d.Node(id); n != nil {
		return n
	}
	return b.before.Node(id)
}

// Replaced returns edits for the config fields whose values after a transaction differ from those
// that the client sent: references instead of typed secrets, and fields that a secret moved to.
// sent are the edits of the client, done the applied edits.
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

// eachValue calls visit for every config field that edits write, as an edit that sets it.
func eachValue(edits []Edit, visit func(e Edit)) {
	for i := range edits {
		switch e := &edits[i]; {
		case e.Op == OpSet && !e.Unset:
			visit(Edit{Op: OpSet, Node: e.Node, Field: e.Field, Value: e.Value})
		case e.Op == OpAdd && e.New != nil:
			for _, field := range sorting.Keys(e.New.Config) {
				visit(Edit{Op: OpSet, Node: e.New.ID, Field: field, Value: e.New.Config[field]})
			}
		}
	}
}

// replaceMoved replaces other occurrences of an extracted secret in the same node by references.
// Their field may not have been recognized as secret.
func (b *editor) replaceMoved(node, field string, v any) any {
	for i := range b.moved {
		if l := &b.moved[i]; l.Node == node {
			v = replaceLiteral(v, l.Secret, b.extractor.name(l), "")
		}
	}
	return v
}

// replaceLiteral returns v with every text that equals secret replaced by a reference. If name
// is set, it replaces only members with that name.
func replaceLiteral(v any, secret, credential, name string) any {
	switch v := value.Ordered(v).(type) {
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
	case *flow.Object:
		if flow.IsSecretRef(v) {
			return v
		}
		out, _ := v.Replace(func(member string, item any) (any, error) {
			if member == name {
				return replaceLiteral(item, secret, credential, ""), nil
			}
			return replaceLiteral(item, secret, credential, name), nil
		})
		return out
	}
	return v
}
