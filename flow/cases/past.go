package cases

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/sorting"
	"sluice/flow/wording"
)

// Past is what a run that has ended gives to a case. Nothing in it is a secret.
type Past struct {
	Inputs     *flow.Object // without secret inputs; files that came by URL are stored ones
	Secrets    []string     // names of the secret inputs that had a value
	Outputs    *flow.Object
	Modeled    map[string]bool            // names of the outputs that depend on a model or a flow that calls one
	Answers    map[string]flow.CaseAnswer // by the ID of the approval, or of the tool that asked
	Failed     map[string]*flow.Error     // by the ID of a node outside that failed
	Recordings []flow.Recording           // of the steps outside, in the run and those below it
	Unrecorded []string                   // nodes whose results go into a field for a secret
	Origin     flow.Origin                // time and seed of code in the run
	Memory     *flow.Object               // conversations that the run continues, by the ID of the agent
}

// OfRun is a case that was made from a run.
type OfRun struct {
	FlowID flow.FlowID `json:"flow_id"`
	ID     string      `json:"id"`
	Erased bool        `json:"erased" doc:"The case was deleted, too."`
}

// IDOfRun returns the ID of the case that is made from a run.
func IDOfRun(id flow.RunID) string { return strings.ReplaceAll(string(id), "_", "-") }

// MayBecome returns why a run cannot become a case.
func MayBecome(run *flow.Run) error {
	switch {
	case run.Erased != "":
		return flow.Errorf(run.Erased, "The content of %s is gone, so it cannot become a test case.", run.ID)
	case !run.Save:
		return flow.Errorf(flow.CodeResultNotSaved, "%s was started with save: false, so its content is not kept in a test case either.", run.ID)
	case !run.State.Ended():
		return flow.Errorf(flow.CodeRunNotEnded, "%s has not ended. Wait for its end or cancel it.", run.ID)
	case run.Case != nil || run.Trigger.Work() != "":
		return flow.Errorf(flow.CodeInputInvalid, "%s belongs to a test or a batch. Choose a run of the flow.", run.ID)
	}
	return nil
}

// FromPast returns the case that is made from a run. credentials has the credentials that its secret inputs name; an input without an
// entry names the credential with the name of the input. The case of a run that did not succeed has no expected outputs: a person
// must add them before it counts.
func FromPast(run *flow.Run, p *Past, credentials map[string]string) *Case {
	c := &Case{ID: IDOfRun(run.ID), Name: wording.Truncate(firstText(p.Inputs), maxText/2), FromRun: run.ID, Inputs: p.Inputs.Clone(), Answers: p.Answers, Now: p.Origin.Time.UTC().Truncate(time.Microsecond), Seed: p.Origin.Seed, Memory: p.Memory}
	if len(c.Seed) > maxSeed {
		c.Seed = ""
	}
	for _, name := range p.Secrets {
		c.Inputs.Set(name, map[string]any{"credential": cmp.Or(credentials[name], name)})
	}
	if run.State != flow.RunSucceeded {
		c.Checks = []Check{{Kind: Expected, Value: true}}
		return c
	}
	for node, e := range p.Failed {
		if c.Stubs == nil {
			c.Stubs = map[string]flow.CaseStub{}
		}
		c.Stubs[node] = flow.CaseStub{Error: &flow.Error{Code: e.Code, Message: e.Message}}
	}
	c.Expected = p.Outputs
	c.Checks = suggest(p)
	return c
}

// FromEvent returns the case that is made from an event of an incoming webhook. A person must add what is expected before it counts.
func FromEvent(hook, key string, inputs *flow.Object) *Case {
	id := strings.Trim(hook[:min(len(hook), 50)], "-_") + "-" + flow.Hash([]byte(key))[:8]
	return &Case{ID: id, Name: wording.Truncate(hook+" "+key, maxText/2), Inputs: inputs, Checks: []Check{{Kind: Expected, Value: true}}}
}

// FindInputs returns the ID of the case that has the ID of another one or its inputs, or "".
func (f *File) FindInputs(c *Case) string {
	for i := range f.Cases {
		if known := &f.Cases[i]; known.ID == c.ID || c.Inputs.Len() > 0 && flow.EqualValues(known.Inputs, c.Inputs) {
			return known.ID
		}
	}
	return ""
}

// suggest returns checks of the outputs of a run: exact values for those that no model made, the meaning of texts, and the form of JSON.
func suggest(p *Past) (checks []Check) {
	for _, name := range p.Outputs.Names() {
		v := p.Outputs.Get(name)
		switch _, isText := v.(string); {
		case v == nil:
		case len(flow.FileIDs(v)) > 0: // a file that a step makes has another ID in each run
			checks = append(checks, Check{Kind: SchemaCheck, Output: name, Value: schemaOf(v, 0)})
		case !p.Modeled[name], isText && isLabel(flow.Text(v)):
			checks = append(checks, Check{Kind: Equals, Output: name, Value: v})
		case isText:
			checks = append(checks, Check{Kind: Similar, Output: name, Value: true})
		default:
			checks = append(checks, Check{Kind: SchemaCheck, Output: name, Value: schemaOf(v, 0)})
		}
	}
	return checks
}

// labelLength is the most characters of a text that counts as a label, such as the result of a classification.
const labelLength = 30

// isLabel reports whether a text is one word.
func isLabel(text string) bool {
	return text != "" && len([]rune(text)) <= labelLength && !strings.ContainsAny(text, " \t\n")
}

// schemaDepth bounds the levels of a suggested JSON Schema.
const schemaDepth = 4

// schemaOf returns a JSON Schema that a value fits: types, and the members of objects.
func schemaOf(v any, depth int) *flow.Object {
	s := &flow.Object{}
	if o, is := flow.AsObject(v); is {
		s.Set("type", "object")
		if depth == schemaDepth || o.Len() == 0 {
			return s
		}
		members, names := &flow.Object{}, []any{}
		for name, item := range o.All() {
			members.Set(name, schemaOf(item, depth+1))
			names = append(names, name)
		}
		s.Set("required", names)
		s.Set("properties", members)
		return s
	}
	switch v := v.(type) {
	case []any:
		s.Set("type", "array")
		if len(v) == 0 || depth == schemaDepth {
			return s
		}
		first := schemaOf(v[0], depth+1)
		if !slices.ContainsFunc(v, func(item any) bool { return !flow.EqualValues(schemaOf(item, depth+1), first) }) {
			s.Set("items", first)
		}
	case string:
		s.Set("type", "string")
	case bool:
		s.Set("type", "boolean")
	case nil:
	default:
		s.Set("type", "number")
	}
	return s
}

// firstText returns the first text of some inputs, as the name of a case.
func firstText(inputs *flow.Object) string {
	for _, name := range inputs.Names() {
		if text, is := inputs.Get(name).(string); is && strings.TrimSpace(text) != "" {
			return strings.Join(strings.Fields(text), " ")
		}
	}
	return ""
}

// Spread says how cases are chosen among runs.
type Spread string

// The ways to choose. The zero value takes the newest.
const (
	SpreadStatus Spread = "status" // as many of each way in which runs ended
	SpreadSwitch Spread = "switch" // as many of each set of branches that ran
)

// Spreads are all ways.
var Spreads = []Spread{SpreadStatus, SpreadSwitch}

// PickEvenly returns the items in the order in which groups take turns: the first of each group, then the second. Groups come in the
// order of their first items.
func PickEvenly[T any](items []T, group func(T) string) []T {
	groups, order := map[string][]T{}, []string{}
	for _, item := range items {
		g := group(item)
		if groups[g] == nil {
			order = append(order, g)
		}
		groups[g] = append(groups[g], item)
	}
	picked := make([]T, 0, len(items))
	for n := 0; len(picked) < len(items); n++ {
		for _, g := range order {
			if n < len(groups[g]) {
				picked = append(picked, groups[g][n])
			}
		}
	}
	return picked
}

// BranchesOf returns the nodes of a run that did not run, as the group for SpreadSwitch.
func BranchesOf(heads []flow.Step) string {
	skipped := map[string]bool{}
	for i := range heads {
		if s := &heads[i]; s.State == flow.StepSkipped && !flow.IsSubStep(s.Path) {
			skipped[s.Path] = true
		}
	}
	return strings.Join(sorting.Keys(skipped), " ")
}
