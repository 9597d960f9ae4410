package knowledge_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sluice/flow/knowledge"
)

func TestWords_finds_identifiers_whole_and_in_parts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"idempotency_mismatch": "idempotency mismatch idempotency_mismatch",
		"runOptions":           "run option run-options",
		"Refunds, REFUNDED":    "refund refund",
		"Über Straße café":     "uber strass caf",
		"北京大学":                 "北京 京大 大学",
		"東京タワー":                "東京 京タ タワ ワー",
		"ภาษาไทย":              "ภา าษ ษา าไ ไท ทย",
		"v1.2.3":               "v1 2 3 v1.2.3",
		"학교는":                  "학교는 학교 교는",
		"API를 학교":              "api를 api 를 학교",
		"مُحَمَّدٌ أحمد كتابـة": "محمد احمد كتابه",
		"שָׁלוֹם": "שלום",
	} {
		if got := strings.Join(knowledge.WordList(text), " "); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// blocksOf makes an index of texts.
func blocksOf(t *testing.T, texts ...string) []knowledge.Block {
	t.Helper()
	var entries []knowledge.Entry
	for i, text := range texts {
		entries = append(entries, knowledge.NewEntry(int64(i), "", text))
	}
	data, shards := knowledge.BuildBlock(entries)
	head, err := knowledge.DecodeHead(data)
	if err != nil {
		t.Fatal(err)
	}
	return []knowledge.Block{{Head: head, Shard: func(n int) ([]byte, error) { return shards[n], nil }, Vectors: func() ([]byte, error) { return nil, nil }}}
}

func TestRank_finds_texts_in_languages_without_spaces_and_with_compounds(t *testing.T) {
	t.Parallel()
	texts := []string{"Die Rechnung ist in 14 Tagen fällig.", "退款需要五个工作日。", "返金には5営業日かかります。", "การคืนเงินใช้เวลาห้าวัน", "A refund takes five days."}
	for query, want := range map[string]int64{"Rechnungsnummer": 0, "fallig": 0, "退款多久": 1, "返金": 2, "คืนเงิน": 3, "refunds": 4} {
		r, err := knowledge.Rank(blocksOf(t, texts...), knowledge.Request{Words: knowledge.QueryWords(query), Limit: 10})
		if err != nil || len(r.Words) == 0 || r.Words[0].Number != want {
			t.Errorf("%s: %v %v, want %d first", query, r, err, want)
		}
	}
	if r, err := knowledge.Rank(blocksOf(t, "order 4711"), knowledge.Request{Words: knowledge.QueryWords("order4712x"), Limit: 10}); err != nil || len(r.Words) != 0 {
		t.Errorf("another number was found: %v %v", r, err)
	}
}

func TestRank_finds_single_characters_and_nouns_with_particles(t *testing.T) {
	t.Parallel()
	texts := []string{"所得税。", "税金の話です", "고양이 책을 읽다", "학교는 멀다", "우리 학교", "猫"}
	for query, want := range map[string][]int64{"税": {0, 1}, "책": {2}, "학교": {3, 4}, "학교는": {3, 4}, "猫": {5}, "話": {1}, "犬": nil, "집": nil} {
		r, err := knowledge.Rank(blocksOf(t, texts...), knowledge.Request{Words: knowledge.QueryWords(query), Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for _, s := range r.Words {
			got = append(got, s.Number)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: passages %v, want %v", query, got, want)
		}
	}
	for phrase, want := range map[string]bool{"税": true, "학교": false, "得税": true, "法税": false} {
		if knowledge.HasPhrase("所得税。", phrase) != want {
			t.Errorf("phrase %s: wanted %v", phrase, want)
		}
	}
	spans := knowledge.Excerpt("所得税と学校。", "税", 100)
	if len(spans) != 3 || !spans[1].Match || spans[1].Text != "税" {
		t.Errorf("marked %+v", spans)
	}
}

func TestFuse_keeps_the_best_word_hit_first_and_leaves_out_what_is_unlike(t *testing.T) {
	t.Parallel()
	r := &knowledge.Ranking{
		Words:   []knowledge.Scored{{Number: 1, Score: 5}, {Number: 2, Score: 4}},
		Meaning: []knowledge.Scored{{Number: 2, Score: 0.9}, {Number: 3, Score: 0.6}, {Number: 4, Score: 0.1}},
	}
	var got []int64
	for _, p := range r.Fuse(knowledge.WeightsOf("")) {
		got = append(got, p.Number)
	}
	if !slices.Equal(got, []int64{1, 2, 3}) {
		t.Errorf("got %v", got)
	}
	if first := r.Fuse(knowledge.WeightsOf("openai/x"))[0].Number; first != 2 {
		t.Errorf("%d is first with a model of a provider", first)
	}
}

func TestMergeBlocks_keeps_what_is_kept(t *testing.T) {
	t.Parallel()
	block := blocksOf(t, "one common", "two common", "three common")[0]
	var shards [][]byte
	for n := range knowledge.Shards(3) {
		data, err := block.Shard(n)
		if err != nil {
			t.Fatal(err)
		}
		shards = append(shards, data)
	}
	head, _, merged, err := knowledge.MergeBlocks([]knowledge.MergeBlock{{Head: block.Head, Shards: shards}}, func(n int64) bool { return n != 1 })
	if err != nil || fmt.Sprint(head.Numbers) != "[0 2]" {
		t.Fatalf("%v %v", head, err)
	}
	for word, want := range map[string]int{"common": 2, "two": 0, "thre": 1} {
		if p, err := knowledge.FindWord(merged[0], word); err != nil || p.Passages != want {
			t.Errorf("%s is in %d passages, want %d: %v", word, p.Passages, want, err)
		}
	}
	if _, err := knowledge.FindWord([]byte{9, 9, 9}, "x"); err == nil {
		t.Error("a damaged block was read")
	}
}

func TestSettings_repeat_a_fifth_of_a_passage_unless_told(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		size     int
		repeated *int
		want     int
	}{{0, nil, 40}, {200, nil, 40}, {100, nil, 20}, {20, nil, 4}, {0, new(0), 0}, {100, new(0), 0}, {100, new(50), 50}} {
		s := knowledge.Settings{Size: c.size, Overlap: c.repeated}
		s.Defaults()
		if problems := s.Check(); s.Repeated() != c.want || len(problems) > 0 {
			t.Errorf("%d words of %d are repeated, want %d; %v", s.Repeated(), s.Size, c.want, problems)
		}
	}
}
