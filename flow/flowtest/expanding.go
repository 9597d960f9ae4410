package flowtest

import (
	"fmt"
	"hash/fnv"

	"sluice/flow"
	"sluice/flow/value"
)

// loopKind is an expanding kind. It works in rounds: a call, then several sub-steps of random kinds
// at once, then the next round, which depends on all results. It outputs a digest of everything.
var loopKind = flow.Kind{
	Name: "loop", Title: "Loop", Group: "Test", Summary: "Works in rounds.",
	Fields: []flow.Field{
		{Name: "rounds", Type: flow.FieldInteger, Typed: true}, {Name: "calls", Type: flow.FieldInteger, Typed: true},
		{Name: "seed", Type: flow.FieldInteger, Typed: true}, // decides the kinds of the sub-steps and which of them fail
		{Name: "strict", Type: flow.FieldBoolean, Typed: true},
	},
	Inputs:  []flow.Port{{Name: "values", Type: flow.TypeAny, List: true}},
	Outputs: []flow.Port{{Name: "text", Type: flow.TypeText}},
	Expand:  loop,
}

// loopCalls are the kinds of the sub-steps of a round.
var loopCalls = []flow.Kind{WorkKind("call", flow.Outside), WorkKind("think", flow.Compute), WorkKind("note_down", flow.Inline), jobKind, spawnKind, awaitKind}

func loop(in *flow.In, so *flow.Expansion) (flow.Next, error) {
	digest := flow.Hash(value.Canonical(in.Ports["values"]))
	for round := 1; round <= in.Int("rounds"); round++ {
		names := []string{fmt.Sprint(round)}
		for call := 1; call <= in.Int("calls"); call++ {
			names = append(names, fmt.Sprintf("%d.%d", round, call))
		}
		results := []any{digest}
		var next flow.Next
		var failed error
		for i, name := range names {
			if i > 1 && so.Done[names[0]] == nil {
				break // the calls follow the first sub-step
			}
			r := so.Done[name]
			if r == nil {
				next.Steps = append(next.Steps, loopStep(in, name, digest))
				if i == 0 {
					break
				}
				continue
			}
			if r.Error != nil && failed == nil && (in.Config["strict"] == true || r.Error.Code == flow.CodeBudgetExceeded) {
				failed = r.Error
			}
			results = append(results, name, string(flow.EncodeJSON(r.Outputs)), r.Error == nil)
		}
		if len(next.Steps) > 0 || failed != nil {
			return next, failed
		}
		digest = flow.Hash(value.Canonical(results))
	}
	return flow.Next{Outputs: map[string]any{"text": in.Node + "-" + digest[:8]}}, nil
}

// loopStep returns a sub-step whose kind and faults depend on the seed.
func loopStep(in *flow.In, name, digest string) flow.SubStep {
	h := fnv.New32()
	_, _ = fmt.Fprint(h, in.Int("seed"), "/", name)
	n := int(h.Sum32() >> 8)
	s := flow.SubStep{Name: name, Kind: &loopCalls[0], Config: map[string]any{"text": "none"}, Ports: map[string]any{"values": []any{digest}}}
	if len(name) > 2 {
		s.Kind = &loopCalls[n%len(loopCalls)]
	}
	switch n /= len(loopCalls); n % 5 {
	case 0:
		s.Config["fails"] = flow.Number(1)
	case 1:
		s.Config["fails"], s.Retry = flow.Number(1), &flow.Retry{Attempts: 2, BackoffS: []float64{0, 1, 40}[n/5%3]}
	}
	switch s.Kind.Name {
	case "spawn":
		s.Config["items"], s.Config["concurrency"], s.Config["keep"] = flow.Number(1+n%3), flow.Number(2), true
	case "job":
		s.Config["pauses"], s.Config["pause_s"] = flow.Number(n%2), flow.Number([]int{5, 600}[n/2%2])
	}
	return s
}
