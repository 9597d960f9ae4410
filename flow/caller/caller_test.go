package caller

import (
	"context"
	"strings"
	"testing"
)

func TestVerify_accepts_what_was_signed(t *testing.T) {
	t.Parallel()
	want := Caller{RootRunID: "run_7", Depth: 3}
	if got, ok := Verify([]byte("key"), want.Sign([]byte("key"))); !ok || got != want {
		t.Errorf("got %+v, %v", got, ok)
	}
}

func TestVerify_refuses_other_values(t *testing.T) {
	t.Parallel()
	key := []byte("key")
	value := Caller{RootRunID: "run_7", Depth: 3}.Sign(key)
	for name, given := range map[string]string{
		"nothing":        "",
		"no signature":   "run_7.3",
		"another key":    Caller{RootRunID: "run_7", Depth: 3}.Sign([]byte("other")),
		"another depth":  strings.Replace(value, ".3.", ".0.", 1),
		"another run":    strings.Replace(value, "run_7", "run_8", 1),
		"cut signature":  value[:len(value)-1],
		"negative depth": Caller{RootRunID: "run_7", Depth: -1}.Sign(key),
		"too long":       Caller{RootRunID: strings.Repeat("r", 300)}.Sign(key),
	} {
		if c, ok := Verify(key, given); ok {
			t.Errorf("%s: got %+v", name, c)
		}
	}
}

func TestDepth_counts_the_run_that_sent_the_request(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	if got := Depth(ctx); got != 0 {
		t.Errorf("without a run: %d", got)
	}
	if got := Depth(Received(ctx, Caller{})); got != 1 {
		t.Errorf("from a root run: %d", got)
	}
}
