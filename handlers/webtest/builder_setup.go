package webtest

import (
	"context"

	"sluice/flow"
)

// FlowElsewhere creates a flow in a workspace without members.
func (h *Env) FlowElsewhere() string {
	h.T.Helper()
	ctx := context.Background()
	if _, err := h.Store.FindWorkspace(ctx, "elsewhere"); err != nil {
		if err := h.Store.CreateWorkspace(ctx, flow.Workspace{ID: "elsewhere", Name: "Elsewhere"}); err != nil {
			h.T.Fatal(err)
		}
	}
	f, err := h.Library.Import(ctx, "elsewhere", "", []byte(SampleFlow))
	if err != nil {
		h.T.Fatal(err)
	}
	return string(f.ID)
}
