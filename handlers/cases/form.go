package cases

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/cases"
	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/flow/sorting"
	"sluice/flow/wording"
	"sluice/handlers/web"
	view "sluice/views/cases"
	"sluice/views/components"
	"sluice/views/layout"
)

// Rows of the form of a case.
const (
	spareChecks = 2 // empty rows at the end
	maxStubs    = 200
)

// form is a case as people fill it in.
type form struct {
	c      *call
	f      *flow.Flow
	doc    *flow.Document // the draft; nil if it cannot be read
	inputs []contract.Input
	page   view.FormPage
	base   *cases.Case // members that the form has no field for are kept
	rows   []int       // of the checks of the case that was read: their rows in the form
}

// newForm returns the form of a case, filled in with it. old is nil for a new case. fresh is a case that is not stored yet.
func (c *call) newForm(f *flow.Flow, old *cases.Case, fresh bool) (*form, error) {
	m := &form{c: c, f: f, page: view.FormPage{FlowID: string(f.ID), Flow: f.Name, LiveVersion: f.LiveVersion, Errors: components.Errors{}}}
	if m.doc, _ = document.ParseDocument(f.Draft); m.doc != nil {
		m.inputs = contract.Inputs(m.doc, c.s.Kinds)
	}
	k := old
	if k == nil {
		k = &cases.Case{Inputs: m.examples()}
	}
	m.base = k
	p := &m.page
	p.ID, p.Title, p.Name, p.Tags, p.Notes, p.FromRun = k.ID, cmp.Or(k.Name, k.ID), cmp.Or(k.Name, k.ID), strings.Join(k.Tags, ", "), k.Notes, string(k.FromRun)
	if fresh {
		p.ID, p.Name = "", k.Name
	}
	p.Repeat, p.Pass = number(k.Repeat), number(k.Pass)
	if !k.Now.IsZero() {
		p.Now = k.Now.Format(time.RFC3339Nano)
	}
	for name := range k.Inputs.All() {
		if !slices.ContainsFunc(m.inputs, func(in contract.Input) bool { return in.Name == name }) {
			p.Gone = append(p.Gone, name)
		}
	}
	for i := range k.Checks {
		p.Checks = append(p.Checks, rowOf(&k.Checks[i]))
	}
	for range spareChecks {
		p.Checks = append(p.Checks, view.CheckRow{})
	}
	m.addOutputs(k)
	m.addNodes(k)
	return m, m.addInputs(k.Inputs, nil)
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// examples returns the examples of the inputs for a new case.
func (m *form) examples() *flow.Object {
	o := &flow.Object{}
	for i := range m.inputs {
		if in := &m.inputs[i]; in.HasExample && in.Type != flow.TypeFile {
			o.Set(in.Name, in.Example)
		}
	}
	return o
}

// addInputs adds the fields of the inputs.
func (m *form) addInputs(values *flow.Object, typed *web.Inputs) error {
	var names []components.Option
	for i := range m.inputs {
		in := &m.inputs[i]
		field := view.InputField{RunField: web.InputField(in, values, typed)}
		if in.Secret {
			if names == nil {
				list, err := m.c.s.Store.ListCredentials(m.c.Ctx(), m.f.WorkspaceID)
				if err != nil {
					return err
				}
				names = []components.Option{{Value: "", Label: "No credential"}}
				for k := range list {
					names = append(names, components.Option{Value: list[k].Name, Label: list[k].Name})
				}
			}
			v, _ := values.Lookup(in.Name)
			field.Value, _ = flow.SecretRef(v)
			field.Credentials = names
		}
		field.Attrs["required"] = false // a case may test what happens without it
		m.page.Inputs = append(m.page.Inputs, field)
	}
	return nil
}

// addOutputs adds the outputs of the draft, and others that the case names.
func (m *form) addOutputs(k *cases.Case) {
	var names []string
	add := func(name string) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if m.doc != nil {
		for _, o := range contract.Outputs(m.doc, m.c.s.Kinds) {
			add(o.Name)
		}
	}
	for i := range k.Checks {
		add(k.Checks[i].Output)
	}
	for name := range k.Expected.All() {
		add(name)
	}
	for _, name := range names {
		m.page.Outputs = append(m.page.Outputs, components.Option{Value: name, Label: name})
		field := view.ValueField{Name: name}
		if v, has := k.Expected.Lookup(name); has {
			field.Value = valueText(v)
		}
		m.page.Expected = append(m.page.Expected, field)
	}
}

// addNodes adds the nodes that a person answers, and those that can have a stub.
func (m *form) addNodes(k *cases.Case) {
	label := func(id string) string {
		if m.doc == nil || m.doc.Node(id) == nil {
			return id
		}
		return web.NodeTitle(m.doc, m.c.s.Kinds, id)
	}
	var asks, stubs []string
	if m.doc != nil {
		for i := range m.doc.Nodes {
			n := &m.doc.Nodes[i]
			kind := m.c.s.Kinds.Find(n.Kind)
			switch {
			case kind == nil || n.Disabled:
			case kind.WaitsFor == flow.WaitsForApproval:
				asks = append(asks, n.ID)
			case kind.Class == flow.Outside && len(stubs) < maxStubs:
				stubs = append(stubs, n.ID)
			}
		}
	}
	for _, id := range sorting.Keys(k.Answers) {
		if !slices.Contains(asks, id) {
			asks = append(asks, id)
		}
	}
	for _, id := range sorting.Keys(k.Stubs) {
		if !slices.Contains(stubs, id) {
			stubs = append(stubs, id)
		}
	}
	for _, id := range asks {
		a := view.AnswerField{Node: id, Label: label(id), Decision: string(k.Answers[id].Decision)}
		if v := k.Answers[id].Values; v != nil {
			a.Values = string(flow.EncodeJSON(v))
		}
		m.page.Answers = append(m.page.Answers, a)
	}
	for _, id := range stubs {
		s := view.StubField{Node: id, Label: label(id)}
		if stub, has := k.Stubs[id]; has && stub.Error != nil {
			s.Mode, s.Value = "error", string(stub.Error.Code)
		} else if has {
			s.Mode, s.Value = "outputs", string(flow.EncodeJSON(stub.Outputs))
		}
		m.page.Stubs = append(m.page.Stubs, s)
	}
}

func (m *form) show(status int) error {
	title := "New case"
	if m.page.ID != "" {
		title = m.page.Title
	}
	return m.c.Render(status, view.Form(m.c.Page(title, layout.SectionFlows), m.page))
}

// clear removes all errors, while rows are added.
func (m *form) clear() {
	m.page.Errors = components.Errors{}
	for i := range m.page.Checks {
		m.page.Checks[i].Error = ""
	}
}

// wrong reports whether a field has an error.
func (m *form) wrong() bool {
	p := &m.page
	return len(p.Errors) > 0 || len(p.Problems) > 0 || slices.ContainsFunc(p.Checks, func(c view.CheckRow) bool { return c.Error != "" }) ||
		slices.ContainsFunc(p.Answers, func(a view.AnswerField) bool { return a.Error != "" }) || slices.ContainsFunc(p.Stubs, func(s view.StubField) bool { return s.Error != "" })
}

// place puts the problems of a case beside its fields.
func (m *form) place(e *flow.Error) {
	p := &m.page
	if len(e.Fields) == 0 {
		p.Errors[""] = e.Message
	}
	for _, problem := range e.Fields {
		text, parts := wording.Sentence(problem.Detail), strings.Split(strings.TrimPrefix(problem.Pointer, "/"), "/")
		at := -1
		if len(parts) > 1 && parts[0] == "checks" {
			if n, err := strconv.Atoi(parts[1]); err == nil && n >= 0 && n < len(m.rows) {
				at = m.rows[n]
			}
		}
		input := slices.IndexFunc(p.Inputs, func(in view.InputField) bool { return len(parts) > 1 && parts[0] == "inputs" && in.Label == parts[1] })
		answer := slices.IndexFunc(p.Answers, func(a view.AnswerField) bool { return len(parts) > 1 && parts[0] == "answers" && a.Node == parts[1] })
		stub := slices.IndexFunc(p.Stubs, func(s view.StubField) bool { return len(parts) > 1 && parts[0] == "stubs" && s.Node == parts[1] })
		switch {
		case at >= 0:
			p.Checks[at].Error = text
		case input >= 0:
			p.Inputs[input].Error = text
			p.Problems = append(p.Problems, parts[1]+": "+text)
		case answer >= 0:
			p.Answers[answer].Error = text
		case stub >= 0:
			p.Stubs[stub].Error = text
		case parts[0] == "id" || parts[0] == "name":
			p.Errors["name"] = text
		case slices.Contains([]string{"tags", "repeat", "pass", "now"}, parts[0]):
			p.Errors[parts[0]] = text
		default:
			p.Problems = append(p.Problems, text)
		}
	}
}
