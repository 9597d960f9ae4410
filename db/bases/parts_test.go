package bases_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/flow/knowledge"
)

// TestSearchBase_never_crosses_parts adds, replaces, removes and merges documents of parts and bases in a random order, with the same sources and almost the same
// texts everywhere. No search, however it asks, returns a passage, a neighbor, a title or metadata of another part or base.
func TestSearchBase_never_crosses_parts(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e *env) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		rng := rand.New(rand.NewPCG(seed, 1))
		parts := []string{"", "acme", "acme2", "Acme", "acm", "%", "ac%", "zeta' OR '1'='1"}
		bases := []*knowledge.Base{e.base, newBase(t, e.s, "other", knowledge.PartsOptional)}
		canary := func(base, part int) string { return fmt.Sprintf("canary%dx%dq", base, part) }
		added, hits := 0, 0
		for round := range 400 {
			b, p := rng.IntN(len(bases)), rng.IntN(len(parts))
			at := &env{t, e.s, bases[b]}
			source := fmt.Sprint("doc", rng.IntN(4))
			switch mark := canary(b, p); {
			case round%40 == 39:
				if err := e.s.CompactBases(t.Context()); err != nil {
					t.Fatal(err)
				}
			case rng.IntN(6) == 0:
				if _, err := e.s.RemoveBaseDocuments(t.Context(), bases[b], parts[p], []string{source}); err != nil {
					t.Fatal(err)
				}
			case rng.IntN(3) > 0:
				put := &knowledge.Put{Base: bases[b], Document: knowledge.Document{Part: parts[p], Source: source, Title: "Contract " + mark, Link: "https://example.com/" + mark, Hash: fmt.Sprint(round), Metadata: &flow.Object{}}}
				put.Document.Metadata.Set("customer", mark)
				for i := range 1 + rng.IntN(4) {
					text := fmt.Sprintf("The contract of %s ends in month %d.", mark, i)
					put.Passages = append(put.Passages, knowledge.Passage{Text: text, Headings: []string{mark}})
					put.Vectors = append(put.Vectors, vectorOf(text))
				}
				if _, err := e.s.PutBaseDocument(t.Context(), put); err != nil {
					t.Fatal(err)
				}
				added++
			default:
				foreign := canary(rng.IntN(len(bases)), rng.IntN(len(parts)))
				q := knowledge.Query{Part: parts[p], Text: []string{"contract", foreign, "contract " + foreign, `"contract of ` + foreign + `"`, foreign[:8], "The"}[rng.IntN(6)],
					Mode: []string{knowledge.ModeBoth, knowledge.ModeWords, knowledge.ModeMeaning}[rng.IntN(3)], Vector: vectorOf("The contract"), Top: 1 + rng.IntN(50), Around: rng.IntN(3), PerDoc: rng.IntN(3)}
				if rng.IntN(3) == 0 { // one filter for all parts, whose decisions are kept
					q.WhereKey, q.Where = "all", func(string, *flow.Object) (bool, error) { return true, nil }
				}
				found, err := e.s.SearchBase(t.Context(), bases[b], &q)
				if err != nil {
					t.Fatal(err)
				}
				for _, h := range found.Hits {
					hits++
					seen := fmt.Sprint(h.Document.Title, h.Document.Link, h.Text, h.Headings, h.Before, h.After, string(flow.EncodeJSON(h.Document.Metadata)))
					if strings.Count(seen, "canary") != strings.Count(seen, mark) || h.Document.Part != parts[p] {
						t.Fatalf("round %d: a search of part %q of base %d found %s of part %q", round, parts[p], b, seen, h.Document.Part)
					}
				}
				checkLists(t, at, parts[p], mark)
			}
		}
		if added < 50 || hits < 50 {
			t.Errorf("%d documents and %d hits say little", added, hits)
		}
	})
}

// checkLists checks that lists of a part have only its documents.
func checkLists(t *testing.T, e *env, part, mark string) {
	t.Helper()
	list, err := e.s.ListBaseDocuments(t.Context(), e.base, knowledge.DocumentFilter{Part: part, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		if list[i].Part != part || !strings.HasSuffix(list[i].Title, mark) {
			t.Fatalf("the list of part %q has %+v", part, list[i])
		}
	}
	sources, err := e.s.ListBaseSources(t.Context(), e.base, part, "")
	if err != nil || len(sources) != len(list) {
		t.Fatalf("part %q has %d documents and the sources %v: %v", part, len(list), sources, err)
	}
}

// TestSearchBase_keeps_no_decision_of_another_document checks that a filter decides again about a document that was replaced or added in another part.
func TestSearchBase_keeps_no_decision_of_another_document(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e *env) {
		put := func(part string, public bool) {
			p := &knowledge.Put{Base: e.base, Document: knowledge.Document{Part: part, Source: "a", Hash: fmt.Sprint(part, public), Metadata: &flow.Object{}}, Passages: []knowledge.Passage{{Text: "the plan"}}}
			p.Document.Metadata.Set("public", public)
			if _, err := e.s.PutBaseDocument(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		}
		where := func(_ string, m *flow.Object) (bool, error) { return m.Get("public") == true, nil }
		find := func(part string) int {
			return len(e.find(knowledge.Query{Text: "plan", Part: part, Where: where, WhereKey: "metadata.public"}))
		}
		put("", true)
		equal(t, "a public document", find(""), 1)
		put("", false)
		equal(t, "the same, not public any longer", find(""), 0)
		put("acme", true)
		equal(t, "another part", find("acme"), 1)
		equal(t, "the first part", find(""), 0)
	})
}
