package engine

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/value"
)

// prepare resolves the input of a ready step. It returns false if the step ended immediately,
// because its input is invalid or the result of the parent run is reused.
func (p *Plan) prepare(i int, now time.Time) (*flow.In, bool) {
	n, step := p.nodes[i].def, &p.nodes[i].step
	in, err := p.resolve(i)
	if err != nil {
		if step.StartedAt.IsZero() {
			step.StartedAt = now
		}
		if p.run.State != flow.RunRunning {
			p.startRun(now)
		}
		p.failStep(i, err, now, false)
		return nil, false
	}
	step.Input, step.InputHash = n.recorded(in)
	step.Untrusted = step.Untrusted || len(in.Untrusted) > 0 || n.kind.Untrusted != nil && n.kind.Untrusted(n.Node)
	if p.reuseResult(i, now) {
		return nil, false
	}
	n.applyAlternative(in, step)
	in.Attempt, in.State, in.Failures = step.Attempt+1, step.Saved, step.Failures
	if p.reuse != nil && (!p.reuse.forces(n.ID, step.Path) || p.isPartial(i)) {
		in.ReuseFrom = p.run.ParentRunID
	}
	p.nodes[i].in = in
	return in, true
}

// recorded returns the input of a step as it is stored, and its hash.
func (n *graphNode) recorded(in *flow.In) (input map[string]any, hash string) {
	if n.sub != nil {
		input, hash = maps.Clone(n.sub.Input), n.sub.InputHash
	}
	if input == nil {
		input = n.recordedInput(in)
	} else if f := n.kind.ModelField(); f != nil {
		input[f.Name] = in.Config[f.Name] // usage is counted by model
	}
	if hash == "" {
		parts := []any{in.Config, in.Ports, in.Collected}
		for i := range in.Tools {
			parts = append(parts, in.Tools[i].Hash)
		}
		hash = value.Hash(parts)
	}
	return input, hash
}

// reuseResult ends the step with the result of the parent run if node and input are unchanged,
// and reports whether it did.
func (p *Plan) reuseResult(i int, now time.Time) bool {
	n, step := p.nodes[i].def, &p.nodes[i].step
	if p.reuse == nil || p.reuse.forces(n.ID, step.Path) {
		return false
	}
	old, ok := p.reuse.Steps[step.Path]
	if n.kind.Settles && !p.reuse.isSettled(step.Path) {
		return false
	}
	if !ok || old.NodeHash != step.NodeHash || old.InputHash != step.InputHash {
		return false
	}
	if old.State != flow.StepSucceeded && old.State != flow.StepReused {
		return p.isSub(i) && p.reuseFailure(i, &old, now)
	}
	if n.kind.Partial != nil && n.kind.Partial(old.Outputs) {
		return false
	}
	step.Untrusted = step.Untrusted || old.Untrusted
	p.endStep(i, flow.StepReused, old.Outputs, now)
	return true
}

// isPartial reports whether the step of the parent run did only a part of its work, such as
// some of the items of a map. A rerun then reuses that part and does the rest, even if the
// step is forced to run again.
func (p *Plan) isPartial(i int) bool {
	partial := p.nodes[i].def.kind.Partial
	old, ok := p.reuse.Steps[p.nodes[i].step.Path]
	if !ok || partial == nil {
		return false
	}
	return old.State != flow.StepSucceeded && old.State != flow.StepReused || partial(old.Outputs)
}

// NewReuse returns the results that a rerun may reuse, given the steps of its parent run. The
// node from, if it exists, and everything downstream of it run again. If from is the path of a
// sub-step, the sub-steps before it are reused.
func NewReuse(g *Graph, steps []flow.Step, from string) *Reuse {
	r := &Reuse{Steps: map[string]flow.Step{}, Forced: map[string]bool{}}
	for _, s := range steps {
		r.Steps[s.Path] = s
	}
	node, _, isSub := strings.Cut(from, flow.SubSeparator)
	i, ok := g.index[node]
	switch {
	case ok && isSub:
		r.from = from
		for _, t := range g.nodes[i].out {
			r.force(g, t)
		}
	case ok:
		r.force(g, i)
	}
	return r
}

// force adds a node and everything that depends on it to Forced.
func (r *Reuse) force(g *Graph, i int) {
	if r.Forced[g.nodes[i].ID] {
		return
	}
	r.Forced[g.nodes[i].ID] = true
	for _, t := range g.nodes[i].out {
		r.force(g, t)
	}
}

// resolve builds the input of a node: values of live edges take precedence over those typed in
// its config. An error means an invalid value, such as one that cannot be converted.
func (p *Plan) resolve(i int) (*flow.In, *flow.Error) {
	n := p.nodes[i].def
	in := &flow.In{
		WorkspaceID: p.run.WorkspaceID, FlowID: p.run.FlowID, RunID: p.run.ID,
		Path: p.nodes[i].step.Path, Node: n.ID, Key: string(p.run.ID) + ":" + p.nodes[i].step.Path,
		Timeout: time.Duration(n.TimeoutS * float64(time.Second)), Retry: n.Retry,
	}
	if n.sub != nil {
		in.Config, in.Ports, in.Budget, in.Tool = maps.Clone(n.sub.Config), maps.Clone(n.sub.Ports), n.sub.Budget, n.sub.Tool
		if n.sub.Untrusted {
			in.Untrusted = map[string]bool{"": true}
		}
		return in, nil
	}
	in.Config, in.Ports = make(map[string]any, len(n.kind.Fields)), make(map[string]any, len(n.in))
	for k, e := range n.in {
		s := &p.nodes[i].edges[k]
		if !s.live || e.tool > 0 {
			continue
		}
		if err := n.addInput(in, e, s.value); err != nil {
			return nil, err
		}
		if p.nodes[e.from].step.Untrusted {
			in.MarkUntrusted(e.toPort)
		}
	}
	if n.kind.Remember != nil {
		in.Memory = p.run.Context[n.ID]
	}
	if n.kind.Role == flow.RoleInput {
		in.Ports["value"] = p.run.Inputs.Get(flow.NameOf(n.Node))
		if p.run.Untrusted&flow.UntrustedInputs != 0 || n.input.Untrusted {
			in.MarkUntrusted("value")
		}
	}
	if err := p.bindTools(i, in); err != nil {
		return nil, err
	}
	if err := n.configure(in); err != nil {
		return nil, err
	}
	return in, n.enclose(in)
}

// enclose sets In.Enclosed of an expanding step.
func (n *graphNode) enclose(in *flow.In) *flow.Error {
	if n.kind.Expand == nil || len(in.Untrusted) == 0 {
		return nil
	}
	own := &flow.In{Config: map[string]any{}, Ports: maps.Clone(in.Ports)}
	for port := range in.Untrusted {
		v := in.Ports[port]
		if _, isSecret := flow.SecretInput(v); isSecret {
			continue
		}
		if own.Ports[port] = flow.EncloseTexts(v); n.kind.Field(port) == nil {
			own.Ports[port] = flow.FromOutside(v) // a placeholder
		}
	}
	err := n.configure(own)
	in.Enclosed = own.Config
	return err
}

// addInput adds the value of one edge, converted to the type of its port.
func (n *graphNode) addInput(in *flow.In, e graphEdge, value any) *flow.Error {
	if e.collects != "" {
		if in.Collected == nil {
			in.Collected = &flow.Object{}
		}
		in.Collected.Set(e.collects, value)
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
	if _, isRemote := flow.RemoteFileOf(value); isRemote && port.Type == flow.TypeFile {
		in.Ports[e.toPort] = value // the step fetches it
		return nil
	}
	v, err := flow.Coerce(value, port.Type)
	if err != nil {
		return &flow.Error{Code: flow.CodeInputInvalid, Message: fmt.Sprintf("%s.%s: %v.", n.ID, e.toPort, err)}
	}
	in.Ports[e.toPort] = v
	return nil
}

// configure sets every field: an edge takes precedence over a typed value, and that over the
// default.
func (n *graphNode) configure(in *flow.In) *flow.Error {
	for i := range n.kind.Fields {
		f := &n.kind.Fields[i]
		if v, fed := in.Ports[f.Name]; fed && !f.Typed {
			in.Config[f.Name] = v
			continue
		}
		if t, ok := n.templates[f.Name]; ok {
			escape := f.Escape
			if f.EscapeOf != nil {
				escape = f.EscapeOf(n.Node)
			}
			v, err := render(t, in.Ports, escape)
			if err != nil {
				return &flow.Error{Code: flow.CodeInputInvalid, Message: fmt.Sprintf("%s.%s: %v.", n.ID, f.Name, err)}
			}
			in.Config[f.Name] = v
			continue
		}
		if v, has := f.ValueOrDefault(n.Node); has {
			in.Config[f.Name] = v
		}
	}
	return nil
}

// render returns a config value with every parsed template in it filled in.
func render(v any, values map[string]any, escape flow.Escape) (any, error) {
	switch v := value.Ordered(v).(type) {
	case *flow.Template:
		if v.HasSecrets(values) {
			return v.RenderSecret(values, escape)
		}
		return v.Render(values, escape)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			item, err := render(v[i], values, flow.EscapeNone)
			if err != nil {
				return nil, err
			}
			out[i] = item
		}
		return out, nil
	case *flow.Object:
		return v.Replace(func(_ string, item any) (any, error) { return render(item, values, flow.EscapeNone) })
	}
	return v, nil
}

// storesItems reports whether the items of the list in a field are stored outside the step row,
// item by item.
func (n *graphNode) storesItems(field string) bool {
	f := n.kind.Field(field)
	return f != nil && f.Items
}

// recordedInput returns the input of a step as it is stored and shown: secrets are redacted and
// lists with items of their own are replaced by their length.
func (n *graphNode) recordedInput(in *flow.In) map[string]any {
	m := make(map[string]any, len(in.Ports))
	maps.Copy(m, in.Ports)
	for i := range n.kind.Fields {
		f := &n.kind.Fields[i]
		if v, ok := in.Config[f.Name]; ok && (!f.Typed || f.Type == flow.FieldModel) { // usage is counted by model
			m[f.Name] = f.Redact(v)
		}
	}
	for name, v := range m {
		if list, ok := v.([]any); ok && n.storesItems(name) {
			m[name] = map[string]any{"items": len(list)}
			continue
		}
		if n.input != nil {
			m[name] = n.input.ShownFiles(v)
		} else if n.port(name).Type == flow.TypeFile {
			m[name] = flow.ShownFile(v)
		}
	}
	return m
}
