package flow

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// prepare resolves what a ready step is given. It is false when the step ended
// right here: its input is wrong, or the parent's result is reused.
func (p *Plan) prepare(i int, now time.Time) (*In, bool) {
	n, step := &p.g.nodes[i], &p.nodes[i].step
	in, err := p.resolve(i)
	if err != nil {
		if step.StartedAt.IsZero() {
			step.StartedAt = now
		}
		if p.run.State != RunRunning {
			p.startRun(now)
		}
		p.failed(i, err, now)
		return nil, false
	}
	step.Input = n.shown(in)
	step.InputHash = Hash(EncodeJSON([]any{in.Config, in.Ports, in.Collected}))
	if p.takeOver(i, now) {
		return nil, false
	}
	in.Attempt, in.State = step.Attempt+1, step.Saved
	p.nodes[i].in = in
	return in, true
}

// takeOver reuses the parent's result where node and input are the same.
func (p *Plan) takeOver(i int, now time.Time) bool {
	n, step := &p.g.nodes[i], &p.nodes[i].step
	if p.reuse == nil || p.reuse.Forced[n.ID] {
		return false
	}
	old, ok := p.reuse.Steps[step.Path]
	if !ok || old.State != StepSucceeded && old.State != StepReused || old.NodeHash != step.NodeHash || old.InputHash != step.InputHash {
		return false
	}
	p.end(i, StepReused, old.Outputs, now)
	return true
}

// NewReuse lists what a rerun may take over. From a chosen node, everything
// downstream of it runs again.
func NewReuse(g *Graph, steps []Step, from string) *Reuse {
	r := &Reuse{Steps: map[string]Step{}, Forced: map[string]bool{}}
	for _, s := range steps {
		r.Steps[s.Path] = s
	}
	if i, ok := g.index[from]; ok {
		r.force(g, i)
	}
	return r
}

func (r *Reuse) force(g *Graph, i int) {
	if r.Forced[g.nodes[i].ID] {
		return
	}
	r.Forced[g.nodes[i].ID] = true
	for _, t := range g.nodes[i].out {
		r.force(g, t)
	}
}

func (p *Plan) resolve(i int) (*In, *Error) {
	n := &p.g.nodes[i]
	in := &In{
		WorkspaceID: p.run.WorkspaceID, FlowID: p.run.FlowID, RunID: p.run.ID,
		Path: p.nodes[i].step.Path, Node: n.ID, Key: p.run.ID + ":" + p.nodes[i].step.Path,
		Inputs: p.run.Inputs, Config: make(map[string]any, len(n.kind.Fields)), Ports: make(map[string]any, len(n.in)),
	}
	for k, e := range n.in {
		s := &p.nodes[i].edges[k]
		if !s.live {
			continue
		}
		if err := n.arrive(in, e, s.value); err != nil {
			return nil, err
		}
	}
	if n.kind.Role == RoleInput {
		in.Ports["value"] = p.run.Inputs[nameOf(n.Node)]
	}
	return in, n.configure(in)
}

// arrive takes the value of one edge, as the type of its port.
func (n *graphNode) arrive(in *In, e graphEdge, value any) *Error {
	if e.collects != "" {
		if in.Collected == nil {
			in.Collected = map[string]any{}
		}
		in.Collected[e.collects] = value
		return nil
	}
	port := n.port(e.toPort)
	if port.List {
		list, _ := in.Ports[e.toPort].([]any)
		if !port.First || len(list) == 0 {
			in.Ports[e.toPort] = append(list, value)
		}
		return nil
	}
	v, err := Coerce(value, port.Type)
	if err != nil {
		return &Error{Code: CodeInputInvalid, Message: fmt.Sprintf("%s.%s: %v.", n.ID, e.toPort, err)}
	}
	in.Ports[e.toPort] = v
	return nil
}

// configure fills in every field: edge over typed value over default.
func (n *graphNode) configure(in *In) *Error {
	for i := range n.kind.Fields {
		f := &n.kind.Fields[i]
		if v, fed := in.Ports[f.Name]; fed && !f.Typed {
			in.Config[f.Name] = v
			continue
		}
		if t, ok := n.templates[f.Name]; ok {
			v, err := render(t, in.Ports, f.Escape)
			if err != nil {
				return &Error{Code: CodeInputInvalid, Message: fmt.Sprintf("%s.%s: %v.", n.ID, f.Name, err)}
			}
			in.Config[f.Name] = v
			continue
		}
		if v, typed := n.Config[f.Name]; typed {
			in.Config[f.Name] = v
		} else if f.Default != nil {
			in.Config[f.Name] = f.Default
		}
	}
	return nil
}

// render fills every parsed template inside a config value.
func render(v any, values map[string]any, escape Escape) (any, error) {
	switch v := v.(type) {
	case *Template:
		if v.HasCredentials() {
			return v.RenderSecret(values, escape)
		}
		return v.Render(values, escape)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			item, err := render(v[i], values, EscapeNone)
			if err != nil {
				return nil, err
			}
			out[i] = item
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, name := range sortedNames(v) {
			item, err := render(v[name], values, EscapeNone)
			if err != nil {
				return nil, err
			}
			out[name] = item
		}
		return out, nil
	}
	return v, nil
}

// shown is what the record of a step says it was given: secrets left out.
func (n *graphNode) shown(in *In) map[string]any {
	m := make(map[string]any, len(in.Ports))
	maps.Copy(m, in.Ports)
	for i := range n.kind.Fields {
		f := &n.kind.Fields[i]
		if v, ok := in.Config[f.Name]; ok && (!f.Typed || f.Type == FieldModel) { // usage is counted by model
			m[f.Name] = f.shown(v)
		}
	}
	return m
}

// Redacted stands where a secret was.
const Redacted = "[secret]"

func (f *Field) shown(v any) any {
	if f.Type == FieldSecret && !IsSecretRef(v) && v != nil && v != "" {
		return Redacted
	}
	named, isMap := v.(map[string]any)
	if f.Secrets == SecretsInURL {
		return shownURLs(v)
	}
	if f.Secrets != SecretsByName {
		return v
	}
	if !isMap || f.Type != FieldMap {
		return f.shownMembers(v)
	}
	out := maps.Clone(named)
	for name, item := range named {
		if f.IsSecretName(name) && !isReference(item) {
			out[name] = Redacted
		}
	}
	return out
}

// shownURLs is ShownURL for a URL or a list of them.
func shownURLs(v any) any {
	switch v := v.(type) {
	case string:
		return ShownURL(v)
	case []any:
		out := slices.Clone(v)
		for i := range out {
			out[i] = shownURLs(out[i])
		}
		return out
	}
	return v
}

// shownMembers leaves the secrets out of a body that arrived as data.
func (f *Field) shownMembers(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = f.shownMembers(v[i])
		}
		return out
	case map[string]any:
		if IsSecretRef(v) {
			return v
		}
		out := make(map[string]any, len(v))
		for name, item := range v {
			if s, isText := item.(string); isText && s != "" && isSecretMember(name, s) {
				out[name] = Redacted
			} else {
				out[name] = f.shownMembers(item)
			}
		}
		return out
	}
	return v
}

// isReference reports whether a value references credentials and holds no
// secret itself.
func isReference(v any) bool {
	if _, ok := v.(SecretText); ok || IsSecretRef(v) {
		return true
	}
	s, ok := v.(string)
	return ok && len(textCredentials(s)) > 0
}

// IsSecretName reports whether a map field keeps the value of a name secret.
func (f *Field) IsSecretName(name string) bool {
	return f.Secrets == SecretsByName && IsSecretName(name)
}
