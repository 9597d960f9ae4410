package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/engine"
)

// addContext gives a new run the conversations of the run that it continues, for the agents that are in
// both. They are read and stored now, so that the run needs no other one.
func addContext(ctx context.Context, r *Runner, s flow.Start, n *flow.NewRun, g *engine.Graph) error {
	if s.Options.Continue == "" {
		return nil
	}
	can, err := r.store.AllCan(ctx, flow.FeatureContinue)
	if err == nil && !can {
		err = flow.Errorf(flow.CodeUpgradeInProgress, "An instance of an earlier release is running, which cannot continue runs. Try again when all instances have been upgraded.")
	}
	if err != nil {
		return err
	}
	from, err := r.store.FindRun(ctx, s.WorkspaceID, s.FlowID, s.Options.Continue)
	if flow.IsNotFound(err) || err == nil && s.Key != nil && !s.Key.Has(flow.ScopeRead) && from.KeyID != s.Key.ID {
		return flow.Errorf(flow.CodeNotFound, "This flow has no run %q to continue.", s.Options.Continue)
	}
	if err != nil {
		return err
	}
	if from.Erased != "" {
		return flow.Errorf(from.Erased, "The content of the run to continue is gone. Start a new run.")
	}
	if !from.State.Ended() {
		return flow.Errorf(flow.CodeRunNotEnded, "The run to continue has not ended. Wait for its end or cancel it.")
	}
	memory, err := recallRun(ctx, r, from)
	if err != nil {
		return err
	}
	for node := range memory {
		if !g.Remembers(node) {
			delete(memory, node)
		}
	}
	at := flow.Pointer(contract.ReservedInput, "continue")
	if len(memory) == 0 {
		return optionError(at, "invalid", "the run has no turn of an agent that this version of the flow has, too")
	}
	content := flow.EncodeJSON(memory)
	if len(content) > flow.MaxContext {
		return optionError(at, "too_large", fmt.Sprintf("the conversation has %s; the limit is %s", flow.Size(int64(len(content))), flow.Size(flow.MaxContext)))
	}
	n.Context, n.Run.Continues, n.Run.ContextHash = content, from.ID, flow.Hash(content)
	return nil
}

// recallRun returns the conversations of the agents of an ended run, by node ID. A run that took over the result
// of an agent from the run that it repeats has its conversation there.
func recallRun(ctx context.Context, r *Runner, run *flow.Run) (map[string]any, error) {
	memory, wanted := map[string]any{}, []string(nil)
	for {
		some, reused, err := recallOwn(ctx, r, run)
		if err != nil {
			return nil, err
		}
		for node, m := range some {
			if wanted == nil || slices.Contains(wanted, node) {
				memory[node] = m
			}
		}
		if wanted != nil {
			reused = slices.DeleteFunc(reused, func(node string) bool { return !slices.Contains(wanted, node) })
		}
		if wanted = reused; len(wanted) == 0 {
			return memory, nil
		}
		if run, err = r.store.FindRun(ctx, run.WorkspaceID, "", run.ParentRunID); err != nil {
			return nil, err
		}
		if run.Erased != "" {
			return nil, flow.Errorf(run.Erased, "The content of %s, which the run to continue repeated, is gone. Start a new run.", run.ID)
		}
	}
}

// recallOwn returns the conversations of the agents that worked in a run, and the agents whose results it took over.
func recallOwn(ctx context.Context, r *Runner, run *flow.Run) (memory map[string]any, reused []string, err error) {
	c, err := r.documents.find(ctx, run.WorkspaceID, run.DocumentHash)
	if errors.Is(err, &flow.Error{Code: flow.CodeDocumentInvalid}) {
		return nil, nil, flow.Errorf(flow.CodeInputInvalid, "This version of Sluice cannot read the run to continue. Start a new run.")
	}
	if err != nil {
		return nil, nil, err
	}
	if r.cfg.Memory != nil {
		ws, bytes, err := r.store.WeighRun(ctx, run.ID)
		if err != nil {
			return nil, nil, err
		}
		hold := r.cfg.Memory.Open(string(ws))
		defer hold.Close()
		if n := loadedPerByte * bytes; !hold.TryTake(n) {
			return nil, nil, flow.Errorf(flow.CodeOverloaded, "The server has no memory for the run to continue at the moment. Try again.")
		}
	}
	if err := loadContext(ctx, r, run); err != nil {
		return nil, nil, err
	}
	steps, err := r.store.FindSteps(ctx, run.WorkspaceID, run.ID)
	if err != nil {
		return nil, nil, fmt.Errorf("read the steps of %s: %w", run.ID, err)
	}
	return c.graph.Remember(run, steps)
}

// loadContext reads the conversations that a run continues. Those of a case run are in the case.
func loadContext(ctx context.Context, r *Runner, run *flow.Run) error {
	if run.Case != nil && run.Context == nil {
		s, err := r.tests.setting(ctx, run)
		if s != nil {
			run.Context = s.Memory
		}
		return err
	}
	if run.ContextHash == "" || run.Context != nil {
		return nil
	}
	content, err := r.store.FindRunContext(ctx, run.WorkspaceID, run.ContextHash)
	if err != nil {
		return fmt.Errorf("read what %s continues: %w", run.ID, err)
	}
	v, err := flow.DecodeJSON(content)
	if err != nil {
		return fmt.Errorf("read what %s continues: %w", run.ID, err)
	}
	run.Context, _ = flow.AsMap(v)
	return nil
}
