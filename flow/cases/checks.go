package cases

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"

	"sluice/flow"
	"sluice/flow/pattern"
)

// Kinds of checks. A check has one of them as a member.
const (
	Equals      = "equals"       // an output has a value
	Expected    = "expected"     // an output, or all of them, has the value in the member expected of the case
	Contains    = "contains"     // the text of an output contains a text, or each of several
	NotContains = "not_contains" // it contains none of them
	Matches     = "matches"      // it matches a regular expression
	OneOf       = "one_of"       // an output has one of several values
	SchemaCheck = "schema"       // an output is valid by a JSON Schema
	Status      = "status"       // how the run ended
	StepsCheck  = "steps"        // how steps ended
	FindsCheck  = "finds"        // a search step has a source among its first hits
	Sends       = "sends"        // what webhook nodes would have sent
	LimitsCheck = "limits"       // what the run cost, and how long it took
	ExprCheck   = "expression"   // a CEL expression
)

// checkKinds are all kinds, cheap ones first.
var checkKinds = []string{Status, StepsCheck, Equals, Expected, OneOf, Contains, NotContains, Matches, SchemaCheck, FindsCheck, Sends, LimitsCheck, ExprCheck, Similar, FlowCheck, Judge}

// variables are the names in expressions.
var variables = []string{"inputs", "outputs", "expected", "steps", "run"}

// variablesOfCase are the names whose values no run changes.
var variablesOfCase = []string{"inputs", "expected"}

// Check is one statement about a run.
type Check struct {
	Kind   string
	Value  any    // of the member of the kind
	Output string // name; empty for kinds that are not about one output
	Name   string // for people
	Ignore []string
	Within float64 // how much numbers may differ
	Code   string  // of status failed
	Min    float64 // least score of an expression that gives one
	HasMin bool
	Watch  bool // it does not decide
	// Model is that of a judge, or the embedding model of a check similar. Votes is how often a judge is asked: the majority decides.
	Model   string
	Votes   int
	Against string // of a judge: empty, or AgainstBaseline
}

// Object returns the JSON of a check.
func (c *Check) Object() *flow.Object {
	o := &flow.Object{}
	setText(o, "name", c.Name)
	setText(o, "output", c.Output)
	o.Set(c.Kind, c.Value)
	setText(o, "code", c.Code)
	setTexts(o, "ignore", c.Ignore)
	if c.Within > 0 {
		o.Set("within", flow.Number(c.Within))
	}
	if c.HasMin {
		o.Set("min", flow.Number(c.Min))
	}
	setText(o, "model", c.Model)
	if c.Votes > 0 {
		o.Set("votes", flow.Number(c.Votes))
	}
	setText(o, "against", c.Against)
	if c.Watch {
		o.Set("watch", true)
	}
	return o
}

// Label says what a check is about.
func (c *Check) Label() string {
	switch {
	case c.Name != "":
		return c.Name
	case c.Output != "":
		return c.Output + " " + strings.ReplaceAll(c.Kind, "_", " ")
	}
	return strings.ReplaceAll(c.Kind, "_", " ")
}

// Labels returns the labels of the checks of a case. Equal ones are numbered, so that each names one check.
func Labels(checks []Check) (list []string) {
	seen := map[string]int{}
	for i := range checks {
		label := checks[i].Label()
		if seen[label]++; seen[label] > 1 {
			label = fmt.Sprintf("%s %d", label, seen[label])
		}
		list = append(list, label)
	}
	return list
}

// parseCheck reads a check. Pointers of problems start at the check.
func parseCheck(v any, check func(source string, names ...string) error) (Check, []flow.Problem) {
	p := newParser(v, "a check", check)
	c := Check{Name: p.text("name"), Output: p.text("output"), Watch: p.boolean("watch")}
	for _, kind := range checkKinds {
		p.known[kind] = true
		if p.o == nil || !p.o.Has(kind) {
			continue
		}
		if c.Kind != "" {
			p.fail("invalid", "a check has one of "+c.Kind+" and "+kind+", not both", kind)
			continue
		}
		c.Kind, c.Value = kind, p.o.Get(kind)
	}
	if p.o != nil && c.Kind == "" {
		p.fail("required", "needs one of "+strings.Join(checkKinds, ", "))
	}
	p.members(&c)
	return c, p.end("")
}

// members checks the value of a check, and the other members that its kind allows.
func (p *parser) members(c *Check) {
	wrong := func(detail string) { p.fail("invalid", detail, c.Kind) }
	switch c.Kind {
	case Equals, Expected, Sends:
		c.Ignore = p.texts("ignore", 100)
		c.Within, _ = p.number("within", 0, 1e300)
		for i, pointer := range c.Ignore {
			if !strings.HasPrefix(pointer, "/") {
				p.fail("invalid", "must be a JSON Pointer such as /id", "ignore", i)
			}
		}
	case Status:
		c.Code = p.text("code")
	case ExprCheck, Similar, FlowCheck, Judge:
		c.Min, c.HasMin = p.number("min", 0, 1)
	}
	p.asked(c)
	switch c.Kind {
	case Similar, Equals, Contains, NotContains, Matches, OneOf, SchemaCheck:
		if c.Output == "" {
			p.fail("required", "must be the name of an output", "output")
		}
	case Expected:
		if c.Value != true {
			wrong("must be true")
		}
	case Status, StepsCheck, FindsCheck, Sends, LimitsCheck, ExprCheck, FlowCheck:
		if c.Output != "" {
			p.fail("invalid", "only checks of one output have it", "output")
		}
	}
	switch c.Kind {
	case Contains, NotContains:
		if len(textsOf(c.Value)) == 0 {
			wrong("must be a text, or a list of texts")
		}
	case Matches:
		source, isText := c.Value.(string)
		if _, err := pattern.Compile(source); !isText || err != nil {
			detail := "must be a regular expression (RE2)"
			if syntaxError, ok := errors.AsType[*syntax.Error](err); ok {
				detail += ": " + syntaxError.Code.String() + ": " + describe(syntaxError.Expr)
			} else if isText {
				detail = "the pattern " + err.Error()
			}
			wrong(detail)
		}
	case OneOf:
		if items, ok := c.Value.([]any); !ok || len(items) == 0 {
			wrong("must be a list of values")
		}
	case SchemaCheck:
		if _, ok := flow.AsObject(c.Value); !ok {
			wrong("must be a JSON Schema")
		}
	case Status:
		if c.Value != string(flow.RunSucceeded) && c.Value != string(flow.RunFailed) {
			wrong("must be succeeded or failed")
		} else if c.Code != "" && c.Value == string(flow.RunSucceeded) {
			p.fail("invalid", "only a failed run has it", "code")
		}
	case StepsCheck:
		p.states(c)
	case FindsCheck:
		finds := newParser(c.Value, "finds", nil)
		if finds.text("node"); finds.text("source") == "" {
			finds.fail("required", "must be the source of a document, such as handbook.pdf", "source")
		}
		if top, given := finds.number("top", 1, maxFindsTop); given && top != float64(int(top)) {
			finds.fail("invalid", "must be a whole number", "top")
		}
		p.problems = append(p.problems, finds.end("/finds")...)
	case Sends:
		if o, ok := flow.AsObject(c.Value); !ok || o.Len() == 0 {
			wrong("must be an object of bodies by the ID of a webhook node; null if nothing is sent")
		}
	case LimitsCheck:
		limits := newParser(c.Value, "limits", nil)
		for _, name := range limitNames {
			limits.number(name, 0, 1e12)
		}
		p.problems = append(p.problems, limits.end("/limits")...)
	case ExprCheck:
		source, _ := c.Value.(string)
		if source == "" {
			wrong("must be a CEL expression over " + strings.Join(variables, ", "))
		} else if p.check != nil {
			if err := p.check(source, variables...); err != nil {
				wrong(flow.AsError(err).Message)
			}
		}
	}
}

// asked reads the members of checks that ask.
func (p *parser) asked(c *Check) {
	text, isText := c.Value.(string)
	switch c.Kind {
	case Similar:
		if c.Model = p.text("model"); c.Value != true && text == "" {
			p.fail("invalid", "must be true for the expected output, or a text", c.Kind)
		}
	case FlowCheck:
		if text == "" {
			p.fail("invalid", "must be the slug or the ID of a flow", c.Kind)
		}
	case Judge:
		if c.Model = p.text("model"); c.Model == "" {
			p.fail("required", "must be a model such as openai/gpt-5-mini", "model")
		}
		votes, _ := p.number("votes", 1, 9)
		if c.Votes = int(votes); votes != float64(c.Votes) || c.Votes > 0 && c.Votes%2 == 0 {
			p.fail("invalid", "must be 1, 3, 5, 7 or 9", "votes")
		}
		if c.Against = p.text("against"); c.Against != "" && c.Against != AgainstBaseline {
			p.fail("invalid", "must be baseline", "against")
		}
		if !isText || text == "" || len(text) > maxRubric {
			p.fail("invalid", fmt.Sprintf("must be a rubric of at most %d bytes", maxRubric), c.Kind)
		}
	}
}

// Finds is the value of a check of a search.
type Finds struct {
	Node   string // empty for any search of the run
	Source string
	Top    int
}

const (
	findsTop    = 5   // how many hits count by default
	maxFindsTop = 100 // that of a search
)

// Finds returns the value of a check finds.
func (c *Check) Finds() Finds {
	o, _ := flow.AsObject(c.Value)
	f := Finds{Node: flow.Text(o.Get("node")), Source: flow.Text(o.Get("source")), Top: findsTop}
	if top, given := flow.Float(o.Get("top")); given {
		f.Top = int(top)
	}
	return f
}

// limitNames are the members of limits.
var limitNames = []string{"usd", "ms", "tokens"}

// states checks the value of a check of steps.
func (p *parser) states(c *Check) {
	o, ok := flow.AsObject(c.Value)
	if !ok || o.Len() == 0 {
		p.fail("invalid", `must be an object such as {"refund": "skipped"}`, c.Kind)
		return
	}
	for node, v := range o.All() {
		switch v {
		case string(flow.StepSucceeded), string(flow.StepFailed), string(flow.StepSkipped), string(flow.StepCanceled):
		default:
			p.fail("invalid", "must be succeeded, failed, skipped or canceled", c.Kind, node)
		}
	}
}

// textsOf returns a text or a list of texts; nil for anything else.
func textsOf(v any) (texts []string) {
	if s, ok := v.(string); ok {
		return []string{s}
	}
	items, _ := v.([]any)
	for _, item := range items {
		s, ok := item.(string)
		if !ok {
			return nil
		}
		texts = append(texts, s)
	}
	return texts
}

// describe shows a value in a sentence.
func describe(v any) string {
	text := string(flow.EncodeJSON(v))
	if runes := []rune(text); len(runes) > maxText {
		return string(runes[:maxText]) + fmt.Sprintf("… (%d bytes)", len(text))
	}
	return text
}
