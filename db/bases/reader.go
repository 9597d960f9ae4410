package bases

import (
	"context"
	"database/sql"
	"fmt"
	"sync"

	"sluice/db/gen"
	"sluice/flow/knowledge"
)

// reader reads words and vectors of blocks for one search. Blocks are ranked concurrently; a connection answers one statement at a time.
type reader struct {
	index      *blocks
	ctx        context.Context
	db         gen.DBTX
	q          *gen.Queries
	base       string
	generation int64
	rows       []gen.ListBlockNumbersRow
	blocks     []knowledge.Block // of the rows

	mu   sync.Mutex               // guards db and read
	read map[int]map[int64][]byte // what readShards returned, by shard and number of the block
}

// shard returns a shard of the block at an index. On PostgreSQL, where a statement takes a way over the network, those of the
// other blocks, which the search needs next, are read with it.
func (r *reader) shard(at, n int) ([]byte, error) {
	block := r.rows[at].Block
	if e := r.index.cache.find(r.key(block, n)); e != nil {
		return e.data, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if data, ok := r.read[n][block]; ok {
		return data, nil
	}
	if r.index.postgres {
		err := r.readShards(at, n)
		return r.read[n][block], err
	}
	data, err := r.q.FindWords(r.ctx, gen.FindWordsParams{KnowledgeID: r.base, Block: block, Shard: int64(n)})
	if noRows(err) {
		data, err = nil, nil // none of its words
	}
	if err != nil {
		return nil, fmt.Errorf("read words of block %d of %s: %w", block, r.base, err)
	}
	r.index.cache.keep(&cached{key: r.key(block, n), data: data})
	return data, nil
}

// key returns the key of a shard in the cache.
func (r *reader) key(block int64, shard int) cacheKey {
	return cacheKey{r.base, block, int64(shard), 0}
}

// wordsOfBlocks looks each shard up by its key, whatever the statistics of the table say.
const wordsOfBlocks = `SELECT w.block, k.data FROM unnest($2::bigint[]) AS w(block)
CROSS JOIN LATERAL (SELECT data FROM knowledge_words WHERE knowledge_id = $1 AND block = w.block AND shard = $3 LIMIT 1) k`

// readShards reads the shard of all blocks that have as many shards as the one at an index, so that the same words are in it, unless
// they are in the cache.
func (r *reader) readShards(at, n int) error {
	shards := knowledge.Shards(len(r.blocks[at].Head.Numbers))
	var wanted []int64
	found := r.read[n]
	if found == nil {
		found = map[int64][]byte{}
		r.read[n] = found
	}
	for i := range r.blocks {
		block := r.rows[i].Block
		if _, read := found[block]; !read && knowledge.Shards(len(r.blocks[i].Head.Numbers)) == shards && (i == at || r.index.cache.find(r.key(block, n)) == nil) {
			wanted = append(wanted, block)
		}
	}
	rows, err := r.db.QueryContext(r.ctx, wordsOfBlocks, r.base, wanted, n)
	if err != nil {
		return fmt.Errorf("read words of %s: %w", r.base, err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err says what went wrong
	for rows.Next() {
		var block int64
		var data []byte
		if err := rows.Scan(&block, &data); err != nil {
			return fmt.Errorf("read words of %s: %w", r.base, err)
		}
		found[block] = data
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read words of %s: %w", r.base, err)
	}
	for _, block := range wanted { // blocks without a row have none of the words
		data := found[block]
		found[block] = data
		r.index.cache.keep(&cached{key: r.key(block, n), data: data})
	}
	return nil
}

// vectors returns the vectors of the block at an index.
func (r *reader) vectors(at int) ([]byte, error) {
	block := r.rows[at].Block
	return r.index.cache.get(cacheKey{r.base, block, vectorsOf, r.generation}, func() ([]byte, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		rows, err := r.db.QueryContext(r.ctx, "SELECT data FROM knowledge_vectors WHERE knowledge_id = $1 AND block = $2 ORDER BY piece", r.base, block)
		if err != nil {
			return nil, fmt.Errorf("read vectors of block %d of %s: %w", block, r.base, err)
		}
		defer rows.Close() //nolint:errcheck // rows.Err says what went wrong
		data := make([]byte, 0, len(r.blocks[at].Head.Numbers)*knowledge.VectorSize(r.blocks[at].Dimensions))
		for rows.Next() {
			var piece sql.RawBytes // not copied twice: a large base has gigabytes of them
			if err := rows.Scan(&piece); err != nil {
				return nil, fmt.Errorf("read vectors of block %d of %s: %w", block, r.base, err)
			}
			data = append(data, piece...)
		}
		if err := rows.Err(); err != nil {
			return nil, fmt.Errorf("read vectors of block %d of %s: %w", block, r.base, err)
		}
		return data, nil
	})
}
