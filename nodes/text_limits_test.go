package nodes

import (
	"context"
	"errors"
	"strings"
	"testing"

	"sluice/e2e/need"
	"sluice/flow"
	"sluice/flow/flowtest"
)

// hostilePatterns take long for texts of one letter: for each match, for each character, or to
// compile.
var hostilePatterns = []string{
	`[^b]*b|a`, `(?:a*)*b|a`, `(a*)(a*)(a*)b|a`, `.*?b|a`, `a+$b|a`, `\ba*b|a`, `(?m)^a*b|a`, `a.{500}b|a`, ``, `\b`,
	"(?i)" + strings.Repeat(`\pL`, 600), "(?i)" + strings.Repeat(`[a-\x{10ffff}]`, 100), strings.Repeat(`(a?)`, 300), `(?:[a-c]|[a-d]|\w|\pL){0,200}!`,
	`.{1,1000}b`, strings.Repeat("a{1000}", 280), `(?:(?:a|b)*(?:a|c)*){50}!`,
}

// TestPatterns_bound_work proves that no pattern takes more than a second for a text of 1 MiB.
func TestPatterns_bound_work(t *testing.T) {
	t.Parallel()
	need.Time(t)
	text := strings.Repeat("a", 1<<20)
	for kind, patterns := range map[string][]string{"extract": hostilePatterns, "replace": hostilePatterns[:2], "search": hostilePatterns[12:14]} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			for _, pattern := range patterns {
				in := &flow.In{Config: map[string]any{"pattern": pattern, "find": pattern, "text": text, "regex": true, "replacement": "x"}, Ports: map[string]any{"from": text}}
				run := replace
				if kind == "extract" {
					run = extract
				}
				if kind == "search" {
					in.Config["by"], in.Config["path"] = extractPath, `$[?search(@, $[1])]`
					in.Ports["from"], run = []any{text, pattern}, extract
				}
				flowtest.CheckCPU(t, func() {
					if _, err := run(t.Context(), in); err != nil && flow.AsError(err).Code != flow.CodeInputInvalid {
						t.Errorf("%.40q: %v", pattern, err)
					}
				})
				if t.Failed() {
					t.Fatalf("%.40q", pattern)
				}
			}
		})
	}
}

// TestPatterns_accept_ordinary_work proves that ordinary patterns search long texts.
func TestPatterns_accept_ordinary_work(t *testing.T) {
	t.Parallel()
	need.Time(t)
	text := strings.Repeat("On 2024-05-06, anna@example.org paid 20 EUR for the item. ", 18_000)
	for pattern, want := range map[string]int{
		`\d{4}-\d{2}-\d{2}`: 18_000, `(?i)([a-z0-9._%+-]+)@([a-z0-9.-]+)\.[a-z]{2,}`: 18_000, `(\d+) EUR`: 18_000, `\b[A-Z]\w*`: 36_000, `item\. $`: 1,
	} {
		in := &flow.In{Config: map[string]any{"pattern": pattern}, Ports: map[string]any{"from": text}}
		out, err := extract(t.Context(), in)
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
			continue
		}
		if got := len(out.Outputs["all"].([]any)); got != want {
			t.Errorf("%s: got %d matches, want %d", pattern, got, want)
		}
	}
}

// TestPatterns_end_with_their_context proves that a time limit, a cancellation and a shutdown
// end a search.
func TestPatterns_end_with_their_context(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("a", 16<<20)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, pattern := range []string{`[^b]*b|a`, `(?:a?){100}b`} {
		_, err := extract(ctx, &flow.In{Config: map[string]any{"pattern": pattern}, Ports: map[string]any{"from": text}})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("extract %s: %v", pattern, err)
		}
		_, err = replace(ctx, &flow.In{Config: map[string]any{"find": pattern, "regex": true, "text": text}})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("replace %s: %v", pattern, err)
		}
	}
}
