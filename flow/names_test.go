package flow

import (
	"strings"
	"testing"
)

func TestCheckName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "Website", "Über 9000!", "日本語", "می\u200cخواهم", "👩\u200d💻", "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "a\u200fb", "→", strings.Repeat("ü", 20)} {
		if sentence := CheckName(name, 20); sentence != "" {
			t.Errorf("%q: %s", name, sentence)
		}
	}
	for name, says := range map[string]string{
		strings.Repeat("ü", 21): "20 characters", "a\nb": "control", "a\x00": "control", "\xff": "UTF-8",
		"exe\u202egnp": "U+202E", "a\u2066b": "U+2066", "a\u200bb": "U+200B", "\ufeffa": "U+FEFF", "a\u00adb": "U+00AD", "\u3164": "U+3164", "a\u2028b": "U+2028",
		"\u200d\u200d": "It has no visible characters", " ": "It has no visible characters", "\u0301": "It has no visible characters",
	} {
		if sentence := CheckName(name, 20); !strings.Contains(sentence, says) {
			t.Errorf("%q: %q, want %q in it", name, sentence, says)
		}
	}
}
