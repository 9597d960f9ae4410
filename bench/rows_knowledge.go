package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"sluice/db"
	"sluice/db/dbtest/pgserver"
	"sluice/flow"
	"sluice/flow/knowledge"
)

const (
	knowledgePassages   = 100_000
	knowledgeDimensions = 512
	knowledgePerDoc     = 100 // passages of a document
	knowledgeWords      = 150 // of a passage
	knowledgeVocabulary = 50_000
	knowledgeSearches   = 200
	warmLimit           = 50 * time.Millisecond // p95
	coldLimit           = 300 * time.Millisecond
)

// knowledgeRow measures searches by words and meaning of a base in this process, without the time that embedding a query takes: warm, and each with a new store,
// which has nothing in memory. With -keep, the base is added only once.
func (b *benchmark) knowledgeRow() {
	for _, on := range b.on {
		if on.instances > 1 {
			continue
		}
		func() {
			cfg, end := knowledgeConfig(b, on)
			defer end()
			b.measureKnowledge(on, cfg)
		}()
	}
}

// knowledgeConfig returns where the base is: in a new directory or database, or in that of -keep. Call end when it is no longer used.
func knowledgeConfig(b *benchmark, on platform) (cfg db.Config, end func()) {
	cfg, end = db.Config{DataDir: must(os.MkdirTemp(b.dir, "knowledge"))}, func() {}
	if on.postgres {
		cfg.MasterKey = masterKey
	}
	switch {
	case b.keep == "":
		if on.postgres {
			cfg.DatabaseURL = b.database()
		}
		return cfg, end
	case !on.postgres:
		cfg.DataDir = filepath.Join(b.keep, on.name)
		return cfg, end
	}
	dir := filepath.Join(b.keep, on.name)
	check(os.MkdirAll(dir, 0o755))
	s := must(pgserver.StartAt(filepath.Join(dir, "data"), "max_connections=300"))
	cfg.DatabaseURL = s.URL("postgres")
	return cfg, s.Remove
}

func (b *benchmark) measureKnowledge(on platform, cfg db.Config) {
	ctx := context.Background()
	s := must(db.Open(ctx, cfg))
	texts := newProse(knowledgeVocabulary)
	what := fmt.Sprintf("%d passages × %d, %s: ", knowledgePassages, knowledgeDimensions, on.title())
	base, err := s.FindBase(ctx, flow.DefaultWorkspace, "bench")
	if errors.Is(err, &flow.Error{Code: flow.CodeKnowledgeNotFound}) {
		base = &knowledge.Base{WorkspaceID: flow.DefaultWorkspace, Slug: "bench", Name: "bench"}
		base.Settings.Defaults()
		err = s.CreateBase(ctx, base)
	}
	check(err)
	if missing := knowledgePassages - int(base.Passages); missing > 0 {
		addPassages(b, s, cfg, base, missing, texts, what)
	}
	search := func(s *db.Store) time.Duration {
		q := &knowledge.Query{Text: texts.words(6), Mode: knowledge.ModeBoth, Vector: texts.vector(), Top: 5, PerDoc: 3}
		begin := time.Now()
		found := must(s.SearchBase(ctx, base, q))
		took := time.Since(begin)
		if len(found.Hits) != q.Top || found.Searched < knowledgePassages {
			b.errors++
		}
		return took
	}
	idle := heap()
	for range knowledgeSearches / 4 {
		search(s)
	}
	var warm, cold []time.Duration
	for range knowledgeSearches {
		warm = append(warm, search(s))
	}
	grown := heap() - idle
	busy := searchWhileAdding(b, s, base, search)
	check(s.Close())
	for range 10 {
		s := must(db.Open(ctx, cfg))
		cold = append(cold, search(s))
		check(s.Close())
	}
	replaceDocuments(b, cfg, base, texts, what)
	b.add(what+"search, warm", fmt.Sprintf("p50 %s, p95 %s; %.0f MiB above idle", ms(percentile(warm, 0.5)), ms(percentile(warm, 0.95)), grown), fmt.Sprintf("p95 ≤ %s; ≤ 128 MiB", ms(warmLimit)), "")
	b.add(what+fmt.Sprintf("search, while %d passages are added", knowledgeAdded), fmt.Sprintf("p50 %s, p95 %s", ms(percentile(busy, 0.5)), ms(percentile(busy, 0.95))), "p95 ≤ 2 × that of warm", "")
	b.add(what+"search, cold", fmt.Sprintf("p50 %s, p95 %s", ms(percentile(cold, 0.5)), ms(percentile(cold, 0.95))), "p95 ≤ "+ms(coldLimit), "")
}

// knowledgeAdded is how many passages are added beside searches.
const knowledgeAdded = 10_000

// searchWhileAdding measures searches while documents are added, which it removes again.
func searchWhileAdding(b *benchmark, s *db.Store, base *knowledge.Base, search func(*db.Store) time.Duration) (times []time.Duration) {
	ctx := context.Background()
	var sources []string
	for n := range knowledgeAdded / knowledgePerDoc {
		sources = append(sources, fmt.Sprint("added-", n))
	}
	texts := newProse(knowledgeVocabulary) // that of the searches is not for two goroutines
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, source := range sources {
			putPassages(s, base, source, texts)
		}
	}()
	for added := false; !added; {
		times = append(times, search(s))
		select {
		case <-done:
			added = true
		default:
		}
	}
	must(s.RemoveBaseDocuments(ctx, base, "", sources))
	check(s.CompactBases(ctx))
	return times
}

// replaceDocuments removes and adds again as many documents as the base has, and compares the disk before and after. PostgreSQL cleans up
// after each fifth of the base, as autovacuum does with its default settings.
func replaceDocuments(b *benchmark, cfg db.Config, base *knowledge.Base, texts *prose, what string) {
	ctx := context.Background()
	before, documents := settledDisk(cfg), knowledgePassages/knowledgePerDoc
	s := must(db.Open(ctx, cfg))
	for n := range documents {
		source := fmt.Sprint(n)
		must(s.RemoveBaseDocuments(ctx, base, "", []string{source}))
		putPassages(s, base, source, texts)
		if n%50 == 49 {
			check(s.CompactBases(ctx))
		}
		if n%(documents/5) == documents/5-1 {
			vacuum(s, cfg)
		}
	}
	check(s.CompactBases(ctx))
	check(s.Close())
	b.add(what+fmt.Sprintf("disk, after %d documents were removed and added again", documents), fmt.Sprintf("%.2f × that before", float64(settledDisk(cfg))/float64(before)), "≤ 1.3 ×", "")
}

// settledDisk returns the bytes of a database that no process has open.
func settledDisk(cfg db.Config) int64 {
	if cfg.DatabaseURL == "" {
		return diskOf(nil, cfg)
	}
	s := must(db.Open(context.Background(), cfg))
	vacuum(s, cfg)
	bytes := diskOf(s, cfg)
	check(s.Close())
	return bytes
}

// vacuum makes the space of deleted rows of PostgreSQL usable.
func vacuum(s *db.Store, cfg db.Config) {
	if cfg.DatabaseURL != "" {
		must(db.Pool(s).Exec(context.Background(), "VACUUM ANALYZE"))
	}
}

// putPassages adds a document, and returns the bytes of its text.
func putPassages(s *db.Store, base *knowledge.Base, source string, texts *prose) (bytes int) {
	p := &knowledge.Put{Base: base, Document: knowledge.Document{Source: source, Title: texts.words(4), Hash: source}}
	for range knowledgePerDoc {
		text := texts.words(knowledgeWords)
		bytes += len(text)
		p.Passages, p.Vectors = append(p.Passages, knowledge.Passage{Text: text}), append(p.Vectors, texts.vector())
	}
	must(s.PutBaseDocument(context.Background(), p))
	return bytes
}

// addPassages adds passages that the base lacks, all or what is left since an earlier row was interrupted, and measures how fast that is.
func addPassages(b *benchmark, s *db.Store, cfg db.Config, base *knowledge.Base, missing int, texts *prose, what string) {
	ctx := context.Background()
	start, bytes, present := time.Now(), 0, int(base.Passages)/knowledgePerDoc
	for n := range missing / knowledgePerDoc {
		bytes += putPassages(s, base, fmt.Sprint(present+n), texts)
		if n%50 == 49 {
			check(s.CompactBases(ctx))
		}
	}
	check(s.CompactBases(ctx))
	b.add(what+"added", fmt.Sprintf("%.0f passages/s; %.0f MiB of text", float64(missing)/time.Since(start).Seconds(), float64(bytes)/(1<<20)), "", "")
	if present == 0 {
		b.add(what+"disk", fmt.Sprintf("%.1f × the text", float64(diskOf(s, cfg))/float64(bytes)), "≤ 4 ×", "")
	}
}

// diskOf returns the bytes of a database, right after it was written.
func diskOf(s *db.Store, cfg db.Config) (bytes int64) {
	if cfg.DatabaseURL != "" {
		check(db.Pool(s).QueryRow(context.Background(), "SELECT pg_database_size(current_database())").Scan(&bytes))
		return bytes
	}
	for _, f := range must(os.ReadDir(cfg.DataDir)) {
		if info := must(f.Info()); info.Mode().IsRegular() {
			bytes += info.Size()
		}
	}
	return bytes
}

// percentile returns the time within which a share of calls completed.
func percentile(times []time.Duration, share float64) time.Duration {
	slices.Sort(times)
	return (&load{times: times}).percentile(share)
}

// heap returns the memory in use after a collection, in MiB.
func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapInuse) / (1 << 20)
}

// prose makes texts whose words are as frequent as in a language: that of rank n, 1/n times as frequent as the first.
type prose struct {
	rng   *rand.Rand
	zipf  *rand.Zipf
	known []string
}

func newProse(vocabulary int) *prose {
	rng := rand.New(rand.NewPCG(1, 2))
	p := &prose{rng: rng, zipf: rand.NewZipf(rng, 1.1, 8, uint64(vocabulary-1))}
	for range vocabulary {
		w := make([]byte, 3+rng.IntN(8))
		for i := range w {
			w[i] = byte('a' + rng.IntN(26))
		}
		p.known = append(p.known, string(w))
	}
	return p
}

func (p *prose) words(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = p.known[p.zipf.Uint64()]
	}
	return strings.Join(list, " ")
}

// vector returns a direction, whose length is 1.
func (p *prose) vector() []float32 {
	v := make([]float64, knowledgeDimensions)
	for i := range v {
		v[i] = p.rng.NormFloat64()
	}
	return knowledge.Unit(v)
}
