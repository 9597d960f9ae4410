package bases

import (
	"context"
	"errors"
	"fmt"

	"sluice/db/core"
	"sluice/db/gen"
	"sluice/flow/knowledge"
)

// CountStaleBlocks returns how many blocks of the index still have passages that are gone.
func (s *Bases) CountStaleBlocks(ctx context.Context, b *knowledge.Base) (int64, error) {
	return s.DB.Reads.CountStaleBlocks(ctx, b.ID)
}

// CheckBase compares the documents of a base with its passages and its index, and returns what does not agree, in sentences. Blocks that still have
// passages that are gone are not a problem: they wait to be rewritten.
func (s *Bases) CheckBase(ctx context.Context, b *knowledge.Base) (problems []string, err error) {
	q := s.DB.Reads
	parts := map[string][]knowledge.Document{}
	var passages, documents int64
	for after := ""; ; {
		page, err := s.ListBaseDocuments(ctx, b, knowledge.DocumentFilter{AllParts: true, After: after, Limit: 500})
		if err != nil {
			return nil, err
		}
		for i := range page {
			d := &page[i]
			documents, passages, after = documents+1, passages+d.Passages, d.ID
			live, err := q.LivePassages(ctx, gen.LivePassagesParams{KnowledgeID: b.ID, FirstNumber: d.First, LastNumber: d.First + d.Passages - 1})
			if err != nil {
				return nil, fmt.Errorf("list the passages of %s: %w", d.ID, err)
			}
			if int64(len(live)) != d.Passages {
				problems = append(problems, fmt.Sprintf("The document %s has %d passages instead of %d.", d.Source, len(live), d.Passages))
			}
			if d.Passages > 0 {
				parts[d.Part] = append(parts[d.Part], *d)
			}
		}
		if len(page) < 500 {
			break
		}
	}
	stored, err := q.CountPassages(ctx, b.ID)
	if err != nil {
		return nil, fmt.Errorf("count the passages of %s: %w", b.ID, err)
	}
	now, err := s.FindBase(ctx, b.WorkspaceID, b.ID)
	if err != nil {
		return nil, err
	}
	if stored != passages || now.Passages != passages || now.Documents != documents {
		problems = append(problems, fmt.Sprintf("There are %d documents with %d passages; the base counts %d with %d and stores %d passages.", documents, passages, now.Documents, now.Passages, stored))
	}
	for part, list := range parts {
		wrong, err := s.checkIndex(ctx, q, b, part, list)
		if err != nil {
			return nil, err
		}
		problems = append(problems, wrong...)
	}
	return problems, nil
}

// checkIndex reports passages of documents that the index lacks or has twice.
func (s *Bases) checkIndex(ctx context.Context, q *gen.Queries, b *knowledge.Base, part string, list []knowledge.Document) (problems []string, err error) {
	blocks, err := s.index.open(ctx, core.ReaderOf(s.DB), b.ID, b.Generation, part, false)
	for n := 0; errors.Is(err, errMoved) && n < 5; n++ { // background work replaced one of them
		blocks, err = s.index.open(ctx, core.ReaderOf(s.DB), b.ID, b.Generation, part, false)
	}
	if err != nil {
		return nil, err
	}
	times := map[int64]int{}
	for i := range blocks {
		for _, n := range blocks[i].Head.Numbers {
			times[n]++
		}
		for shard := range knowledge.Shards(len(blocks[i].Head.Numbers)) {
			data, err := blocks[i].Shard(shard)
			if err == nil {
				_, err = knowledge.LongestPrefix(data, "")
			}
			if err != nil {
				return nil, err
			}
		}
	}
	for i := range list {
		for n := list[i].First; n < list[i].First+list[i].Passages; n++ {
			if times[n] != 1 {
				problems = append(problems, fmt.Sprintf("The index has passage %d of %s %d times.", n-list[i].First+1, list[i].Source, times[n]))
				break
			}
		}
	}
	return problems, nil
}
