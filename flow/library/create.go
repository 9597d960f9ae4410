package library

import (
	"bytes"
	"context"
	"fmt"
	"unicode/utf8"

	"sluice/flow"
	"sluice/flow/document"
)

// ImportDraft creates a flow from a document that was converted from another format. Unlike
// ImportNew, it accepts a document that cannot run yet.
func (l *Library) ImportDraft(ctx context.Context, by flow.Actor, ws flow.WorkspaceID, d *flow.Document) (*flow.Flow, error) {
	return createAs(ctx, l, by, "flow.import", func(ctx context.Context) (*flow.Flow, error) { return l.createDraft(ctx, ws, d, nil) })
}

// createAs creates a flow for a user, with its audit entry.
func createAs(ctx context.Context, l *Library, by flow.Actor, action string, create func(ctx context.Context) (*flow.Flow, error)) (f *flow.Flow, err error) {
	e := entry("", action, "", "")
	err = record(ctx, l.Store, by, e, func(ctx context.Context) error {
		if f, err = create(ctx); err == nil {
			e.WorkspaceID, e.Target, e.Detail = f.WorkspaceID, string(f.ID), f.Name
		}
		return err
	})
	return f, err
}

// createDraft creates a flow from a document. Unlike Import, it accepts a document that cannot run
// yet, whose problems the editor shows. The document must parse; its literal secrets move to
// encrypted storage.
func (l *Library) createDraft(ctx context.Context, ws flow.WorkspaceID, d *flow.Document, tags []string) (*flow.Flow, error) {
	if _, problems := document.ParseDocument(d.Compact()); len(problems) > 0 {
		return nil, &flow.Error{Code: flow.CodeDocumentInvalid, Message: fmt.Sprintf("The flow document has %s:", flow.Count(len(problems), "problem")), Fields: problems}
	}
	f := &flow.Flow{ID: l.IDs.NewFlow(), WorkspaceID: ws, Tags: tags}
	if err := l.keepSecrets(ctx, f, d); err != nil {
		return nil, err
	}
	document.PlaceRest(d, l.Kinds)
	if d.Slug != "" {
		var err error
		if f.Slug, err = l.freeSlug(ctx, ws, d.Slug); err != nil {
			return nil, err
		}
		d.Slug = ""
	}
	f.Name, f.Description, f.Draft = d.Name, d.Description, d.Compact()
	return f, l.Store.CreateFlow(ctx, f)
}

// DuplicateFlow creates a flow from the draft and tags of another. The new flow is not published
// and has its own webhook secret.
func (l *Library) DuplicateFlow(ctx context.Context, by flow.Actor, ws flow.WorkspaceID, flowID flow.FlowID) (*flow.Flow, error) {
	f, err := l.Store.FindFlow(ctx, ws, flowID)
	if err != nil {
		return nil, err
	}
	d, _ := document.ParseDocument(f.Draft)
	if d == nil {
		return nil, fmt.Errorf("the stored draft of %s cannot be read", flowID)
	}
	d.Name = copyName(d.Name)
	return createAs(ctx, l, by, "flow.create", func(ctx context.Context) (*flow.Flow, error) { return l.createDraft(ctx, ws, d, f.Tags) })
}

// copyName returns the name of a copy, truncated to the maximum length.
func copyName(name string) string {
	const suffix = " (copy)"
	if utf8.RuneCountInString(name) > document.MaxNameLength-len(suffix) {
		name = string([]rune(name)[:document.MaxNameLength-len(suffix)])
	}
	return name + suffix
}

// CreateFromTemplate creates a flow from a template. subflows are the flows that its nodes run by
// slug. They are created and published too, unless they are live in the workspace already and
// unchanged. It returns the new flow, then the others that it created. Each has an audit entry.
func (l *Library) CreateFromTemplate(ctx context.Context, by flow.Actor, ws flow.WorkspaceID, d *flow.Document, subflows []*flow.Document) ([]*flow.Flow, error) {
	ids, missing := map[string]flow.FlowID{}, []ImportSource{}
	var slugs []string // of the missing ones
	for _, b := range subflows {
		id, err := l.findUnchanged(ctx, ws, b)
		if err != nil {
			return nil, err
		}
		if ids[b.Slug] = id; id == "" {
			missing, slugs = append(missing, ImportSource{Data: b.Compact()}), append(slugs, b.Slug)
		}
	}
	made, err := l.ImportAll(ctx, by, ws, missing, true)
	if err != nil {
		return nil, err
	}
	flows := make([]*flow.Flow, 1, 1+len(made))
	for i := range made {
		ids[slugs[i]], flows = made[i].Flow.ID, append(flows, made[i].Flow)
	}
	for i := range d.Nodes {
		if n := &d.Nodes[i]; l.runsFlow(n) && ids[calledRef(n)] != "" {
			n.Config["flow"] = string(ids[calledRef(n)])
		}
	}
	flows[0], err = createAs(ctx, l, by, "flow.create", func(ctx context.Context) (*flow.Flow, error) { return l.createDraft(ctx, ws, d, nil) })
	return flows, err
}

// findUnchanged returns the ID of the flow with the slug of a document if the document is its live
// version, otherwise "".
func (l *Library) findUnchanged(ctx context.Context, ws flow.WorkspaceID, d *flow.Document) (flow.FlowID, error) {
	id, err := l.Store.FindFlowID(ctx, ws, d.Slug)
	if flow.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	f, err := l.Store.FindFlow(ctx, ws, id)
	if err != nil {
		return "", err
	}
	same := *d
	same.Slug = "" // stored with the flow
	if f.LiveHash == "" || !f.ArchivedAt.IsZero() {
		return "", nil
	}
	live, err := l.Store.FindDocument(ctx, ws, f.LiveHash)
	if err != nil || !bytes.Equal(live, same.Compact()) {
		return "", err
	}
	return id, nil
}
