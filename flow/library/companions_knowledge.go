package library

import (
	"context"
	"fmt"
	"slices"

	"sluice/flow"
	"sluice/flow/knowledge"
)

// The file with the knowledge bases of a workspace: their settings, without documents.
var _ = RegisterCompanion(&Companion{
	Name: knowledgeFile, Schema: knowledge.FileSchema, Title: "Knowledge bases", OfWorkspace: true,
	Parse: func(o *flow.Object, _ func(source string, names ...string) error) (any, []flow.Problem) {
		return parsed(knowledge.ParseFile(o))
	},
	Write: func(content any) *flow.Object { return knowledge.WriteFile(content.([]knowledge.FileEntry)) },
	Read: func(ctx context.Context, s *Companions, of *CompanionOwner) (any, error) {
		return readBases(ctx, s.Store, of.WorkspaceID)
	},
	Plan: planBases,
	Apply: func(ctx context.Context, s *Companions, r *CompanionRequest, c *CompanionChange) error {
		return c.Value.(func(context.Context) error)(ctx)
	},
	MayChange:   func(*flow.Key) error { return nil }, // each change is checked on its own
	MarkApplied: markBases,
})

// knowledgeFile is the name of the companion.
const knowledgeFile = "knowledge"

// readBases returns the bases of a workspace as files have them.
func readBases(ctx context.Context, s KnowledgeStore, ws flow.WorkspaceID) ([]knowledge.FileEntry, error) {
	list, err := s.ListBases(ctx, ws)
	entries := make([]knowledge.FileEntry, len(list))
	for i := range list {
		entries[i] = knowledge.FileEntryOf(&list[i])
	}
	return entries, err
}

// planBases compares the bases of a file with those of the workspace. Neither documents nor what is indexed is changed by a file.
func planBases(ctx context.Context, s *Companions, r *CompanionRequest, _, wanted any) (changes []CompanionChange, problems []flow.Problem, err error) {
	list, err := s.Store.ListBases(ctx, r.Owner.WorkspaceID)
	if err != nil {
		return nil, nil, err
	}
	acts, entries := &Knowledge{Store: s.Store}, wanted.([]knowledge.FileEntry)
	for i := range entries {
		e := &entries[i]
		next := knowledge.Base{WorkspaceID: r.Owner.WorkspaceID}
		at := slices.IndexFunc(list, func(b knowledge.Base) bool { return b.Slug == e.Slug })
		if at < 0 {
			if e.Set(&next); r.Apply {
				next.Source = r.Source
			}
			if err := mayExpose(r.Caller, &knowledge.Settings{}, &next.Settings); err != nil {
				return nil, nil, err
			}
			changes = append(changes, CompanionChange{Change: AppliedCreated, Entry: e.Slug, Text: fmt.Sprintf("Adds the knowledge base %s, which is empty; add documents with 'sluice knowledge add %s'.", e.Slug, e.Slug),
				Value: func(ctx context.Context) error { return acts.Create(ctx, r.By, r.Caller, &next) }})
			continue
		}
		was := &list[at]
		if old := knowledge.FileEntryOf(was); old.Same(e) {
			continue
		}
		next = *was
		if e.Set(&next); r.Apply {
			next.Source = r.Source
		}
		if problem := changesIndex(was, &next); problem != nil {
			problem.Pointer = flow.Pointer("bases", i) + problem.Pointer
			problems = append(problems, *problem)
			continue
		}
		if err := mayExpose(r.Caller, &was.Settings, &next.Settings); err != nil {
			return nil, nil, err
		}
		changes = append(changes, CompanionChange{Change: AppliedChanged, Entry: e.Slug, Text: fmt.Sprintf("Changes the settings of the knowledge base %s.", e.Slug),
			Value: func(ctx context.Context) error { return acts.Change(ctx, r.By, r.Caller, was, &next) }})
	}
	for i := range list {
		b := &list[i]
		if !r.prunes(b.Source) || slices.ContainsFunc(entries, func(e knowledge.FileEntry) bool { return e.Slug == b.Slug }) {
			continue
		}
		if b.Documents > 0 {
			problems = append(problems, flow.Problem{Pointer: flow.Pointer("bases"), Code: "invalid", Detail: fmt.Sprintf("%s is missing, and has %s, which a file does not delete; use 'sluice knowledge delete %s'", b.Slug, flow.Count(int(b.Documents), "document"), b.Slug)})
			continue
		}
		changes = append(changes, CompanionChange{Change: companionRemoved, Entry: b.Slug, Text: fmt.Sprintf("Removes the knowledge base %s, which is empty.", b.Slug),
			Value: func(ctx context.Context) error { return acts.Delete(ctx, r.By, b, false) }})
	}
	return changes, problems, nil
}

// changesIndex returns the problem of an entry that needs another index of documents, which costs time and perhaps money, or nil.
func changesIndex(was, next *knowledge.Base) *flow.Problem {
	switch {
	case was.Documents == 0 || was.Settings.SameIndex(&next.Settings):
		return nil
	case !was.Settings.SameModel(&next.Settings):
		return &flow.Problem{Pointer: "/model", Code: "invalid", Detail: fmt.Sprintf("the base has documents with another model; rebuild it first: sluice knowledge rebuild %s --model %q", was.Slug, next.Settings.Model)}
	}
	return &flow.Problem{Pointer: "/passage_words", Code: "invalid", Detail: "the base has documents, whose passages keep their size; make another base"}
}

// markBases records that bases were applied from the source of the request, which then prunes them.
func markBases(ctx context.Context, s *Companions, r *CompanionRequest, wanted any) error {
	list, err := s.Store.ListBases(ctx, r.Owner.WorkspaceID)
	for i := range list {
		b := &list[i]
		named := slices.ContainsFunc(wanted.([]knowledge.FileEntry), func(e knowledge.FileEntry) bool { return e.Slug == b.Slug })
		if err == nil && named && b.Source != r.Source {
			b.Source = r.Source
			err = s.Store.UpdateBase(ctx, b)
		}
	}
	return err
}
