package editor_test

import (
	"context"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/handlers/webtest"
)

// TestFlowName_leads_the_slug_before_the_first_publish: the slug is the name of the flow in URLs and
// the name of its model for clients of OpenAI's API.
func TestFlowName_leads_the_slug_before_the_first_publish(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	ctx, ids := context.Background(), []flow.FlowID{}
	for range 2 {
		ids = append(ids, flow.FlowID(h.Flow(`{"schema": "sluice.flow/v1", "name": "Untitled flow", "nodes": [{"id": "who", "kind": "input", "config": {"name": "who"}}, {"id": "out", "kind": "output", "config": {"name": "out"}}], "edges": [{"from": "who.value", "to": "out.value"}]}`)))
	}
	rename := func(id flow.FlowID, name string) string {
		t.Helper()
		f, err := h.Store.FindFlow(ctx, flow.DefaultWorkspace, id)
		if err != nil {
			t.Fatal(err)
		}
		request := document.EditRequest{Base: f.Rev, Tab: "tab", TxID: "tx-" + strings.ReplaceAll(name, " ", "-"), Ops: []document.Edit{{Op: document.OpName, Name: &name}}}
		if _, err := h.Library.EditFlow(ctx, flow.DefaultWorkspace, id, "", request); err != nil {
			t.Fatal(err)
		}
		if f, err = h.Store.FindFlow(ctx, flow.DefaultWorkspace, id); err != nil {
			t.Fatal(err)
		}
		return f.Slug
	}
	if first, second := rename(ids[0], "Sort reviews"), rename(ids[1], "Sort reviews"); first != "sort-reviews" || second != "sort-reviews-2" {
		t.Errorf("renamed to %q and %q", first, second)
	}
	f, err := h.Store.FindFlow(ctx, flow.DefaultWorkspace, ids[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := h.Library.PublishDraft(ctx, f, flow.Actor{}, ""); err != nil {
		t.Fatal(err)
	}
	if slug := rename(ids[0], "Other"); slug != "sort-reviews" {
		t.Errorf("the slug of a published flow became %q", slug)
	}
}
