package builtin

import (
	"strings"
	"sync"
	"testing"
)

// shared is loaded once for all tests: the model does not change.
var shared = sync.OnceValues(func() (*Model, error) {
	m := New()
	_, err := m.ready()
	return m, err
})

func setup(t testing.TB) *Model {
	t.Helper()
	m, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		if _, err := New().ready(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEmbedToken reports wall time per token of one text at a time, so on one core.
func BenchmarkEmbedToken(b *testing.B) {
	m := setup(b)
	for name, text := range map[string]string{
		"short": "Where is my package?",
		"long":  strings.Repeat("The parcel was left with a neighbour, and nobody told me. ", 8),
	} {
		b.Run(name, func(b *testing.B) {
			tokens := len(m.encoder.vocab.tokens(text))
			for b.Loop() {
				if _, err := m.Embed(b.Context(), "ws", []string{text}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N*tokens), "ms/token")
			b.ReportMetric(float64(tokens), "tokens")
		})
	}
}
