package builtin

import "testing"

// FuzzTokens checks that any text gives valid tokens, and about as many as it has letters.
func FuzzTokens(f *testing.F) {
	for _, s := range []string{"", "hello world", ": :)", "数学🙂", "\xff\xfe", "ﬁ\u0301\u200d", "a\x00b"} {
		f.Add(s)
	}
	v := setup(f).encoder.vocab
	f.Fuzz(func(t *testing.T, text string) {
		tokens := v.tokens(text)
		if limit := 1 + len([]rune(tidy(text))); len(tokens) > limit {
			t.Fatalf("%d tokens of at most %d", len(tokens), limit)
		}
		for i, id := range tokens {
			if id < 0 || id >= pieces || (id > unknownPiece && id < reservedPieces) {
				t.Fatalf("token %d is %d", i, id)
			}
			if i > 0 && id == unknownPiece && tokens[i-1] == unknownPiece {
				t.Fatal("unknown pieces are not merged")
			}
		}
	})
}

func BenchmarkTokens(b *testing.B) {
	v, text := setup(b).encoder.vocab, "The parcel was left with a neighbour, and nobody told me about it until Thursday."
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		v.tokens(text)
	}
}
