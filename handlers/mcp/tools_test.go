package mcp

import (
	"strings"
	"testing"
)

func TestToolBase(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]string{
		"Answer a ticket": "answer_a_ticket", "  Über-Größe (neu) ": "uber_grosse_neu", "Don't panic!": "dont_panic", "GPT-4o → JSON": "gpt_4o_json",
		"要約": "", "": "", "___": "", "Ⅷ ﬁles": "viii_files", strings.Repeat("word ", 20): "word_word_word_word_word_word_word_word_word_wor", "naïve café": "naive_cafe",
	} {
		if got := toolBase(title); got != want {
			t.Errorf("%q becomes %q, wanted %q", title, got, want)
		}
	}
}
