package jobs

import (
	"context"
	"time"
)

// knowledgeStore maintains knowledge bases.
type knowledgeStore interface {
	// CompactBases merges small blocks of indexes, and frees what belonged to deleted passages.
	CompactBases(ctx context.Context) error
	// DropEmbeddings deletes vectors that no passage has, at most limit.
	DropEmbeddings(ctx context.Context, limit int) (int64, error)
}

const (
	// compactInterval bounds how long deleted passages take space.
	compactInterval = 30 * time.Second
	// droppedEmbeddings is how many vectors one pass deletes.
	droppedEmbeddings = 1_000
)

// maintainKnowledge does the background work of knowledge bases. Instances may do it at the same time.
func (r *Runner) maintainKnowledge(ctx context.Context) error {
	if err := r.store.CompactBases(ctx); err != nil {
		return err
	}
	_, err := r.store.DropEmbeddings(ctx, droppedEmbeddings)
	return err
}
