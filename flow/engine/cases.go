package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"sluice/flow"
	"sluice/flow/sorting"
	"sluice/flow/value"
)

// The steps of case runs get recorded results, stubs and answers instead of calling services; see flow.CaseMode. All that leaves the
// process passes through caseStep: it decides before a step runs, and the context that it returns refuses every request that the mode
// does not allow.

// caseStep is what a step of a case run does.
type caseStep struct {
	c         *execution
	a         Action
	setting   *flow.CaseSetting
	node      string          // ID that stubs and the list of allowed nodes use
	out       *flow.Out       // the result, if the step need not run
	record    *flow.Recording // is stored with the result; nil stores nothing
	delivers  bool            // messages of the step are sent
	skipsWait bool            // delays end at once
	refused   atomic.Bool     // a request was refused
	begun     time.Time
}

// loadCase reads what the steps of a case run need.
func (c *execution) loadCase(ctx context.Context) (err error) {
	if c.plan.run.Case == nil {
		return nil
	}
	if c.Cases == nil {
		return errors.New("the engine cannot execute runs of test cases")
	}
	c.setting, err = c.Cases(flow.OutlastOutages(ctx), &c.plan.run)
	return err
}

// errNoCase fails the steps of a run whose test was deleted.
var errNoCase = flow.Errorf(flow.CodeNotRecorded, "The test that this run belongs to no longer exists.")

// beginCase decides how a step of a case run gets its result. The step must use the context that it returns.
func (c *execution) beginCase(ctx context.Context, a Action) (context.Context, *caseStep, error) {
	s := &caseStep{c: c, a: a, setting: c.setting, node: a.def.ID, begun: c.Now()}
	if s.setting == nil {
		return ctx, nil, errNoCase
	}
	inside := a.def.sub != nil && a.def.sub.Tool == "" // a turn of an agent
	if a.def.sub != nil && !inside {
		s.node = a.def.sub.Tool
	}
	s.delivers = s.setting.Allows(s.node)
	s.skipsWait = a.def.kind.WaitsFor == flow.WaitsForDelay
	if stub, has := s.setting.Stubs[s.node]; has && !inside {
		s.out = &flow.Out{Outputs: stub.Outputs.Map()}
		if stub.Error != nil {
			return ctx, s, caseError(stub.Error)
		}
		return ctx, s, nil
	}
	switch k := a.def.kind; {
	case k.WaitsFor == flow.WaitsForApproval:
		s.answer()
	case !a.def.leavesProcess() && (k.Fetches == nil || !k.Fetches(a.In)):
	default:
		calls, err := s.outside(ctx)
		if err != nil || calls {
			return ctx, s, err
		}
	}
	return s.refuseRequests(ctx), s, nil
}

// caseError returns the error of a stub.
func caseError(e *flow.Error) error {
	own := *e
	if own.Message == "" {
		own.Message = "The stub of the test case fails."
	}
	return &own
}

// refuseRequests returns a context whose requests are refused.
func (s *caseStep) refuseRequests(ctx context.Context) context.Context {
	if s.c.Calls == nil {
		return ctx
	}
	return s.c.Calls(ctx, func(context.Context) error {
		s.refused.Store(true)
		return errors.New("a test does not allow this request")
	}, func(bool) {})
}

// outside finds the result of a step that leaves the process, or decides whether it may call its service.
func (s *caseStep) outside(ctx context.Context) (calls bool, err error) {
	n, in := s.a.def, s.a.In
	writes, mode := n.writes(), s.setting.Mode
	if mode == flow.CaseLive && (!writes || s.setting.Allows(s.node)) {
		return true, nil
	}
	if n.kind.Fetches != nil { // the step fetches; the file belongs to the run, so a recording would outlive it
		if mode == flow.CaseReplay {
			return false, s.notRecorded(ctx)
		}
		return true, nil
	}
	if !writes && n.readsStoredFile(in) { // it needs no service
		return false, nil
	}
	hash, err := n.recordingHash(ctx, s.c.Files, in)
	if err != nil {
		return false, err
	}
	r, err := s.c.Recordings.FindRecording(ctx, in.WorkspaceID, s.setting.FlowID, n.hash, hash, s.setting.Repeat)
	if err != nil {
		return false, err
	}
	if r != nil {
		s.replay(r)
		return false, nil
	}
	if mode == flow.CaseFill && !writes {
		if !s.c.plan.g.feedsSecret(n) {
			input, _ := n.recorded(in)
			s.record = &flow.Recording{WorkspaceID: in.WorkspaceID, FlowID: s.setting.FlowID, NodeHash: n.hash, InputHash: hash, Repeat: s.setting.Repeat, Node: s.node, Input: input, RunID: in.RunID}
		}
		return true, nil
	}
	return false, s.notRecorded(ctx)
}

// leavesProcess reports whether the steps of a node need a recording in a test. Steps that run other flows do not: those are in a test, too.
func (n *graphNode) leavesProcess() bool {
	k := n.kind
	return k.Class == flow.Outside && k.WaitsFor != flow.WaitsForApproval && !(k.StartsRuns() && k.Reads)
}

// readsStoredFile reports whether a step with an input reads a file that is stored.
func (n *graphNode) readsStoredFile(in *flow.In) bool {
	k := n.kind
	for i := range k.Fields {
		if f := &k.Fields[i]; k.Reads && f.Type == flow.FieldFile {
			if _, stored := flow.FileID(in.Config[f.Name]); stored {
				return true
			}
		}
	}
	return false
}

// writes reports whether steps of the node may change something outside.
func (n *graphNode) writes() bool {
	switch k := n.kind; {
	case k.Charge != nil, k.Reads, k.Fetches != nil:
		return false
	case n.sub != nil && n.sub.Effect != "":
		return n.sub.Effect == flow.EffectWrite
	case k.Tool != nil && k.Tool.Effect != nil:
		return n.ToolEffect(k) == flow.EffectWrite
	}
	return true
}

// replay takes over a recorded result.
func (s *caseStep) replay(r *flow.Recording) {
	s.out = &flow.Out{Outputs: maps.Clone(r.Outputs), Untrusted: r.Untrusted, Recorded: &flow.Recorded{
		InputTokens: r.Usage.InputTokens, OutputTokens: r.Usage.OutputTokens, CostNanoUSD: r.Usage.CostNanoUSD, Micros: r.Duration.Microseconds(),
	}}
}

// recordingHash returns the hash of the input of a step in which files count by their content and secret inputs by their name.
func (n *graphNode) recordingHash(ctx context.Context, files flow.FileStore, in *flow.In) (string, error) {
	if n.sub != nil && n.sub.InputHash != "" {
		return n.sub.InputHash, nil
	}
	var failed error
	byContent := func(v any) any {
		return flow.MapFiles(v, func(id string, file map[string]any) map[string]any {
			f, content, err := files.OpenFile(ctx, in.WorkspaceID, id)
			switch {
			case flow.IsNotFound(err):
				return map[string]any{"sha256": "", "file_id": id}
			case err != nil:
				failed = fmt.Errorf("read the file %s: %w", id, err)
				return file
			}
			_ = content.Close() // it was opened only for its hash
			return map[string]any{"sha256": f.Hash, "mime": f.MIME}
		})
	}
	parts := []any{byContent(bySecretName(in.Config)), byContent(bySecretName(in.Ports)), byContent(bySecretName(in.Collected))}
	for i := range in.Tools {
		parts = append(parts, in.Tools[i].Hash)
	}
	return value.Hash(parts), failed
}

// bySecretName replaces references to the values of secret inputs by the names of the inputs.
func bySecretName(v any) any {
	if name, is := flow.SecretInput(v); is {
		return map[string]any{"secret_input": name}
	}
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for name, item := range v {
			m[name] = bySecretName(item)
		}
		return m
	case *flow.Object:
		if v == nil {
			return v
		}
		o, _ := v.Replace(func(_ string, item any) (any, error) { return bySecretName(item), nil })
		return o
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = bySecretName(v[i])
		}
		return list
	}
	return v
}

// feedsSecret reports whether an edge leads from a node to a field for a secret. Such a result is not recorded.
func (g *Graph) feedsSecret(n *graphNode) bool {
	if n.sub != nil {
		return false
	}
	for _, end := range n.ends {
		to := &g.nodes[end.node]
		if f := to.kind.Field(to.in[end.edge].toPort); f != nil && f.Type == flow.FieldSecret {
			return true
		}
	}
	return false
}

// answer replaces the people that a step asks. In the mode live, they are asked as always if what they allow can reach a node that may
// change something.
func (s *caseStep) answer() {
	in := s.a.In
	if s.setting.Mode == flow.CaseLive && len(s.setting.Allow) > 0 && (s.a.def.sub != nil || s.reachesAllowed()) {
		return
	}
	asked := in.Node
	in.AskApproval = func(_ context.Context, q flow.Question, _ time.Time) (string, error) {
		if q.Call != nil {
			asked = q.Call.Node
		}
		return "https://test.invalid/approval", nil
	}
	in.TakeDecision = func(context.Context) (*flow.Decision, error) {
		a, has := s.setting.Answers[asked]
		if !has {
			return nil, &flow.Error{Code: flow.CodeNotRecorded, Message: fmt.Sprintf("The case has no answer for the approval %s. Add one under answers.", asked)}
		}
		d := &flow.Decision{Outcome: a.Decision, Comment: a.Comment, At: s.setting.Now, Values: map[string]any{}}
		d.By.Name = a.By
		for name, v := range a.Values.All() {
			d.Values[name] = v
		}
		return d, nil
	}
}

// reachesAllowed reports whether a node that may change something follows the step.
func (s *caseStep) reachesAllowed() bool {
	g := s.c.plan.g
	seen := map[int]bool{}
	var visit func(i int) bool
	visit = func(i int) bool {
		if seen[i] {
			return false
		}
		seen[i] = true
		n := &g.nodes[i]
		if s.setting.Allows(n.ID) {
			return true
		}
		for k := range n.tools {
			if s.setting.Allows(n.tools[k].ID) {
				return true
			}
		}
		for _, next := range n.out {
			if visit(next) {
				return true
			}
		}
		return false
	}
	return visit(g.index[s.a.def.ID])
}

// run executes the kind of the step. A delay ends at once.
func (s *caseStep) run(ctx context.Context) (out flow.Out, err error) {
	in := s.a.In
	out, err = s.a.def.kind.Run(ctx, in)
	for range 3 {
		if !s.skipsWait || err != nil || out.Suspend == nil {
			break
		}
		until := out.Suspend.Until
		in.State, in.Clock = out.Suspend.State, func() time.Time { return until }
		out, err = s.a.def.kind.Run(ctx, in)
	}
	if s.refused.Load() && err != nil {
		err = s.notRecorded(ctx)
	}
	return out, s.slowDown(err)
}

const (
	// busyProvider is how long after its start the steps of a case run wait for a provider that refuses calls because there are too many.
	busyProvider     = 3 * time.Minute
	maxProviderPause = 30 * time.Second
)

// slowDown lets a step wait that a provider refuses because there are too many calls: that says nothing about the case.
func (s *caseStep) slowDown(err error) error {
	e, ok := errors.AsType[*flow.Error](err)
	if !ok || e.Code != flow.CodeProviderRateLimited {
		return err
	}
	since := s.c.Now().Sub(s.c.plan.run.StartedAt)
	pause := max(e.After, min(max(since, time.Second), maxProviderPause))
	if since+pause > busyProvider {
		return err
	}
	return &flow.DelayError{Wait: pause}
}

// finish records the result of a step that was called, and holds its messages back.
func (s *caseStep) finish(ctx context.Context, out flow.Out) (flow.Out, error) {
	if !s.delivers {
		out.Deliveries = nil
	}
	if s.record == nil || out.Suspend != nil {
		return out, nil
	}
	r := s.record
	r.Outputs, _ = flow.AsMap(flow.WithoutSecrets(out.Outputs, func(string) {}))
	r.Untrusted, r.Usage, r.Duration = out.Untrusted, out.Usage, s.c.Now().Sub(s.begun)
	stored, err := s.c.Recordings.SaveRecording(ctx, r)
	if err != nil {
		return out, err
	}
	out.Outputs = stored.Outputs
	return out, nil
}

// notRecorded returns the error of a step without a recorded result. It says what differs from the last recording of the node.
func (s *caseStep) notRecorded(ctx context.Context) error {
	e := &flow.Error{Code: flow.CodeNotRecorded, Message: fmt.Sprintf("%s has no recorded result.", s.node)}
	what := "Run the test with the mode fill, or add a stub to the case."
	if s.a.def.writes() {
		what = "It may change something, so a test does not execute it. Add a stub to the case."
	}
	r, err := s.c.Recordings.FindLastRecording(ctx, s.a.In.WorkspaceID, s.setting.FlowID, s.node)
	if err != nil {
		return err
	}
	if r != nil {
		input, _ := s.a.def.recorded(s.a.In)
		e.Message += " " + inputChange(r.Input, input)
	}
	e.Message += " " + what
	return e
}

// inputChange returns the first difference between the inputs of two steps as a sentence.
func inputChange(was, is map[string]any) string {
	for _, name := range sorting.Keys(is) {
		old, has := was[name]
		if has && flow.EqualValues(old, is[name]) {
			continue
		}
		if !has {
			return fmt.Sprintf("The input %s is new.", name)
		}
		a, b := flow.Text(old), flow.Text(is[name])
		at := 0
		for at < len(a) && at < len(b) && a[at] == b[at] {
			at++
		}
		return fmt.Sprintf("The input %s changed at character %d.", name, utf8.RuneCountInString(b[:at])+1)
	}
	return "Its settings changed."
}

// stubbed returns what an expanding step with a stub does.
func (c *execution) stubbed(a Action) (next flow.Next, has bool, err error) {
	if c.setting == nil {
		return next, false, nil
	}
	stub, has := c.setting.Stubs[a.def.ID]
	if !has {
		return next, false, nil
	}
	if stub.Error != nil {
		return next, true, caseError(stub.Error)
	}
	return flow.Next{Outputs: stub.Outputs.Map()}, true, nil
}
