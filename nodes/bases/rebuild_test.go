package bases_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"sluice/db"
	"sluice/db/dbtest"
	"sluice/flow"
	"sluice/flow/knowledge"
	"sluice/nodes/bases"
	"sluice/providers/builtin"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// env has a base of a model with 8 numbers, whose documents are single words.
type env struct {
	t    *testing.T
	s    *db.Store
	base *knowledge.Base
	bases.Deps
	embedded atomic.Int64 // texts
	before   func()       // is called before texts are embedded with the next model
}

// words are the texts of documents: each has a direction of its own, in both models.
const words = 200

// vectorOf returns the direction of a text. Models have other numbers of dimensions, and order them in another way.
func vectorOf(model, text string) []float32 {
	n := 0
	_, _ = fmt.Sscanf(text[max(0, len(text)-3):], "%d", &n) // the number at the end
	size, at := 256, n
	if model != "first" {
		size, at = 512, 511-2*n
	}
	v := make([]float32, size)
	v[at] = 1
	return v
}

func onBoth(t *testing.T, test func(t *testing.T, e *env)) {
	for name, open := range map[string]func(testing.TB, ...func(*db.Config)) *db.Store{"sqlite": dbtest.SQLite, "postgres": dbtest.Postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &env{t: t, s: open(t)}
			e.base = &knowledge.Base{WorkspaceID: flow.DefaultWorkspace, Slug: "help", Name: "help", Settings: knowledge.Settings{Model: "first"}}
			e.base.Settings.Defaults()
			if err := e.s.CreateBase(t.Context(), e.base); err != nil {
				t.Fatal(err)
			}
			e.Deps = bases.Deps{Store: e.s,
				Languages: func(context.Context, string) ([]builtin.Language, error) { return nil, nil },
				Embed: func(ctx context.Context, _ *flow.In, b *knowledge.Base, texts []string, _ *flow.Out) (list [][]float32, err error) {
					if b.Settings.Model == "next" {
						e.embedded.Add(int64(len(texts)))
						if len(texts) > 1 && e.before != nil {
							e.before()
						}
					}
					for _, text := range texts {
						list = append(list, vectorOf(b.Settings.Model, text))
					}
					return list, ctx.Err()
				}}
			test(t, e)
		})
	}
}

// put stores the document of a number, as a base with a model expects it.
func (e *env) put(n int) error {
	for {
		b, err := e.s.FindBase(e.t.Context(), flow.DefaultWorkspace, "help")
		if err != nil {
			return err
		}
		text := fmt.Sprintf("word%03d", n)
		p := &knowledge.Put{Base: b, Document: knowledge.Document{Source: text, Title: "t", Hash: fmt.Sprint(n, b.Generation)}, Passages: []knowledge.Passage{{Text: text}},
			Vectors: [][]float32{vectorOf(b.Settings.Model, text)}, Hashes: []string{flow.Hash([]byte("t\n" + text))}}
		if _, err = e.s.PutBaseDocument(e.t.Context(), p); err == nil || flow.AsError(err).Code != flow.CodeUnavailable {
			return err
		}
	}
}

// fill stores documents.
func (e *env) fill(from, to int) {
	e.t.Helper()
	for n := from; n < to; n++ {
		if err := e.put(n); err != nil {
			e.t.Fatal(err)
		}
	}
}

// find searches by meaning, and returns an error unless the only hit is the document of the number.
func (e *env) find(n int) error {
	text := fmt.Sprintf("word%03d", n)
	out, err := e.Search(context.WithoutCancel(e.t.Context()), &flow.In{WorkspaceID: flow.DefaultWorkspace, Config: map[string]any{
		"knowledge": "help", "query": text, "mode": "meaning", "top": 3.0, "per_document": 1.0, "neighbors": 0.0, "max_words": 100.0, "min_meaning": 0.5}})
	if err != nil {
		return err
	}
	hits := out.Outputs["hits"].([]any)
	if len(hits) != 1 || hits[0].(*flow.Object).Get("source") != text {
		return fmt.Errorf("%s found %s", text, flow.EncodeJSON(hits))
	}
	return nil
}

// rebuild rebuilds the base with the next model.
func (e *env) rebuild(ctx context.Context) error {
	to := e.base.Settings
	to.Model = "next"
	settings, err := flow.DecodeJSON(flow.EncodeJSON(to))
	if err != nil {
		e.t.Fatal(err)
	}
	_, err = e.Rebuild(ctx, &flow.In{WorkspaceID: flow.DefaultWorkspace, RunID: "run_1", Config: map[string]any{"knowledge": e.base.ID, knowledge.RebuildSettings: settings}})
	return err
}

// check checks the base, which must have a model and no prepared vectors.
func (e *env) check(model string) {
	e.t.Helper()
	b, err := e.s.FindBase(context.Background(), flow.DefaultWorkspace, "help")
	if err != nil {
		e.t.Fatal(err)
	}
	if b.Settings.Model != model {
		e.t.Errorf("the model is %s, want %s", b.Settings.Model, model)
	}
	if problems, err := e.s.CheckBase(context.Background(), b); err != nil || len(problems) > 0 {
		e.t.Errorf("CheckBase: %v %v", problems, err)
	}
	var left int
	if err := e.s.DB.Reader.QueryRowContext(context.Background(), "SELECT count(*) FROM knowledge_vectors WHERE knowledge_id LIKE '%~%'").Scan(&left); err != nil || left > 0 {
		e.t.Errorf("%d prepared vectors are left: %v", left, err)
	}
}

// TestRebuild_answers_all_the_time rebuilds a base beside searches, additions and merges. Every search finds exactly its document, before, during and after.
func TestRebuild_answers_all_the_time(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e *env) {
		e.fill(0, words/2)
		if err := e.s.CompactBases(t.Context()); err != nil {
			t.Fatal(err)
		}
		e.fill(words/2, 3*words/4)
		added := 3 * words / 4
		e.before = func() { // more documents while vectors are prepared
			for range 3 {
				if added < words {
					if err := e.put(added); err != nil {
						t.Error(err)
					}
					added++
				}
			}
			if err := e.s.CompactBases(context.Background()); err != nil {
				t.Error(err)
			}
		}
		over, ended := make(chan struct{}), make(chan error, 4)
		var searches atomic.Int64
		for i := range cap(ended) {
			go func() {
				for n := i; ; n++ {
					select {
					case <-over:
						ended <- nil
						return
					default:
					}
					searches.Add(1)
					if err := e.find(n % (3 * words / 4)); err != nil {
						ended <- err
						return
					}
				}
			}()
		}
		if err := e.rebuild(t.Context()); err != nil {
			t.Fatal(err)
		}
		close(over)
		for range cap(ended) {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		e.before = nil
		e.fill(added, words)
		for n := range words {
			if err := e.find(n); err != nil {
				t.Error(err)
			}
		}
		if err := e.s.CompactBases(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := e.find(7); err != nil {
			t.Error(err)
		}
		e.check("next")
		t.Logf("%d searches", searches.Load())
	})
}

// TestRebuild_keeps_the_model_when_it_is_canceled cancels a rebuild in the middle, and repeats it: no text is embedded twice.
func TestRebuild_keeps_the_model_when_it_is_canceled(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e *env) {
		e.fill(0, 90)
		if err := e.s.CompactBases(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		pages := 0
		e.before = func() {
			if pages++; pages == 2 {
				cancel()
			}
		}
		if err := e.rebuild(ctx); !errors.Is(err, context.Canceled) {
			t.Fatalf("canceled: %v", err)
		}
		e.check("first")
		for n := range 90 {
			if err := e.find(n); err != nil {
				t.Error(err)
			}
		}
		e.before = nil
		done := e.embedded.Load()
		if err := e.rebuild(t.Context()); err != nil {
			t.Fatal(err)
		}
		if again := e.embedded.Load() - done; again > 90-64 {
			t.Errorf("%d texts were embedded again", again-(90-64))
		}
		e.check("next")
		if err := e.find(42); err != nil {
			t.Error(err)
		}
		if err := e.rebuild(t.Context()); err != nil { // a step that is repeated after the switch
			t.Error(err)
		}
	})
}
