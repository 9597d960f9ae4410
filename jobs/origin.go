package jobs

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"sluice/flow"
)

// originOf implements engine.Engine.Origin. A rerun has the origin of the run that it
// repeats, and a child run that of its caller, told apart by the calling step and the
// item. A run on that way that was deleted counts as the first, by its ID.
func (r *Runner) originOf(ctx context.Context, run *flow.Run, path string) (flow.Origin, error) {
	if run.Case != nil {
		return r.originOfCase(ctx, run, path)
	}
	seed, created, id := "", run.CreatedAt, run.ID
	for {
		next := run.ParentRunID
		if next == "" && run.Caller != nil {
			next = run.Caller.RunID
			seed = fmt.Sprintf("%s[%d]/%s", run.Caller.Path, run.Caller.Item, seed)
		}
		if next == "" {
			break
		}
		id = next
		before, err := r.store.FindRun(ctx, run.WorkspaceID, "", next)
		if flow.IsNotFound(err) {
			break
		}
		if err != nil {
			return flow.Origin{}, fmt.Errorf("find the origin of %s: %w", run.ID, err)
		}
		run, created = before, before.CreatedAt
	}
	return flow.Origin{Time: created, Seed: string(id) + ":" + seed + path}, nil
}

// boundaryOf implements engine.Engine.Boundary. Only the server knows its key, so no content can contain the boundary.
func boundaryOf(r *Runner) func(ctx context.Context, run *flow.Run, node string) (string, error) {
	return func(ctx context.Context, run *flow.Run, node string) (string, error) {
		origin, err := r.originOf(ctx, run, node)
		if err != nil {
			return "", err
		}
		mac := hmac.New(sha256.New, r.cfg.HashKey)
		mac.Write([]byte("boundary\x00" + origin.Seed))
		return hex.EncodeToString(mac.Sum(nil)[:12]), nil
	}
}
