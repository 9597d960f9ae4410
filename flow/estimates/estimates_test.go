package estimates_test

import (
	"context"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/flow/cases"
	"sluice/flow/document"
	"sluice/flow/estimates"
)

// store has flows with their drafts, and recordings by node hash.
type store struct {
	flows    map[flow.FlowID]*flow.Flow
	live     map[string][]byte
	recorded map[string]int64
	tests    []cases.Test
}

func (s *store) ListTests(context.Context, flow.WorkspaceID, flow.FlowID, string, int) ([]cases.Test, error) {
	return s.tests, nil
}

func (s *store) FindFlowID(_ context.Context, _ flow.WorkspaceID, ref string) (flow.FlowID, error) {
	return flow.FlowID(ref), nil
}

func (s *store) FindFlow(_ context.Context, _ flow.WorkspaceID, id flow.FlowID) (*flow.Flow, error) {
	if f := s.flows[id]; f != nil {
		return f, nil
	}
	return nil, flow.Errorf(flow.CodeNotFound, "no flow")
}

func (s *store) FindVersion(context.Context, flow.WorkspaceID, flow.FlowID, int64) (*flow.Version, error) {
	return nil, flow.Errorf(flow.CodeNotFound, "no version")
}

func (s *store) FindDocument(_ context.Context, _ flow.WorkspaceID, hash string) ([]byte, error) {
	return s.live[hash], nil
}

func (s *store) CountRecordings(_ context.Context, _ flow.FlowID, hash string) (int64, error) {
	return s.recorded[hash], nil
}

func (s *store) FindPrice(_ context.Context, _ flow.WorkspaceID, model string) (flow.Price, bool, error) {
	return flow.Price{Model: model, Call: flow.USD}, strings.HasPrefix(model, "priced/"), nil
}

// kinds are one that calls a model, one that writes, and one that runs a flow.
var kinds = flow.NewRegistry(
	kind("ask", flow.Kind{Class: flow.Outside, Charge: func(config map[string]any) (flow.Charge, bool) {
		model, _ := config["model"].(string)
		return flow.Charge{Model: model}, true
	}}),
	kind("post", flow.Kind{Class: flow.Outside}),
	kind("sub", flow.Kind{WaitsFor: flow.WaitsForChildren}),
	kind("text", flow.Kind{}),
)

// kind completes a kind, which never runs.
func kind(name string, k flow.Kind) flow.Kind {
	k.Name, k.Title, k.Group, k.Summary = name, name, "test", "Is estimated."
	k.Run = func(context.Context, *flow.In) (flow.Out, error) { return flow.Out{}, nil }
	return k
}

// doc returns a document with nodes as KIND CONFIG, where the config is a model or the flow that the node runs.
func doc(nodes ...string) []byte {
	o := map[string]any{"schema": flow.Schema, "name": "Test"}
	list := make([]any, 0, len(nodes))
	for i, text := range nodes {
		kind, of, _ := strings.Cut(text, " ")
		list = append(list, map[string]any{"id": "node" + string(rune('a'+i)), "kind": kind, "config": map[string]any{map[string]string{"ask": "model", "sub": "flow", "post": "url", "text": "text"}[kind]: of}})
	}
	o["nodes"], o["edges"] = list, []any{}
	return flow.EncodeJSON(o)
}

// file has two cases; the first asks a judge with three votes.
func file(t *testing.T) *cases.File {
	t.Helper()
	v, err := flow.DecodeJSON([]byte(`{"schema": "sluice.tests/v1", "cases": [{"id": "a", "inputs": {}, "checks": [{"judge": "Is polite.", "model": "priced/judge", "votes": 3}]}, {"id": "b", "inputs": {}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	o, _ := flow.AsObject(v)
	f, problems := cases.Parse(o, nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return f
}

func TestEstimate_counts_each_run_of_flows_below(t *testing.T) {
	t.Parallel()
	bottom := doc("ask priced/small")
	s := &store{live: map[string][]byte{"bottom": bottom}, recorded: map[string]int64{}, flows: map[flow.FlowID]*flow.Flow{
		"bottom": {ID: "bottom", LiveVersion: 1, LiveHash: "bottom", Draft: doc("ask other/draft")},
		"middle": {ID: "middle", Draft: doc("sub bottom", "sub bottom", "post x")}, // was never published
	}}
	estimate := func(draft []byte, change func(spec *cases.Spec)) estimates.Estimate {
		t.Helper()
		f := file(t)
		spec := cases.Spec{Cases: []string{"a", "b"}, Baseline: -1, Mode: flow.CaseFill, Candidates: []cases.Candidate{{Draft: true, Hash: "draft"}}}
		change(&spec)
		spec.Groups = f.Groups(spec.Cases)
		e, err := (&estimates.Estimator{Store: s, Kinds: kinds, Prices: s}).Test(t.Context(), &cases.Test{FlowID: "top", Spec: spec}, f, map[string][]byte{"draft": draft, "together": doc("ask priced/small", "ask priced/small")})
		if err != nil {
			t.Fatal(err)
		}
		return *e
	}
	only := func(spec *cases.Spec) { spec.Cases = []string{"b"} }
	for name, c := range map[string]struct {
		draft  []byte
		change func(*cases.Spec)
		want   estimates.Estimate
	}{
		"own steps":                      {doc("ask priced/small", "post x"), only, estimates.Estimate{Steps: 1, Calls: 1, USD: flow.USD, Priced: true}},
		"a flow that two nodes run":      {doc("sub bottom", "sub bottom"), only, estimates.Estimate{Steps: 2, Calls: 2, USD: 2 * flow.USD, Priced: true}},
		"a flow without a live version":  {doc("sub middle", "ask priced/small", "sub middle"), only, estimates.Estimate{Steps: 5, Calls: 5, USD: 5 * flow.USD, Priced: true}},
		"drafts of flows below":          {doc("sub bottom"), func(spec *cases.Spec) { only(spec); spec.Candidates[0].Below = "x" + cases.AsDrafts }, estimates.Estimate{Steps: 1, Calls: 1}},
		"a flow that goes live together": {doc("sub bottom"), func(spec *cases.Spec) { only(spec); spec.Replaced = map[flow.FlowID]string{"bottom": "together"} }, estimates.Estimate{Steps: 2, Calls: 2, USD: 2 * flow.USD, Priced: true}},
		"a model without a price":        {doc("ask other/model"), only, estimates.Estimate{Steps: 1, Calls: 1}},
		"the limit of the test":          {doc("ask other/model"), func(spec *cases.Spec) { only(spec); spec.MaxUSD = flow.USD / 2 }, estimates.Estimate{Steps: 1, Calls: 1, USD: flow.USD / 2, Priced: true}},
		"nothing in a replay":            {doc("ask other/model"), func(spec *cases.Spec) { only(spec); spec.Mode = flow.CaseReplay }, estimates.Estimate{Steps: 1, Priced: true}},
		"allowed writes":                 {doc("post x"), func(spec *cases.Spec) { only(spec); spec.Mode, spec.Allow = flow.CaseLive, []string{"nodea"} }, estimates.Estimate{Steps: 1, Calls: 1, Priced: true}},
	} {
		if got := estimate(c.draft, c.change); got != c.want {
			t.Errorf("%s: %+v, wanted %+v", name, got, c.want)
		}
	}
	g := cases.Group{Kind: cases.Judge, Model: "priced/judge"}
	d, _ := document.ParseDocument(g.Document())
	if d == nil {
		t.Fatal("the document of a judge cannot be read")
	}
	for i := range d.Nodes {
		if d.Nodes[i].Kind == "chat" {
			s.recorded[document.NodeHash(&d.Nodes[i])] = 1
		}
	}
	own := flow.NewRegistry(kind("chat", flow.Kind{Class: flow.Outside, Charge: kinds.Find("ask").Charge}))
	f := file(t)
	spec := cases.Spec{Cases: []string{"a", "b"}, Baseline: -1, Mode: flow.CaseLive, Candidates: []cases.Candidate{{Hash: "draft"}, {Hash: "draft"}}, Groups: f.Groups([]string{"a"})}
	e, err := (&estimates.Estimator{Store: s, Kinds: own, Prices: s}).Test(t.Context(), &cases.Test{Spec: spec}, f, map[string][]byte{"draft": doc()})
	if want := (estimates.Estimate{Steps: 6, Recorded: 2, Calls: 4, USD: 4 * flow.USD, Priced: true}); err != nil || *e != want {
		t.Errorf("votes of a judge: %+v, wanted %+v (%v)", e, want, err)
	}
}

// steps returns a document with nodes in a row, each as KIND CONFIG.
func steps(t *testing.T, nodes ...string) []byte {
	t.Helper()
	d, problems := document.ParseDocument(doc(nodes...))
	if d == nil {
		t.Fatal(problems)
	}
	for i := 1; i < len(d.Nodes); i++ {
		d.Edges = append(d.Edges, flow.Edge{From: d.Nodes[i-1].ID + ".out", To: d.Nodes[i].ID + ".in"})
	}
	return d.Compact()
}

// TestEstimate_counts_what_follows_a_changed_step has recorded results of all steps. Those behind a step that is called, or that gives something
// new, get another input, so their results may not be recorded.
func TestEstimate_counts_what_follows_a_changed_step(t *testing.T) {
	t.Parallel()
	was := steps(t, "ask priced/a", "text one", "ask priced/b", "sub below", "ask priced/c")
	below := doc("ask priced/d")
	s := &store{recorded: map[string]int64{}, live: map[string][]byte{"was": was, "below": below}, flows: map[flow.FlowID]*flow.Flow{
		"top": {ID: "top", LiveVersion: 1, LiveHash: "was"}, "below": {ID: "below", LiveVersion: 1, LiveHash: "below"},
	}}
	for _, data := range [][]byte{was, below} {
		d, _ := document.ParseDocument(data)
		for i := range d.Nodes {
			s.recorded[document.NodeHash(&d.Nodes[i])] = 2
		}
	}
	tested := cases.Test{ID: "test_before", Spec: cases.Spec{Mode: flow.CaseFill, Candidates: []cases.Candidate{{Hash: "was"}}, Below: map[flow.FlowID]string{"below": "below"}}}
	file := &cases.File{Cases: []cases.Case{{ID: "a"}, {ID: "b"}}}
	for name, c := range map[string]struct {
		nodes []string
		tests []cases.Test
		calls int
		mode  flow.CaseMode
	}{
		"the same":                     {[]string{"ask priced/a", "text one", "ask priced/b", "sub below", "ask priced/c"}, []cases.Test{tested}, 0, flow.CaseFill},
		"the same, tested by nothing":  {[]string{"ask priced/a", "text one", "ask priced/b", "sub below", "ask priced/c"}, nil, 0, flow.CaseFill},
		"the last step":                {[]string{"ask priced/a", "text one", "ask priced/b", "sub below", "ask priced/new"}, []cases.Test{tested}, 2, flow.CaseFill},
		"the first step":               {[]string{"ask priced/new", "text one", "ask priced/b", "sub below", "ask priced/c"}, []cases.Test{tested}, 8, flow.CaseFill},
		"a text in between":            {[]string{"ask priced/a", "text two", "ask priced/b", "sub below", "ask priced/c"}, []cases.Test{tested}, 6, flow.CaseFill},
		"a text, tested by nothing":    {[]string{"ask priced/a", "text two", "ask priced/b", "sub below", "ask priced/c"}, nil, 6, flow.CaseFill},
		"a text, without a connection": {[]string{"ask priced/a", "text two", "ask priced/b", "sub below", "ask priced/c"}, []cases.Test{tested}, 0, flow.CaseReplay},
	} {
		s.tests = c.tests
		spec := cases.Spec{Cases: []string{"a", "b"}, Baseline: -1, Mode: c.mode, Candidates: []cases.Candidate{{Draft: true, Hash: "draft"}}}
		e, err := (&estimates.Estimator{Store: s, Kinds: kinds, Prices: s}).Test(t.Context(), &cases.Test{FlowID: "top", Spec: spec}, file, map[string][]byte{"draft": steps(t, c.nodes...)})
		if err != nil {
			t.Fatal(err)
		}
		if e.Calls != c.calls || e.Steps != 8 || c.mode == flow.CaseFill && e.Recorded != 8-c.calls {
			t.Errorf("%s: %+v, wanted %d calls of 8", name, e, c.calls)
		}
	}
}
