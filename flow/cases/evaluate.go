package cases

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"sluice/flow"
	"sluice/flow/pattern"
	"sluice/flow/sorting"
	"sluice/flow/value"
)

// State is how a case ended.
type State string

// The states of a verdict.
const (
	Passed  State = "passed"
	Failed  State = "failed"
	Errored State = "errored" // nothing can be said, such as after an outage; it never counts as a failure of the flow
	Stale   State = "stale"   // a result is not recorded
)

// Result is what is known of the run of a case.
type Result struct {
	RunID   flow.RunID
	State   flow.RunState
	Error   *flow.Error
	Outputs *flow.Object
	Nodes   []string                  // IDs of the nodes of the flow; nil if they are not known
	Steps   map[string]flow.StepState // by node ID; a tool of an agent is there if it was called
	Sends   map[string]any            // bodies by the ID of the webhook node
	Hits    map[string][][]string     // by node ID: the sources of the hits of each search, the best first
	// Cost and time, from recordings for the steps that used one. Spent is what the run cost now.
	USD, Spent flow.NanoUSD
	Tokens     int64
	MS         int64
	Recorded   bool
	Missing    string // what is not recorded, of the run or one below it; "" if nothing
}

// Tools evaluate what this package cannot.
type Tools struct {
	// Expression evaluates a CEL expression over variables.
	Expression func(ctx context.Context, source string, variables map[string]any) (any, error)
	// Schema returns what is wrong with a value by a JSON Schema, "" if nothing.
	Schema func(ctx context.Context, schema, value any) (wrong string, err error)
}

// Outcome is the result of a check.
type Outcome struct {
	Check  string  `json:"check"` // its label
	Kind   string  `json:"kind"`
	State  State   `json:"state"` // passed, failed or errored
	Score  float64 `json:"score"`
	Reason string  `json:"reason,omitempty"`
	Watch  bool    `json:"watch,omitempty"`
	Top    int     `json:"top,omitempty" doc:"Of the check finds: among how many hits the source must be."`
}

// Verdict is what one run of a case says about a candidate.
type Verdict struct {
	Candidate int          `json:"candidate"` // index
	Item      int          `json:"-"`         // index of its run among those of the candidate
	Case      string       `json:"case"`      // ID
	Repeat    int          `json:"repeat"`    // from 0
	State     State        `json:"state"`
	Score     float64      `json:"score"` // mean of the checks that decide
	Message   string       `json:"message,omitempty"`
	Checks    []Outcome    `json:"checks"`
	USD       flow.NanoUSD `json:"-"`
	Spent     flow.NanoUSD `json:"-"`
	// JudgeUSD and JudgeSpent are what the checks cost that ask: with recordings, and now.
	JudgeUSD   flow.NanoUSD `json:"-"`
	JudgeSpent flow.NanoUSD `json:"-"`
	Tokens     int64        `json:"tokens"`
	MS         int64        `json:"ms"`
	Recorded   bool         `json:"recorded"`
	RunID      flow.RunID   `json:"run_id"`
}

// PassedChecks returns how many checks pass.
func (v *Verdict) PassedChecks() (n int) {
	for i := range v.Checks {
		if v.Checks[i].State == Passed {
			n++
		}
	}
	return n
}

// transient are codes of failures that say nothing about the flow.
var transient = []flow.Code{
	flow.CodeProviderRateLimited, flow.CodeProviderUnavailable, flow.CodeProviderAuth, flow.CodeBudgetExceeded, flow.CodePriceUnknown, flow.CodeRunTimeout, flow.CodePoisoned, flow.CodeInternal, flow.CodeOutcomeUnknown,
}

// Evaluate returns the verdict on a run, by the checks of the case after those of the file. judged has the outcomes of checks that ask,
// by index in that order; those without an outcome are left out.
func Evaluate(ctx context.Context, f *File, c *Case, r *Result, tools Tools, judged map[int]Outcome) Verdict {
	v := Verdict{Case: c.ID, Checks: []Outcome{}, USD: r.USD, Spent: r.Spent, Tokens: r.Tokens, MS: r.MS, Recorded: r.Recorded, RunID: r.RunID}
	switch {
	case r.Missing != "":
		v.State, v.Message = Stale, r.Missing
		return v
	case r.State == flow.RunCanceled:
		v.State, v.Message = Errored, "The run was canceled."
		return v
	}
	checks := slices.DeleteFunc(f.checksOf(c), func(c Check) bool { return c.asks() })
	expectsEnd := slices.ContainsFunc(checks, func(c Check) bool { return c.Kind == Status && !c.Watch })
	if r.State != flow.RunSucceeded && r.Error != nil && slices.Contains(transient, r.Error.Code) && !expectsCode(checks, r.Error.Code) {
		v.State, v.Message = Errored, fmt.Sprintf("%s: %s", r.Error.Code, r.Error.Message)
		return v
	}
	if !expectsEnd {
		checks = append([]Check{{Kind: Status, Value: string(flow.RunSucceeded)}}, checks...)
	}
	sorting.By(checks, func(a, b Check) int { return slices.Index(checkKinds, a.Kind) - slices.Index(checkKinds, b.Kind) })
	e := evaluation{ctx: ctx, c: c, r: r, tools: tools}
	for i := range checks {
		o := e.check(&checks[i])
		o.Check, o.Kind, o.Watch = checks[i].Label(), checks[i].Kind, checks[i].Watch
		v.Checks = append(v.Checks, o)
	}
	all := f.checksOf(c)
	labels := Labels(all)
	for k, check := range all {
		if o, asked := judged[k]; asked {
			o.Check, o.Kind, o.Watch = labels[k], check.Kind, check.Watch
			v.Checks = append(v.Checks, o)
		}
	}
	v.decide()
	return v
}

// expectsCode reports whether a check expects the run to fail with a code.
func expectsCode(checks []Check, code flow.Code) bool {
	return slices.ContainsFunc(checks, func(c Check) bool { return c.Kind == Status && c.Code == string(code) })
}

// decide sets the state and the score of a verdict from its checks.
func (v *Verdict) decide() {
	v.State = Passed
	sum, n := 0.0, 0
	for i := range v.Checks {
		o := &v.Checks[i]
		if o.Watch {
			continue
		}
		sum, n = sum+o.Score, n+1
		switch {
		case o.State == Failed:
			v.State = Failed
		case o.State == Stale && v.State != Failed:
			v.State = Stale
		case o.State == Errored && v.State == Passed:
			v.State = Errored
		}
		if o.State != Passed && v.Message == "" {
			v.Message = o.Check + ": " + o.Reason
		}
	}
	if n > 0 {
		v.Score = sum / float64(n)
	}
}

// evaluation evaluates the checks of one run.
type evaluation struct {
	ctx      context.Context //nolint:containedctx // it serves one call
	c        *Case
	r        *Result
	tools    Tools
	matching *pattern.Budget // of all matches
}

func passed() Outcome { return Outcome{State: Passed, Score: 1} }

func failed(format string, args ...any) Outcome {
	return Outcome{State: Failed, Reason: fmt.Sprintf(format, args...)}
}

func errored(format string, args ...any) Outcome {
	return Outcome{State: Errored, Reason: fmt.Sprintf(format, args...)}
}

// check evaluates one check.
func (e *evaluation) check(c *Check) Outcome {
	switch c.Kind {
	case Status:
		return e.status(c)
	case StepsCheck:
		return e.steps(c)
	case Sends:
		return e.sends(c)
	case FindsCheck:
		return e.finds(c)
	case LimitsCheck:
		return e.limits(c)
	case ExprCheck:
		return e.expression(c)
	case Expected:
		return e.expected(c)
	}
	v, has := e.r.Outputs.Lookup(c.Output)
	if !has {
		return failed("there is no output %s", c.Output)
	}
	switch c.Kind {
	case Equals:
		return equal(c, c.Value, v)
	case OneOf:
		items, _ := c.Value.([]any)
		if slices.ContainsFunc(items, func(item any) bool { return difference(item, v, c.Within, nil, "") == "" }) {
			return passed()
		}
		return failed("%s is not among %s", describe(v), describe(c.Value))
	case Contains, NotContains:
		text := flow.Text(v)
		for _, part := range textsOf(c.Value) {
			if strings.Contains(text, part) == (c.Kind == NotContains) {
				if c.Kind == Contains {
					return failed("does not contain %q: %s", part, describe(v))
				}
				return failed("contains %q", part)
			}
		}
		return passed()
	case Matches:
		return e.matches(c, v)
	case SchemaCheck:
		wrong, err := e.tools.Schema(e.ctx, c.Value, v)
		switch {
		case err != nil:
			return errored("%s", flow.AsError(err).Message)
		case wrong != "":
			return failed("%s", wrong)
		}
		return passed()
	}
	return errored("this version of Sluice does not know the check %s", c.Kind)
}

// matchUnits bounds the work of all matches of a verdict: a second at most.
const matchUnits = 100_000_000

func (e *evaluation) matches(c *Check, v any) Outcome {
	p, err := pattern.Compile(flow.Text(c.Value))
	if err != nil {
		return errored("the pattern %s", err)
	}
	if e.matching == nil {
		e.matching = pattern.NewBudget(e.ctx, matchUnits)
	}
	found, err := p.Match(e.matching, flow.Text(v))
	switch {
	case err != nil:
		return errored("%s", err)
	case !found:
		return failed("does not match: %s", describe(v))
	}
	return passed()
}

func equal(c *Check, want, got any) Outcome {
	if d := difference(want, got, c.Within, c.Ignore, ""); d != "" {
		return failed("%s", d)
	}
	return passed()
}

func (e *evaluation) expected(c *Check) Outcome {
	names := []string{c.Output}
	if c.Output == "" {
		names = e.c.Expected.Names()
	}
	for _, name := range names {
		want, has := e.c.Expected.Lookup(name)
		if !has {
			return errored("the case expects no value of %s", name)
		}
		got, has := e.r.Outputs.Lookup(name)
		if !has {
			return failed("there is no output %s", name)
		}
		if d := difference(want, got, c.Within, c.Ignore, ""); d != "" {
			return failed("%s: %s", name, d)
		}
	}
	if len(names) == 0 {
		return errored("the case expects no values yet")
	}
	return passed()
}

func (e *evaluation) status(c *Check) Outcome {
	switch {
	case c.Value != string(e.r.State) && e.r.Error != nil:
		return failed("the run ended as %s with %s: %s", e.r.State, e.r.Error.Code, e.r.Error.Message)
	case c.Value != string(e.r.State):
		return failed("the run ended as %s", e.r.State)
	case c.Code != "" && (e.r.Error == nil || string(e.r.Error.Code) != c.Code):
		return failed("the run failed with %s", flow.AsError(e.r.Error).Code)
	}
	return passed()
}

func (e *evaluation) steps(c *Check) Outcome {
	o, _ := flow.AsObject(c.Value)
	for node, want := range o.All() {
		switch state, ran := e.r.Steps[node]; {
		case !e.has(node):
			return failed("the flow has no step %s", node)
		case !ran && want == string(flow.StepSkipped), string(state) == want:
		case !ran:
			return failed("%s did not run", node)
		default:
			return failed("%s ended as %s", node, state)
		}
	}
	return passed()
}

// has reports whether the flow has a node. A check of one that it does not have must not pass because nothing happens there.
func (e *evaluation) has(node string) bool {
	return e.r.Nodes == nil || slices.Contains(e.r.Nodes, node)
}

func (e *evaluation) sends(c *Check) Outcome {
	o, _ := flow.AsObject(c.Value)
	for node, want := range o.All() {
		got, sent := e.r.Sends[node]
		switch {
		case !e.has(node):
			return failed("the flow has no step %s", node)
		case want == nil && sent:
			return failed("%s sends %s", node, describe(got))
		case want == nil:
		case !sent:
			return failed("%s sends nothing", node)
		default:
			if d := difference(want, got, c.Within, c.Ignore, ""); d != "" {
				return failed("%s: %s", node, d)
			}
		}
	}
	return passed()
}

func (e *evaluation) finds(c *Check) Outcome {
	f := c.Finds()
	best, searches, missed := 0, 0, []string{}
	for node, calls := range e.r.Hits {
		if f.Node != "" && node != f.Node {
			continue
		}
		searches += len(calls)
		for _, sources := range calls {
			if at := slices.Index(sources, f.Source) + 1; at > 0 && (best == 0 || at < best) {
				best = at
			}
			missed = append(missed, sources[:min(len(sources), f.Top)]...)
		}
	}
	o := Outcome{State: Failed, Top: f.Top}
	switch {
	case searches == 0 && f.Node != "":
		o.Reason = f.Node + " did not search"
	case searches == 0:
		o.Reason = "no step searched"
	case best > 0 && best <= f.Top:
		o.State, o.Score, o.Reason = Passed, 1, fmt.Sprintf("%s is hit %d", f.Source, best)
	case best > 0:
		o.Reason = fmt.Sprintf("%s is hit %d, not among the first %d", f.Source, best, f.Top)
	case len(missed) == 0:
		o.Reason = fmt.Sprintf("the search found nothing; wanted %s", f.Source)
	default:
		slices.Sort(missed)
		o.Reason = fmt.Sprintf("%s is no hit; the first %d are from %s", f.Source, f.Top, names(slices.Compact(missed)))
	}
	return o
}

func (e *evaluation) limits(c *Check) Outcome {
	o, _ := flow.AsObject(c.Value)
	for name, v := range o.All() {
		most, _ := flow.Float(v)
		is, text := 0.0, ""
		switch name {
		case "usd":
			is, text = e.r.USD.Dollars(), "cost $"+e.r.USD.Rounded()
		case "ms":
			is, text = float64(e.r.MS), fmt.Sprintf("took %d ms", e.r.MS)
		case "tokens":
			is, text = float64(e.r.Tokens), fmt.Sprintf("used %d tokens", e.r.Tokens)
		}
		if is > most {
			return failed("it %s; the limit is %s", text, flow.Text(v))
		}
	}
	return passed()
}

func (e *evaluation) expression(c *Check) Outcome {
	steps := map[string]any{}
	for node, state := range e.r.Steps {
		steps[node] = string(state)
	}
	run := map[string]any{"status": string(e.r.State), "usd": flow.Number(e.r.USD.Dollars()), "ms": flow.Number(e.r.MS), "tokens": flow.Number(e.r.Tokens), "code": ""}
	if e.r.Error != nil {
		run["code"] = string(e.r.Error.Code)
	}
	object := func(o *flow.Object) *flow.Object {
		if o == nil {
			return &flow.Object{}
		}
		return o
	}
	v, err := e.tools.Expression(e.ctx, flow.Text(c.Value), map[string]any{"inputs": object(e.c.Inputs), "outputs": object(e.r.Outputs), "expected": object(e.c.Expected), "steps": steps, "run": run})
	if err != nil {
		return errored("%s", flow.AsError(err).Message)
	}
	if b, ok := v.(bool); ok {
		if b {
			return passed()
		}
		return failed("the expression is false")
	}
	score, ok := flow.Float(v)
	switch {
	case !ok || score < 0 || score > 1 || math.IsNaN(score):
		return errored("the expression gives %s, and true, false or a score from 0 to 1 is wanted", describe(v))
	case !c.HasMin:
		return errored("the expression gives a score, so the check needs min")
	case score < c.Min:
		return Outcome{State: Failed, Score: score, Reason: fmt.Sprintf("the score is %v; at least %v is wanted", score, c.Min)}
	}
	return Outcome{State: Passed, Score: score}
}

// difference returns the first difference of two JSON values, or "". Numbers may differ by within; what the pointers name
// is ignored.
func difference(want, got any, within float64, ignore []string, at string) string {
	if slices.Contains(ignore, at) {
		return ""
	}
	where := ""
	if at != "" {
		where = "at " + at + ", "
	}
	if o, ok := flow.AsObject(want); ok {
		p, isObject := flow.AsObject(got)
		if !isObject {
			return where + fmt.Sprintf("wanted an object, got %s", describe(got))
		}
		for name, v := range o.All() {
			inner := at + flow.Pointer(name)
			w, has := p.Lookup(name)
			if !has && !slices.Contains(ignore, inner) {
				return fmt.Sprintf("%s is missing", inner)
			}
			if d := difference(v, w, within, ignore, inner); d != "" {
				return d
			}
		}
		for name := range p.All() {
			if inner := at + flow.Pointer(name); !o.Has(name) && !slices.Contains(ignore, inner) {
				return fmt.Sprintf("%s is not expected", inner)
			}
		}
		return ""
	}
	if list, ok := want.([]any); ok {
		other, isList := got.([]any)
		if !isList {
			return where + fmt.Sprintf("wanted a list, got %s", describe(got))
		}
		if len(list) != len(other) {
			return where + fmt.Sprintf("wanted %s, got %d", flow.Count(len(list), "item"), len(other))
		}
		for i := range list {
			if d := difference(list[i], other[i], within, ignore, at+"/"+strconv.Itoa(i)); d != "" {
				return d
			}
		}
		return ""
	}
	if flow.EqualValues(want, got) || within > 0 && value.Near(want, got, within) {
		return ""
	}
	return where + fmt.Sprintf("wanted %s, got %s", describe(want), describe(got))
}
