// Package cases describes tests of flows: cases with their checks, what a test runs, and its report. It knows nothing of runs in
// progress and of databases.
package cases

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/companion"
	"sluice/flow/sorting"
	"sluice/flow/value"
)

// FileSchema is the schema of files with the cases of a flow.
const FileSchema = "sluice.tests/v1"

// PrefixTest begins the IDs of tests.
const PrefixTest = "test_"

// Limits of cases and tests.
const (
	MaxCases      = 1_000
	MaxCase       = 1 << 20  // bytes of a case
	MaxBytes      = 16 << 20 // of the cases of a flow together
	MaxChecks     = 100      // of a case, with those of the file
	MaxCandidates = 20
	MaxRepeats    = 10
	MaxVerdicts   = 20_000 // of a test
	maxTags       = 20
	maxText       = 200 // characters of a name or a tag
	maxSeed       = 4096
	MaxNotes      = 10_000 // characters of the notes of a report
)

// Case is one example of what a flow does: inputs, and statements about the run with them.
type Case struct {
	ID       string
	Name     string
	Inputs   *flow.Object
	Expected *flow.Object // by output
	Checks   []Check
	Answers  map[string]flow.CaseAnswer // by the ID of an approval node, or of a tool that asks
	Stubs    map[string]flow.CaseStub   // by node ID
	Tags     []string
	FromRun  flow.RunID
	Notes    string
	// Now is the time of code in the run, and determines its random numbers together with the ID of the case.
	Now time.Time
	// Seed begins the seeds of random numbers instead of the ID, in a case that was made from a run.
	Seed string
	// Memory has the conversations of agents that the run continues, by node ID, in a case that was made from such a run.
	Memory       *flow.Object
	Repeat, Pass int // how often the case runs, and how many of these must pass; 0 is the default
}

// DefaultNow is the time of code in cases without one.
var DefaultNow = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// File is what a tests file holds.
type File struct {
	Defaults Defaults
	Gate     *Gate
	Cases    []Case
}

// Defaults hold for all cases of a file.
type Defaults struct {
	Checks       []Check
	Repeat, Pass int
}

// Gate is what a report must say before a version is published.
type Gate struct {
	Tags     []string      // cases with one of these; empty means all cases
	PassRate float64       // from 0 to 1; default 1
	NoWorse  bool          // no case that passes with the live version may fail
	USD      string        // most dollars per case, or a share of those of the live version such as "+20%"
	P95      int64         // milliseconds; 0 is any
	Mode     flow.CaseMode // default replay
}

var validID = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// ValidID reports whether a text can identify a case: lower-case letters, digits, hyphens and underscores.
func ValidID(id string) bool { return validID.MatchString(id) }

// list describes the part of the file with the cases.
var list = companion.List[Case]{
	Schema: FileSchema, Noun: "case", Key: "id", Most: MaxCases,
	Name: func(c *Case) string { return c.ID }, Object: (*Case).Object,
}

// Repeats returns how often a case runs with the defaults of a file, and how many of these must pass.
func (f *File) Repeats(c *Case) (repeat, pass int) {
	repeat, pass = c.Repeat, c.Pass
	if repeat == 0 {
		repeat = max(1, f.Defaults.Repeat)
		if pass == 0 {
			pass = f.Defaults.Pass
		}
	}
	if pass == 0 || pass > repeat {
		pass = repeat
	}
	return repeat, pass
}

// Find returns the case with an ID, or nil. It is fast for a case that exists, because files are sorted by ID.
func (f *File) Find(id string) *Case {
	if i, found := slices.BinarySearchFunc(f.Cases, id, func(c Case, id string) int { return strings.Compare(c.ID, id) }); found {
		return &f.Cases[i]
	}
	for i := range f.Cases {
		if f.Cases[i].ID == id {
			return &f.Cases[i]
		}
	}
	return nil
}

// Select returns the IDs of the cases with one of the tags, or of all cases. Cases that wait for a person to say what is right do not count.
func (f *File) Select(tags []string) (ids []string) {
	for i := range f.Cases {
		if c := &f.Cases[i]; !c.Incomplete() && (len(tags) == 0 || slices.ContainsFunc(c.Tags, func(t string) bool { return slices.Contains(tags, t) })) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// Choose returns the IDs of the cases that a test runs: those in ids, sorted, or those with one of the tags. The problem says why it has none.
func (f *File) Choose(tags, ids []string) (chosen []string, problem *flow.Problem) {
	if len(ids) == 0 {
		chosen = f.Select(tags)
	}
	for i, id := range ids {
		if f.Find(id) == nil {
			return nil, &flow.Problem{Pointer: flow.Pointer("cases", i), Code: "unknown", Detail: fmt.Sprintf("the flow has no case %q", id)}
		}
		chosen = append(chosen, id)
	}
	slices.Sort(chosen)
	chosen = slices.Compact(chosen)
	if len(chosen) > 0 {
		return chosen, nil
	}
	problem = &flow.Problem{Pointer: "/tags", Code: "unknown", Detail: "the flow has no cases; add one first"}
	if len(f.Cases) > 0 {
		problem.Detail = "no case has one of these tags and the outputs that are expected"
	}
	return nil, problem
}

// Incomplete reports whether a check compares with expected outputs, and the case has none yet.
func (c *Case) Incomplete() bool {
	return c.Expected.Len() == 0 && slices.ContainsFunc(c.Checks, func(k Check) bool { return k.Kind == Expected && k.Output == "" })
}

// Object returns the JSON of a case.
func (c *Case) Object() *flow.Object {
	o := &flow.Object{}
	o.Set("id", c.ID)
	setText(o, "name", c.Name)
	inputs := c.Inputs
	if inputs == nil {
		inputs = &flow.Object{}
	}
	o.Set("inputs", inputs)
	if c.Expected.Len() > 0 {
		o.Set("expected", c.Expected)
	}
	setChecks(o, c.Checks)
	setRepeats(o, c.Repeat, c.Pass)
	if len(c.Answers) > 0 {
		o.Set("answers", byName(c.Answers))
	}
	if len(c.Stubs) > 0 {
		o.Set("stubs", byName(c.Stubs))
	}
	setTexts(o, "tags", c.Tags)
	setText(o, "from_run", string(c.FromRun))
	setText(o, "notes", c.Notes)
	if !c.Now.IsZero() {
		o.Set("now", c.Now.UTC().Format(time.RFC3339Nano))
	}
	setText(o, "seed", c.Seed)
	if c.Memory.Len() > 0 {
		o.Set("memory", c.Memory)
	}
	return o
}

func setText(o *flow.Object, name, text string) {
	if text != "" {
		o.Set(name, text)
	}
}

func setTexts(o *flow.Object, name string, texts []string) {
	if len(texts) > 0 {
		values := make([]any, len(texts))
		for i, t := range texts {
			values[i] = t
		}
		o.Set(name, values)
	}
}

func setChecks(o *flow.Object, checks []Check) {
	if len(checks) > 0 {
		values := make([]any, len(checks))
		for i := range checks {
			values[i] = checks[i].Object()
		}
		o.Set("checks", values)
	}
}

func setRepeats(o *flow.Object, repeat, pass int) {
	if repeat > 0 {
		o.Set("repeat", flow.Number(repeat))
	}
	if pass > 0 {
		o.Set("pass", flow.Number(pass))
	}
}

// byName returns an object with the JSON of values, sorted by name.
func byName[V any](m map[string]V) *flow.Object {
	o := &flow.Object{}
	for _, name := range sorting.Keys(m) {
		v, _ := flow.DecodeJSON(flow.EncodeJSON(m[name])) // it was encoded here
		if inner, ok := flow.AsObject(v); ok {
			if e, isError := flow.AsObject(inner.Get("error")); isError {
				e.Delete("retryable")
			}
		}
		o.Set(name, v)
	}
	return o
}

// Object returns the JSON of a file. Cases are sorted by ID.
func (f *File) Object() *flow.Object {
	cases := list.Write(f.Cases)
	o := &flow.Object{}
	o.Set("schema", FileSchema)
	if d := (&flow.Object{}); len(f.Defaults.Checks) > 0 || f.Defaults.Repeat > 0 || f.Defaults.Pass > 0 {
		setChecks(d, f.Defaults.Checks)
		setRepeats(d, f.Defaults.Repeat, f.Defaults.Pass)
		o.Set("defaults", d)
	}
	if f.Gate != nil {
		o.Set("gate", f.Gate.Object())
	}
	o.Set("cases", cases.Get("cases"))
	return o
}

// Object returns the JSON of a gate.
func (g *Gate) Object() *flow.Object {
	o := &flow.Object{}
	setTexts(o, "tags", g.Tags)
	o.Set("pass_rate", flow.Number(g.PassRate))
	if g.NoWorse {
		o.Set("no_worse", true)
	}
	setText(o, "usd", g.USD)
	if g.P95 > 0 {
		o.Set("p95_ms", flow.Number(g.P95))
	}
	o.Set("mode", string(g.Mode))
	return o
}

// Encode returns a file as JSON, by which it is stored and hashed.
func (f *File) Encode() []byte { return flow.EncodeJSON(f.Object()) }

// Decode reads a stored file.
func Decode(data []byte) (*File, error) {
	v, err := value.DecodeStored(string(data))
	if err != nil {
		return nil, fmt.Errorf("read stored cases: %w", err)
	}
	o, _ := flow.AsObject(v)
	f, problems := parseFile(o, nil, parseCase)
	if len(problems) > 0 {
		return nil, fmt.Errorf("read stored cases: %s", problems[0])
	}
	return f, nil
}

// DecodeCase reads a stored case.
func DecodeCase(data string) (*Case, error) {
	v, err := value.DecodeStored(data)
	if err != nil {
		return nil, fmt.Errorf("read a stored case: %w", err)
	}
	c, problems := parseCase(v, nil)
	if len(problems) > 0 {
		return nil, fmt.Errorf("read a stored case: %s", problems[0])
	}
	return &c, nil
}

// Same reports whether two cases are the same in a file.
func (c *Case) Same(other *Case) bool { return list.Same(c, other) }

// Parse reads a file. Checks and gates that nothing can fail are problems. check returns an error for a wrong expression over names; nil checks none.
func Parse(o *flow.Object, check checker) (*File, []flow.Problem) {
	f, problems := parseFile(o, check, ParseCase)
	if len(problems) > 0 {
		return f, problems
	}
	for _, p := range vacuousChecks(f.Defaults.Checks, check) {
		p.Pointer = "/defaults" + p.Pointer
		problems = append(problems, p)
	}
	if f.Gate != nil {
		if detail, member := f.Gate.vacuous(f); detail != "" {
			problems = append(problems, flow.Problem{Pointer: flow.Pointer("gate", member), Code: "invalid", Detail: detail})
		}
	}
	return f, problems
}

// checker returns an error for a wrong expression over names.
type checker = func(source string, names ...string) error

// parseFile is Parse with a function that reads a case.
func parseFile(o *flow.Object, check checker, one func(v any, check checker) (Case, []flow.Problem)) (*File, []flow.Problem) {
	f := &File{}
	rest := o.Clone()
	var problems []flow.Problem
	if v, has := rest.Lookup("defaults"); has {
		p := newParser(v, "the defaults", check)
		f.Defaults.Checks = p.checks()
		f.Defaults.Repeat, f.Defaults.Pass = p.repeats()
		problems = append(problems, p.end("/defaults")...)
		rest.Delete("defaults")
	}
	if v, has := rest.Lookup("gate"); has {
		g, wrong := ParseGate(v)
		f.Gate = g
		problems = append(problems, wrong...)
		rest.Delete("gate")
	}
	cases, wrong := list.Parse(rest, func(v any) (Case, []flow.Problem) { return one(v, check) })
	f.Cases = cases
	sorting.By(f.Cases, func(a, b Case) int { return strings.Compare(a.ID, b.ID) })
	return f, append(problems, wrong...)
}

// ParseGate reads a gate.
func ParseGate(v any) (*Gate, []flow.Problem) {
	p := newParser(v, "the gate", nil)
	g := &Gate{PassRate: 1, Mode: flow.CaseReplay, Tags: p.texts("tags", maxTags), USD: p.text("usd")}
	if n, has := p.number("pass_rate", 0, 1); has {
		g.PassRate = n
	}
	g.NoWorse = p.boolean("no_worse")
	if n, has := p.number("p95_ms", 1, 86_400_000); has {
		g.P95 = int64(n)
	}
	if mode := flow.CaseMode(p.text("mode")); mode != "" {
		if g.Mode = mode; !slices.Contains(flow.CaseModes, mode) {
			p.fail("invalid", "must be replay, fill or live", "mode")
		}
	}
	if g.USD != "" {
		if _, _, ok := parseLimit(g.USD); !ok {
			p.fail("invalid", `must be dollars such as "0.02", or a share more than the live version such as "+20%"`, "usd")
		}
	}
	return g, p.end("/gate")
}

// ParseCase reads a case. Checks that nothing can fail are problems. Pointers of problems start at the case.
func ParseCase(v any, check checker) (Case, []flow.Problem) {
	if value.IsObject(v) && len(flow.EncodeJSON(v)) > MaxCase {
		return Case{}, []flow.Problem{{Code: "too_long", Detail: "must be at most 1 MiB"}}
	}
	c, problems := parseCase(v, check)
	if len(problems) == 0 {
		problems = vacuousChecks(c.Checks, check)
	}
	return c, problems
}

// parseCase is ParseCase for cases of any size and with any checks, such as stored ones, which were checked before.
func parseCase(v any, check checker) (Case, []flow.Problem) {
	p := newParser(v, "a case", check)
	if p.o == nil {
		return Case{}, p.problems
	}
	c := Case{ID: p.text("id"), Name: p.text("name"), Inputs: p.object("inputs"), Expected: p.object("expected"), Checks: p.checks(), Tags: p.texts("tags", maxTags), FromRun: flow.RunID(p.text("from_run")), Notes: p.text("notes"), Seed: p.text("seed"), Memory: p.object("memory")}
	c.Repeat, c.Pass = p.repeats()
	if !ValidID(c.ID) {
		p.fail("invalid", "must have 1 to 64 lower-case letters, digits, hyphens and underscores", "id")
	}
	if len([]rune(c.Name)) > maxText {
		p.fail("too_long", fmt.Sprintf("must have at most %d characters", maxText), "name")
	}
	if len(c.Seed) > maxSeed {
		p.fail("too_long", fmt.Sprintf("must have at most %d bytes", maxSeed), "seed")
	}
	if c.FromRun != "" && !flow.ValidID(flow.PrefixRun, c.FromRun) {
		p.fail("invalid", "must be the ID of a run", "from_run")
	}
	if text := p.text("now"); text != "" {
		at, err := time.Parse(time.RFC3339, text)
		if c.Now = at.UTC(); err != nil {
			p.fail("invalid", "must be a time such as 2026-01-01T12:00:00Z", "now")
		}
	}
	c.Answers, c.Stubs = p.answers(), p.stubs()
	return c, p.end("")
}

// HasSettings reports whether a file has defaults or a gate.
func (f *File) HasSettings() bool {
	return f.Gate != nil || len(f.Defaults.Checks) > 0 || f.Defaults.Repeat > 0 || f.Defaults.Pass > 0
}

// SameSettings reports whether two files have the same defaults and gate.
func (f *File) SameSettings(other *File) bool {
	return string((&File{Defaults: f.Defaults, Gate: f.Gate}).Encode()) == string((&File{Defaults: other.Defaults, Gate: other.Gate}).Encode())
}
