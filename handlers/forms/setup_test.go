package forms_test

import (
	"context"
	"sluice/flow"
	"sluice/flow/forms"
	"sluice/handlers/webtest"
)

// lastRun is the newest run of a flow.
func lastRun(h *webtest.Env, flowID string) *flow.Run {
	h.T.Helper()
	list, err := h.Store.ListRuns(context.Background(), flow.RunFilter{WorkspaceID: flow.DefaultWorkspace, FlowID: flow.FlowID(flowID), Limit: 1})
	if err != nil || len(list) == 0 {
		h.T.Fatalf("no run of %s: %v", flowID, err)
	}
	return &list[0]
}

func countRuns(h *webtest.Env, flowID string) int {
	h.T.Helper()
	list, err := h.Store.ListRuns(context.Background(), flow.RunFilter{WorkspaceID: flow.DefaultWorkspace, FlowID: flow.FlowID(flowID), Limit: 50})
	if err != nil {
		h.T.Fatal(err)
	}
	return len(list)
}

func offForm(h *webtest.Env, id string) {
	h.T.Helper()
	if err := h.Store.SaveForm(context.Background(), forms.New(flow.DefaultWorkspace, flow.FlowID(id))); err != nil {
		h.T.Fatal(err)
	}
}
