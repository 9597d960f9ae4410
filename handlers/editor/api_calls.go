package editor

import (
	"net/http"
	"slices"
	"time"

	"sluice/flow"
	editorview "sluice/views/editor"
)

// shownCalls is how many calls of a flow are listed.
const shownCalls = 20

// showCalls is GET /flows/{id}/api/calls: the last calls. A list that is open
// says its mark, and hears nothing while it is as it has it.
func (c *call) showCalls(f *flow.Flow) error {
	if !c.IsFragment() {
		return c.Redirect("/flows/" + f.ID + "/api#api-calls")
	}
	keys, err := c.s.Store.ListKeys(c.Ctx(), c.WorkspaceID())
	if err != nil {
		return err
	}
	calls, err := c.apiCalls(f.ID, keys)
	if err != nil {
		return err
	}
	if calls.Mark() == c.QueryParam("mark") {
		return c.NoContent(http.StatusNoContent)
	}
	return c.Render(http.StatusOK, editorview.Calls(calls))
}

// apiCalls are the last calls of a flow, with the names of the keys that made them.
func (c *call) apiCalls(flowID string, keys []flow.Key) (editorview.APICalls, error) {
	calls := editorview.APICalls{FlowID: flowID, Now: c.s.Now()}
	found, err := c.s.Store.ListRunRows(c.Ctx(), flow.RunChoice{WorkspaceID: c.WorkspaceID(), FlowID: flowID, Trigger: flow.TriggerAPI, Limit: shownCalls})
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
		row := editorview.APICall{ID: r.ID, State: r.State, At: r.CreatedAt, Key: names[r.KeyID]}
		if !r.EndedAt.IsZero() {
			row.Took = max(0, r.EndedAt.Sub(r.CreatedAt)) // what the caller waited for, the queue too
			ended = append(ended, row.Took)
		}
		calls.Rows = append(calls.Rows, row)
	}
	calls.P95 = p95(ended)
	return calls, nil
}

// p95 is the duration that 95 in 100 do not exceed; 0 of none.
func p95(list []time.Duration) time.Duration {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[(len(list)*95+99)/100-1]
}
