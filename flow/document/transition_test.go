package document

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

func TestEditsBetween(t *testing.T) {
	t.Parallel()
	led := 0
	for seed := range uint64(3000) {
		s := sketch{rand.New(rand.NewPCG(seed, 7))}
		from, to := s.document(), s.document()
		ops, ok := EditsBetween(from, to)
		if !ok {
			continue
		}
		led++
		there, err := ApplyEdits(from, ops)
		if err != nil || !bytes.Equal(there.Document.Compact(), to.Compact()) {
			t.Fatalf("seed %d: %v", seed, err)
		}
		back, err := ApplyEdits(there.Document, there.Inverse)
		if err != nil || !bytes.Equal(back.Document.Compact(), from.Compact()) {
			t.Fatalf("seed %d cannot be undone: %v", seed, err)
		}
	}
	if led < 3000 {
		t.Errorf("edits lead from one document to the other in %d of 3000", led)
	}
}
