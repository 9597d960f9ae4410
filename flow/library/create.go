package library

import (
	"context"
	"fmt"
	"unicode/utf8"

	"sluice/flow"
	"sluice/flow/document"
)

// CreateDraft makes a new flow of a document. Unlike Import it takes one that
// cannot run yet: what keeps it from running is marked in the editor. The
// document must parse; its literal secrets move to encrypted storage.
func (l *Library) CreateDraft(ctx context.Context, ws flow.WorkspaceID, d *flow.Document, tags []string) (*flow.Flow, error) {
	if _, problems := document.ParseDocument(d.Canonical()); len(problems) > 0 {
		return nil, &flow.Error{Code: flow.CodeDocumentInvalid, Message: fmt.Sprintf("The flow document has %s:", flow.Count(len(problems), "problem")), Fields: problems}
	}
	f := &flow.Flow{ID: l.IDs.New(flow.PrefixFlow), WorkspaceID: ws, Tags: tags}
	if err := l.keepSecrets(ctx, f, d); err != nil {
		return nil, err
	}
	document.PlaceRest(d)
	if d.Slug != "" {
		var err error
		if f.Slug, err = l.freeSlug(ctx, ws, d.Slug); err != nil {
			return nil, err
		}
		d.Slug = ""
	}
	f.Name, f.Description, f.Draft = d.Name, d.Description, d.Canonical()
	return f, l.Store.CreateFlow(ctx, f)
}

// DuplicateFlow makes a new flow of the draft of another, tags included. It is
// not published, and has a webhook secret of its own.
func (l *Library) DuplicateFlow(ctx context.Context, ws flow.WorkspaceID, flowID string) (*flow.Flow, error) {
	f, err := l.Store.FindFlow(ctx, ws, flowID)
	if err != nil {
		return nil, err
	}
	d, _ := document.ParseDocument(f.Draft)
	if d == nil {
		return nil, fmt.Errorf("the stored draft of %s cannot be read", flowID)
	}
	d.Name = copyName(d.Name)
	return l.CreateDraft(ctx, ws, d, f.Tags)
}

// copyName names a copy, within what a name may have.
func copyName(name string) string {
	const suffix = " (copy)"
	if utf8.RuneCountInString(name) > document.MaxNameLength-len(suffix) {
		name = string([]rune(name)[:document.MaxNameLength-len(suffix)])
	}
	return name + suffix
}
