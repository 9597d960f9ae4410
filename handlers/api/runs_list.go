package api

import (
	"cmp"
	"context"
	"net/http"

	"sluice/flow"
	"sluice/flow/sorting"
)

// runList is one page of runs.
type runList struct {
	Runs       []runObject `json:"runs"`
	NextCursor *string     `json:"next_cursor" doc:"Pass it as cursor to get the next page; null on the last page."`
}

// listRuns is GET runs: those of a flow, newest first. A key without scope read gets the
// runs that it started.
func (s *Server) listRuns(c *Call) error {
	ctx := c.Request().Context()
	if _, err := s.Store.FindFlow(ctx, c.Key.WorkspaceID, c.flowID()); err != nil {
		return err
	}
	return s.writeRuns(c, s.Store.ListRuns)
}

// listAllRuns is GET /v1/runs: listRuns for all flows that the key may call.
func (s *Server) listAllRuns(c *Call) error {
	return s.writeRuns(c, func(ctx context.Context, filter flow.RunFilter) ([]flow.Run, error) {
		return s.listRunsOf(ctx, c.Key.Flows, filter)
	})
}

// writeRuns responds with one page of the runs that list returns for the filter in the query.
func (s *Server) writeRuns(c *Call, list func(context.Context, flow.RunFilter) ([]flow.Run, error)) error {
	filter, err := c.readRunFilter()
	if err != nil {
		return err
	}
	limit := filter.Limit
	filter.Limit++ // one more, to detect a next page
	runs, err := list(c.Request().Context(), filter)
	if err != nil {
		return err
	}
	runs, next := Page(runs, limit, func(r *flow.Run) string { return string(r.ID) })
	if err := s.hideFileQueries(c.Request().Context(), runs); err != nil {
		return err
	}
	return c.WriteJSON(http.StatusOK, runList{convert(runs, s.runObject), next})
}

// hideFileQueries removes the queries from file URLs in the inputs of listed runs, as logs do: a
// query may be a signature that lets anyone read the file. A single run is shown with the inputs
// that were sent.
func (s *Server) hideFileQueries(ctx context.Context, runs []flow.Run) error {
	for i := range runs {
		r := &runs[i]
		if r.Inputs.Len() == 0 {
			continue
		}
		out, err := s.Outlines.Find(ctx, r.WorkspaceID, r.DocumentHash)
		if err != nil {
			return err
		}
		for j := range out.Inputs {
			in := &out.Inputs[j]
			if value := r.Inputs.Get(in.Name); value != nil && in.TakesFiles() {
				r.Inputs = r.Inputs.Clone()
				r.Inputs.Set(in.Name, in.ShownFiles(value))
			}
		}
	}
	return nil
}

// listRunsOf lists the runs of a filter in some flows; none means all. IDs are in the order
// of creation, so the newest of several flows are the newest of each, merged.
func (s *Server) listRunsOf(ctx context.Context, flowIDs []string, filter flow.RunFilter) (runs []flow.Run, err error) {
	if len(flowIDs) == 0 {
		return s.Store.ListRuns(ctx, filter)
	}
	for _, id := range flowIDs {
		filter.FlowID = flow.FlowID(id)
		list, err := s.Store.ListRuns(ctx, filter)
		if err != nil {
			return nil, err
		}
		runs = append(runs, list...)
		sorting.By(runs, func(a, b flow.Run) int { return cmp.Compare(b.ID, a.ID) })
		runs = runs[:min(filter.Limit, len(runs))]
	}
	return runs, nil
}

// listKinds is GET /v1/kinds: the kinds of nodes that documents can have.
func (s *Server) listKinds(c *Call) error {
	return c.WriteJSON(http.StatusOK, map[string]any{"kinds": s.DescribeKinds()})
}

// readRunFilter returns the filter in the query.
func (c *Call) readRunFilter() (flow.RunFilter, error) {
	q := newQuery(c.Request().URL)
	f := flow.RunFilter{
		WorkspaceID: c.Key.WorkspaceID, FlowID: c.flowID(), States: q.states("status"),
		CreatedAfter: q.time("created_after"), CreatedBefore: q.time("created_before"),
		BeforeID: q.cursor(flow.PrefixRun), Limit: q.limit(),
	}
	if work, _ := q.single("work"); work != "" {
		if f.Trigger = flow.Trigger(work); f.Trigger.Work() == "" {
			q.add("/work", "invalid", "wanted batch, test, index or backfill")
		}
	}
	if !c.Key.Has(flow.ScopeRead) {
		f.KeyID = c.Key.ID
	}
	return f, q.err()
}
