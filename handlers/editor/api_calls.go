package editor

import (
	"net/http"
	"slices"
	"time"

	"sluice/flow"
	editorview "sluice/views/editor"
)

// maxCalls is the number of calls in the list, newest first.
const maxCalls = 20

// showCalls is GET /flows/{id}/api/calls. An open list polls with ?mark=, a digest
// of its rows, and gets 204 if nothing has changed.
func showCalls(c *call, f *flow.Flow) error {
	if !c.IsFragment() {
		return c.Redirect("/flows/" + string(f.ID) + "/api#api-calls")
	}
	keys, err := c.s.Store.ListKeys(c.Ctx(), c.WorkspaceID())
	if err != nil {
		return err
	}
	calls, err := apiCalls(c, f.ID, keys)
	if err != nil {
		return err
	}
	if calls.Mark() == c.QueryParam("mark") {
		return c.NoContent(http.StatusNoContent)
	}
	return c.Render(http.StatusOK, editorview.Calls(calls))
}

// apiCalls returns the latest calls of a flow, with the names of their keys.
func apiCalls(c *call, flowID flow.FlowID, keys []flow.Key) (editorview.APICalls, error) {
	calls := editorview.APICalls{FlowID: string(flowID), Now: c.s.Now()}
	found, err := c.s.Store.ListRunRows(c.Ctx(), flow.RunQuery{WorkspaceID: c.WorkspaceID(), FlowID: flowID, Trigger: flow.TriggerAPI, Limit: maxCalls})
	if err != nil {
		return calls, err
	}
	names := map[string]string{}
	for i := range keys {
		names[keys[i].ID] = keys[i].Name
	}
	var ended []time.Duration
	for i := range found.Rows {
		r := &found.Rows[i]
		row := editorview.APICall{ID: string(r.ID), State: string(r.State), At: r.CreatedAt, Key: names[r.KeyID]}
		if !r.EndedAt.IsZero() {
			row.Duration = max(0, r.EndedAt.Sub(r.CreatedAt)) // as the caller saw it, including the time in the queue
			ended = append(ended, row.Duration)
		}
		calls.Rows = append(calls.Rows, row)
	}
	calls.P95 = p95(ended)
	return calls, nil
}

// p95 returns the 95th percentile (nearest rank), or 0 for an empty list. It sorts
// the list.
func p95(list []time.Duration) time.Duration {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[(len(list)*95+99)/100-1]
}
