package document

import (
	"cmp"
	"time"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/cputime"
	"sluice/flow/sorting"
)

// node checks one node against the declaration of its kind.
func (v *validator) node(i int) {
	n, k := &v.d.Nodes[i], v.shaped[i]
	if k == nil || !v.kinds.Accepts(k) {
		if n.Kind != "" {
			v.add(flow.Pointer("nodes", i, "kind"), "unknown_kind", n.ID, "there is no kind %q%s", n.Kind, closestOf(v, n.Kind, v.kinds.ByName()))
		}
		return
	}
	config := flow.Pointer("nodes", i, "config")
	before := len(v.problems)
	if k.Crowded || len(v.in[i]) > flow.MaxPorts+len(k.Inputs)+len(k.Fields) {
		v.add(config, "too_many", n.ID, "at most %d inputs and %d outputs of one node", flow.MaxPorts, flow.MaxPorts)
		return
	}
	v.fields(n, k, config)
	v.templates(n, k, config)
	wellFormed := len(v.problems) == before
	v.onError(n, k, flow.Pointer("nodes", i, "on_error"))
	if k.Role == flow.RoleInput {
		in := contract.ReadInput(n)
		v.check(n, config, in.Problems)
	}
	if k.Check != nil && wellFormed { // Check may rely on that
		v.check(n, config, func() []flow.Problem { return k.Check(n) })
	}
	if n.Tool != nil {
		v.tool(i, n, k)
	}
	if !n.Disabled {
		v.required(n, k, config)
	}
}

// maxChecking is the CPU time for the checks of all nodes of a document: compiling patterns,
// schemas and expressions. An ordinary document takes milliseconds.
const maxChecking = 250 * time.Millisecond

// maxWaiting is the time for the checks of all nodes of a document, with those that wait for a
// child process, which compiles code. It is long, so that a busy machine accepts what an idle one
// does.
const maxWaiting = 20 * time.Second

// check adds the problems that a check of a node finds, unless the checks of the nodes before
// it took too long.
func (v *validator) check(n *flow.Node, config string, problems func() []flow.Problem) {
	if v.checking > maxChecking || v.waiting > maxWaiting {
		v.add(config, "unchecked", n.ID, "this could not be checked, because checking the nodes before it took too long; make their patterns, schemas and expressions simpler")
		return
	}
	begin := time.Now()
	v.checking += cputime.Measure(func() { v.below(config, n.ID, problems()) })
	v.waiting += time.Since(begin)
}

// below adds problems of further checks of a node, except at places that already have one.
func (v *validator) below(at, node string, list []flow.Problem) {
	for i := range list {
		list[i].Pointer, list[i].Node = at+list[i].Pointer, node
	}
	v.problems = flow.MergeProblems(v.problems, list)
}

// fields checks that the kind declares every config field, and that the values match the
// declaration.
func (v *validator) fields(n *flow.Node, k *flow.Kind, at string) {
	known := map[string]bool{}
	for i := range k.Fields {
		known[k.Fields[i].Name] = true
	}
	for _, name := range sorting.Keys(n.Config) {
		f := k.Field(name)
		if f == nil {
			v.add(at+flow.Pointer(name), "unknown_field", n.ID, "%s has no field %q%s", k.Name, name, closestOf(v, name, known))
			continue
		}
		for _, p := range f.Check(n.Config[name]) {
			p.Pointer, p.Node = at+flow.Pointer(name)+p.Pointer, n.ID
			v.problems = append(v.problems, p)
		}
	}
}

// templates checks the syntax of templates, the credentials in them, and the names in {{…}}. Each
// name becomes a port, so it must not be the name of a port of the kind.
func (v *validator) templates(n *flow.Node, k *flow.Kind, at string) {
	own := map[string]bool{}
	for _, p := range k.Inputs {
		own[p.Name] = true
	}
	for i := range k.Fields {
		own[k.Fields[i].Name] = !k.Fields[i].Typed
	}
	for i := range k.Fields {
		f := &k.Fields[i]
		if !f.Template {
			continue
		}
		_, _ = flow.EachText(n.Config[f.Name], at+flow.Pointer(f.Name), func(s, at string) (any, error) {
			t, err := flow.ParseTemplate(f.TemplateText(s))
			if err != nil {
				v.add(at, "template", n.ID, "%v", err)
				return nil, nil
			}
			if f.Secrets == "" && t.HasCredentials() {
				v.add(at, "credential", n.ID, "%q cannot hold a credential; use {{credential:…}} in the URL, headers, query or body of an http_request", f.Name)
			}
			for _, name := range t.Names() {
				if own[name] {
					v.add(at, "reserved", n.ID, "{{%s}} has the name of a port of %s; choose another name", name, k.Name)
				}
			}
			return nil, nil
		})
	}
}

// onError checks that the values to continue with after an error are for existing ports.
func (v *validator) onError(n *flow.Node, k *flow.Kind, at string) {
	if n.OnError == nil {
		return
	}
	known := map[string]bool{}
	for _, p := range k.Outputs {
		known[p.Name] = true
	}
	for _, port := range sorting.Keys(n.OnError.Continue) {
		if !known[port] {
			v.add(at+flow.Pointer("continue", port), "unknown", n.ID, "%s has no output port %q%s", k.Name, port, closestOf(v, port, known))
		}
	}
}

// required reports required ports and fields without an edge or a value.
func (v *validator) required(n *flow.Node, k *flow.Kind, at string) {
	fed := v.fed[n.ID]
	given := func(name string) bool { return name != "" && (fed[name] || n.Config[name] != nil) }
	for _, p := range flow.InputPorts(n, k) {
		f := k.Field(p.Name)
		if n.Tool != nil && flow.CanOpen(p, f) { // the model fills it
			continue
		}
		if !p.Required || fed[p.Name] || f != nil && given(f.Unless) {
			continue
		}
		switch {
		case p.Template:
			v.add(at, "required", n.ID, "{{%s}} isn't connected. Choose a source.", p.Name)
		case f != nil:
			v.add(at+flow.Pointer(p.Name), "required", n.ID, "%s is required. Enter it or connect an input.", cmp.Or(p.Title, p.Name))
		case k.Role == flow.RoleOutput:
			v.add(at, "required", n.ID, "connect a value to this output.")
		default:
			v.add(at, "required", n.ID, "connect a value to %s.", cmp.Or(p.Title, p.Name))
		}
	}
	for i := range k.Fields {
		f := &k.Fields[i]
		if f.Typed && f.Required && !given(f.Unless) && !n.HasValue(f) && f.Default == nil && k.Role != flow.RoleInput {
			v.add(at+flow.Pointer(f.Name), "required", n.ID, "%s is required.", cmp.Or(f.Title, f.Name))
		}
	}
}
