package flow

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"sluice/flow/sorting"
)

// Registry holds the kinds. It is read-only, so it is safe for concurrent use.
type Registry struct {
	kinds    map[string]*Kind
	internal bool
	// CheckCondition returns an error for a condition that cannot be evaluated over values of the given names; see
	// Tool.Approval. Nil checks nothing.
	CheckCondition func(condition string, names []string) error
}

// WithInternal returns the registry for documents that Sluice itself wrote, which accepts internal kinds.
func (r *Registry) WithInternal() *Registry {
	own := *r
	own.internal = true
	return &own
}

// Accepts reports whether documents may have nodes of a kind.
func (r *Registry) Accepts(k *Kind) bool { return r.internal || !k.Internal }

// NewRegistry returns a registry of kinds. It panics on an invalid declaration.
func NewRegistry(kinds ...Kind) *Registry {
	r := &Registry{kinds: map[string]*Kind{}}
	for _, k := range kinds {
		r.add(k)
	}
	return r
}

// kindName matches the names of kinds, which are part of documents and never change.
var kindName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// add validates and registers a kind. Declarations are code, so an invalid one panics at start
// instead of failing in a flow.
func (r *Registry) add(k Kind) {
	if !kindName.MatchString(k.Name) || k.Title == "" || k.Summary == "" || k.Group == "" {
		panic(fmt.Sprintf("flow: kind %q lacks a name, title, group or summary", k.Name))
	}
	if _, twice := r.kinds[k.Name]; twice {
		panic(fmt.Sprintf("flow: kind %q is declared twice", k.Name))
	}
	if (k.Run == nil) == (k.Expand == nil) && k.Role != RoleCanvas {
		panic(fmt.Sprintf("flow: kind %q needs either Run or Expand", k.Name))
	}
	r.kinds[k.Name] = &k
}

// Find returns the kind with a name, or nil.
func (r *Registry) Find(name string) *Kind { return r.kinds[name] }

// ByName returns the kinds that documents may have, by name.
func (r *Registry) ByName() map[string]*Kind {
	named := maps.Clone(r.kinds)
	maps.DeleteFunc(named, func(_ string, k *Kind) bool { return !r.Accepts(k) })
	return named
}

// For returns the kind of a node with the DynamicSchema of its config applied, or nil if the
// kind is unknown.
func (r *Registry) For(n *Node) *Kind {
	k := r.kinds[n.Kind]
	if k == nil || k.DynamicSchema == nil {
		return k
	}
	shape, own := k.DynamicSchema(n), *k
	own.Fields, own.Outputs, own.Open = slices.Clip(k.Fields), slices.Clip(k.Outputs), shape.Open
	own.Crowded = len(shape.Fields) > MaxPorts || len(shape.Outputs) > MaxPorts
	fields, outputs := make(map[string]bool, len(k.Fields)), make(map[string]int, len(k.Outputs))
	for i := range k.Fields {
		fields[k.Fields[i].Name] = true
	}
	for i := range k.Outputs {
		outputs[k.Outputs[i].Name] = i
	}
	for _, f := range shape.Fields[:min(len(shape.Fields), MaxPorts)] {
		if !fields[f.Name] {
			fields[f.Name] = true
			own.Fields = append(own.Fields, f)
		}
	}
	copied := false
	for _, p := range shape.Outputs[:min(len(shape.Outputs), MaxPorts)] {
		i, known := outputs[p.Name]
		switch {
		case known && i < len(k.Outputs):
			if !copied {
				own.Outputs, copied = slices.Clone(own.Outputs), true // those of the kind are shared
			}
			o := &own.Outputs[i]
			o.Shown, o.Items, o.Schema, o.Optional = p.Type, p.Items, p.Schema, p.Optional
		case !known && p.Name != ErrorPort:
			outputs[p.Name] = len(own.Outputs)
			own.Outputs = append(own.Outputs, p)
		}
	}
	return &own
}

// List returns the kinds that documents may have, by name.
func (r *Registry) List() []*Kind {
	list := make([]*Kind, 0, len(r.kinds))
	for _, name := range sorting.Keys(r.kinds) {
		if k := r.kinds[name]; r.Accepts(k) {
			list = append(list, k)
		}
	}
	return list
}
