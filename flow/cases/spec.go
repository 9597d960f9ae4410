package cases

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/sorting"
)

// Candidate is a version of a flow that a test tries.
type Candidate struct {
	Label   string         `json:"label"`
	Version int64          `json:"version,omitempty"` // 0 for a draft or another document
	Draft   bool           `json:"draft,omitempty"`
	Set     map[string]any `json:"set,omitempty"`   // values of fields that replace those of the document, by NODE.FIELD
	Hash    string         `json:"hash"`            // of the document
	Below   string         `json:"below,omitempty"` // hash of the documents that it ran in other flows
}

// AsDrafts ends Candidate.Below if other flows ran their drafts, which no gate asks for.
const AsDrafts = " as drafts"

// DraftsBelow reports whether other flows ran their drafts.
func (c *Candidate) DraftsBelow() bool { return strings.HasSuffix(c.Below, AsDrafts) }

// SetFields replaces fields of a document, by NODE.FIELD. It returns the first name without a node, or "".
func SetFields(d *flow.Document, set map[string]any) (unknown string) {
	for _, name := range sorting.Keys(set) {
		id, field, _ := strings.Cut(name, ".")
		n := d.Node(id)
		if n == nil || field == "" {
			return name
		}
		if n.Config == nil {
			n.Config = map[string]any{}
		}
		n.Config[field] = set[name]
	}
	return ""
}

// Spec says what a test runs. It never changes.
type Spec struct {
	Set         string        `json:"set"`   // hash of the cases
	Cases       []string      `json:"cases"` // IDs, in order
	Candidates  []Candidate   `json:"candidates"`
	Baseline    int           `json:"baseline"` // index of the candidate that the others are compared with; -1 for none
	Mode        flow.CaseMode `json:"mode"`
	Allow       []string      `json:"allow,omitempty"`
	Repeat      int           `json:"repeat,omitempty"` // of every case; 0 as the cases say
	Concurrency int           `json:"concurrency"`
	Tags        []string      `json:"tags,omitempty"`
	MaxUSD      flow.NanoUSD  `json:"max_nano_usd,omitempty"`
	Groups      []Group       `json:"groups,omitempty"` // of the checks that ask
	// Replaced has the hashes of documents that flows below run instead of their live versions, because they go live together.
	Replaced map[flow.FlowID]string `json:"replaced,omitempty"`
	// Below has the hashes of the documents that flows below run, as they were when the test started, by flow.
	Below map[flow.FlowID]string `json:"below,omitempty"`
}

// Test is a test of a flow: a run with cases as items.
type Test struct {
	ID          string
	WorkspaceID flow.WorkspaceID
	FlowID      flow.FlowID
	RunID       flow.RunID
	Spec        Spec
	MadeBy      string
	CreatedAt   time.Time
	Notes       string // what a person wrote about the report
	NotesBy     string // who
	Digest      *Digest
}

// Item is one run of a case for a candidate.
type Item struct {
	Case   *Case
	Repeat int // from 0
}

// Items returns the runs of each candidate, in the order of child runs.
func (s *Spec) Items(f *File) (items []Item) {
	for _, id := range s.Cases {
		c := f.Find(id)
		if c == nil {
			continue
		}
		n, _ := f.Repeats(c)
		if s.Repeat > 0 {
			n = s.Repeat
		}
		for k := range n {
			items = append(items, Item{c, k})
		}
	}
	return items
}

// Documents returns the hashes of the documents that a test stores.
func (s *Spec) Documents() (hashes []string) {
	for i := range s.Candidates {
		hashes = append(hashes, s.Candidates[i].Hash)
	}
	for _, hash := range s.Replaced {
		hashes = append(hashes, hash)
	}
	for _, hash := range s.Below {
		hashes = append(hashes, hash)
	}
	return hashes
}

// passes returns how many runs of a case must pass.
func (s *Spec) passes(f *File, c *Case) int {
	repeat, pass := f.Repeats(c)
	if s.Repeat > 0 {
		pass = min(s.Repeat, (pass*s.Repeat+repeat-1)/repeat)
	}
	return pass
}

// Kind is the kind of the nodes in the document of a test.
const Kind = "test_cases"

// Step returns the path of the step that runs the cases for a candidate.
func Step(candidate int) string { return fmt.Sprintf("candidate-%d", candidate) }

// CheckStep returns the path of the step that answers the checks of a group for a candidate.
func CheckStep(candidate, group int) string { return fmt.Sprintf("check-%d-%d", candidate, group) }

// Document returns the internal document of a test: for each candidate a node that runs the cases, one for each group of checks that ask,
// and one that stores the verdicts. Without such checks, the first does all.
func (t *Test) Document(name string) []byte {
	nodes, edges := []any{}, []any{}
	node := func(id string, candidate int, more string, value any) {
		config := map[string]any{"test": t.ID, "candidate": candidate}
		if more != "" {
			config[more] = value
		}
		nodes = append(nodes, map[string]any{"id": id, "kind": Kind, "config": config})
	}
	after := func(id, before string) {
		edges = append(edges, map[string]any{"from": before + ".total", "to": id + ".after"})
	}
	for i := range t.Spec.Candidates {
		last := Step(i)
		node(last, i, "", nil)
		if len(t.Spec.Groups) > 0 {
			last = fmt.Sprintf("verdicts-%d", i)
			node(last, i, "verdicts", true)
			after(last, Step(i))
		}
		for g := range t.Spec.Groups {
			id := CheckStep(i, g)
			node(id, i, "check", g+1)
			after(id, Step(i))
			after(last, id)
			if b := t.Spec.Baseline; t.Spec.Groups[g].Against && b >= 0 && b != i {
				after(id, Step(b))
			}
		}
		for _, port := range []string{"total", "passed"} {
			id := fmt.Sprintf("%s-%d", port, i)
			nodes = append(nodes, map[string]any{"id": id, "kind": "output", "config": map[string]any{"name": id}})
			edges = append(edges, map[string]any{"from": last + "." + port, "to": id + ".value"})
		}
	}
	text, err := json.Marshal(map[string]any{"schema": flow.Schema, "name": name, "nodes": nodes, "edges": edges})
	if err != nil {
		panic("cases: encode a document: " + err.Error()) // all of it can be encoded
	}
	return text
}

// TestOf returns the ID of the test that a document executes, or "".
func TestOf(document []byte) string {
	var d struct {
		Nodes []struct {
			Kind   string
			Config struct{ Test string }
		}
	}
	if json.Unmarshal(document, &d) != nil {
		return ""
	}
	if i := slices.IndexFunc(d.Nodes, func(n struct {
		Kind   string
		Config struct{ Test string }
	}) bool {
		return n.Kind == Kind
	}); i >= 0 {
		return d.Nodes[i].Config.Test
	}
	return ""
}

// Plan is a test with what it runs.
type Plan struct {
	*Test
	File  *File
	Items []Item
}

// NewPlan returns the plan of a test.
func NewPlan(t *Test, f *File) *Plan { return &Plan{t, f, t.Spec.Items(f)} }

// CheckSetting returns what the steps of a run that answers a check need. Such a run changes nothing outside, and its results are
// recorded also in the mode live: the same question has the same answer. n is the vote, from 0.
func (p *Plan) CheckSetting(n int) *flow.CaseSetting {
	s := &flow.CaseSetting{Mode: p.Spec.Mode, FlowID: p.FlowID, Case: "check", Repeat: n, Now: DefaultNow, Secrets: map[string]string{}}
	if s.Mode == flow.CaseLive {
		s.Mode = flow.CaseFill
	}
	return s
}

// Setting returns what the steps of a run of a case need; nil if the test has no such case.
func (p *Plan) Setting(at *flow.CaseRun) *flow.CaseSetting {
	if at.Item < 0 || at.Item >= len(p.Items) {
		return nil
	}
	item := &p.Items[at.Item]
	s := &flow.CaseSetting{Mode: p.Spec.Mode, Replaced: p.Spec.Below, FlowID: p.FlowID, Case: item.Case.ID, Repeat: item.Repeat, Now: item.Case.Now, Seed: item.Case.Seed, Answers: item.Case.Answers, Secrets: map[string]string{}}
	if s.Now.IsZero() {
		s.Now = DefaultNow
	}
	if s.Replaced == nil { // of an earlier release
		s.Replaced = p.Spec.Replaced
	}
	for name, v := range item.Case.Inputs.All() {
		if credential, isRef := flow.SecretRef(v); isRef {
			s.Secrets[name] = credential
		}
	}
	if !at.Below {
		s.Allow, s.Stubs = p.Spec.Allow, item.Case.Stubs
		if item.Case.Memory.Len() > 0 {
			s.Memory = item.Case.Memory.Map()
		}
	}
	return s
}
