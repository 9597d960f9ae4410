package api

import (
	"net/http"

	"sluice/flow"
)

// runList is one page of runs.
type runList struct {
	Runs       []runObject `json:"runs"`
	NextCursor *string     `json:"next_cursor" doc:"Pass it as cursor to get the next page; null on the last page."`
}

// listRuns is GET runs, newest first. A key without scope read gets the runs that it
// started.
func (s *Server) listRuns(c *Call) error {
	ctx := c.Request().Context()
	if _, err := s.Store.FindFlow(ctx, c.Key.WorkspaceID, c.flowID()); err != nil {
		return err
	}
	filter, err := c.readRunFilter()
	if err != nil {
		return err
	}
	limit := filter.Limit
	filter.Limit++ // one more, to detect a next page
	runs, err := s.Store.ListRuns(ctx, filter)
	if err != nil {
		return err
	}
	runs, next := Page(runs, limit, func(r *flow.Run) string { return r.ID })
	return c.WriteJSON(http.StatusOK, runList{convert(runs, s.runObject), next})
}

// readRunFilter returns the filter in the query.
func (c *Call) readRunFilter() (flow.RunFilter, error) {
	q := newQuery(c.Request().URL)
	f := flow.RunFilter{
		WorkspaceID: c.Key.WorkspaceID, FlowID: c.flowID(), States: q.states("status"),
		CreatedAfter: q.time("created_after"), CreatedBefore: q.time("created_before"),
		BeforeID: q.cursor(flow.PrefixRun), Limit: q.limit(),
	}
	if !c.Key.Has(flow.ScopeRead) {
		f.KeyID = c.Key.ID
	}
	return f, q.err()
}
