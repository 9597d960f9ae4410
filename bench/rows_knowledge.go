package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"sluice/db"
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
// which has nothing in memory.
func (b *benchmark) knowledgeRow() {
	for _, on := range b.on {
		if on.instances > 1 {
			continue
		}
		cfg := db.Config{DataDir: must(os.MkdirTemp(b.dir, "knowledge"))}
		if on.postgres {
			cfg.DatabaseURL, cfg.MasterKey = b.database(), masterKey
		}
		b.measureKnowledge(on, cfg)
	}
}

func (b *benchmark) measureKnowledge(on platform, cfg db.Config) {
	ctx := context.Background()
	s := must(db.Open(ctx, cfg))
	base := &knowledge.Base{WorkspaceID: flow.DefaultWorkspace, Slug: "bench", Name: "bench"}
	base.Settings.Defaults()
	check(s.CreateBase(ctx, base))
	texts := newProse(knowledgeVocabulary)
	start, bytes := time.Now(), 0
	for n := range knowledgePassages / knowledgePerDoc {
		p := &knowledge.Put{Base: base, Document: knowledge.Document{Source: fmt.Sprint(n), Title: texts.words(4), Hash: fmt.Sprint(n)}}
		for range knowledgePerDoc {
			text := texts.words(knowledgeWords)
			bytes += len(text)
			p.Passages, p.Vectors = append(p.Passages, knowledge.Passage{Text: text}), append(p.Vectors, texts.vector())
		}
		must(s.PutBaseDocument(ctx, p))
		if n%50 == 49 {
			check(s.CompactBases(ctx))
		}
	}
	check(s.CompactBases(ctx))
	what := fmt.Sprintf("%d passages × %d, %s: ", knowledgePassages, knowledgeDimensions, on.title())
	b.add(what+"added", fmt.Sprintf("%.0f passages/s; %.0f MiB of text", knowledgePassages/time.Since(start).Seconds(), float64(bytes)/(1<<20)), "", "")
	search := func(s *db.Store) time.Duration {
		q := &knowledge.Query{Text: texts.words(6), Mode: knowledge.ModeBoth, Vector: texts.vector(), Top: 5, PerDoc: 3}
		begin := time.Now()
		found := must(s.SearchBase(ctx, base, q))
		took := time.Since(begin)
		if len(found.Hits) != q.Top || found.Searched != knowledgePassages {
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
	check(s.Close())
	for range 10 {
		s := must(db.Open(ctx, cfg))
		cold = append(cold, search(s))
		check(s.Close())
	}
	b.add(what+"search, warm", fmt.Sprintf("p50 %s, p95 %s; %.0f MiB above idle", ms(percentile(warm, 0.5)), ms(percentile(warm, 0.95)), grown), fmt.Sprintf("p95 ≤ %s; ≤ 128 MiB", ms(warmLimit)), "")
	b.add(what+"search, cold", fmt.Sprintf("p50 %s, p95 %s", ms(percentile(cold, 0.5)), ms(percentile(cold, 0.95))), "p95 ≤ "+ms(coldLimit), "")
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
