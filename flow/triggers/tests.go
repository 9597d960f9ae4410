package triggers

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/companion"
	"sluice/flow/schedule"
)

// Test is what a schedule tests instead of starting runs: the members of a request for a test, without documents.
type Test struct {
	Mode        flow.CaseMode   `json:"mode,omitempty"` // empty: fill
	Candidates  []TestCandidate `json:"candidates,omitempty"`
	Baseline    *TestCandidate  `json:"baseline,omitempty"`
	Tags        []string        `json:"tags,omitempty"`
	Cases       *TestedCases    `json:"cases,omitempty"`
	Allow       []string        `json:"allow,omitempty"`
	Repeat      int64           `json:"repeat,omitempty"`
	Concurrency int64           `json:"concurrency,omitempty"`
	Children    string          `json:"children,omitempty"` // live or draft
	MaxUSD      float64         `json:"max_usd,omitempty"`
}

// TestCandidate is what a scheduled test tries: a version, or the draft. With Set, values of its fields are replaced.
type TestCandidate struct {
	Version TestVersion  `json:"version,omitzero"`
	Set     *flow.Object `json:"set,omitempty"`
}

// TestVersion is the number of a version, VersionDraft, or 0 for the live one.
type TestVersion int64

// VersionDraft is the draft.
const VersionDraft TestVersion = -1

// MarshalJSON writes the number of a version, or draft.
func (v TestVersion) MarshalJSON() ([]byte, error) {
	if v == VersionDraft {
		return []byte(`"draft"`), nil
	}
	return json.Marshal(int64(v))
}

// UnmarshalJSON reads the number of a version, draft or live.
func (v *TestVersion) UnmarshalJSON(data []byte) error {
	switch string(data) {
	case `"draft"`:
		*v = VersionDraft
		return nil
	case `"live"`:
		*v = 0
		return nil
	}
	var n int64
	if err := json.Unmarshal(data, &n); err != nil || n < 1 {
		return errors.New(`must be the number of a version, "draft" or "live"`)
	}
	*v = TestVersion(n)
	return nil
}

// JSONSchema describes the JSON of a version.
func (TestVersion) JSONSchema() map[string]any {
	return map[string]any{"oneOf": []any{map[string]any{"type": "integer", "minimum": 1}, map[string]any{"type": "string", "enum": []string{"draft", "live"}}}}
}

// TestedCases are cases by their IDs or, if Runs is set, recent runs.
type TestedCases struct {
	IDs  []string
	Runs *TestedRuns
}

// TestedRuns are the latest runs of the flow that succeeded.
type TestedRuns struct {
	Limit  int64  `json:"limit,omitempty"`  // 0: 50
	Newer  string `json:"newer,omitempty"`  // only runs of this time before the test, such as 24h
	Spread string `json:"spread,omitempty"` // switch: as many of each set of branches that ran
}

// testedRuns is the JSON of runs.
type testedRuns struct {
	Runs *TestedRuns `json:"runs"`
}

// MarshalJSON writes a list of IDs, or an object with runs.
func (c TestedCases) MarshalJSON() ([]byte, error) {
	if c.Runs != nil {
		return json.Marshal(testedRuns{c.Runs})
	}
	return json.Marshal(c.IDs)
}

// UnmarshalJSON reads a list of IDs, or an object with runs.
func (c *TestedCases) UnmarshalJSON(data []byte) error {
	*c = TestedCases{}
	if json.Unmarshal(data, &c.IDs) == nil {
		return nil
	}
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.DisallowUnknownFields()
	var o testedRuns
	if err := d.Decode(&o); err != nil || o.Runs == nil {
		return errors.New(`must be a list of IDs, or an object with runs such as {"runs": {"limit": 50, "newer": "24h"}}`)
	}
	c.IDs, c.Runs = nil, o.Runs
	return nil
}

// JSONSchema describes the JSON of tested cases.
func (TestedCases) JSONSchema() map[string]any {
	texts := map[string]any{"type": "string"}
	runs := map[string]any{"type": "object", "properties": map[string]any{"limit": map[string]any{"type": "integer", "minimum": 1, "maximum": maxTestCases}, "newer": texts, "spread": map[string]any{"type": "string", "enum": []string{"switch"}}}}
	return map[string]any{"oneOf": []any{
		map[string]any{"type": "array", "items": texts}, map[string]any{"type": "object", "properties": map[string]any{"runs": runs}, "required": []string{"runs"}},
	}}
}

// Since returns the time after which the runs of a test at a time were made; zero for all.
func (r *TestedRuns) Since(at time.Time) time.Time {
	if d, problem := schedule.ParseInterval(r.Newer); r.Newer != "" && problem == "" {
		return at.Add(-d)
	}
	return time.Time{}
}

// Limits of a scheduled test, which are those of a test.
const (
	maxTestCandidates = 20
	maxTestRepeats    = 10
	maxTestCases      = 1000
)

// ParseTest reads what a schedule tests. Pointers of problems start at the test.
func ParseTest(v any) (*Test, []flow.Problem) {
	o, ok := flow.AsObject(v)
	if !ok {
		return nil, []flow.Problem{{Code: "wrong_type", Detail: `must be an object such as {"mode": "live", "max_usd": 1}`}}
	}
	t := &Test{}
	return t, companion.DecodeMembers(o, t, "a scheduled test")
}

// check returns the problems of a test that can be told without its flow.
func (t *Test) check() (problems []flow.Problem) {
	fail := func(detail string, path ...any) {
		problems = append(problems, flow.Problem{Pointer: flow.Pointer(path...), Code: "invalid", Detail: detail})
	}
	if t.Mode != "" && !slices.Contains(flow.CaseModes, t.Mode) {
		fail("must be replay, fill or live", "mode")
	}
	if len(t.Allow) > 0 && t.Mode != flow.CaseLive {
		fail("only a test with the mode live may change something", "allow")
	}
	if len(t.Candidates) > maxTestCandidates {
		fail(fmt.Sprintf("a test has at most %d candidates", maxTestCandidates), "candidates")
	}
	if t.Repeat < 0 || t.Repeat > maxTestRepeats {
		fail(fmt.Sprintf("must be a whole number from 1 to %d", maxTestRepeats), "repeat")
	}
	if t.Concurrency < 0 || t.Concurrency > flow.MaxChildConcurrency {
		fail(fmt.Sprintf("must be a whole number from 1 to %d", flow.MaxChildConcurrency), "concurrency")
	}
	if t.Children != "" && t.Children != "live" && t.Children != "draft" {
		fail("must be live or draft", "children")
	}
	if !(t.MaxUSD >= 0 && t.MaxUSD <= flow.MaxUSD.Dollars()) {
		fail("must be an amount in dollars such as 1", "max_usd")
	}
	if t.Cases == nil {
		return problems
	}
	if r := t.Cases.Runs; r != nil {
		if r.Limit < 0 || r.Limit > maxTestCases {
			fail(fmt.Sprintf("must be a whole number from 1 to %d", maxTestCases), "cases", "runs", "limit")
		}
		if _, problem := schedule.ParseInterval(r.Newer); r.Newer != "" && problem != "" {
			fail(problem, "cases", "runs", "newer")
		}
		if r.Spread != "" && r.Spread != "switch" {
			fail("must be switch", "cases", "runs", "spread")
		}
	}
	return problems
}

// Changes reports whether a test replaces fields of a document.
func (t *Test) Changes() bool {
	sets := func(c TestCandidate) bool { return c.Set.Len() > 0 }
	return slices.ContainsFunc(t.Candidates, sets) || t.Baseline != nil && sets(*t.Baseline)
}
