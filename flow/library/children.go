package library

import (
	"context"

	"sluice/flow"
	"sluice/flow/document"
)

// NewChild makes a flow of nodes of a draft and publishes it. It returns the flow with the edits
// that put a node which runs it into the place of the nodes; they are not applied, so that the
// user can undo them like any edit. If the new flow cannot be published, nothing is created.
func NewChild(ctx context.Context, l *Library, by flow.Actor, f *flow.Flow, nodes []string, name string) (child *flow.Flow, ops []document.Edit, err error) {
	d, _ := document.ParseDocument(f.Draft)
	if d == nil || d.Schema != flow.Schema {
		return nil, nil, flow.Errorf(flow.CodeDocumentInvalid, "The draft of this flow is written in a format that this version of Sluice does not read. Import it again.")
	}
	part, err := document.NewChild(d, l.Kinds, nodes, name)
	if err != nil {
		return nil, nil, err
	}
	err = l.Store.InTransaction(ctx, func(ctx context.Context) error {
		child, err = createAs(ctx, l, by, "flow.create", func(ctx context.Context) (*flow.Flow, error) {
			return l.createDraft(ctx, f.WorkspaceID, part.Document, nil)
		})
		if err != nil {
			return err
		}
		_, _, err = l.PublishDraft(ctx, child, by, "")
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return child, part.Edits(child.ID), nil
}
