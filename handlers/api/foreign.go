package api

import (
	"context"

	"sluice/flow"
)

// ErrorFormat returns the status and the body of an error in the form of another API, which clients
// of that API can call without knowing Sluice. Keys, limits and rate limits are those of all routes.
// status is the one that Sluice's own routes have for it.
type ErrorFormat func(status int, e *flow.Error) (int, any)

// FindCallable returns a published flow by its slug or ID if the key may call it.
func (c *Call) FindCallable(name string) (*flow.Flow, error) {
	id, err := c.resolveFlow(name)
	if err == nil {
		err = c.allowFlow(id)
	}
	if err != nil {
		return nil, err
	}
	c.flow = id
	f, err := c.s.Store.FindFlow(c.Request().Context(), c.Key.WorkspaceID, id)
	if err == nil && f.LiveVersion == 0 {
		err = flow.Errorf(flow.CodeNotPublished, "The flow %q is not published.", name)
	}
	return f, err
}

// CancelAbandoned cancels a run that no client waits for any more.
func (s *Server) CancelAbandoned(ctx context.Context, run *flow.Run) {
	if _, err := s.Runner.CancelRun(context.WithoutCancel(ctx), run.WorkspaceID, run.FlowID, run.ID); err != nil {
		s.Log.Warn("run not canceled", "run_id", run.ID, "error", err)
	}
}
