package bases

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
	"sluice/flow/knowledge"
)

// A rebuild gives a base the vectors of another model. They are prepared block by block, under an ID of the run, while searches use the others. One transaction
// replaces them, with the settings and the generation of the base. Blocks never change, so vectors that were prepared for one stay right; documents that are
// added and blocks that are merged meanwhile have new blocks, which are prepared before the switch.

// preparedID returns the ID in place of that of the base, for vectors that a run has prepared.
func preparedID(b *knowledge.Base, run flow.RunID) string { return b.ID + "~" + string(run) }

// prepared says in place of a piece that all vectors of a block are prepared.
const prepared = -1

// BlocksToPrepare returns the blocks of a base for which a run has not prepared vectors.
func (s *Bases) BlocksToPrepare(ctx context.Context, b *knowledge.Base, run flow.RunID) ([]int64, error) {
	return blocksToPrepare(ctx, s.DB.In(ctx), b, run)
}

func blocksToPrepare(ctx context.Context, q *gen.Queries, b *knowledge.Base, run flow.RunID) (list []int64, err error) {
	done, err := q.ListPrepared(ctx, preparedID(b, run))
	if err != nil {
		return nil, fmt.Errorf("list the prepared blocks of %s: %w", b.ID, err)
	}
	has := map[int64]bool{}
	for _, n := range done {
		has[n] = true
	}
	blocks, err := q.ListBlockNumbers(ctx, gen.ListBlockNumbersParams{KnowledgeID: b.ID, AnyPart: 1})
	if err != nil {
		return nil, fmt.Errorf("list the blocks of %s: %w", b.ID, err)
	}
	for _, r := range blocks {
		if !has[r.Block] {
			list = append(list, r.Block)
		}
	}
	return list, nil
}

// BlockTexts returns the passages of a block as they are embedded. It returns none for a block that does not exist any longer.
func (s *Bases) BlockTexts(ctx context.Context, b *knowledge.Base, block int64) ([]knowledge.BlockText, error) {
	q := s.DB.In(ctx)
	r, err := q.FindBlock(ctx, gen.FindBlockParams{KnowledgeID: b.ID, Block: block})
	if noRows(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find block %d of %s: %w", block, b.ID, err)
	}
	head, err := knowledge.DecodeHead(r.Head)
	if err != nil {
		return nil, err
	}
	at := map[int64]int{}
	for i, n := range head.Numbers {
		at[n] = i
	}
	rows, err := q.ListTexts(ctx, gen.ListTextsParams{KnowledgeID: b.ID, FirstNumber: r.FirstNumber, LastNumber: r.LastNumber})
	if err != nil {
		return nil, fmt.Errorf("read the texts of block %d of %s: %w", block, b.ID, err)
	}
	var list []knowledge.BlockText
	for i := range rows {
		if n, is := at[rows[i].Number]; is {
			headings := dbconn.DecodeList[string](rows[i].Headings)
			list = append(list, knowledge.BlockText{At: n, Number: rows[i].Number, Text: rows[i].Body, Embedded: strings.Join(append(append([]string{rows[i].Title}, headings...), rows[i].Body), "\n")})
		}
	}
	return list, nil
}

// PrepareVectors stores the next vectors of a block; texts without one have nil. hashes are those of the texts that were embedded.
func (s *Bases) PrepareVectors(ctx context.Context, b *knowledge.Base, run flow.RunID, block int64, texts []knowledge.BlockText, vectors [][]float32, hashes []string) error {
	var data []byte
	size := 0
	for i, v := range vectors {
		if v != nil {
			scale, numbers := knowledge.Quantize(v)
			data, size = knowledge.AppendVector(data, texts[i].At, scale, numbers), pieceVectors*knowledge.VectorSize(len(v))
		}
	}
	id := preparedID(b, run)
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		if err := insertPieces(tx, id, block, size, data); err != nil {
			return err
		}
		for i, hash := range hashes {
			if hash == "" {
				continue
			}
			if err := tx.Queries.SetPassageHash(tx.Ctx, gen.SetPassageHashParams{Hash: hash, KnowledgeID: b.ID, Number: texts[i].Number}); err != nil {
				return fmt.Errorf("set the hash of a passage of %s: %w", b.ID, err)
			}
		}
		if err := tx.Queries.InsertVectors(tx.Ctx, gen.InsertVectorsParams{KnowledgeID: id, Block: block, Piece: prepared, Data: []byte{}}); err != nil {
			return fmt.Errorf("note that block %d of %s is prepared: %w", block, b.ID, err)
		}
		return nil
	})
}

// errUnprepared is returned if blocks appeared for which no vectors are prepared.
var errUnprepared = errors.New("a block is not prepared")

// SwitchBase replaces the vectors of a base by those that a run has prepared, and its settings, in one transaction. It returns false if there are blocks to
// prepare first.
func (s *Bases) SwitchBase(ctx context.Context, b *knowledge.Base, run flow.RunID, to *knowledge.Settings) (done bool, err error) {
	err = s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		now, err := tx.Queries.TakeNumbers(tx.Ctx, gen.TakeNumbersParams{ID: b.ID, WorkspaceID: b.WorkspaceID}) // which locks it
		if err != nil && !noRows(err) {
			return fmt.Errorf("lock %s: %w", b.ID, err)
		}
		settings, err := switched(now.Settings, to)
		if err != nil {
			return fmt.Errorf("read the settings of %s: %w", b.ID, err)
		}
		n, err := tx.Queries.SwitchGeneration(tx.Ctx, gen.SwitchGenerationParams{Settings: settings, ChangedAt: s.DB.NowMicros(), ID: b.ID, WorkspaceID: b.WorkspaceID, Generation: b.Generation})
		if err != nil {
			return fmt.Errorf("switch %s: %w", b.ID, err)
		}
		if n == 0 {
			return flow.Errorf(flow.CodeKnowledgeNotFound, "The knowledge base %s was deleted, or another rebuild ended first.", b.Slug)
		}
		left, err := blocksToPrepare(tx.Ctx, tx.Queries, b, run)
		if err == nil && len(left) > 0 {
			err = errUnprepared
		}
		if err != nil {
			return err
		}
		id := preparedID(b, run)
		for _, do := range []func() error{
			func() error {
				return tx.Queries.DropPreparedOfNone(tx.Ctx, gen.DropPreparedOfNoneParams{PreparedID: id, KnowledgeID: b.ID})
			},
			func() error { return tx.Queries.DropVectors(tx.Ctx, b.ID) },
			func() error {
				return tx.Queries.MovePrepared(tx.Ctx, gen.MovePreparedParams{KnowledgeID: b.ID, PreparedID: id})
			},
			func() error { return dropAllPrepared(tx, b.ID) },
			func() error {
				return tx.Queries.SetDimensions(tx.Ctx, gen.SetDimensionsParams{Dimensions: int64(to.Length), KnowledgeID: b.ID})
			},
		} {
			if err := do(); err != nil {
				return fmt.Errorf("replace the vectors of %s: %w", b.ID, err)
			}
		}
		return nil
	})
	if errors.Is(err, errUnprepared) {
		return false, nil
	}
	return err == nil, err
}

// switched returns the present settings of a base with the model of others: all else may have changed during the rebuild.
func switched(present string, to *knowledge.Settings) (string, error) {
	var s knowledge.Settings
	if present == "" {
		return "", nil // the base was deleted
	}
	if err := json.Unmarshal([]byte(present), &s); err != nil {
		return "", err
	}
	s.Model, s.Credential, s.Dimensions, s.Length = to.Model, to.Credential, to.Dimensions, to.Length
	return encodeSettings(&s), nil
}

// dropAllPrepared deletes what all runs have prepared for a base. The range lets the index be used; it is wider where the collation ignores punctuation.
func dropAllPrepared(tx *core.Tx, base string) error {
	first := preparedID(&knowledge.Base{ID: base}, "")
	return tx.Queries.DropPrepared(tx.Ctx, gen.DropPreparedParams{After: base, Before: first + dbconn.LastID, Pattern: first + "%"})
}

// DropPrepared deletes the vectors that a run has prepared.
func (s *Bases) DropPrepared(ctx context.Context, b *knowledge.Base, run flow.RunID) error {
	return s.DB.Write(ctx, core.Relaxed, func(tx *core.Tx) error {
		return tx.Queries.DropVectors(tx.Ctx, preparedID(b, run))
	})
}
