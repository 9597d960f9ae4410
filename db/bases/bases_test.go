package bases_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"sluice/db"
	"sluice/db/dbtest"
	"sluice/e2e/need"
	"sluice/flow"
	"sluice/flow/knowledge"
)

// onBoth runs a test on both databases.
func onBoth(t *testing.T, test func(t *testing.T, e *env)) {
	for name, open := range map[string]func(testing.TB, ...func(*db.Config)) *db.Store{"sqlite": dbtest.SQLite, "postgres": dbtest.Postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			test(t, &env{t, s, newBase(t, s, "help", knowledge.PartsOptional)})
		})
	}
}

type env struct {
	t    *testing.T
	s    *db.Store
	base *knowledge.Base
}

func newBase(t *testing.T, s *db.Store, slug, parts string) *knowledge.Base {
	t.Helper()
	b := &knowledge.Base{WorkspaceID: flow.DefaultWorkspace, Slug: slug, Name: slug, Settings: knowledge.Settings{Parts: parts}}
	b.Settings.Defaults()
	if err := s.CreateBase(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	return b
}

// put stores a document with one passage for each text.
func (e *env) put(part, source string, texts ...string) (string, *knowledge.Document) {
	e.t.Helper()
	p := &knowledge.Put{Base: e.base, Document: knowledge.Document{Part: part, Source: source, Title: source, Hash: flow.Hash([]byte(strings.Join(texts, "\n")))}}
	for _, text := range texts {
		p.Passages = append(p.Passages, knowledge.Passage{Text: text})
		p.Vectors = append(p.Vectors, vectorOf(text))
	}
	state, err := e.s.PutBaseDocument(e.t.Context(), p)
	if err != nil {
		e.t.Fatal(err)
	}
	return state, &p.Document
}

// vectorOf returns a vector of 8 numbers that depends on the first letters.
func vectorOf(text string) []float32 {
	v := make([]float32, 8)
	for i := range min(3, len(text)) {
		v[int(text[i])%8] += 0.5
	}
	return v
}

// find returns the sources of the hits of a search.
func (e *env) find(q knowledge.Query) (sources []string) {
	e.t.Helper()
	if q.Top == 0 {
		q.Top = 10
	}
	found, err := e.s.SearchBase(e.t.Context(), e.base, &q)
	if err != nil {
		e.t.Fatal(err)
	}
	for _, h := range found.Hits {
		sources = append(sources, h.Document.Source)
	}
	return sources
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestPutBaseDocument_replaces_the_document_with_the_same_source(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e *env) {
		state, first := e.put("", "a.md", "Refunds take five days.", "Parcels are insured.")
		equal(t, "state", state, knowledge.Added)
		state, _ = e.put("", "a.md", "Refunds take five days.", "Parcels are insured.")
		equal(t, "state of equal content", state, knowledge.Unchanged)
		e.put("", "b.md", "Gift cards never expire.")
		state, second := e.put("", "a.md", "Refunds take ten days.")
		equal(t, "state of other content", state, knowledge.Replaced)
		equal(t, "ID", second.ID, first.ID)
		equal(t, "hits", e.find(knowledge.Query{Text: "refund"}), []string{"a.md"})
		equal(t, "hits of what is gone", len(e.find(knowledge.Query{Text: "parcel insured", Mode: knowledge.ModeWords})), 0)
		b, err := e.s.FindBase(t.Context(), flow.DefaultWorkspace, "help")
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "documents and passages", []int64{b.Documents, b.Passages}, []int64{2, 2})
	})
}

func TestSearchBase_returns_no_passage_of_another_part(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e *env) {
		e.put("acme", "a.md", "The contract of acme ends in May.")
		e.put("zeta", "a.md", "The contract of zeta ends in June.")
		e.put("", "c.md", "Every contract ends.")
		equal(t, "part", e.find(knowledge.Query{Text: "contract", Part: "acme"}), []string{"a.md"})
		equal(t, "no part", e.find(knowledge.Query{Text: "contract zeta acme"}), []string{"c.md"})
		equal(t, "all parts", len(e.find(knowledge.Query{Text: "contract", AllParts: true})), 3)
		equal(t, "unknown part", len(e.find(knowledge.Query{Text: "contract", Part: "other", Vector: vectorOf("The")})), 0)
	})
}

func TestSearchBase_fills_top_after_a_filter(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e *env) {
		for i := range 40 {
			p := &knowledge.Put{Base: e.base, Document: knowledge.Document{Source: fmt.Sprint(i), Hash: fmt.Sprint(i), Metadata: &flow.Object{}}, Passages: []knowledge.Passage{{Text: "refund refund refund"}}}
			if i%10 == 0 {
				p.Passages[0].Text = "a long text that mentions the refund only once, among many other words"
			}
			p.Document.Metadata.Set("even", i%10 == 0)
			if _, err := e.s.PutBaseDocument(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		}
		decided := 0
		where := func(_ string, m *flow.Object) (bool, error) { decided++; return m.Get("even") == true, nil }
		for range 2 {
			equal(t, "hits", len(e.find(knowledge.Query{Text: "refund", Top: 4, Where: where, WhereKey: "even"})), 4)
		}
		equal(t, "decisions", decided, 40)
	})
}

func TestCompactBases_merges_blocks_and_frees_deleted_passages(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e *env) {
		for i := range 30 {
			e.put("", fmt.Sprintf("%02d", i), fmt.Sprintf("Number %d of the series.", i), fmt.Sprintf("unique%d words", i))
		}
		if _, err := e.s.RemoveBaseDocuments(t.Context(), e.base, "", []string{"03", "04", "none"}); err != nil {
			t.Fatal(err)
		}
		before := e.find(knowledge.Query{Text: "series", Vector: vectorOf("Number"), Top: 50})
		if err := e.s.CompactBases(t.Context()); err != nil {
			t.Fatal(err)
		}
		equal(t, "hits after compacting", e.find(knowledge.Query{Text: "series", Vector: vectorOf("Number"), Top: 50}), before)
		equal(t, "a document in the merged block", e.find(knowledge.Query{Text: "unique17", Mode: knowledge.ModeWords}), []string{"17"})
		equal(t, "a removed document", len(e.find(knowledge.Query{Text: "unique3", Mode: knowledge.ModeWords})), 0)
		if blocks := e.count("knowledge_blocks"); blocks != 1 {
			t.Errorf("%d blocks after compacting, want 1", blocks)
		}
		problems, err := e.s.CheckBase(t.Context(), e.base)
		if err != nil || len(problems) > 0 {
			t.Errorf("CheckBase: %v %v", problems, err)
		}
	})
}

// count returns the number of rows of a table.
func (e *env) count(table string) (n int) {
	e.t.Helper()
	if err := e.s.DB.Reader.QueryRowContext(context.Background(), "SELECT count(*) FROM "+table).Scan(&n); err != nil {
		e.t.Fatal(err)
	}
	return n
}

func TestDeleteBase_leaves_nothing(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e *env) {
		before, err := e.s.FindStorage(t.Context(), flow.DefaultWorkspace)
		if err != nil {
			t.Fatal(err)
		}
		e.put("", "a", "some text")
		if err := e.s.DeleteBase(t.Context(), flow.DefaultWorkspace, e.base.ID); err != nil {
			t.Fatal(err)
		}
		for _, table := range []string{"knowledge", "knowledge_documents", "knowledge_passages", "knowledge_blocks", "knowledge_words", "knowledge_vectors"} {
			equal(t, table, e.count(table), 0)
		}
		after, err := e.s.FindStorage(t.Context(), flow.DefaultWorkspace)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "bytes", after.Used.Bytes, before.Used.Bytes-flow.StorageItem)
	})
}

// TestRemoveBaseDocuments_forgets_vectors_of_texts checks that vectors of texts that no passage has any longer are gone at once.
func TestRemoveBaseDocuments_forgets_vectors_of_texts(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e *env) {
		m := knowledge.EmbeddingModel{WorkspaceID: flow.DefaultWorkspace, Model: "m"}
		put := func(source string, hashes ...string) {
			p := &knowledge.Put{Base: e.base, Document: knowledge.Document{Source: source, Hash: source + fmt.Sprint(hashes)}, Hashes: hashes}
			for _, h := range hashes {
				p.Passages = append(p.Passages, knowledge.Passage{Text: h})
				if err := e.s.SaveEmbeddings(t.Context(), m, map[string][]float32{h: {1, 0}}); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := e.s.PutBaseDocument(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		}
		put("a", "one", "two")
		put("b", "two", "three")
		put("a", "one", "four") // two is still that of b
		known := func() string {
			found, err := e.s.FindEmbeddings(t.Context(), m, []string{"one", "two", "three", "four"})
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprint(len(found["one"]), len(found["two"]), len(found["three"]), len(found["four"]))
		}
		equal(t, "after a replacement", known(), "2 2 2 2")
		if _, err := e.s.RemoveBaseDocuments(t.Context(), e.base, "", []string{"b"}); err != nil {
			t.Fatal(err)
		}
		equal(t, "after a removal", known(), "2 0 0 2")
	})
}

func TestPutBaseDocument_refuses_vectors_of_another_length(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e *env) {
		e.put("", "a", "text")
		_, err := e.s.PutBaseDocument(t.Context(), &knowledge.Put{Base: e.base, Document: knowledge.Document{Source: "b", Hash: "x"}, Passages: []knowledge.Passage{{Text: "t"}}, Vectors: [][]float32{{1, 0}}})
		if flow.AsError(err).Code != flow.CodeEmbeddingChanged {
			t.Errorf("got %v", err)
		}
	})
}

func TestSearchBase_requires_quoted_phrases_and_adds_neighbors(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e *env) {
		e.put("", "a", "before", "the red car", "after")
		e.put("", "b", "the car is red")
		found, err := e.s.SearchBase(t.Context(), e.base, &knowledge.Query{Text: `"red car"`, Top: 5, Around: 1})
		if err != nil {
			t.Fatal(err)
		}
		if len(found.Hits) != 1 || found.Hits[0].Before[0].Text != "before" || found.Hits[0].After[0].Text != "after" {
			t.Errorf("got %+v", found.Hits)
		}
	})
}

func TestRemoveBaseDocuments_holds_for_searches_that_begin_after_it(t *testing.T) {
	t.Parallel()
	removeBesideSearches(t, 60)
}

// TestRemoveBaseDocuments_holds_for_10000_searches is the long form.
func TestRemoveBaseDocuments_holds_for_10000_searches(t *testing.T) {
	need.Slow(t)
	t.Parallel()
	removeBesideSearches(t, 10_000)
}

// removeBesideSearches removes documents one after the other, and searches after each removal for what was removed, beside the removals that follow it.
func removeBesideSearches(t *testing.T, documents int) {
	onBoth(t, func(t *testing.T, e *env) {
		const searchers = 8
		for i := range documents {
			e.put("", fmt.Sprint(i), "the same text for all of them")
			if i%100 == 99 {
				if err := e.s.CompactBases(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		removed := make(chan string, documents)
		errs := make(chan error, searchers)
		for range searchers {
			go func() {
				for source := range removed {
					found, err := e.s.SearchBase(context.Background(), e.base, &knowledge.Query{Text: "same text", Top: 100})
					if err == nil && slices.ContainsFunc(found.Hits, func(h knowledge.Hit) bool { return h.Document.Source == source }) {
						err = fmt.Errorf("%s was found after its removal", source)
					}
					if err != nil {
						errs <- err
						return
					}
				}
				errs <- nil
			}()
		}
		for i := range documents {
			if _, err := e.s.RemoveBaseDocuments(t.Context(), e.base, "", []string{fmt.Sprint(i)}); err != nil {
				t.Fatal(err)
			}
			removed <- fmt.Sprint(i)
			if i%10 == 9 {
				if err := e.s.CompactBases(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		close(removed)
		for range searchers {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
	})
}

// TestSearch_reads_words_in_few_statements searches an index of many blocks that is not in memory. Each statement
// takes a way over the network.
func TestSearch_reads_words_in_few_statements(t *testing.T) {
	t.Parallel()
	server := dbtest.NewServer(t, dbtest.ServerConfig{})
	cfg := server.Config("words")
	open := func() *db.Store {
		s, err := db.Open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	s := open()
	e := &env{t, s, newBase(t, s, "help", knowledge.PartsOptional)}
	const blocks = 40 // each document has one
	for n := range blocks {
		e.put("", fmt.Sprint("d", n), fmt.Sprint("returns refunds shipping customs insurance number", n))
	}
	proxy := dbtest.NewProxy(t, "unix", server.Socket())
	cfg.DatabaseURL = proxy.URL("words")
	e.s = open()
	var mu sync.Mutex
	var words []string
	proxy.LoseAnswers(func(sql string) bool {
		mu.Lock()
		defer mu.Unlock()
		if strings.Contains(sql, "knowledge_words") {
			words = append(words, sql)
		}
		return false
	})
	query := knowledge.Query{Text: "returns refunds shipping customs insurance", Mode: knowledge.ModeWords, Top: blocks, PerDoc: 1}
	if found := e.find(query); len(found) != blocks {
		t.Errorf("%d of %d documents were found", len(found), blocks)
	}
	if first := len(words); first == 0 || first > 5 {
		t.Errorf("5 words of %d blocks took %d statements", blocks, first)
	}
	e.find(query)
	if len(words) > 5 {
		t.Error("words that are in memory were read again")
	}
}
