package builtin

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"
)

// golden holds what the published JavaScript model answers; convert/golden.mjs writes it.
type golden struct {
	Embedded []struct {
		Text   string
		Tokens []int32
		Vector string
	}
	Tokenised []struct {
		Text   string
		Tokens []int32
	}
}

func readGolden(t *testing.T) golden {
	t.Helper()
	file, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(file, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

func decodeVector(t *testing.T, s string) []float32 {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	v := make([]float32, len(b)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return v
}

func TestTokensAreThoseOfThePublishedModel(t *testing.T) {
	t.Parallel()
	e := setup(t).encoder
	g := readGolden(t)
	for _, c := range g.Embedded {
		if got := e.vocab.tokens(c.Text); !slices.Equal(got, c.Tokens) {
			t.Errorf("%q: tokens %v, want %v", c.Text, got, c.Tokens)
		}
	}
	for _, c := range g.Tokenised {
		if got := e.vocab.tokens(c.Text); !slices.Equal(got, c.Tokens) {
			t.Errorf("%q: tokens %v, want %v", c.Text, got, c.Tokens)
		}
	}
}

func TestVectorsAreThoseOfThePublishedModel(t *testing.T) {
	t.Parallel()
	m := setup(t)
	for _, c := range readGolden(t).Embedded {
		got, err := m.Embed(t.Context(), "ws", []string{c.Text})
		if err != nil {
			t.Fatal(err)
		}
		if same := cosine(got[0], decodeVector(t, c.Vector)); same < 0.999 {
			t.Errorf("%q: cosine %.5f to the published vector", c.Text, same)
		}
	}
}
