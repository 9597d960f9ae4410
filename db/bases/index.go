package bases

import (
	"context"
	"fmt"
	"math"

	"sluice/db/core"
	"sluice/db/gen"
	"sluice/flow/knowledge"
)

// index finds passages by words and by meaning. All of its data is in the database, and changes with the transaction in which passages
// change. It may still have passages that are gone: callers look up what it finds.
type index interface {
	// add adds passages of one document. first is a number that no block has had, like those after it for each further BlockPassages.
	add(tx *core.Tx, base, part string, first int64, entries []knowledge.Entry, dimensions int) error
	// remove notes that passages are gone.
	remove(tx *core.Tx, base, part string, first, end int64) error
	// open returns the parts of the index that a search needs. It reads with db, also later, one statement at a time.
	open(ctx context.Context, db gen.DBTX, base string, generation int64, part string, allParts bool) ([]knowledge.Block, error)
	// compact rewrites what slows searches down or still has passages that are gone, and reports whether it did something.
	compact(ctx context.Context, db *core.DB, base, part string) (did bool, err error)
}

// blocks is the index of blocks; see package knowledge.
type blocks struct {
	cache    *cache
	postgres bool
}

func newBlocks(cache int64, postgres bool) *blocks { return &blocks{newCache(cache), postgres} }

// pieceVectors is how many vectors a row has.
const pieceVectors = 256

func (x *blocks) add(tx *core.Tx, base, part string, first int64, entries []knowledge.Entry, dimensions int) error {
	if len(entries) == 0 {
		return nil
	}
	for n := 0; n < len(entries); n += knowledge.BlockPassages {
		chunk := entries[n:min(n+knowledge.BlockPassages, len(entries))]
		head, shards := knowledge.BuildBlock(chunk)
		var vectors []byte
		for i := range chunk {
			if v := chunk[i].Vector; v != nil {
				scale, numbers := knowledge.Quantize(v)
				vectors = knowledge.AppendVector(vectors, i, scale, numbers)
			}
		}
		b := gen.InsertBlockParams{KnowledgeID: base, Part: part, Block: first + int64(n/knowledge.BlockPassages), Passages: int64(len(chunk)), FirstNumber: chunk[0].Number, LastNumber: chunk[len(chunk)-1].Number, Dimensions: int64(dimensions), Head: head}
		if err := insertBlock(tx, b, shards, vectors); err != nil {
			return err
		}
	}
	return nil
}

// insertBlock stores a block.
func insertBlock(tx *core.Tx, b gen.InsertBlockParams, shards [][]byte, vectors []byte) error {
	if err := tx.Queries.InsertBlock(tx.Ctx, b); err != nil {
		return fmt.Errorf("insert block %d of %s: %w", b.Block, b.KnowledgeID, err)
	}
	for i, data := range shards {
		if len(data) == 0 {
			continue
		}
		if err := tx.Queries.InsertWords(tx.Ctx, gen.InsertWordsParams{KnowledgeID: b.KnowledgeID, Block: b.Block, Shard: int64(i), Data: data}); err != nil {
			return fmt.Errorf("insert words of block %d of %s: %w", b.Block, b.KnowledgeID, err)
		}
	}
	return insertPieces(tx, b.KnowledgeID, b.Block, pieceVectors*knowledge.VectorSize(int(b.Dimensions)), vectors)
}

// insertPieces stores vectors in pieces of a size.
func insertPieces(tx *core.Tx, base string, block int64, size int, vectors []byte) error {
	for piece := int64(0); len(vectors) > 0; piece++ {
		n := min(size, len(vectors))
		if err := tx.Queries.InsertVectors(tx.Ctx, gen.InsertVectorsParams{KnowledgeID: base, Block: block, Piece: piece, Data: vectors[:n]}); err != nil {
			return fmt.Errorf("insert vectors of block %d of %s: %w", block, base, err)
		}
		vectors = vectors[n:]
	}
	return nil
}

// deleteBlock deletes a block, and reports whether it existed.
func deleteBlock(tx *core.Tx, base, part string, block int64) (bool, error) {
	n, err := tx.Queries.DeleteBlock(tx.Ctx, gen.DeleteBlockParams{KnowledgeID: base, Part: part, Block: block})
	if err == nil {
		err = tx.Queries.DeleteWords(tx.Ctx, gen.DeleteWordsParams{KnowledgeID: base, Block: block})
	}
	if err == nil {
		err = tx.Queries.DeleteVectors(tx.Ctx, gen.DeleteVectorsParams{KnowledgeID: base, Block: block})
	}
	if err != nil {
		return false, fmt.Errorf("delete block %d of %s: %w", block, base, err)
	}
	return n == 1, nil
}

func (x *blocks) remove(tx *core.Tx, base, part string, first, end int64) error {
	if err := tx.Queries.MarkStale(tx.Ctx, gen.MarkStaleParams{KnowledgeID: base, Part: part, FirstNumber: first, EndNumber: end}); err != nil {
		return fmt.Errorf("mark the blocks of %s: %w", base, err)
	}
	return nil
}

func (x *blocks) open(ctx context.Context, db gen.DBTX, base string, generation int64, part string, allParts bool) ([]knowledge.Block, error) {
	q := gen.New(db)
	any := int64(0)
	if allParts {
		any = 1
	}
	rows, err := q.ListBlockNumbers(ctx, gen.ListBlockNumbersParams{KnowledgeID: base, Part: part, AnyPart: any})
	if err != nil {
		return nil, fmt.Errorf("list the blocks of %s: %w", base, err)
	}
	r := &reader{index: x, ctx: ctx, db: db, q: q, base: base, generation: generation, read: map[int]map[int64][]byte{}}
	list := make([]knowledge.Block, len(rows))
	for i := range rows {
		list[i] = knowledge.Block{
			Dimensions: int(rows[i].Dimensions),
			Shard:      func(n int) ([]byte, error) { return r.shard(i, n) },
			Vectors:    func() ([]byte, error) { return r.vectors(i) },
		}
		if e := x.cache.find(cacheKey{base, rows[i].Block, headOf, 0}); e != nil {
			list[i].Head = e.head
		}
	}
	r.rows, r.blocks = rows, list
	return list, x.readHeads(ctx, q, gen.ListHeadsParams{KnowledgeID: base, Part: part, AnyPart: any}, rows, list)
}

// headsAtOnce is the number of missing heads from which all are read with one statement.
const headsAtOnce = 8

// readHeads reads the heads that are not in the cache. It returns errMoved for a block that was replaced since it was listed, which no
// transaction with one state of the database sees.
func (x *blocks) readHeads(ctx context.Context, q *gen.Queries, p gen.ListHeadsParams, rows []gen.ListBlockNumbersRow, list []knowledge.Block) error {
	missing := map[int64]int{} // index in the list by number
	p.FirstBlock, p.LastBlock = math.MaxInt64, 0
	for i := range list {
		if n := rows[i].Block; list[i].Head == nil {
			missing[n], p.FirstBlock, p.LastBlock = i, min(p.FirstBlock, n), max(p.LastBlock, n)
		}
	}
	if len(missing) < headsAtOnce {
		for n := range missing {
			p.FirstBlock, p.LastBlock = n, n
			if err := x.readRange(ctx, q, p, missing, list); err != nil {
				return err
			}
		}
	} else if err := x.readRange(ctx, q, p, missing, list); err != nil {
		return err
	}
	if len(missing) > 0 {
		return errMoved
	}
	return nil
}

// readRange reads the heads of a range of blocks, and removes from missing those that it found.
func (x *blocks) readRange(ctx context.Context, q *gen.Queries, p gen.ListHeadsParams, missing map[int64]int, list []knowledge.Block) error {
	heads, err := q.ListHeads(ctx, p)
	if err != nil {
		return fmt.Errorf("read the blocks of %s: %w", p.KnowledgeID, err)
	}
	for i := range heads {
		n := heads[i].Block
		at, wanted := missing[n]
		if !wanted {
			continue
		}
		head, err := knowledge.DecodeHead(heads[i].Head)
		if err != nil {
			return err
		}
		list[at].Head = head
		x.cache.keep(&cached{key: cacheKey{p.KnowledgeID, n, headOf, 0}, head: head})
		delete(missing, n)
	}
	return nil
}
