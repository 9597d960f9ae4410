package tests

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/cases"
	"sluice/flow/document"
)

// collector finds out what is known of runs of cases, with the runs below them.
type collector struct {
	store Store
	ws    flow.WorkspaceID
	paths map[string]paths // by hash of the document
}

// paths says which nodes of a document follow each other.
type paths struct {
	order []string            // node IDs in topological order
	from  map[string][]string // the nodes that a node depends on
}

// result returns what is known of the run of a case. hash is that of its document.
func (c *collector) result(ctx context.Context, r *flow.ChildResult, hash string) (*cases.Result, error) {
	out := &cases.Result{RunID: r.RunID, State: r.State, Error: r.Error, Outputs: r.Outputs, Steps: map[string]flow.StepState{}, Sends: map[string]any{}, Hits: map[string][][]string{}}
	if r.RunID == "" {
		out.State = flow.RunFailed
		return out, nil
	}
	used, err := c.add(ctx, r.RunID, hash, out, true)
	if err != nil {
		return nil, err
	}
	out.USD, out.Tokens, out.MS = used.usd, used.tokens, used.us/1000
	return out, nil
}

// use is what a run used, from recordings where there are any.
type use struct {
	usd    flow.NanoUSD
	tokens int64
	us     int64
}

// startRuns are the kinds of steps that run other flows.
var startRuns = []string{"subflow", "map"}

// add adds a run, and those below it, to a result. It returns what they used together; the time is that along the longest path.
func (c *collector) add(ctx context.Context, runID flow.RunID, hash string, out *cases.Result, top bool) (sum use, err error) {
	steps, err := c.store.FindCaseSteps(ctx, c.ws, runID)
	if err != nil {
		return sum, err
	}
	var children []flow.Children
	if slices.ContainsFunc(steps, func(s flow.Step) bool { return slices.Contains(startRuns, s.Kind) }) {
		if children, err = c.store.ListChildren(ctx, c.ws, runID); err != nil {
			return sum, err
		}
	}
	below := map[string]bool{}
	took := map[string]int64{} // by path
	for i := range children {
		step := &children[i]
		below[step.Caller.Path] = true
		results, err := c.store.ReadChildren(ctx, c.ws, step.Caller, 0, max(0, step.Total))
		if err != nil {
			return sum, err
		}
		longest := int64(0)
		for k := range results {
			if results[k].RunID == "" {
				continue
			}
			u, err := c.add(ctx, results[k].RunID, step.DocumentHash, out, false)
			if err != nil {
				return sum, err
			}
			sum.usd, sum.tokens, longest = sum.usd+u.usd, sum.tokens+u.tokens, max(longest, u.us)
		}
		took[step.Caller.Path] += longest
	}
	for i := range steps {
		s := &steps[i]
		if s.Error != nil && s.Error.Code == flow.CodeNotRecorded && out.Missing == "" {
			out.Missing = s.Error.Message
		}
		u := useOf(s)
		out.Spent += s.Usage.CostNanoUSD
		out.Recorded = out.Recorded || recordedBy(s) != nil
		sum.usd, sum.tokens = sum.usd+u.usd, sum.tokens+u.tokens
		if !below[s.Path] {
			took[s.Path] = u.us
		}
		if node, _, _ := strings.Cut(s.Path, flow.SubSeparator); top && s.Kind == searchKind && (s.State == flow.StepSucceeded || s.State == flow.StepReused) {
			out.Hits[node] = append(out.Hits[node], sourcesOf(s.Outputs["hits"]))
		}
		if top {
			addState(out, s)
		}
	}
	if sum.us, err = c.longest(ctx, hash, took); top {
		out.Nodes = c.paths[hash].order
	}
	return sum, err
}

// askKind is the kind of the questions whether an agent may call a tool.
const askKind = "agent_ask"

// addState adds how a node ended, and what it would send. A tool of an agent succeeded if one of its calls did.
func addState(out *cases.Result, s *flow.Step) {
	node, state := s.Path, s.State
	if state == flow.StepReused {
		state = flow.StepSucceeded
	}
	if flow.IsSubStep(s.Path) {
		agent, _, _ := strings.Cut(s.Path, flow.SubSeparator)
		if node = s.Node; node == "" || node == agent || s.Kind == askKind || out.Steps[node] == flow.StepSucceeded {
			return
		}
	}
	out.Steps[node] = state
	if s.Kind == "webhook" && s.State == flow.StepSucceeded && node == s.Path {
		out.Sends[node] = flow.Ordered(s.Outputs["outputs"])
	}
}

// searchKind is the kind of steps that search knowledge bases.
const searchKind = "knowledge_search"

// sourcesOf returns the sources of the hits of a search, the best first.
func sourcesOf(hits any) []string {
	list, _ := hits.([]any)
	sources := make([]string, len(list))
	for i := range list {
		if o, ok := flow.AsObject(list[i]); ok {
			sources[i] = flow.Text(o.Get("source"))
		}
	}
	return sources
}

// recordedBy returns what a step took from a recording, or nil.
func recordedBy(s *flow.Step) *flow.Recorded {
	if n := len(s.Attempts); n > 0 {
		return s.Attempts[n-1].Recorded
	}
	return nil
}

// useOf returns what a step used.
func useOf(s *flow.Step) use {
	if r := recordedBy(s); r != nil {
		return use{r.CostNanoUSD, r.InputTokens + r.OutputTokens, r.Micros}
	}
	u := use{usd: s.Usage.CostNanoUSD, tokens: s.Usage.InputTokens + s.Usage.OutputTokens}
	if !s.StartedAt.IsZero() && s.EndedAt.After(s.StartedAt) && s.Kind != "approval" && s.Kind != "delay" && s.Kind != "agent" && s.Kind != askKind {
		u.us = s.EndedAt.Sub(s.StartedAt).Microseconds()
	}
	return u
}

// longest returns the time along the longest path through the nodes of a document, in microseconds.
func (c *collector) longest(ctx context.Context, hash string, took map[string]int64) (most int64, err error) {
	p, known := c.paths[hash]
	if !known {
		data, err := c.store.FindDocument(ctx, c.ws, hash)
		if err != nil {
			return 0, err
		}
		d, problems := document.ParseDocument(data)
		if len(problems) > 0 {
			return 0, fmt.Errorf("read the document %s: %s", hash, problems[0])
		}
		p = pathsOf(d)
		c.paths[hash] = p
	}
	ends := map[string]int64{}
	for _, node := range p.order {
		at := int64(0)
		for _, before := range p.from[node] {
			at = max(at, ends[before])
		}
		ends[node] = at + timeOf(node, took)
		most = max(most, ends[node])
	}
	return most, nil
}

// pathsOf returns which nodes of a document follow each other.
func pathsOf(d *flow.Document) paths {
	p := paths{from: map[string][]string{}}
	for _, e := range d.Edges {
		p.from[e.ToNode()] = append(p.from[e.ToNode()], e.FromNode())
	}
	done := map[string]bool{}
	var visit func(id string)
	visit = func(id string) {
		if done[id] {
			return
		}
		done[id] = true
		for _, before := range p.from[id] {
			visit(before)
		}
		p.order = append(p.order, id)
	}
	for i := range d.Nodes {
		visit(d.Nodes[i].ID)
	}
	return p
}

// timeOf returns how long a node took. The turns of an agent follow each other; the calls of a turn run side by side.
func timeOf(node string, took map[string]int64) int64 {
	total, calls := took[node], map[string]int64{}
	for path, us := range took {
		inner, is := strings.CutPrefix(path, node+flow.SubSeparator)
		if !is {
			continue
		}
		turn, _, isCall := strings.Cut(inner, flow.SubSeparator)
		if isCall {
			calls[turn] = max(calls[turn], us)
		} else {
			total += us
		}
	}
	for _, us := range calls {
		total += us
	}
	return total
}
