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
	for _, id := range sorting.Keys(b.written) {
		b.settle(id)
	}
	out, kindOf := b.result(), map[string]*flow.Kind{}
	for i := range out.Ops {
		b.clean(&out.Ops[i], kindOf)
	}
	for i := range out.Inverse {
		b.clean(&out.Inverse[i], kindOf)
	}
	return out, b.extractor.list, nil
}

// extractSecrets extracts the literal secrets of a node whose config was changed. It returns the
// changed fields.
func (b *editor) extractSecrets(n *flow.Node) (changed []string) {
	delete(b.written, n.ID)
	if b.extractor == nil {
		return nil
	}
	before := len(b.extractor.list)
	if changed = b.extractor.node(n); len(changed) == 0 {
		return nil
	}
	b.owned[n.ID] = true // the extractor made a copy
	of := b.moved[n.ID]
	if of == nil {
		of = map[string]*ExtractedSecret{}
		b.moved[n.ID] = of
	}
	for _, l := range b.extractor.list[before:] {
		if of[l.Secret] == nil {
			moved := *l
			of[l.Secret] = &moved
		}
	}
	return changed
}

// settle extracts the literal secrets of a node whose fields were set, once for all these edits,
// because the kind of a node may be computed from all of its config. A field can turn the literal
// of another one into a secret: edits are added for such fields, so that other editors replace them.
func (b *editor) settle(id string) {
	i := b.place(id)
	if i < 0 || !b.written[id] {
		return
	}
	n := &b.d.Nodes[i]
	for _, f := range b.extractSecrets(n) {
		if e := b.lastSet(id, f); e != nil {
			e.Value = n.Config[f]
		} else {
			b.done = append(b.done, Edit{Op: OpSet, Node: id, Field: f, Value: n.Config[f]})
		}
	}
}

// lastSet returns the applied edit that gave a field of a node its current value, or nil.
func (b *editor) lastSet(id, field string) *Edit {
	for i := len(b.done) - 1; i >= 0; i-- {
		switch e := &b.done[i]; {
		case e.Op == OpAdd && e.New.ID == id:
			return nil
		case e.Op == OpSet && e.Node == id && e.Field == field:
			if e.Unset {
				return nil
			}
			return e
		}
	}
	return nil
}

// clean extracts literal secrets from an edit before it is stored, including secrets of the
// draft that an inverse edit contains. kindOf holds the kinds of nodes that were looked up.
func (b *editor) clean(e *Edit, kindOf map[string]*flow.Kind) {
	switch {
	case e.Op == OpSet && !e.Unset:
		n := b.nodeOf(e.Node)
		if n == nil {
			return
		}
		e.Value = b.replaceMoved(n.ID, e.Field, e.Value)
		k, known := kindOf[n.ID]
		if !known {
			k = b.kinds.For(n)
			kindOf[n.ID] = k
		}
		if k != nil && k.Field(e.Field) != nil {
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
	moved := b.moved[node]
	if len(moved) == 0 {
		return v
	}
	return replaceLiteral(v, "", func(text string) string {
		if l := moved[text]; l != nil {
			return b.extractor.name(l)
		}
		return ""
	})
}

// replaceLiteral returns v with every secret replaced by a reference to its credential, which is ""
// for other texts. If name is set, it replaces only members with that name.
func replaceLiteral(v any, name string, credentialOf func(text string) string) any {
	switch v := value.Ordered(v).(type) {
	case string:
		if name != "" {
			return v
		}
		if credential := credentialOf(v); credential != "" {
			return flow.SecretRefTo(credential)
		}
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = replaceLiteral(v[i], name, credentialOf)
		}
		return out
	case *flow.Object:
		if flow.IsSecretRef(v) {
			return v
		}
		out, _ := v.Replace(func(member string, item any) (any, error) {
			if member == name {
				return replaceLiteral(item, "", credentialOf), nil
			}
			return replaceLiteral(item, name, credentialOf), nil
		})
		return out
	}
	return v
}
