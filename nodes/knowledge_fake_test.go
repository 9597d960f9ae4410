package nodes

import (
	"context"

	"sluice/flow"
	"sluice/flow/knowledge"
	"sluice/nodes/bases"
)

// fakeKnowledge has one base with one passage.
type fakeKnowledge struct{ bases.Store }

func (fakeKnowledge) FindBase(ctx context.Context, _ flow.WorkspaceID, ref string) (*knowledge.Base, error) {
	b := &knowledge.Base{Slug: ref}
	b.Settings.Defaults()
	return b, ctx.Err()
}

// NoteQuotes implements bases.Store.
func (fakeKnowledge) NoteQuotes(ctx context.Context, _ flow.RunID, _ []string) error {
	return ctx.Err()
}

// stuckKnowledge never answers.
type stuckKnowledge struct {
	bases.Store
	stuck stuck
}

func (k stuckKnowledge) FindBase(ctx context.Context, _ flow.WorkspaceID, _ string) (*knowledge.Base, error) {
	return nil, k.stuck.wait(ctx)
}

func (fakeKnowledge) SearchBase(ctx context.Context, _ *knowledge.Base, q *knowledge.Query) (*knowledge.Found, error) {
	hit := knowledge.Hit{Document: knowledge.Document{Title: "Refunds", First: 1}, Passage: knowledge.Passage{Text: "Five days."}, Ranked: knowledge.Ranked{Number: 1, RankWords: 1}}
	return &knowledge.Found{Hits: []knowledge.Hit{hit}, Searched: len(q.Text)}, ctx.Err()
}

func (fakeKnowledge) RemoveBaseDocuments(ctx context.Context, _ *knowledge.Base, _ string, sources []string) ([]knowledge.Document, error) {
	return []knowledge.Document{{Source: sources[0]}}, ctx.Err()
}
