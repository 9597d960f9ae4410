package webtest

import (
	"context"
	"time"

	"sluice/flow"
	"sluice/flow/value"
)

// EchoFlow returns its input. Its name contains markup, so that tests detect a page that does
// not escape it.
const EchoFlow = `{"schema": "sluice.flow/v1", "name": "Echo <b>", "nodes": [
	{"id": "in", "kind": "input", "config": {"name": "word", "type": "text"}},
	{"id": "out", "kind": "output", "config": {"name": "word"}}], "edges": [{"from": "in.value", "to": "out.value"}]}`

// RunEcho runs the draft of a flow, waits until the run has ended and returns its ID.
func (h *Env) RunEcho(ws flow.WorkspaceID, flowID, word string) string {
	h.T.Helper()
	s, err := h.Runner.StartRun(context.Background(), flow.Start{
		WorkspaceID: ws, FlowID: flow.FlowID(flowID), Trigger: flow.TriggerBuilder, Given: value.FromMap(map[string]any{"word": word}), Options: flow.RunOptions{Draft: true}, Wait: 20 * time.Second,
	})
	if err != nil {
		h.T.Fatal(err)
	}
	return string(s.Run.ID)
}
