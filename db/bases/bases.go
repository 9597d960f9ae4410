package bases

import (
	"context"
	"encoding/json"
	"fmt"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
	"sluice/flow/knowledge"
)

// Bases stores knowledge bases.
type Bases struct {
	DB    *core.DB
	index index
	// filters is shared by all copies of the store.
	filters *filters
}

// New returns the store of knowledge bases. cache bounds the memory for the index in bytes.
func New(db *core.DB, cache int64) Bases {
	return Bases{DB: db, index: newBlocks(cache, db.IsPostgres()), filters: &filters{}}
}

// CreateBase adds a base with its hidden flow. It sets the IDs and times.
func (s *Bases) CreateBase(ctx context.Context, b *knowledge.Base) error {
	b.ID, b.FlowID = s.DB.IDs().New(knowledge.PrefixBase), s.DB.IDs().NewFlow()
	b.CreatedAt = dbconn.TimeOf(s.DB.NowMicros())
	b.ChangedAt, b.Generation = b.CreatedAt, 1
	signing, err := s.DB.Seal([]byte(core.NewSigningSecret()), b.WorkspaceID, string(b.FlowID), "signing")
	if err != nil {
		return err
	}
	now := dbconn.Micros(b.CreatedAt)
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		if _, err := tx.Queries.FindWorkspace(tx.Ctx, b.WorkspaceID); err != nil {
			return dbconn.NotFoundErr(err, "workspace")
		}
		counts, err := tx.Queries.CountKnowledge(tx.Ctx, b.WorkspaceID)
		if err != nil {
			return fmt.Errorf("count knowledge bases: %w", err)
		}
		if counts.Bases >= knowledge.MaxBases {
			return flow.Errorf(flow.CodeQuotaExceeded, "The workspace has %d knowledge bases, the most that are possible. Delete one.", counts.Bases)
		}
		_, err = tx.Queries.FindKnowledgeBySlug(tx.Ctx, gen.FindKnowledgeBySlugParams{Slug: b.Slug, WorkspaceID: b.WorkspaceID})
		if err == nil {
			return flow.Errorf(flow.CodeSlugTaken, "There is a knowledge base %s already. Choose another slug.", b.Slug)
		}
		if !dbconn.IsNoRows(err) {
			return fmt.Errorf("find knowledge base %s: %w", b.Slug, err)
		}
		err = tx.Queries.InsertFlow(tx.Ctx, gen.InsertFlowParams{
			ID: b.FlowID, WorkspaceID: b.WorkspaceID, Name: dbconn.ValidText(b.Name), Tags: dbconn.EncodeList[string](nil), Draft: "{}", Rev: 1, Signing: signing, CreatedAt: now, Slug: b.ID,
		})
		if err != nil {
			return fmt.Errorf("insert the flow of a knowledge base: %w", err)
		}
		if err := tx.Queries.HideFlow(tx.Ctx, gen.HideFlowParams{ID: b.FlowID, WorkspaceID: b.WorkspaceID, KnowledgeID: b.ID, ArchivedAt: now}); err != nil {
			return fmt.Errorf("hide the flow of a knowledge base: %w", err)
		}
		err = tx.Queries.InsertKnowledge(tx.Ctx, gen.InsertKnowledgeParams{
			ID: b.ID, WorkspaceID: b.WorkspaceID, FlowID: b.FlowID, Slug: b.Slug, Name: dbconn.ValidText(b.Name), Settings: encodeSettings(&b.Settings), Source: b.Source, MadeBy: b.MadeBy, CreatedAt: now,
		})
		if err != nil {
			return fmt.Errorf("insert a knowledge base: %w", err)
		}
		return tx.TrackWithinQuota(b.WorkspaceID, flow.Storage{Bytes: flow.StorageItem})
	})
}

// FindBase returns a base by its ID or slug.
func (s *Bases) FindBase(ctx context.Context, ws flow.WorkspaceID, ref string) (*knowledge.Base, error) {
	if flow.ValidID(knowledge.PrefixBase, ref) {
		r, err := s.DB.In(ctx).FindKnowledge(ctx, gen.FindKnowledgeParams{ID: ref, WorkspaceID: ws})
		return found(r, err)
	}
	r, err := s.DB.In(ctx).FindKnowledgeBySlug(ctx, gen.FindKnowledgeBySlugParams{Slug: dbconn.ValidText(ref), WorkspaceID: ws})
	return found(r, err)
}

// found converts the row of a base.
func found(r gen.Knowledge, err error) (*knowledge.Base, error) {
	if dbconn.IsNoRows(err) {
		return nil, flow.Errorf(flow.CodeKnowledgeNotFound, "There is no such knowledge base.")
	}
	if err != nil {
		return nil, fmt.Errorf("find a knowledge base: %w", err)
	}
	return baseOf(&r)
}

// ListBases returns the bases of a workspace by slug. In a transaction it sees what that wrote.
func (s *Bases) ListBases(ctx context.Context, ws flow.WorkspaceID) ([]knowledge.Base, error) {
	rows, err := s.DB.In(ctx).ListKnowledge(ctx, ws)
	if err != nil {
		return nil, fmt.Errorf("list knowledge bases: %w", err)
	}
	list := make([]knowledge.Base, len(rows))
	for i := range rows {
		b, err := baseOf(&rows[i])
		if err != nil {
			return nil, err
		}
		list[i] = *b
	}
	return list, nil
}

// UpdateBase stores the name, the settings and the source of a base. Settings that decide how documents are indexed must stay.
func (s *Bases) UpdateBase(ctx context.Context, b *knowledge.Base) error {
	b.ChangedAt = s.DB.Now()
	return s.DB.Update(ctx, "knowledge base", func(tx *core.Tx) (int64, error) {
		n, err := tx.Queries.UpdateKnowledge(tx.Ctx, gen.UpdateKnowledgeParams{
			ID: b.ID, WorkspaceID: b.WorkspaceID, Generation: b.Generation, Name: dbconn.ValidText(b.Name), Settings: encodeSettings(&b.Settings), Source: b.Source, ChangedAt: dbconn.Micros(b.ChangedAt),
		})
		if err == nil && n == 0 {
			if _, err = tx.Queries.FindKnowledge(tx.Ctx, gen.FindKnowledgeParams{ID: b.ID, WorkspaceID: b.WorkspaceID}); err == nil {
				err = flow.Errorf(flow.CodeDraftChanged, "The knowledge base %s was rebuilt meanwhile. Read its settings again.", b.Slug)
			} else if noRows(err) {
				err = nil
			}
		}
		return n, err
	})
}

// CountBaseText returns how many characters all passages of a base have.
func (s *Bases) CountBaseText(ctx context.Context, b *knowledge.Base) (int64, error) {
	n, err := s.DB.Reads.CountKnowledgeText(ctx, b.ID)
	if err != nil {
		return 0, fmt.Errorf("count the text of %s: %w", b.ID, err)
	}
	return n, nil
}

// DeleteBase deletes a base with everything in it. Its flow stays, hidden, for the runs that indexed documents.
func (s *Bases) DeleteBase(ctx context.Context, ws flow.WorkspaceID, id string) error {
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		r, err := tx.Queries.FindKnowledge(tx.Ctx, gen.FindKnowledgeParams{ID: id, WorkspaceID: ws})
		if _, err := found(r, err); err != nil {
			return err
		}
		if _, err := tx.Queries.TakeNumbers(tx.Ctx, gen.TakeNumbersParams{ID: id, WorkspaceID: ws}); err != nil { // after it, none can add
			return dbconn.NotFoundErr(err, "knowledge base")
		}
		if r, err = tx.Queries.FindKnowledge(tx.Ctx, gen.FindKnowledgeParams{ID: id, WorkspaceID: ws}); err != nil {
			return dbconn.NotFoundErr(err, "knowledge base")
		}
		if err := tx.Queries.DropEmbeddingsOf(tx.Ctx, gen.DropEmbeddingsOfParams{WorkspaceID: ws, KnowledgeID: id, EndNumber: r.NextNumber}); err != nil {
			return fmt.Errorf("delete the vectors of %s: %w", id, err)
		}
		for _, drop := range []func(context.Context, string) error{
			tx.Queries.DropDocuments, tx.Queries.DropPassages, tx.Queries.DropBlocks, tx.Queries.DropWords, tx.Queries.DropVectors,
		} {
			if err := drop(tx.Ctx, id); err != nil {
				return fmt.Errorf("delete the content of %s: %w", id, err)
			}
		}
		if err := dropAllPrepared(tx, id); err != nil {
			return fmt.Errorf("delete what rebuilds of %s prepared: %w", id, err)
		}
		n, err := tx.Queries.DeleteKnowledge(tx.Ctx, gen.DeleteKnowledgeParams{ID: id, WorkspaceID: ws})
		tx.TrackBytes(ws, -r.Bytes-flow.StorageItem)
		return dbconn.MustAffect(n, err, "knowledge base")
	})
}

// encodeSettings encodes settings for their column.
func encodeSettings(s *knowledge.Settings) string { return string(flow.EncodeJSON(s)) }

func baseOf(r *gen.Knowledge) (*knowledge.Base, error) {
	b := &knowledge.Base{
		ID: r.ID, WorkspaceID: r.WorkspaceID, FlowID: r.FlowID, Slug: r.Slug, Name: r.Name, Generation: r.Generation, Changes: r.Changes, Documents: r.Documents, Passages: r.Passages,
		Bytes: r.Bytes, Source: r.Source, MadeBy: r.MadeBy, CreatedAt: dbconn.TimeOf(r.CreatedAt), ChangedAt: dbconn.TimeOf(r.ChangedAt),
	}
	if err := json.Unmarshal([]byte(r.Settings), &b.Settings); err != nil {
		return nil, dbconn.Unreadable(err, "knowledge base", r.ID)
	}
	return b, nil
}
