package bases

import (
	"context"
	"fmt"
	"time"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow/knowledge"
)

// Vectors of texts are kept, so that a text is not embedded twice: while a document is indexed, after a crash in the middle of it, and when it
// comes back with a few changes.

// embeddingLife is how long a vector is kept that no passage has.
const embeddingLife = 24 * time.Hour

// FindEmbeddings returns the vectors of texts by the hashes of the texts. Unknown ones are missing.
func (s *Bases) FindEmbeddings(ctx context.Context, m knowledge.EmbeddingModel, hashes []string) (map[string][]float32, error) {
	known := map[string][]float32{}
	for _, hash := range hashes {
		data, err := s.DB.Reads.FindEmbedding(ctx, gen.FindEmbeddingParams{WorkspaceID: m.WorkspaceID, Model: m.Model, Dimensions: int64(m.Dimensions), Hash: hash})
		if dbconn.IsNoRows(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("find an embedding: %w", err)
		}
		if known[hash], err = decodeVector(data); err != nil {
			return nil, err
		}
	}
	return known, nil
}

// SaveEmbeddings stores vectors by the hashes of their texts.
func (s *Bases) SaveEmbeddings(ctx context.Context, m knowledge.EmbeddingModel, vectors map[string][]float32) error {
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		for hash, v := range vectors {
			err := tx.Queries.SaveEmbedding(tx.Ctx, gen.SaveEmbeddingParams{WorkspaceID: m.WorkspaceID, Model: m.Model, Dimensions: int64(m.Dimensions), Hash: hash, Vector: encodeVector(v), UsedAt: s.DB.NowMicros()})
			if err != nil {
				return fmt.Errorf("save an embedding: %w", err)
			}
		}
		return nil
	})
}

// DropEmbeddings deletes vectors that no passage has, at most limit, and returns how many.
func (s *Bases) DropEmbeddings(ctx context.Context, limit int) (n int64, err error) {
	err = s.DB.Write(ctx, core.Relaxed, func(tx *core.Tx) error {
		n, err = tx.Queries.DropEmbeddings(tx.Ctx, gen.DropEmbeddingsParams{UsedBefore: dbconn.Micros(s.DB.Now().Add(-embeddingLife)), MaxRows: int32(limit)})
		return err
	})
	return n, err
}

// encodeVector encodes a vector as 8-bit numbers, like the index.
func encodeVector(v []float32) []byte {
	scale, numbers := knowledge.Quantize(v)
	return knowledge.AppendVector(nil, 0, scale, numbers)
}

func decodeVector(data []byte) (v []float32, err error) {
	err = knowledge.EachVector(data, len(data)-knowledge.VectorSize(0), func(_ int, scale float32, numbers []byte) {
		for _, n := range numbers {
			v = append(v, scale*float32(int8(n)))
		}
	})
	return v, err
}
