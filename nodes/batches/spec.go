// Package batches describes batches: runs of a flow for each row of a table. It owns how the inputs of the flow are made
// of a row, and the internal document that a batch executes. It knows nothing about databases.
package batches

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/sorting"
	"sluice/nodes/expression"
)

// What a batch does when a row fails.
const (
	Keep = "keep" // the other rows run
	Stop = "stop" // no other row starts, and the batch fails
)

// Limits of a batch.
const (
	Concurrency = 10    // by default
	CheckedRows = 1_000 // that are checked before the batch is accepted
	rowVariable = "row"
)

// Spec says what a batch does. It is stored in the document that the batch executes.
type Spec struct {
	Flow        flow.FlowID       `json:"flow"`
	Version     int64             `json:"version"`
	Inputs      map[string]Source `json:"inputs"`
	Concurrency int               `json:"concurrency"`
	OnError     string            `json:"on_error"`
	MaxFailed   int               `json:"max_failed,omitempty"` // percent; see flow.Children
	SkipInvalid bool              `json:"skip_invalid,omitempty"`
	Sample      int               `json:"sample,omitempty"` // only so many rows; 0 means all
	Columns     []string          `json:"columns"`          // of the table, for results

	given *flow.Object // values of inputs that no column fills; nil in a batch
}

// Source is where the value of an input comes from: a column, or an expression over the variable row.
type Source struct {
	Column     string `json:"column,omitempty"`
	Expression string `json:"expression,omitempty"`
}

// plain returns a name as names are compared: without case, byte order mark, quotes and spaces.
func plain(name string) string {
	return strings.ToLower(strings.NewReplacer("\ufeff", "", `"`, "", "'", "", " ", "", "\u00a0", "").Replace(name))
}

// Match finds the source of each input: the one that chosen names, as a column or an expression, or else the column with
// the name of the input.
func Match(inputs []contract.Input, columns []string, chosen map[string]string) (map[string]Source, []flow.Problem) {
	named, sources := map[string]string{}, map[string]Source{}
	for _, c := range columns {
		if _, twice := named[plain(c)]; !twice {
			named[plain(c)] = c
		}
	}
	var problems []flow.Problem
	known := map[string]bool{}
	for i := range inputs {
		in := &inputs[i]
		known[in.Name] = true
		text, isChosen := chosen[in.Name]
		switch column, found := named[plain(text)]; {
		case isChosen && found:
			sources[in.Name] = Source{Column: column}
		case isChosen:
			if _, err := expression.Compile(text, rowVariable); err != nil || !strings.Contains(text, rowVariable) {
				problems = append(problems, flow.Problem{Pointer: flow.Pointer("columns", in.Name), Code: "unknown", Detail: fmt.Sprintf("the table has no column %q, and it is not an expression over row", text)})
			}
			sources[in.Name] = Source{Expression: text}
		default:
			if column, found := named[plain(in.Name)]; found {
				sources[in.Name] = Source{Column: column}
			} else if in.Required {
				problems = append(problems, flow.Problem{Pointer: flow.Pointer("columns", in.Name), Code: "required", Detail: fmt.Sprintf("the table has no column for the input %q; name one in columns", in.Name)})
			}
		}
	}
	for _, name := range sorting.Keys(chosen) {
		if !known[name] {
			problems = append(problems, flow.Problem{Pointer: flow.Pointer("columns", name), Code: "unknown", Detail: fmt.Sprintf("the flow has no input %q", name) + flow.Closest(name, known)})
		}
	}
	return sources, problems
}

// InputsOf returns the inputs of the run for a row, or what is wrong with it. An empty cell is as if the input were left out.
func (s *Spec) InputsOf(ctx context.Context, row *flow.Object) (*flow.Object, *flow.Error) {
	given, scope := s.given.Clone(), (*expression.Scope)(nil)
	for _, name := range sorting.Keys(s.Inputs) {
		from := s.Inputs[name]
		value := row.Get(from.Column)
		if from.Expression != "" {
			if scope == nil {
				scope = expression.NewScope(map[string]any{rowVariable: row})
			}
			var err error
			if value, err = scope.Eval(ctx, from.Expression); err != nil {
				return given, flow.Errorf(flow.CodeInputInvalid, "%s: %s", name, flow.AsError(err).Message)
			}
		}
		if value != nil && value != "" {
			given.Set(name, value)
		}
	}
	return given, nil
}

// Names of parts of the document.
const (
	FileInput = "file" // the input with the table
	Step      = "rows" // the path of the step that runs the rows
	Kind      = "batch"
)

// Document returns the internal document of a batch.
func (s *Spec) Document(name string) []byte {
	nodes := []any{
		map[string]any{"id": "file", "kind": "input", "config": map[string]any{"name": FileInput, "type": "file"}},
		map[string]any{"id": Step, "kind": Kind, "config": map[string]any{"spec": s}},
	}
	edges := []any{map[string]any{"from": "file.value", "to": Step + ".file"}}
	for _, port := range []string{"total", "succeeded", "failed"} {
		nodes = append(nodes, map[string]any{"id": port, "kind": "output", "config": map[string]any{"name": port}})
		edges = append(edges, map[string]any{"from": Step + "." + port, "to": port + ".value"})
	}
	text, err := json.Marshal(map[string]any{"schema": flow.Schema, "name": name, "nodes": nodes, "edges": edges})
	if err != nil {
		panic("batches: encode a document: " + err.Error()) // all of it can be encoded
	}
	return text
}

// ReadSpec reads the spec in the config of a node.
func ReadSpec(config any) (*Spec, error) {
	s := &Spec{}
	if err := json.Unmarshal(flow.EncodeJSON(config), s); err != nil {
		return nil, fmt.Errorf("read the spec of a batch: %w", err)
	}
	return s, nil
}

// SpecOf returns the spec in the document of a batch.
func SpecOf(document []byte) (*Spec, error) {
	var d struct {
		Nodes []struct {
			Kind   string
			Config struct{ Spec *Spec }
		}
	}
	if err := json.Unmarshal(document, &d); err != nil {
		return nil, fmt.Errorf("read the document of a batch: %w", err)
	}
	for _, n := range d.Nodes {
		if n.Kind == Kind && n.Config.Spec != nil {
			return n.Config.Spec, nil
		}
	}
	return nil, flow.Errorf(flow.CodeNotFound, "There is no such batch.")
}

// pause is how often a batch looks whether rows can start that a daily limit or queued runs kept from starting.
const pause = 5 * time.Minute

// NextLook returns when a batch looks after its rows again: after a pause, when the budgets of the day reset, or at a time before that.
func NextLook(now, until time.Time) time.Time {
	for _, t := range []time.Time{now.Add(pause), flow.NextDay(now)} {
		if t.Before(until) {
			until = t
		}
	}
	return until
}

// CheckStarted returns an error if rows of a batch that has ended were not started, because it has cost all that it may cost.
func CheckStarted(c *flow.Children) error {
	if left := c.NotStarted(); left > 0 {
		return flow.Errorf(flow.CodeBudgetExceeded, "The batch has cost what it may cost (max_usd), so %d of its %d rows were not started. Repeat it to run them: rows that succeeded are taken over.", left, c.Total)
	}
	return nil
}
