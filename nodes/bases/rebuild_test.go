package bases_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"sluice/db"
	"sluice/db/dbtest"
	"sluice/e2e/need"
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

// words is how many texts there are: each has a direction of its own, in both models.
const words = 200

// vectorOf returns the direction of a text, which is the number at its end. Models have other numbers of dimensions. Directions are random, so those of
// two texts are far apart: their similarity is a tenth at most.
func vectorOf(model, text string) []float32 {
	n := 0
	_, _ = fmt.Sscanf(text[max(0, len(text)-5):], "%d", &n)
	size := 256
	if model != "first" {
		size = 512
	}
	random, v := rand.New(rand.NewPCG(uint64(n), uint64(size))), make([]float32, size)
	for i := range v {
		v[i] = float32(1 / math.Sqrt(float64(size)))
		if random.IntN(2) == 0 {
			v[i] = -v[i]
		}
	}
	return v
}

// wordOf returns the text with a number.
func wordOf(n int) string { return fmt.Sprintf("word%05d", n) }

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

// put stores the document with the text of a number, as a base with a model expects it. A document with several has those of the numbers after it, too.
func (e *env) put(n, texts int) error {
	for {
		b, err := e.s.FindBase(e.t.Context(), flow.DefaultWorkspace, "help")
		if err != nil {
			return err
		}
		p := &knowledge.Put{Base: b, Document: knowledge.Document{Source: wordOf(n), Title: "t", Hash: fmt.Sprint(n, b.Generation)}}
		for i := range texts {
			text := wordOf(n + i)
			p.Passages = append(p.Passages, knowledge.Passage{Text: text})
			p.Vectors, p.Hashes = append(p.Vectors, vectorOf(b.Settings.Model, text)), append(p.Hashes, flow.Hash([]byte("t\n"+text)))
		}
		if _, err = e.s.PutBaseDocument(e.t.Context(), p); err == nil || flow.AsError(err).Code != flow.CodeUnavailable {
			return err
		}
	}
}

// fill stores documents.
func (e *env) fill(from, to int) {
	e.t.Helper()
	for n := from; n < to; n++ {
		if err := e.put(n, 1); err != nil {
			e.t.Fatal(err)
		}
	}
}

// find searches by meaning, and returns an error unless the only hit is the text of the number.
func (e *env) find(n int) error {
	text := wordOf(n)
	out, err := e.Search(context.WithoutCancel(e.t.Context()), &flow.In{WorkspaceID: flow.DefaultWorkspace, Config: map[string]any{
		"knowledge": "help", "query": text, "mode": "meaning", "top": 3.0, "per_document": 1.0, "neighbors": 0.0, "max_words": 100.0, "first_number": 1.0, "min_meaning": 0.5}})
	if err != nil {
		return err
	}
	hits := out.Outputs["hits"].([]any)
	if len(hits) != 1 || hits[0].(*flow.Object).Get("text") != text {
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
	onBoth(t, func(t *testing.T, e *env) { e.rebuildUnderLoad(t, words) })
}

// TestRebuild_of_20000_passages_answers_all_the_time is the long form.
func TestRebuild_of_20000_passages_answers_all_the_time(t *testing.T) {
	need.Slow(t)
	t.Parallel()
	onBoth(t, func(t *testing.T, e *env) { e.rebuildUnderLoad(t, 20_000) })
}

// rebuildUnderLoad rebuilds a base with about so many passages beside searches, additions and merges.
func (e *env) rebuildUnderLoad(t *testing.T, words int) {
	at := words / 200 // passages of a document
	for n := 0; n < words/2; n += at {
		if err := e.put(n, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.s.CompactBases(t.Context()); err != nil {
		t.Fatal(err)
	}
	for n := words / 2; n < 3*words/4; n += at {
		if err := e.put(n, at); err != nil {
			t.Fatal(err)
		}
	}
	added := 3 * words / 4
	e.before = func() { // more documents while vectors are prepared
		for range 3 {
			if added < words {
				if err := e.put(added, at); err != nil {
					t.Error(err)
				}
				added += at
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
	for ; added < words; added += at {
		if err := e.put(added, at); err != nil {
			t.Fatal(err)
		}
	}
	for n := 0; n < words; n += max(1, words/1000) {
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
}

// TestRebuild_leaves_nothing_if_it_was_killed_and_then_canceled: the run saves a state before it prepares anything, so that the engine cleans up
// for a process that is gone. Deleting the base does so as well.
func TestRebuild_leaves_nothing_if_it_was_killed_and_then_canceled(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e *env) {
		e.fill(0, 90)
		if err := e.s.CompactBases(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, saved := t.Context(), false
		killed := errors.New("the process is killed")
		e.before = func() {
			if !saved {
				t.Error("texts are embedded before the run has saved a state")
			}
		}
		in := &flow.In{WorkspaceID: flow.DefaultWorkspace, RunID: "run_1", Save: func(context.Context, any) error {
			saved = true
			return nil
		}}
		next := e.base.Settings
		next.Model = "next"
		settings, err := flow.DecodeJSON(flow.EncodeJSON(next))
		if err != nil {
			t.Fatal(err)
		}
		in.Config = map[string]any{"knowledge": e.base.ID, knowledge.RebuildSettings: settings}
		kill := func() {
			t.Helper()
			kind := bases.Deps{Store: &killedStore{Store: e.s, err: killed}, Embed: e.Embed, Languages: e.Languages}.RebuildKind()
			if _, err := kind.Run(ctx, in); !errors.Is(err, killed) {
				t.Fatalf("killed: %v", err)
			}
		}
		kill()
		left := func() (n int) {
			if err := e.s.DB.Reader.QueryRowContext(ctx, "SELECT count(*) FROM knowledge_vectors WHERE knowledge_id LIKE '%~%'").Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		if left() == 0 {
			t.Fatal("nothing was prepared")
		}
		if err := e.RebuildKind().Cleanup(ctx, in); err != nil {
			t.Fatal(err)
		}
		e.check("first")
		if kill(); left() == 0 {
			t.Fatal("nothing was prepared")
		}
		if err := e.s.DeleteBase(ctx, flow.DefaultWorkspace, e.base.ID); err != nil || left() > 0 {
			t.Errorf("%d prepared vectors are left of a base that was deleted: %v", left(), err)
		}
	})
}

// killedStore is the store of a process that is killed before the switch: nothing is cleaned up afterwards.
type killedStore struct {
	*db.Store
	err  error
	dead bool
}

func (s *killedStore) SwitchBase(context.Context, *knowledge.Base, flow.RunID, *knowledge.Settings) (bool, error) {
	s.dead = true
	return false, s.err
}

func (s *killedStore) DropPrepared(ctx context.Context, b *knowledge.Base, run flow.RunID) error {
	if s.dead {
		return s.err
	}
	return s.Store.DropPrepared(ctx, b, run)
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
