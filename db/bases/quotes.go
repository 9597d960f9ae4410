package bases

import (
	"context"
	"fmt"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
	"sluice/flow/knowledge"
)

// NoteQuotes records that a run found passages of documents. It is on disk when a later write of the run is.
func (s *Bases) NoteQuotes(ctx context.Context, run flow.RunID, documents []string) error {
	if len(documents) == 0 {
		return nil
	}
	return s.DB.Write(ctx, core.Relaxed, func(tx *core.Tx) error {
		for _, id := range documents {
			if err := tx.Queries.NoteQuote(tx.Ctx, gen.NoteQuoteParams{RunID: run, DocumentID: id}); err != nil {
				return fmt.Errorf("note that %s quotes %s: %w", run, id, err)
			}
		}
		return nil
	})
}

// ListQuotes returns the latest runs that found passages of a document and still have what they recorded, and how many there are. The document may
// be gone.
func (s *Bases) ListQuotes(ctx context.Context, b *knowledge.Base, document string, limit int) (list []knowledge.Quote, total int64, err error) {
	rows, err := s.DB.Reads.ListQuotes(ctx, gen.ListQuotesParams{DocumentID: document, WorkspaceID: b.WorkspaceID, MaxRows: int32(limit)})
	if err != nil {
		return nil, 0, fmt.Errorf("list the runs that quote %s: %w", document, err)
	}
	for _, r := range rows {
		list = append(list, knowledge.Quote{RunID: r.ID, FlowID: r.FlowID, CreatedAt: dbconn.TimeOf(r.CreatedAt)})
	}
	if total = int64(len(list)); total < int64(limit) {
		return list, total, nil
	}
	if total, err = s.DB.Reads.CountQuotes(ctx, document); err != nil {
		return nil, 0, fmt.Errorf("count the runs that quote %s: %w", document, err)
	}
	return list, total, nil
}
