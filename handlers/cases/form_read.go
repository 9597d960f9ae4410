package cases

import (
	"fmt"
	"strconv"
	"strings"

	"sluice/flow"
	"sluice/flow/cases"
	"sluice/handlers/web"
	view "sluice/views/cases"
)

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
	for _, t := range tagsOf(p.Tags) {
		tags = append(tags, t)
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
		row := view.CheckRow{Output: part("output"), Kind: part("kind"), Value: part("value"), Watch: part("watch") != "", Min: part("min"), Model: part("model"), Votes: part("votes"), Against: part("against") != ""}
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
