// Package slugs stores the names of flows in URLs. A workspace has a row for each slug that
// a flow has or had: a former slug is an alias, which still names its flow until another
// flow takes it. Uses of aliases are counted by key and day, so that taking one can name
// the callers that notice. The package does not know what a flow does.
package slugs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/sorting"
)

// Slugs is the store of slugs. A slug is unique within its workspace.
type Slugs struct{ DB *core.DB }

// maxNumberedSlugs is how many slugs New tries before it appends a part of the
// flow's hashed ID, so that a thousand flows of one name stay cheap to create.
const maxNumberedSlugs = 20

// slugsPage is how many flows get their slug in one transaction.
const slugsPage = 200

// New reserves the slug of a new flow and returns it. Without a slug in f it derives one from
// the name, with a number or a hash appended if the slug is taken.
func New(tx *core.Tx, f *flow.Flow) (string, error) {
	if f.Slug != "" {
		return f.Slug, claimSlug(tx, f.WorkspaceID, f.ID, f.Slug)
	}
	base := document.Slugify(f.Name)
	for n := 1; n <= maxNumberedSlugs; n++ {
		slug := document.NumberedSlug(base, n)
		if ok, err := tryClaim(tx, f.WorkspaceID, f.ID, slug); ok || err != nil {
			return slug, err
		}
	}
	const suffix = 13 // a hyphen and 12 hexadecimal digits
	slug := base[:min(len(base), document.MaxSlug-suffix)] + "-" + flow.Hash([]byte(f.ID))[:suffix-1]
	return slug, claimSlug(tx, f.WorkspaceID, f.ID, slug)
}

// tryClaim reserves a slug for a flow, if no other flow of the workspace has it.
func tryClaim(tx *core.Tx, ws flow.WorkspaceID, flowID flow.FlowID, slug string) (ok bool, err error) {
	n, err := tx.Queries.ClaimSlug(tx.Ctx, gen.ClaimSlugParams{WorkspaceID: ws, Slug: slug, FlowID: flowID, CreatedAt: tx.Store.NowMicros()})
	if err != nil {
		return false, fmt.Errorf("reserve the slug of %s: %w", flowID, err)
	}
	return n > 0, nil
}

// claimSlug is tryClaim with an error for a slug of another flow.
func claimSlug(tx *core.Tx, ws flow.WorkspaceID, flowID flow.FlowID, slug string) error {
	ok, err := tryClaim(tx, ws, flowID, slug)
	if err == nil && !ok {
		err = errSlugTaken(slug)
	}
	return err
}

// errSlugTaken returns the error for a slug that another flow has.
func errSlugTaken(slug string) error {
	return flow.Errorf(flow.CodeSlugTaken, "The slug %q belongs to another flow. Choose another slug, or rename that flow first.", slug)
}

// RenameSlug gives a flow another slug. The former one stays as an alias. A slug
// that another flow has now is CodeSlugTaken; an alias of another flow is as
// well, unless takeAlias, which moves it.
func (s *Slugs) RenameSlug(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, slug string, takeAlias bool) error {
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		ok, err := tryClaim(tx, ws, flowID, slug)
		if err != nil {
			return err
		}
		if !ok {
			if err := takeSlug(tx, ws, flowID, slug, takeAlias); err != nil {
				return err
			}
		}
		n, err := tx.Queries.SetFlowSlug(tx.Ctx, gen.SetFlowSlugParams{ID: flowID, WorkspaceID: ws, Slug: slug})
		return dbconn.MustAffect(n, err, "flow")
	})
}

// takeSlug makes an existing slug the flow's: one that it had before, or the alias
// of another flow.
func takeSlug(tx *core.Tx, ws flow.WorkspaceID, flowID flow.FlowID, slug string, takeAlias bool) error {
	held, err := tx.Queries.FindSlug(tx.Ctx, gen.FindSlugParams{WorkspaceID: ws, Slug: slug})
	switch {
	case err != nil:
		return fmt.Errorf("find the slug %q: %w", slug, err)
	case held.FlowID == flowID:
		return nil
	case held.Current != 0:
		return errSlugTaken(slug)
	case !takeAlias:
		return flow.Errorf(flow.CodeSlugTaken, "The slug %q is a former slug of another flow, and programs may still use it. Choose another slug, or take it over with take_alias=true.", slug)
	}
	_, err = tx.Queries.MoveSlug(tx.Ctx, gen.MoveSlugParams{WorkspaceID: ws, Slug: slug, FlowID: flowID, CreatedAt: tx.Store.NowMicros()})
	return err
}

// FindFlowID returns the ID of the flow with a slug, current or former. The flow
// may be archived.
func (s *Slugs) FindFlowID(ctx context.Context, ws flow.WorkspaceID, slug string) (flowID flow.FlowID, err error) {
	flowID, _, err = s.FindSlug(ctx, ws, slug)
	return flowID, err
}

// FindSlug returns the ID of the flow with a slug, and whether the slug is a former one of
// that flow.
func (s *Slugs) FindSlug(ctx context.Context, ws flow.WorkspaceID, slug string) (flowID flow.FlowID, former bool, err error) {
	r, err := s.DB.Reads.FindSlug(ctx, gen.FindSlugParams{WorkspaceID: ws, Slug: slug})
	if err != nil {
		return "", false, dbconn.NotFoundErr(err, "flow")
	}
	return r.FlowID, r.Current == 0, nil
}

// ReleaseAlias makes a former slug of a flow available to other flows. It returns
// CodeNotFound if the slug is not a former one of the flow, or no longer.
func (s *Slugs) ReleaseAlias(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, slug string) error {
	return s.DB.Update(ctx, "slug", func(tx *core.Tx) (int64, error) {
		return tx.Queries.ReleaseAlias(tx.Ctx, gen.ReleaseAliasParams{WorkspaceID: ws, Slug: slug, FlowID: flowID})
	})
}

// AddAliasUses counts uses of former slugs. It is not synced to disk: the counts are
// only for display.
func (s *Slugs) AddAliasUses(ctx context.Context, uses []flow.AliasUse) error {
	if len(uses) == 0 {
		return nil
	}
	uses = slices.Clone(uses) // a fixed order avoids deadlocks
	sorting.By(uses, func(a, b flow.AliasUse) int {
		return cmp.Or(dbconn.CompareTexts(string(a.WorkspaceID), string(b.WorkspaceID), a.Slug, b.Slug, a.KeyID, b.KeyID), a.At.Compare(b.At))
	})
	return s.DB.Write(ctx, core.Relaxed, func(tx *core.Tx) error {
		for _, u := range uses {
			err := tx.Queries.AddAliasUse(tx.Ctx, gen.AddAliasUseParams{WorkspaceID: u.WorkspaceID, Slug: u.Slug, KeyID: u.KeyID, Day: core.DayOf(u.At), Calls: u.Count})
			if err != nil {
				return fmt.Errorf("count a use of the slug %q: %w", u.Slug, err)
			}
		}
		return nil
	})
}

// ListAliasCallers returns the valid keys that used a former slug on the day of since or
// later, those with most requests first.
func (s *Slugs) ListAliasCallers(ctx context.Context, ws flow.WorkspaceID, slug string, since time.Time) ([]flow.Caller, error) {
	rows, err := s.DB.Reads.ListAliasCallers(ctx, gen.ListAliasCallersParams{WorkspaceID: ws, Slug: slug, FromDay: core.DayOf(since), Now: s.DB.NowMicros()})
	if err != nil {
		return nil, fmt.Errorf("list the keys that used %q: %w", slug, err)
	}
	return dbconn.MapRows(rows, func(r gen.ListAliasCallersRow) flow.Caller {
		return flow.Caller{KeyID: r.KeyID, Name: r.Name, Prefix: r.Prefix, Runs: r.Calls, LastDay: r.LastDay}
	}), nil
}

// MarkApplied records that the draft of a flow is what an apply made of it.
func (s *Slugs) MarkApplied(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, source string) error {
	return s.DB.Update(ctx, "flow", func(tx *core.Tx) (int64, error) {
		return tx.Queries.MarkApplied(tx.Ctx, gen.MarkAppliedParams{ID: flowID, WorkspaceID: ws, Source: dbconn.ValidText(source)})
	})
}

// AddSlugs gives slugs to flows that a previous version of Sluice created.
func (s *Slugs) AddSlugs(ctx context.Context) error {
	for more := true; more; {
		err := s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
			rows, err := tx.Queries.ListFlowsWithoutSlug(tx.Ctx, slugsPage)
			if more = len(rows) == slugsPage; err != nil {
				return err
			}
			for _, r := range rows {
				slug, err := New(tx, &flow.Flow{ID: r.ID, WorkspaceID: r.WorkspaceID, Name: r.Name})
				if err != nil {
					return err
				}
				if _, err := tx.Queries.SetFlowSlug(tx.Ctx, gen.SetFlowSlugParams{ID: r.ID, WorkspaceID: r.WorkspaceID, Slug: slug}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("name flows: %w", err)
		}
	}
	return nil
}
