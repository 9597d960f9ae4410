package bases_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"

	"sluice/db"
	"sluice/db/dbtest"
	"sluice/e2e/need"
	"sluice/flow"
	"sluice/flow/knowledge"
)

// writerEnv has the configuration of a database in JSON. With it, the test program replaces documents until it is killed.
const writerEnv = "SLUICE_TEST_KNOWLEDGE_WRITER"

func TestMain(m *testing.M) {
	if config := os.Getenv(writerEnv); config != "" {
		write(config)
	}
	dbtest.Main(m)
}

// writer configures a process that replaces documents.
type writer struct {
	DataDir, DatabaseURL, MasterKey, Instance string
	Documents                                 int
}

// write replaces, adds, removes and merges documents, and prints a line after each. It does not return.
func write(config string) {
	ctx, fail := context.Background(), func(err error) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	var w writer
	if err := json.Unmarshal([]byte(config), &w); err != nil {
		fail(err)
	}
	s, err := db.Open(ctx, db.Config{DataDir: w.DataDir, DatabaseURL: w.DatabaseURL, MasterKey: w.MasterKey, Instance: w.Instance})
	if err != nil {
		fail(err)
	}
	b, err := s.FindBase(ctx, flow.DefaultWorkspace, "help")
	if err != nil {
		fail(err)
	}
	m := knowledge.EmbeddingModel{WorkspaceID: flow.DefaultWorkspace, Model: "m"}
	for n := 0; ; n++ {
		source := fmt.Sprintf("doc%d", rand.IntN(w.Documents))
		switch {
		case n%20 == 19:
			err = s.CompactBases(ctx)
		case rand.IntN(8) == 0:
			_, err = s.RemoveBaseDocuments(ctx, b, "", []string{source})
		default:
			version := fmt.Sprintf("v%dq", rand.Uint64())
			p := &knowledge.Put{Base: b, Document: knowledge.Document{Source: source, Title: source, Hash: version}}
			for i := range 1 + rand.IntN(5) {
				text := fmt.Sprintf("Passage %d of %s in version %s.", i, source, version)
				p.Passages, p.Vectors, p.Hashes = append(p.Passages, knowledge.Passage{Text: text}), append(p.Vectors, vectorOf(text)), append(p.Hashes, flow.Hash([]byte(text)))
				if err == nil {
					err = s.SaveEmbeddings(ctx, m, map[string][]float32{p.Hashes[i]: p.Vectors[i]})
				}
			}
			if err == nil {
				_, err = s.PutBaseDocument(ctx, p)
			}
		}
		if flow.IsBusy(err) { // the machine is; steps of runs repeat this
			err = nil
			continue
		}
		if err != nil {
			fail(err)
		}
		fmt.Println(source)
	}
}

// TestKill_leaves_no_document_half_visible kills processes that replace, add, remove and merge documents, three at once on PostgreSQL. After each kill, every
// source has one version, whose passages are all found, and passages, words, vectors and counts agree.
func TestKill_leaves_no_document_half_visible(t *testing.T) {
	t.Parallel()
	need.Time(t)
	killWriters(t, 10, 40)
}

// TestKill_leaves_no_document_half_visible_500 is the long form.
func TestKill_leaves_no_document_half_visible_500(t *testing.T) {
	need.Slow(t)
	t.Parallel()
	killWriters(t, 100, 500)
}

func killWriters(t *testing.T, kills, documents int) {
	for name, at := range map[string]struct {
		config  func(testing.TB, ...func(*db.Config)) db.Config
		writers int
	}{"sqlite": {dbtest.SQLiteConfig, 1}, "postgres": {dbtest.PostgresConfig, 3}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := at.config(t)
			s := reopen(t, cfg)
			newBase(t, s, "help", knowledge.PartsOptional)
			closeStore(t, s)
			for range kills {
				killSome(t, cfg, at.writers, documents)
				s := reopen(t, cfg)
				checkWhole(t, s)
				closeStore(t, s)
			}
		})
	}
}

func reopen(t *testing.T, cfg db.Config) *db.Store {
	t.Helper()
	s, err := db.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func closeStore(t *testing.T, s *db.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// killSome starts processes that write, and kills them after a random number of documents.
func killSome(t *testing.T, cfg db.Config, writers, documents int) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var all []*exec.Cmd
	defer func() {
		for _, c := range all {
			_ = c.Process.Kill()
			_ = c.Wait() // it was killed
		}
	}()
	for n := range writers {
		w := writer{cfg.DataDir, cfg.DatabaseURL, cfg.MasterKey, fmt.Sprintf("writer-%d-%d", n, rand.Uint64()), documents}
		c := exec.Command(program)
		c.Env, c.Stderr = append(os.Environ(), writerEnv+"="+string(flow.EncodeJSON(w))), os.Stderr
		out, err := c.StdoutPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
		lines := bufio.NewScanner(out)
		for range 1 + rand.IntN(60) {
			if !lines.Scan() {
				t.Fatalf("a writer ended: %v", c.Wait())
			}
		}
		go func() { // the others write until all are killed
			for lines.Scan() {
			}
		}()
	}
}

// checkWhole checks that each document is there as a whole, and that the index has it.
func checkWhole(t *testing.T, s *db.Store) {
	t.Helper()
	ctx := t.Context()
	b, err := s.FindBase(ctx, flow.DefaultWorkspace, "help")
	if err != nil {
		t.Fatal(err)
	}
	problems, err := s.CheckBase(ctx, b)
	if err != nil || len(problems) > 0 {
		t.Fatalf("CheckBase: %v %v", problems, err)
	}
	list, err := s.ListBaseDocuments(ctx, b, knowledge.DocumentFilter{AllParts: true, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	var bytes int64
	sources := map[string]bool{}
	for i := range list {
		d := &list[i]
		bytes += d.Bytes
		if sources[d.Source] || d.Passages == 0 || d.State != knowledge.Ready {
			t.Fatalf("%s is there twice, or not whole: %+v", d.Source, d)
		}
		sources[d.Source] = true
		found, err := s.SearchBase(ctx, b, &knowledge.Query{Text: d.Hash, Mode: knowledge.ModeWords, Top: 100})
		if err != nil {
			t.Fatal(err)
		}
		if len(found.Hits) != int(d.Passages) {
			t.Fatalf("%d of %d passages of %s are found", len(found.Hits), d.Passages, d.Source)
		}
		for _, h := range found.Hits {
			if h.Document.ID != d.ID {
				t.Fatalf("version %s of %s is also found in %s", d.Hash, d.Source, h.Document.Source)
			}
		}
	}
	if bytes != b.Bytes {
		t.Fatalf("the documents have %d bytes, the base counts %d", bytes, b.Bytes)
	}
}
