package webtest

import (
	"context"

	"sluice/flow"
)

func (h *Env) OffForm(id string) {
	h.T.Helper()
	if err := h.Store.SaveForm(context.Background(), flow.NewForm(flow.DefaultWorkspace, id)); err != nil {
		h.T.Fatal(err)
	}
}
