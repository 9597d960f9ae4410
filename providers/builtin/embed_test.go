package builtin

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/e2e/need"
)

func embed(t testing.TB, m *Model, texts ...string) [][]float32 {
	t.Helper()
	vectors, err := m.Embed(t.Context(), "ws", texts)
	if err != nil {
		t.Fatal(err)
	}
	return vectors
}

func TestEmbedReturnsUnitVectors(t *testing.T) {
	t.Parallel()
	need.Time(t)
	long := strings.Repeat("The ferry leaves at noon. ", 100)
	for i, v := range embed(t, setup(t), "a", "hello world", long, strings.Repeat("x", 5000), "\xff\x00", "🙂") {
		if len(v) != Dimensions || math.Abs(float64(dot(v, v))-1) > 1e-5 {
			t.Errorf("text %d: %d values, squared length %g", i, len(v), dot(v, v))
		}
	}
}

func TestEmbedBlankTextIsZero(t *testing.T) {
	t.Parallel()
	vectors := embed(t, setup(t), "", " \n\t ", "a")
	if dot(vectors[0], vectors[0]) != 0 || dot(vectors[1], vectors[1]) != 0 || dot(vectors[2], vectors[2]) == 0 {
		t.Error("blank texts are zero and others are not")
	}
	if none := embed(t, setup(t)); len(none) != 0 {
		t.Errorf("no texts gave %d vectors", len(none))
	}
}

// A vector depends on its text alone, to the last bit, and not on what is embedded with it.
func TestEmbedDoesNotDependOnTheBatch(t *testing.T) {
	t.Parallel()
	m := setup(t)
	texts := strings.SplitAfter(strings.Repeat("One. Two three! Is it four? A much longer sentence follows here.", 30), " ")
	together := embed(t, m, texts...)
	for i, text := range texts[:20] {
		if alone := embed(t, m, text)[0]; !slices.Equal(alone, together[i]) {
			t.Errorf("%q has another vector alone", text)
		}
	}
}

func TestEmbedIgnoresSpacing(t *testing.T) {
	t.Parallel()
	v := embed(t, setup(t), "hello world", "  hello\r\n\tworld ")
	if !slices.Equal(v[0], v[1]) {
		t.Error("white space changed the vector")
	}
}

func TestEmbedSplitsLongTextsBySentence(t *testing.T) {
	t.Parallel()
	m := setup(t)
	parcel, bridge := "My parcel has not arrived yet. ", "The bridge is closed for repairs. "
	v := embed(t, m, parcel, bridge, strings.Repeat(parcel, 30), strings.Repeat(parcel, 40)+strings.Repeat(bridge, 40))
	if same := cosine(v[0], v[2]); same < 0.8 {
		t.Errorf("a repeated sentence is like itself by %.2f only", same)
	}
	if a, b := cosine(v[0], v[3]), cosine(v[1], v[3]); a < 0.5 || b < 0.5 {
		t.Errorf("a text of two halves is like them by %.2f and %.2f", a, b)
	}
	for _, run := range splitTokens(m.encoder.vocab, strings.Repeat("word ", 1000)) {
		if len(run) == 0 || len(run) > MaxTokens {
			t.Errorf("run of %d tokens", len(run))
		}
	}
}

func TestEmbedRefusesTooMuch(t *testing.T) {
	t.Parallel()
	full := strings.Repeat("ß", MaxText)
	for name, texts := range map[string][]string{
		"text":  {"a", full + "ß"},
		"batch": {full, full, full, full, full, "a"},
		"texts": make([]string, MaxTexts+1),
	} {
		if _, err := setup(t).Embed(t.Context(), "ws", texts); !errors.Is(err, ErrTooLong) {
			t.Errorf("%s: error %v, want ErrTooLong", name, err)
		}
	}
	if err := checkLength(full, full, full, full, full); err != nil {
		t.Errorf("at the limit: %v", err)
	}
}

// flagContext ends after its error has been asked for a number of times: a context that ends in the midst of the work.
type flagContext struct {
	context.Context
	mu   sync.Mutex
	left int
}

func (c *flagContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

func TestEmbedObeysTheContext(t *testing.T) {
	t.Parallel()
	m := setup(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Embed(ended, "ws", []string{"a"}); !errors.Is(err, context.Canceled) {
		t.Errorf("ended before: %v", err)
	}
	texts := slices.Repeat([]string{strings.Repeat("A rather long sentence about nothing. ", 20)}, 50)
	midway := &flagContext{Context: t.Context(), left: len(texts) + 3}
	if _, err := m.Embed(midway, "ws", texts); !errors.Is(err, context.Canceled) {
		t.Errorf("ended midway: %v", err)
	}
}

func TestPassWaitsForASlot(t *testing.T) {
	t.Parallel()
	m := New()
	if _, err := m.ready(); err != nil {
		t.Fatal(err)
	}
	for range runtime.GOMAXPROCS(0) {
		if err := m.slots.Acquire(t.Context(), "ws"); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := m.Embed(ctx, "ws", []string{"a"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("with all slots taken: %v", err)
	}
}

// TestEmbed_shares_cores_between_groups proves that a group with many texts delays the text of
// another only by a few passes.
func TestEmbed_shares_cores_between_groups(t *testing.T) {
	t.Parallel()
	m := New()
	if _, err := m.ready(); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		for range runtime.GOMAXPROCS(0) {
			if err := m.slots.Acquire(t.Context(), "busy"); err != nil {
				t.Fatal(err)
			}
		}
		const texts = 50
		done := make(chan string, texts+1)
		start := func(group string) {
			go func() {
				if _, err := m.Embed(t.Context(), group, []string{"Where is my parcel?"}); err != nil {
					t.Error(err)
				}
				done <- group
			}()
			synctest.Wait()
		}
		for range texts {
			start("busy")
		}
		start("neighbor")
		for range runtime.GOMAXPROCS(0) {
			m.slots.Release("busy")
		}
		before := 0
		for n := range texts + 1 {
			if <-done == "neighbor" {
				before = n
			}
		}
		if before >= texts/2 {
			t.Errorf("the neighbor waits for %d of %d texts that came before", before, texts)
		}
	})
}

func TestModelIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	var m Model // not loaded yet, so that the goroutines race to load it
	want := embed(t, setup(t), "hello world")[0]
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			got, err := m.Embed(t.Context(), "ws", []string{"How old are you?", "hello world", "What is your age?"})
			if err != nil || !slices.Equal(got[1], want) {
				t.Errorf("another vector under load, error %v", err)
			}
		})
	}
	wait.Wait()
}

func TestSimilarity(t *testing.T) {
	t.Parallel()
	m := setup(t)
	similarity := func(a, b string) float64 {
		s, err := m.Similarity(t.Context(), "ws", a, b)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for _, c := range [][3]string{ // the first is nearer to the second than to the third
		{"How old are you?", "What is your age?", "The invoice is overdue."},
		{"I forgot my password and cannot log in", "How do I reset my login credentials?", "What are your opening hours?"},
		{"The cat sat on the mat", "A kitten is resting on a rug", "Stock markets fell sharply today"},
	} {
		if near, far := similarity(c[0], c[1]), similarity(c[0], c[2]); near < far+0.2 {
			t.Errorf("%q: %.2f to %q, %.2f to %q", c[0], near, c[1], far, c[2])
		}
	}
	if same := similarity("same", "same"); same < 0.9999 || same > 1 {
		t.Errorf("a text is like itself by %g", same)
	}
	if blank := similarity("", "something"); blank != 0 {
		t.Errorf("blank text is like something by %g", blank)
	}
}
