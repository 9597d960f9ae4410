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
