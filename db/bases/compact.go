package bases

import (
	"context"
	"errors"
	"fmt"

	"sluice/db/core"
	"sluice/db/gen"
	"sluice/flow/knowledge"
)

// compactedAtOnce is how many blocks one pass looks at.
const compactedAtOnce = 10_000

// CompactBases merges small blocks of indexes, and rewrites those with passages that are gone. Instances may do it at the same time.
func (s *Bases) CompactBases(ctx context.Context) error {
	rows, err := s.DB.Reads.KnowledgeToCompact(ctx, compactedAtOnce)
	if err != nil {
		return fmt.Errorf("find knowledge bases to compact: %w", err)
	}
	for len(rows) > 0 {
		first, n, stale := rows[0], 0, false
		for n < len(rows) && rows[n].KnowledgeID == first.KnowledgeID && rows[n].Part == first.Part {
			stale = stale || rows[n].Stale == 1
			n++
		}
		rows = rows[n:]
		for did := stale || n > fewBlocks; did && ctx.Err() == nil; {
			if did, err = s.index.compact(ctx, s.DB, first.KnowledgeID, first.Part); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// errMoved is returned if other work replaced a block that was to be merged.
var errMoved = errors.New("a block was replaced meanwhile")

// merge is a block with all of its data.
type merge struct {
	gen.KnowledgeBlock
	knowledge.MergeBlock
	vectors []byte
}

// compact merges one group of blocks. It prepares the merged block outside of the transaction that replaces the others: on SQLite, all writes wait
// for that.
func (x *blocks) compact(ctx context.Context, db *core.DB, base, part string) (did bool, err error) {
	generation, err := db.Reads.FindGeneration(ctx, base)
	if noRows(err) {
		return false, nil // the base was deleted
	}
	if err != nil {
		return false, fmt.Errorf("find knowledge base %s: %w", base, err)
	}
	rows, err := db.Reads.ListBlocks(ctx, gen.ListBlocksParams{KnowledgeID: base, Part: part})
	if err != nil {
		return false, fmt.Errorf("list the blocks of %s: %w", base, err)
	}
	group := mergeable(rows)
	if len(group) == 0 {
		return false, nil
	}
	list := make([]merge, len(group))
	for i := range group {
		if list[i], err = readMerge(ctx, db.Reads, &group[i]); err != nil {
			return false, err
		}
	}
	live, err := liveNumbers(ctx, db.Reads, list)
	if err != nil {
		return false, err
	}
	parts := make([]knowledge.MergeBlock, len(list))
	for i := range list {
		parts[i] = list[i].MergeBlock
	}
	head, headData, shards, err := knowledge.MergeBlocks(parts, func(n int64) bool { return live[n] })
	if err != nil {
		return false, err
	}
	vectors, dimensions, err := mergeVectors(list, head)
	if err != nil {
		return false, err
	}
	err = db.Write(ctx, core.Relaxed, func(tx *core.Tx) error {
		next, err := tx.Queries.TakeBlock(tx.Ctx, base)
		if noRows(err) {
			return errMoved // the base was deleted
		}
		if err != nil {
			return fmt.Errorf("lock knowledge base %s: %w", base, err)
		}
		if next.Generation != generation {
			return errMoved // it was rebuilt: the vectors that were read are those of another model
		}
		for i := range list {
			existed, err := deleteBlock(tx, base, part, list[i].Block)
			if err != nil {
				return err
			}
			if !existed {
				return errMoved
			}
		}
		if len(head.Numbers) == 0 {
			return nil
		}
		b := gen.InsertBlockParams{KnowledgeID: base, Part: part, Block: next.NextBlock - 1, Passages: int64(len(head.Numbers)), FirstNumber: head.Numbers[0], LastNumber: head.Numbers[len(head.Numbers)-1], Dimensions: int64(dimensions), Head: headData}
		if err := insertBlock(tx, b, shards, vectors); err != nil {
			return err
		}
		still, err := liveNumbers(tx.Ctx, tx.Queries, []merge{{MergeBlock: knowledge.MergeBlock{Head: head}, KnowledgeBlock: gen.KnowledgeBlock{KnowledgeID: base, FirstNumber: b.FirstNumber, LastNumber: b.LastNumber}}})
		if err != nil {
			return err
		}
		for _, n := range head.Numbers {
			if !still[n] { // deleted since it was read
				return x.remove(tx, base, part, n, n+1)
			}
		}
		return nil
	})
	if errors.Is(err, errMoved) {
		return false, nil // the next pass looks again
	}
	return err == nil, err
}

// smallBlock is the number of passages below which blocks are merged, and fewBlocks how many such may remain.
const smallBlock, fewBlocks = knowledge.BlockPassages / 2, 7

// mergeable returns the blocks to merge next: those with passages that are gone, and small ones if there are many.
func mergeable(rows []gen.KnowledgeBlock) (group []gen.KnowledgeBlock) {
	small := 0
	for i := range rows {
		if rows[i].Passages < smallBlock {
			small++
		}
	}
	var passages int64
	for i := range rows {
		r := &rows[i]
		if (r.Stale == 1 || small > fewBlocks && r.Passages < smallBlock) && passages+r.Passages <= knowledge.BlockPassages {
			group, passages = append(group, *r), passages+r.Passages
		}
	}
	if len(group) == 1 && group[0].Stale == 0 {
		return nil
	}
	return group
}

// readMerge reads all data of a block.
func readMerge(ctx context.Context, q *gen.Queries, r *gen.KnowledgeBlock) (m merge, err error) {
	m.KnowledgeBlock = *r
	if m.MergeBlock.Head, err = knowledge.DecodeHead(r.Head); err != nil {
		return m, err
	}
	words, err := q.ListWords(ctx, gen.ListWordsParams{KnowledgeID: r.KnowledgeID, Block: r.Block})
	if err != nil {
		return m, fmt.Errorf("read the words of block %d of %s: %w", r.Block, r.KnowledgeID, err)
	}
	for i := range words {
		m.Shards = append(m.Shards, words[i].Data)
	}
	pieces, err := q.ListVectors(ctx, gen.ListVectorsParams{KnowledgeID: r.KnowledgeID, Block: r.Block})
	if err != nil {
		return m, fmt.Errorf("read the vectors of block %d of %s: %w", r.Block, r.KnowledgeID, err)
	}
	for _, p := range pieces {
		m.vectors = append(m.vectors, p...)
	}
	return m, nil
}

// liveNumbers returns which passages of blocks exist.
func liveNumbers(ctx context.Context, q *gen.Queries, list []merge) (map[int64]bool, error) {
	live := map[int64]bool{}
	for i := range list {
		numbers, err := q.LivePassages(ctx, gen.LivePassagesParams{KnowledgeID: list[i].KnowledgeID, FirstNumber: list[i].FirstNumber, LastNumber: list[i].LastNumber})
		if err != nil {
			return nil, fmt.Errorf("list the passages of %s: %w", list[i].KnowledgeID, err)
		}
		for _, n := range numbers {
			live[n] = true
		}
	}
	return live, nil
}

// mergeVectors returns the vectors of the passages of a merged block.
func mergeVectors(list []merge, head *knowledge.Head) (data []byte, dimensions int, err error) {
	type vector struct {
		scale   float32
		numbers []byte
	}
	vectors := map[int64]vector{}
	for i := range list {
		m := &list[i]
		if len(m.vectors) == 0 {
			continue
		}
		dimensions = int(m.Dimensions)
		err := knowledge.EachVector(m.vectors, dimensions, func(at int, scale float32, numbers []byte) {
			if at < len(m.MergeBlock.Head.Numbers) {
				vectors[m.MergeBlock.Head.Numbers[at]] = vector{scale, numbers}
			}
		})
		if err != nil {
			return nil, 0, err
		}
	}
	for at, n := range head.Numbers {
		if v, has := vectors[n]; has {
			data = knowledge.AppendVector(data, at, v.scale, v.numbers)
		}
	}
	return data, dimensions, nil
}
