package bases_test

import (
	"encoding/json"
	"testing"

	"sluice/db"
	"sluice/db/bases"
	"sluice/db/dbtest"
	"sluice/flow/knowledge"
)

// plan is a node of what PostgreSQL says it did for a statement.
type plan struct {
	Rows    float64 `json:"Actual Rows"`
	Removed float64 `json:"Rows Removed by Filter"`
	Joined  float64 `json:"Rows Removed by Join Filter"`
	Loops   float64 `json:"Actual Loops"`
	Plans   []plan
}

// read returns how many rows a node and those below it read.
func (p *plan) read() float64 {
	n := (p.Rows + p.Removed + p.Joined) * p.Loops
	for i := range p.Plans {
		n += p.Plans[i].read()
	}
	return n
}

// TestSearch_reads_little_without_statistics fills a base whose tables were never analyzed. PostgreSQL takes them for nearly
// empty then, and reads everything again and again if a statement lets it choose.
func TestSearch_reads_little_without_statistics(t *testing.T) {
	t.Parallel()
	s := dbtest.Postgres(t)
	b := newBase(t, s, "help", knowledge.PartsOptional)
	pool := db.Pool(s)
	for _, statement := range []string{
		`INSERT INTO knowledge_documents (id, knowledge_id, workspace_id, part, source, hash, title, link, metadata, format, state, error, run_id, first_number, passages, bytes, created_at, changed_at)
SELECT 'd' || n, $1, $2, '', n, '', '', '', '', 'text', 'ready', '', '', n, 1, 1, 0, 0 FROM generate_series(1, 3000) n`,
		`INSERT INTO knowledge_passages (knowledge_id, number, document_id, body, headings, page, start_at, end_at, cells, hash)
SELECT $1, n, 'd' || n, $2, '', 0, 0, 0, '', '' FROM generate_series(1, 3000) n`,
		`INSERT INTO knowledge_words (knowledge_id, block, shard, data) SELECT $1, n / 64, n % 64, $2 FROM generate_series(1, 6400) n`,
	} {
		if _, err := pool.Exec(t.Context(), statement, b.ID, string(b.WorkspaceID)); err != nil {
			t.Fatal(err)
		}
	}
	var numbers []int64
	for n := range int64(64) {
		numbers = append(numbers, 2000+n)
	}
	for name, statement := range map[string]string{"passages": bases.FetchPostgres, "words": bases.WordsOfBlocks} {
		args := []any{b.ID, numbers}
		if name == "words" {
			args = append(args, 7)
		}
		var text string
		if err := pool.QueryRow(t.Context(), "EXPLAIN (ANALYZE, FORMAT JSON) "+statement, args...).Scan(&text); err != nil {
			t.Fatal(err)
		}
		var plans []struct{ Plan plan }
		if err := json.Unmarshal([]byte(text), &plans); err != nil {
			t.Fatal(err)
		}
		if n := plans[0].Plan.read(); n > float64(10*len(numbers)) {
			t.Errorf("%s: %.0f rows were read for %d:\n%s", name, n, len(numbers), text)
		}
	}
}
