package cases

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/cases"
	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/flow/library"
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

// newCase is GET new: an empty case, or one made from a run.
func newCase(c *call, f *flow.Flow) error {
	id := flow.RunID(c.QueryParam("run"))
	if id == "" {
		m, err := c.newForm(f, nil, true)
		if err != nil {
			return err
		}
		return m.show(http.StatusOK)
	}
	made, err := c.fromRun(f, library.FromRuns{Runs: []flow.RunID{id}, Preview: true})
	if err != nil {
		if err = c.refused(err); err != nil {
			return err
		}
		return c.Redirect(components.RunPath(string(id)))
	}
	if made.Case == nil {
		c.Toast(components.ToneNone, made.Skipped)
		return c.Redirect(view.ListPath(string(f.ID)))
	}
	m, err := c.newForm(f, made.Case, true)
	if err != nil {
		return err
	}
	m.page.Unrecorded = made.Unrecorded
	return m.show(http.StatusOK)
}

// fromRun makes a case from a run.
func (c *call) fromRun(f *flow.Flow, r library.FromRuns) (library.FromRun, error) {
	list, err := c.tests().FromRuns(c.Ctx(), c.Actor(), f, r)
	if err != nil || len(list) == 0 {
		return library.FromRun{}, err
	}
	return list[0], nil
}

// editCase is GET case.
func editCase(c *call, f *flow.Flow, _ *cases.File, k *cases.Case) error {
	m, err := c.newForm(f, k, false)
	if err != nil {
		return err
	}
	return m.show(http.StatusOK)
}

func (m *form) show(status int) error {
	title := "New case"
	if m.page.ID != "" {
		title = m.page.Title
	}
	return m.c.Render(status, view.Form(m.c.Page(title, layout.SectionFlows), m.page))
}

// createCase is POST new.
func createCase(c *call, f *flow.Flow) error { return c.saveCase(f, nil) }

// changeCase is POST case.
func changeCase(c *call, f *flow.Flow, _ *cases.File, k *cases.Case) error { return c.saveCase(f, k) }

// saveCase stores the case of a form. The form is shown again with another row for a check, or with what is wrong.
func (c *call) saveCase(f *flow.Flow, old *cases.Case) error {
	typed := c.NewInputs(f.WorkspaceID, c.s.MaxFile)
	fields, err := c.ReadInputFields(typed)
	if err != nil {
		return err
	}
	base, run := old, flow.RunID(fields["from_run"])
	if old == nil && run != "" {
		made, err := c.fromRun(f, library.FromRuns{Runs: []flow.RunID{run}, Preview: true})
		if err != nil || made.Case == nil {
			if err == nil {
				c.Toast(components.ToneNone, made.Skipped)
			}
			return c.backToList(f, nil, err)
		}
		base = made.Case
	}
	m, err := c.newForm(f, base, old == nil)
	if err != nil {
		return err
	}
	typed.Filled = true
	typed.Parse(fields)
	body := m.read(fields, typed)
	if fields["act"] == "add" {
		m.page.Checks = append(m.page.Checks, view.CheckRow{})
		m.clear()
		return m.show(http.StatusOK)
	}
	k, err := m.check(body, old)
	if err == nil && k != nil {
		err = c.store(f, k, old == nil)
	}
	if e, ok := errors.AsType[*flow.Error](err); ok && web.StatusOf(e.Code) < 500 {
		m.place(e)
		err = nil
	}
	if err != nil {
		return err
	}
	if m.wrong() {
		return m.show(http.StatusUnprocessableEntity)
	}
	back := url.Values{"case": {k.ID}}
	if fields["act"] == "run" {
		_, err = c.start(f, library.TestRequest{Candidates: []library.CandidateRequest{{Draft: true}}, Mode: flow.CaseFill, Cases: []string{k.ID}})
	}
	return c.backToList(f, back, err)
}

// store stores a case. A new one that was made from a run gets the recordings of its steps.
func (c *call) store(f *flow.Flow, k *cases.Case, fresh bool) error {
	if !fresh || k.FromRun == "" {
		_, err := c.tests().SetCase(c.Ctx(), c.Actor(), f, k)
		return err
	}
	made, err := c.fromRun(f, library.FromRuns{Runs: []flow.RunID{k.FromRun}, Instead: k})
	if err == nil && made.Case == nil {
		err = flow.Errorf(flow.CodeInputInvalid, "%s", made.Skipped)
	}
	return err
}

// managed are the members of a case that the form has fields for.
var managed = []string{"name", "inputs", "expected", "checks", "repeat", "pass", "answers", "stubs", "tags", "notes", "now"}

// check parses the case of a form. It returns nil if the form has errors already.
func (m *form) check(body *flow.Object, old *cases.Case) (*cases.Case, error) {
	if m.wrong() {
		return nil, nil
	}
	id, _ := body.Get("id").(string)
	if old == nil {
		file, _, err := m.c.s.Store.FindCaseFile(m.c.Ctx(), m.f.WorkspaceID, m.f.ID)
		if err != nil {
			return nil, err
		}
		if file.Find(id) != nil {
			m.page.Errors["name"] = fmt.Sprintf("There is a case %s. Choose another name.", id)
			return nil, nil
		}
	}
	return m.c.tests().ParseCase(body)
}

// read reads the fields of the form into the page, and returns the JSON of the case.
func (m *form) read(fields map[string]string, typed *web.Inputs) *flow.Object {
	p, o := &m.page, m.base.Object()
	for _, name := range managed {
		o.Delete(name)
	}
	p.Name, p.Tags, p.Notes, p.Repeat, p.Pass, p.Now = strings.TrimSpace(fields["name"]), fields["tags"], strings.TrimSpace(fields["notes"]), strings.TrimSpace(fields["repeat"]), strings.TrimSpace(fields["pass"]), strings.TrimSpace(fields["now"])
	id := p.ID
	if id == "" {
		id = idOf(p.Name)
	}
	if p.Name == "" {
		p.Errors["name"] = "Enter a name."
	} else if id == "" {
		p.Errors["name"] = "Use letters or digits in the name."
	}
	o.Set("id", id)
	if p.Name != id {
		o.Set("name", p.Name)
	}
	o.Set("inputs", m.readInputs(fields, typed))
	expected := &flow.Object{}
	for i := range p.Expected {
		v := &p.Expected[i]
		if v.Value = fields[fmt.Sprintf("expected.%d.value", i)]; strings.TrimSpace(v.Value) != "" {
			expected.Set(v.Name, textValue(v.Value))
		}
	}
	setObject(o, "expected", expected)
	m.readChecks(o, fields)
	m.readNodes(o, fields)
	var tags []any
	for t := range strings.SplitSeq(p.Tags, ",") {
		if t = strings.TrimSpace(t); t != "" {
			tags = append(tags, t)
		}
	}
	if len(tags) > 0 {
		o.Set("tags", tags)
	}
	for name, text := range map[string]string{"repeat": p.Repeat, "pass": p.Pass} {
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			p.Errors[name] = "Enter a whole number."
			continue
		}
		o.Set(name, flow.Number(n))
	}
	for name, text := range map[string]string{"now": p.Now, "notes": p.Notes} {
		if text != "" {
			o.Set(name, text)
		}
	}
	return o
}

func setObject(o *flow.Object, name string, v *flow.Object) {
	if v.Len() > 0 {
		o.Set(name, v)
	}
}

// readInputs returns the inputs of the case, with their types. What cannot be converted stays a text: a case may test that.
func (m *form) readInputs(fields map[string]string, typed *web.Inputs) *flow.Object {
	values, inputs := typed.Values(m.inputs), &flow.Object{}
	m.page.Inputs = nil
	shown := values.Clone()
	for i := range m.inputs {
		in := &m.inputs[i]
		v, given := values.Lookup(in.Name)
		switch {
		case in.Secret:
			if name := fields[web.InputPrefix+in.Name]; name != "" {
				inputs.Set(in.Name, flow.SecretRefTo(name))
				shown.Set(in.Name, flow.SecretRefTo(name))
			}
		case given && in.Type == flow.TypeFile:
			if id, isText := v.(string); isText && typed.Last[in.Name] == id {
				v = map[string]any{"file": id}
			}
			inputs.Set(in.Name, v)
		case given && v == "" && !in.HasDefault:
		case given:
			if s, isText := v.(string); isText && in.Type != flow.TypeText {
				v = textValue(s)
			}
			inputs.Set(in.Name, v)
		}
	}
	if err := m.addInputs(shown, typed); err != nil {
		m.page.Errors[""] = flow.AsError(err).Message
	}
	return inputs
}

// readChecks reads the rows of checks.
func (m *form) readChecks(o *flow.Object, fields map[string]string) {
	n, _ := strconv.Atoi(fields["checks"])
	m.page.Checks, m.rows = nil, nil
	var list []any
	for i := range min(max(n, 0), cases.MaxChecks+spareChecks) {
		part := func(name string) string { return fields[fmt.Sprintf("check.%d.%s", i, name)] }
		row := view.CheckRow{Output: part("output"), Kind: part("kind"), Value: part("value"), Watch: part("watch") != ""}
		check, err := checkOf(&row)
		if err != nil {
			row.Error = err.Error()
		} else if check != nil {
			list = append(list, check)
			m.rows = append(m.rows, i)
		}
		m.page.Checks = append(m.page.Checks, row)
	}
	if len(list) > 0 {
		o.Set("checks", list)
	}
}

// readNodes reads answers and stubs.
func (m *form) readNodes(o *flow.Object, fields map[string]string) {
	answers, stubs := &flow.Object{}, &flow.Object{}
	for i := range m.page.Answers {
		a := &m.page.Answers[i]
		a.Decision, a.Values = fields[fmt.Sprintf("answer.%d.decision", i)], strings.TrimSpace(fields[fmt.Sprintf("answer.%d.values", i)])
		if a.Decision == "" {
			continue
		}
		answer, was := &flow.Object{}, m.base.Answers[a.Node]
		answer.Set("decision", a.Decision)
		for name, text := range map[string]string{"comment": was.Comment, "by": was.By} {
			if text != "" {
				answer.Set(name, text)
			}
		}
		if a.Values != "" {
			v, err := flow.DecodeJSON([]byte(a.Values))
			if err != nil {
				a.Error = "Write an object as JSON, such as {\"amount\": 5}."
				continue
			}
			answer.Set("values", v)
		}
		answers.Set(a.Node, answer)
	}
	for i := range m.page.Stubs {
		s := &m.page.Stubs[i]
		s.Mode, s.Value = fields[fmt.Sprintf("stub.%d.mode", i)], strings.TrimSpace(fields[fmt.Sprintf("stub.%d.value", i)])
		stub := &flow.Object{}
		switch s.Mode {
		case "outputs":
			v, err := flow.DecodeJSON([]byte(s.Value))
			if err != nil {
				s.Error = "Write the outputs as JSON, such as {\"body\": \"ok\"}."
				continue
			}
			stub.Set("outputs", v)
		case "error":
			e := &flow.Object{}
			e.Set("code", s.Value)
			if was := m.base.Stubs[s.Node].Error; was != nil && string(was.Code) == s.Value && was.Message != "" {
				e.Set("message", was.Message)
			}
			stub.Set("error", e)
		default:
			continue
		}
		stubs.Set(s.Node, stub)
	}
	setObject(o, "answers", answers)
	setObject(o, "stubs", stubs)
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

// idOf returns the ID of a case that people call by a name: refund-late for "Refund late".
func idOf(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '_' && b.Len() > 0:
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	return strings.TrimRight(b.String()[:min(b.Len(), 64)], "-")
}

// deleteCase is POST delete.
func deleteCase(c *call, f *flow.Flow, _ *cases.File, k *cases.Case) error {
	if err := c.tests().DeleteCase(c.Ctx(), c.Actor(), f, k.ID); err != nil {
		return err
	}
	c.Toast(components.ToneOK, "“"+cmp.Or(k.Name, k.ID)+"” was deleted.")
	return c.Redirect(view.ListPath(string(f.ID)))
}

// expectOutputs is POST expect: the outputs of a run of the case become the expected ones.
func expectOutputs(c *call, f *flow.Flow, _ *cases.File, k *cases.Case) error {
	return c.backToList(f, url.Values{"case": {k.ID}}, c.expect(f, k, flow.RunID(c.FormValue("run"))))
}

// expect makes the outputs of a run of a case the expected ones. A case without a check for them gets one.
func (c *call) expect(f *flow.Flow, k *cases.Case, id flow.RunID) error {
	run, err := c.s.Store.FindRun(c.Ctx(), f.WorkspaceID, f.ID, id)
	if err != nil {
		return err
	}
	if run.Outputs.Len() == 0 || run.Erased != "" || run.Case == nil {
		return flow.Errorf(flow.CodeInputInvalid, "The run has no outputs.")
	}
	now := *k
	now.Expected = run.Outputs.Clone()
	if !slices.ContainsFunc(now.Checks, func(k cases.Check) bool { return k.Kind == cases.Expected }) {
		now.Checks = append(slices.Clone(now.Checks), cases.Check{Kind: cases.Expected, Value: true})
	}
	_, err = c.tests().SetCase(c.Ctx(), c.Actor(), f, &now)
	if err == nil {
		c.Toast(components.ToneOK, "These outputs are expected from now on.")
	}
	return err
}
