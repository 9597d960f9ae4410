package jobs

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sluice/flow"
)

// widenedOf implements engine.Engine.Widened. Runs of tests ask no people, so that nothing gets wider in them.
func (r *Runner) widenedOf(ctx context.Context, run *flow.Run) (map[string][]string, error) {
	if r.cfg.Widened == nil || run.Case != nil {
		return nil, nil
	}
	return r.cfg.Widened(ctx, run)
}

// checkReach returns an error for a call of an agent to a flow that can do more than what people were asked about: the flow may have
// been published again since the turn that asked for the call. The next turn asks people.
func (c *childRuns) checkReach(ctx context.Context) error {
	if c.tool == "" {
		return nil
	}
	wider, err := c.r.widenedOf(ctx, c.run)
	more := wider[c.tool]
	if err != nil || len(more) == 0 {
		return err
	}
	questions, err := c.r.store.ListApprovals(ctx, c.run.WorkspaceID, c.run.ID)
	if err != nil {
		return fmt.Errorf("find the question about %s:%s: %w", c.step.RunID, c.step.Path, err)
	}
	for i := range questions {
		q := &questions[i]
		if q.Path != c.step.Path+flow.SubSeparator+"ask" || q.Question.Call == nil {
			continue
		}
		if !slices.ContainsFunc(more, func(phrase string) bool { return !slices.Contains(q.Question.Call.Wider, phrase) }) {
			return nil // people were told, and have allowed it
		}
	}
	return flow.Errorf(flow.CodeToolChanged, "The flow of this tool has changed since this call was asked for: it now %s. It was not called. Call it again, and a person is asked first.", strings.Join(more, ", and "))
}
