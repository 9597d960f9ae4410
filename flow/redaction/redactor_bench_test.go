package redaction

import (
	"strings"
	"testing"
)

// BenchmarkRedactor measures text without a secret in it, as nearly all is.
func BenchmarkRedactor(b *testing.B) {
	text := strings.Repeat("The quick brown fox jumps over the lazy dog, {\"id\": 1234567, \"kind\": \"animal\"}. ", 1200)
	r := New("Bearer sk-proj-9f86d081884c7d659a2feaa0c55ad015")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if r.Text(text) != text {
			b.Fatal("changed")
		}
	}
}

// BenchmarkRedactorAdd measures what each step that is given a secret pays.
func BenchmarkRedactorAdd(b *testing.B) {
	for b.Loop() {
		New("Bearer sk-proj-9f86d081884c7d659a2feaa0c55ad015").Text("x")
	}
}
