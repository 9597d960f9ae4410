package cases

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"sluice/flow"
)

// parser reads the members of an object, each once, and collects problems.
type parser struct {
	o        *flow.Object
	of       string // what the object is
	known    map[string]bool
	check    func(source string, names ...string) error
	problems []flow.Problem
}

func newParser(v any, of string, check func(source string, names ...string) error) *parser {
	o, ok := flow.AsObject(v)
	p := &parser{o: o, of: of, known: map[string]bool{}, check: check}
	if !ok {
		p.o = nil
		p.fail("invalid", "must be an object")
	}
	return p
}

// fail adds a problem at a path of the object.
func (p *parser) fail(code, detail string, path ...any) {
	p.problems = append(p.problems, flow.Problem{Pointer: flow.Pointer(path...), Code: code, Detail: detail})
}

// end returns all problems, with those of unknown members. at is the pointer of the object.
func (p *parser) end(at string) []flow.Problem {
	if p.o != nil {
		for name := range p.o.All() {
			if !p.known[name] {
				p.fail("unknown", "is no member of "+p.of+flow.Closest(name, p.known), name)
			}
		}
	}
	for i := range p.problems {
		p.problems[i].Pointer = at + p.problems[i].Pointer
	}
	return p.problems
}

// lookup returns a member. Null is like a missing one.
func (p *parser) lookup(name string) (any, bool) {
	p.known[name] = true
	if p.o == nil {
		return nil, false
	}
	v, has := p.o.Lookup(name)
	return v, has && v != nil
}

func (p *parser) text(name string) string {
	v, has := p.lookup(name)
	s, isText := v.(string)
	if has && !isText {
		p.fail("invalid", "must be a text", name)
	}
	return s
}

func (p *parser) boolean(name string) bool {
	v, has := p.lookup(name)
	b, ok := v.(bool)
	if has && !ok {
		p.fail("invalid", "must be true or false", name)
	}
	return b
}

func (p *parser) number(name string, least, most float64) (float64, bool) {
	v, has := p.lookup(name)
	if !has {
		return 0, false
	}
	n, ok := flow.Float(v)
	if !ok || n < least || n > most || math.IsNaN(n) {
		p.fail("invalid", fmt.Sprintf("must be a number from %v to %v", least, most), name)
	}
	return n, ok
}

func (p *parser) object(name string) *flow.Object {
	v, has := p.lookup(name)
	if !has {
		return &flow.Object{}
	}
	o, ok := flow.AsObject(v)
	if !ok {
		p.fail("invalid", "must be an object", name)
		return &flow.Object{}
	}
	return o
}

func (p *parser) texts(name string, most int) (texts []string) {
	v, has := p.lookup(name)
	if !has {
		return nil
	}
	items, ok := v.([]any)
	if !ok || len(items) > most {
		p.fail("invalid", fmt.Sprintf("must be a list of at most %d texts", most), name)
		return nil
	}
	for i, v := range items {
		s, isText := v.(string)
		if !isText || s == "" || len([]rune(s)) > maxText {
			p.fail("invalid", fmt.Sprintf("must be a text of 1 to %d characters", maxText), name, i)
			continue
		}
		texts = append(texts, s)
	}
	return texts
}

// repeats reads repeat and pass.
func (p *parser) repeats() (repeat, pass int) {
	whole := func(name string) int {
		n, has := p.number(name, 1, MaxRepeats)
		if has && n != math.Trunc(n) {
			p.fail("invalid", "must be a whole number", name)
		}
		return int(n)
	}
	repeat, pass = whole("repeat"), whole("pass")
	if pass > 0 && repeat > 0 && pass > repeat {
		p.fail("invalid", "must be at most repeat", "pass")
	}
	return repeat, pass
}

// checks reads the member checks.
func (p *parser) checks() (checks []Check) {
	v, has := p.lookup("checks")
	if !has {
		return nil
	}
	items, ok := v.([]any)
	if !ok || len(items) > MaxChecks {
		p.fail("invalid", fmt.Sprintf("must be a list of at most %d checks", MaxChecks), "checks")
		return nil
	}
	for i, v := range items {
		c, problems := parseCheck(v, p.check)
		for _, wrong := range problems {
			wrong.Pointer = flow.Pointer("checks", i) + wrong.Pointer
			p.problems = append(p.problems, wrong)
		}
		checks = append(checks, c)
	}
	judges := 0
	for i := range checks {
		if checks[i].Kind == Judge {
			judges++
		}
	}
	if judges > maxJudges {
		p.fail("too_many", fmt.Sprintf("has %d judges; the limit is %d", judges, maxJudges), "checks")
	}
	return checks
}

// answers reads the member answers.
func (p *parser) answers() map[string]flow.CaseAnswer {
	var answers map[string]flow.CaseAnswer
	for node, v := range p.object("answers").All() {
		q := newParser(v, "an answer", nil)
		a := flow.CaseAnswer{Decision: flow.Outcome(q.text("decision")), Comment: q.text("comment"), By: q.text("by")}
		if values := q.object("values"); values.Len() > 0 {
			a.Values = values
		}
		if a.Decision != flow.OutcomeApproved && a.Decision != flow.OutcomeRejected && a.Decision != flow.OutcomeExpired {
			q.fail("invalid", "must be approved, rejected or expired", "decision")
		}
		p.problems = append(p.problems, q.end(flow.Pointer("answers", node))...)
		if answers == nil {
			answers = map[string]flow.CaseAnswer{}
		}
		answers[node] = a
	}
	return answers
}

// stubs reads the member stubs.
func (p *parser) stubs() map[string]flow.CaseStub {
	var stubs map[string]flow.CaseStub
	for node, v := range p.object("stubs").All() {
		q := newParser(v, "a stub", nil)
		stub := flow.CaseStub{}
		if outputs, has := q.lookup("outputs"); has {
			o, ok := flow.AsObject(outputs)
			if stub.Outputs = o; !ok {
				q.fail("invalid", "must be an object with the outputs of the node", "outputs")
			}
		}
		if e, has := q.lookup("error"); has {
			r := newParser(e, "an error", nil)
			stub.Error = &flow.Error{Code: flow.Code(r.text("code")), Message: r.text("message"), Node: r.text("node")}
			if stub.Error.Code == "" {
				r.fail("required", "must be the code of an error", "code")
			}
			q.problems = append(q.problems, r.end("/error")...)
		}
		if (stub.Outputs == nil) == (stub.Error == nil) && len(q.problems) == 0 {
			q.fail("invalid", "needs either outputs or error")
		}
		p.problems = append(p.problems, q.end(flow.Pointer("stubs", node))...)
		if stubs == nil {
			stubs = map[string]flow.CaseStub{}
		}
		stubs[node] = stub
	}
	return stubs
}

// parseLimit reads a limit of dollars: an amount, or with percent a share more than that of the live version.
func parseLimit(s string) (n float64, percent, ok bool) {
	text, percent := strings.CutSuffix(strings.TrimSpace(s), "%")
	if percent {
		text = strings.TrimPrefix(text, "+")
	}
	n, err := strconv.ParseFloat(text, 64)
	return n, percent, err == nil && n >= 0 && !math.IsInf(n, 0)
}
