package passages_test

import (
	"fmt"
	"strings"
	"testing"

	"sluice/nodes/passages"
)

func TestCut_follows_headings_and_repeats_sentences_within_them(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("# Guide\n\nIntroduction.\n\n## Steps\n\n")
	for i := range 12 {
		fmt.Fprintf(&text, "This is sentence number %d of the steps. ", i)
	}
	text.WriteString("\n\n## Code\n\n```\nline one\n\nline two\n```\n")
	list := passages.Cut(text.String(), nil, passages.Rules{Size: 30, Overlap: 10})
	if len(list) < 4 || strings.Join(list[0].Headings, ">") != "Guide" || list[0].Text != "Introduction." {
		t.Fatalf("%d passages: %+v", len(list), list)
	}
	steps := 0
	for i, p := range list {
		if n := passages.Words(p.Text); n > 45 {
			t.Errorf("a passage has %d words", n)
		}
		if strings.Join(p.Headings, ">") != "Guide>Steps" {
			continue
		}
		if steps++; steps > 1 && !strings.HasPrefix(p.Text, list[i-1].Text[strings.LastIndex(list[i-1].Text, "This"):]) {
			t.Errorf("%q does not repeat the end of %q", p.Text, list[i-1].Text)
		}
	}
	if last := list[len(list)-1]; last.Text != "```\nline one\n\nline two\n```" || last.Headings[1] != "Code" {
		t.Errorf("the code was cut: %+v", last)
	}
}

func TestCut_repeats_the_header_of_tables_and_knows_pages(t *testing.T) {
	t.Parallel()
	table := "| City | Days |\n|---|---|\n"
	for i := range 30 {
		table += fmt.Sprintf("| Town %d | %d |\n", i, i)
	}
	for _, p := range passages.Cut(table, nil, passages.Rules{Size: 40}) {
		if !strings.HasPrefix(p.Text, "| City | Days |") {
			t.Errorf("no header: %q", p.Text)
		}
	}
	pages := "First page.\n\nSecond page."
	list := passages.Cut(pages, []int{0, 13}, passages.Rules{Size: 2, Plain: true})
	if len(list) != 2 || list[0].Page != 1 || list[1].Page != 2 {
		t.Errorf("pages: %+v", list)
	}
}

func TestRows_names_the_columns(t *testing.T) {
	t.Parallel()
	list := passages.Rows([]passages.Table{{Name: "Prices", Columns: []string{"Item", "EUR"}, Rows: []map[string]string{{"Item": "Chair", "EUR": "40"}, {}}}}, passages.Rules{Size: 200})
	if len(list) != 1 || list[0].Text != "Item: Chair\nEUR: 40" || list[0].Row[1] != [2]string{"EUR", "40"} {
		t.Errorf("rows: %+v", list)
	}
}

func TestCut_keeps_pages_apart(t *testing.T) {
	t.Parallel()
	text := "Articles can be sent back within thirty days.\n\nA refund takes five working days.\n\nA gift card never expires."
	pages := []int{0, strings.Index(text, "A refund"), strings.Index(text, "A gift")}
	list := passages.Cut(text, pages, passages.Rules{Size: passages.DefaultSize, Overlap: passages.DefaultOverlap, Plain: true})
	want := []string{"Articles can be sent back within thirty days.", "A refund takes five working days.", "A gift card never expires."}
	if len(list) != len(want) {
		t.Fatalf("got %d passages: %+v", len(list), list)
	}
	for i, p := range list {
		if p.Page != i+1 || p.Text != want[i] {
			t.Errorf("passage %d: page %d, %q", i, p.Page, p.Text)
		}
	}
}

func TestCut_keeps_passages_of_data_short(t *testing.T) {
	t.Parallel()
	data := strings.Repeat("iVBORw0KGgo", 20_000)
	for name, text := range map[string]string{
		"one word": data, "image": "# Guide\n\nSee ![](data:image/png;base64," + data + ") for more.\n", "code": "```\n" + data + "\n```\n",
		"table": "| a | b |\n|---|---|\n| 1 | " + data + " |\n", "sentence": strings.Repeat("word ", 60_000),
		"long heading": "# " + strings.Repeat("heading ", 5000) + "\n\n" + strings.Repeat("A sentence of some words. ", 20_000),
		"long header":  strings.Repeat("name\t", 5000) + "\n" + strings.Repeat("a\tb\n", 5000),
	} {
		list := passages.Cut(text, nil, passages.Rules{Size: 200, Overlap: 40})
		total := 0
		for _, p := range list {
			if total += len(p.Text); len(p.Text)+len(strings.Join(p.Headings, "")) > 10_000 {
				t.Errorf("%s: a passage of %d bytes", name, len(p.Text))
				break
			}
		}
		if total > 2*len(text) {
			t.Errorf("%s: passages of %d bytes for %d", name, total, len(text))
		}
		if total < len(strings.TrimSpace(text))*9/10 {
			t.Errorf("%s: only %d of %d bytes are in passages", name, total, len(text))
		}
	}
}

func TestRows_bound_what_passages_repeat(t *testing.T) {
	t.Parallel()
	size := func(list []passages.Passage) (n int) {
		for _, p := range list {
			n += len(p.Text)
			for _, cell := range p.Row {
				n += len(cell[0]) + len(cell[1])
			}
		}
		return n
	}
	long := strings.Repeat("text ", 100_000)
	if n := size(passages.Rows([]passages.Table{{Columns: []string{"a"}, Rows: []map[string]string{{"a": long}}}}, passages.Rules{Size: 200, Overlap: 40})); n < len(long)*9/10 || n > 3*len(long) {
		t.Errorf("%d bytes of passages for a cell of %d", n, len(long))
	}
	rows := make([]map[string]string, 1000)
	for i := range rows {
		rows[i] = map[string]string{long: "x"}
	}
	if n := size(passages.Rows([]passages.Table{{Columns: []string{long}, Rows: rows}}, passages.Rules{Size: 200})); n > 1000*1000 {
		t.Errorf("%d bytes of passages for a column with a long name", n)
	}
}
