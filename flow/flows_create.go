package flow

import (
	"context"
	"fmt"
	"unicode/utf8"
)

// CreateDraft makes a new flow of a document. Unlike Import it takes one that
// cannot run yet: what keeps it from running is marked in the editor. The
// document must parse; its literal secrets move to encrypted storage.
func (l *Library) CreateDraft(ctx context.Context, ws string, d *Document, tags []string) (*Flow, error) {
	if _, problems := ParseDocument(d.Canonical()); len(problems) > 0 {
		return nil, &Error{Code: CodeDocumentInvalid, Message: fmt.Sprintf("The flow document has %s:", count(len(problems), "problem")), Fields: problems}
	}
	f := &Flow{ID: l.IDs.New(PrefixFlow), WorkspaceID: ws, Tags: tags}
	if err := l.keepSecrets(ctx, f, d); err != nil {
		return nil, err
	}
	d.PlaceRest()
	f.Name, f.Description, f.Draft = d.Name, d.Description, d.Canonical()
	return f, l.Store.CreateFlow(ctx, f)
}

// DuplicateFlow makes a new flow of the draft of another, tags included. It is
// not published, and has a webhook secret of its own.
func (l *Library) DuplicateFlow(ctx context.Context, ws, flowID string) (*Flow, error) {
	f, err := l.Store.FindFlow(ctx, ws, flowID)
	if err != nil {
		return nil, err
	}
	d, _ := ParseDocument(f.Draft)
	if d == nil {
		return nil, fmt.Errorf("the stored draft of %s cannot be read", flowID)
	}
	d.Name = copyName(d.Name)
	return l.CreateDraft(ctx, ws, d, f.Tags)
}

// copyName names a copy, within what a name may have.
func copyName(name string) string {
	const suffix = " (copy)"
	if utf8.RuneCountInString(name) > maxName-len(suffix) {
		name = string([]rune(name)[:maxName-len(suffix)])
	}
	return name + suffix
}

// maxName is how many characters the name of a flow may have.
const maxName = 200
