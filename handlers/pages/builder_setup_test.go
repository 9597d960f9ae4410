package pages

import (
	"context"

	"sluice/flow"
)

// flowElsewhere makes a flow in a workspace in which nobody of the test is.
func (h *house) flowElsewhere() string {
	h.t.Helper()
	ctx := context.Background()
	if _, err := h.store.FindWorkspace(ctx, "elsewhere"); err != nil {
		if err := h.store.CreateWorkspace(ctx, flow.Workspace{ID: "elsewhere", Name: "Elsewhere"}); err != nil {
			h.t.Fatal(err)
		}
	}
	f, err := h.library.Import(ctx, "elsewhere", "", []byte(sampleFlow))
	if err != nil {
		h.t.Fatal(err)
	}
	return f.ID
}

// setDraft replaces a draft, which may have problems.
func (h *house) setDraft(id, document string) {
	h.t.Helper()
	if err := h.store.UpdateDraft(context.Background(), flow.DefaultWorkspace, id, "Answer a ticket", "", []byte(document)); err != nil {
		h.t.Fatal(err)
	}
}
