package bases

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
	"sluice/flow/knowledge"
)

// firstCandidates is how many passages of each list are looked at first.
const firstCandidates = 256

// fetchedAtOnce is how many passages are read with one statement.
const fetchedAtOnce = 64

// SearchBase returns the best passages for a query. It reads one state of the database: no passage that was deleted before the search
// began is returned, and of a document that is replaced meanwhile, only the old or only the new passages are.
func (s *Bases) SearchBase(ctx context.Context, b *knowledge.Base, q *knowledge.Query) (found *knowledge.Found, err error) {
	err = s.DB.RetryRead(ctx, func() error {
		tx, err := s.DB.Reader.BeginTx(ctx, &sql.TxOptions{ReadOnly: s.DB.IsPostgres(), Isolation: isolation(s.DB)})
		if err != nil {
			return err
		}
		defer tx.Rollback() //nolint:errcheck // it only read
		found, err = (&search{s: s, db: readerOf(s.DB, tx), base: b, query: q}).run(ctx)
		return err
	})
	return found, err
}

// isolation returns the level at which a transaction sees one state.
func isolation(db *core.DB) sql.IsolationLevel {
	if db.IsPostgres() {
		return sql.LevelRepeatableRead
	}
	return sql.LevelDefault
}

// readerOf returns the access to a transaction for generated statements.
func readerOf(db *core.DB, tx *sql.Tx) gen.DBTX {
	if db.IsPostgres() {
		return tx
	}
	return dbconn.SQLiteParams{DB: tx}
}

// search is a search in progress.
type search struct {
	s     *Bases
	db    gen.DBTX
	base  *knowledge.Base
	query *knowledge.Query
}

// run performs the search.
func (r *search) run(ctx context.Context) (*knowledge.Found, error) {
	q := gen.New(r.db)
	now, err := q.FindKnowledge(ctx, gen.FindKnowledgeParams{ID: r.base.ID, WorkspaceID: r.base.WorkspaceID})
	if _, err := found(now, err); err != nil {
		return nil, err
	}
	if r.query.Vector != nil && now.Generation != r.base.Generation {
		return nil, knowledge.ErrRebuilt
	}
	blocks, err := r.s.index.open(ctx, r.db, r.base.ID, now.Generation, dbconn.ValidText(r.query.Part), r.query.AllParts)
	if err != nil {
		return nil, err
	}
	allows, err := r.filter(ctx, q)
	if err != nil {
		return nil, err
	}
	if r.query.Document != "" {
		if allows, err = r.onlyDocument(ctx, q, allows); err != nil {
			return nil, err
		}
	}
	out := &knowledge.Found{}
	for i := range blocks {
		out.Searched += len(blocks[i].Head.Numbers)
	}
	request := knowledge.Request{Allows: allows, Limit: max(firstCandidates, 4*r.query.Top)}
	if r.query.Mode != knowledge.ModeMeaning {
		request.Words = knowledge.QueryWords(r.query.Text)
	}
	if r.query.Mode != knowledge.ModeWords {
		request.Vector = r.query.Vector
	}
	weights := r.base.Weights()
	if r.query.Minimum != nil {
		weights.Minimum = *r.query.Minimum
	}
	for {
		ranking, err := knowledge.Rank(blocks, request)
		if err != nil {
			return nil, err
		}
		if out.Hits, err = r.pick(ctx, ranking.Fuse(weights)); err != nil {
			return nil, err
		}
		if len(out.Hits) >= r.query.Top || ranking.Complete {
			break
		}
		request.Limit *= 8
	}
	return out, r.addNeighbors(ctx, q, out.Hits)
}

// pick returns the best passages that exist, have the quoted phrases, and are not too many of a document.
func (r *search) pick(ctx context.Context, ranked []knowledge.Ranked) ([]knowledge.Hit, error) {
	phrases, taken := knowledge.Phrases(r.query.Text), map[string]int{}
	hits := []knowledge.Hit{}
	for len(ranked) > 0 && len(hits) < r.query.Top {
		page := ranked[:min(fetchedAtOnce, len(ranked))]
		ranked = ranked[len(page):]
		read, err := r.fetch(ctx, page)
		if err != nil {
			return nil, err
		}
		for i := range page {
			h, exists := read[page[i].Number]
			if !exists || r.query.PerDoc > 0 && taken[h.Document.ID] == r.query.PerDoc || !hasPhrases(h, phrases) {
				continue
			}
			taken[h.Document.ID]++
			h.Ranked = page[i]
			if hits = append(hits, *h); len(hits) == r.query.Top {
				break
			}
		}
	}
	return hits, nil
}

// hasPhrases reports whether a passage has all phrases, in its text or above it.
func hasPhrases(h *knowledge.Hit, phrases []string) bool {
	for _, p := range phrases {
		if !knowledge.HasPhrase(h.Text, p) && !knowledge.HasPhrase(h.Document.Title+"\n"+strings.Join(h.Headings, "\n"), p) {
			return false
		}
	}
	return true
}

// Statements of fetch. On PostgreSQL each passage and its document are looked up by their keys whatever the statistics of the tables say:
// those of a base that was just filled say that it is empty, and joins that begin with all documents took seconds.
const (
	fetchColumns = `p.number, p.body, p.headings, p.page, p.start_at, p.end_at, p.cells, d.id, d.knowledge_id, d.workspace_id, d.part, d.source, d.title, d.link, d.metadata, d.format,
d.state, d.run_id, d.first_number, d.passages, d.changed_at`
	fetchSQLite = "SELECT " + fetchColumns + ` FROM json_each($2) AS w CROSS JOIN knowledge_passages p ON p.knowledge_id = $1 AND p.number = w.value
CROSS JOIN knowledge_documents d ON d.id = p.document_id`
	fetchPostgres = "SELECT " + fetchColumns + ` FROM unnest($2::bigint[]) AS w(number)
CROSS JOIN LATERAL (SELECT * FROM knowledge_passages p WHERE p.knowledge_id = $1 AND p.number = w.number LIMIT 1) p
CROSS JOIN LATERAL (SELECT * FROM knowledge_documents d WHERE d.id = p.document_id LIMIT 1) d`
)

// fetch reads passages with their documents, by number. Those that are gone are missing. The part is checked again here, whatever
// the index says.
func (r *search) fetch(ctx context.Context, page []knowledge.Ranked) (map[int64]*knowledge.Hit, error) {
	numbers := make([]int64, len(page))
	for i := range page {
		numbers[i] = page[i].Number
	}
	statement, list := fetchPostgres, any(numbers)
	if !r.s.DB.IsPostgres() {
		statement, list = fetchSQLite, string(flow.EncodeJSON(numbers))
	}
	part := dbconn.ValidText(r.query.Part)
	rows, err := r.db.QueryContext(ctx, statement, r.base.ID, list)
	if err != nil {
		return nil, fmt.Errorf("read passages of %s: %w", r.base.ID, err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err says what went wrong
	read := map[int64]*knowledge.Hit{}
	for rows.Next() {
		var p gen.KnowledgePassage
		var d gen.KnowledgeDocument
		err := rows.Scan(&p.Number, &p.Body, &p.Headings, &p.Page, &p.StartAt, &p.EndAt, &p.Cells, &d.ID, &d.KnowledgeID, &d.WorkspaceID, &d.Part, &d.Source, &d.Title, &d.Link, &d.Metadata, &d.Format,
			&d.State, &d.RunID, &d.FirstNumber, &d.Passages, &d.ChangedAt)
		if err != nil {
			return nil, fmt.Errorf("read a passage of %s: %w", r.base.ID, err)
		}
		if d.KnowledgeID != r.base.ID || d.WorkspaceID != r.base.WorkspaceID || !r.query.AllParts && d.Part != part {
			continue
		}
		read[p.Number] = &knowledge.Hit{Document: documentOf(d), Passage: passageOf(p)}
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read passages of %s: %w", r.base.ID, err)
	}
	return read, nil
}

// addNeighbors adds the passages before and after each hit, of the same document.
func (r *search) addNeighbors(ctx context.Context, q *gen.Queries, hits []knowledge.Hit) error {
	around := int64(r.query.Around)
	for i := range hits {
		if around == 0 {
			return nil
		}
		h := &hits[i]
		first, end := max(h.Ranked.Number-around, h.Document.First), min(h.Ranked.Number+around+1, h.Document.First+h.Document.Passages)
		rows, err := q.ListPassages(ctx, gen.ListPassagesParams{KnowledgeID: r.base.ID, FirstNumber: first, EndNumber: end, MaxRows: int32(end - first)})
		if err != nil {
			return fmt.Errorf("read neighbors of passage %d of %s: %w", h.Ranked.Number, r.base.ID, err)
		}
		for _, row := range rows {
			switch p := passageOf(row); {
			case p.Number < h.Ranked.Number:
				h.Before = append(h.Before, p)
			case p.Number > h.Ranked.Number:
				h.After = append(h.After, p)
			}
		}
	}
	return nil
}

// onlyDocument narrows a filter to the passages of one document.
func (r *search) onlyDocument(ctx context.Context, q *gen.Queries, allows func(int64) bool) (func(int64) bool, error) {
	d, err := q.FindKnowledgeDocumentByID(ctx, gen.FindKnowledgeDocumentByIDParams{ID: r.query.Document, KnowledgeID: r.base.ID, WorkspaceID: r.base.WorkspaceID})
	if err != nil {
		return nil, dbconn.NotFoundErr(err, "document")
	}
	return func(number int64) bool {
		return number >= d.FirstNumber && number < d.FirstNumber+d.Passages && (allows == nil || allows(number))
	}, nil
}

// maxFilters is how many filters keep their decisions.
const maxFilters = 16

// decisions are what a filter decided about documents, by the number of their first passage: a new version of a document has another.
type decisions struct {
	mu   sync.Mutex
	kept map[int64]bool
}

// maxDecisions bounds the decisions of a filter that are kept.
const maxDecisions = 2 * knowledge.MaxDocuments

// filters keeps the decisions of the filters used last.
type filters struct {
	mu    sync.Mutex
	order []string
	byKey map[string]*decisions
}

// of returns the decisions of a filter.
func (f *filters) of(key string) *decisions {
	f.mu.Lock()
	defer f.mu.Unlock()
	if d := f.byKey[key]; d != nil {
		return d
	}
	if f.byKey == nil {
		f.byKey = map[string]*decisions{}
	}
	if len(f.order) == maxFilters {
		delete(f.byKey, f.order[0])
		f.order = f.order[1:]
	}
	d := &decisions{kept: map[int64]bool{}}
	f.byKey[key] = d
	f.order = append(f.order, key)
	return d
}

// filter returns what decides whether a passage takes part, or nil without a filter. It decides about each document once.
func (r *search) filter(ctx context.Context, q *gen.Queries) (func(int64) bool, error) {
	if r.query.Where == nil {
		return nil, nil
	}
	rows, err := q.ListFilterFacts(ctx, gen.ListFilterFactsParams{KnowledgeID: r.base.ID, Part: dbconn.ValidText(r.query.Part), AnyPart: dbconn.BoolInt(r.query.AllParts)})
	if err != nil {
		return nil, fmt.Errorf("read the metadata of %s: %w", r.base.ID, err)
	}
	known := r.s.filters.of(r.base.ID + " " + r.query.WhereKey)
	type span struct{ first, end int64 }
	var allowed []span
	known.mu.Lock()
	defer known.mu.Unlock()
	for i := range rows {
		row := &rows[i]
		accepted, decided := known.kept[row.FirstNumber]
		if !decided {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if accepted, err = r.query.Where(row.Source, metadataOf(row.Metadata)); err != nil {
				return nil, err
			}
			if len(known.kept) == maxDecisions {
				clear(known.kept)
			}
			known.kept[row.FirstNumber] = accepted
		}
		if accepted {
			allowed = append(allowed, span{row.FirstNumber, row.FirstNumber + row.Passages})
		}
	}
	slices.SortFunc(allowed, func(a, b span) int { return cmp.Compare(a.first, b.first) })
	return func(number int64) bool {
		low, high := 0, len(allowed)
		for low < high {
			if at := (low + high) / 2; allowed[at].end <= number {
				low = at + 1
			} else {
				high = at
			}
		}
		return low < len(allowed) && allowed[low].first <= number
	}, nil
}

// metadataOf decodes metadata; documents without any have an empty object.
func metadataOf(column string) *flow.Object {
	if o := objectOf(column); o != nil {
		return o
	}
	return &flow.Object{}
}

// objectOf decodes an object; nil if the column has none.
func objectOf(column string) *flow.Object {
	o, _ := dbconn.Decode[*flow.Object](column) // what is stored was encoded here
	return o
}

func noRows(err error) bool { return dbconn.IsNoRows(err) }
