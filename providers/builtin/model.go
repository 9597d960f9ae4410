package builtin

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"unicode/utf8"
)

// The most text that one call takes, in characters. A token is about 4 characters and takes 0.2 ms of one core with
// AVX2, 1.2 ms without: the longest text keeps a core busy for some 10 seconds, or 60.
const (
	MaxText  = 200_000   // of each text
	MaxBatch = 1_000_000 // of all the texts of one call to Embed
)

// MaxTexts is the most texts, sentences or labels that one call takes: each vector holds 2 kB.
const MaxTexts = 10_000

var (
	// ErrTooLong is returned for text beyond MaxText, MaxBatch or MaxTexts.
	ErrTooLong = errors.New("text is too long")
	// ErrCount is returned when a number of sentences, passages or labels is out of range.
	ErrCount = errors.New("number is out of range")
)

// Model is the built-in model. It may be used by several goroutines at once; together they occupy as many cores as Go
// may use. Its zero value is ready.
type Model struct {
	load    sync.Once
	encoder *encoder
	err     error
	// slots holds a token for each pass that may run at the same time: more would only queue for the cores, each with
	// 2 MB of buffers.
	slots      chan struct{}
	workspaces sync.Pool
}

// New returns a model that reads its weights when it is first used, in a few milliseconds.
func New() *Model { return &Model{} }

// ready loads the model once. An error here means a broken build: the weights are part of the binary.
func (m *Model) ready() (*encoder, error) {
	m.load.Do(func() {
		m.slots = make(chan struct{}, runtime.GOMAXPROCS(0))
		m.workspaces.New = func() any { return newWorkspace() }
		m.encoder, m.err = newEncoder(modelFile)
	})
	return m.encoder, m.err
}

// pass runs sequences through the network as soon as a slot is free.
func (m *Model) pass(ctx context.Context, sequences [][]int32) ([][]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err // when both are ready, select might still choose the slot
	}
	select {
	case m.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-m.slots }()
	w := m.workspaces.Get().(*workspace)
	defer m.workspaces.Put(w)
	return m.encoder.encode(sequences, w), nil
}

// checkLength refuses texts beyond the limits.
func checkLength(texts ...string) error {
	if len(texts) > MaxTexts {
		return fmt.Errorf("%d texts or sentences at once, at most %d are allowed: %w", len(texts), MaxTexts, ErrTooLong)
	}
	total := 0
	for i, text := range texts {
		n := utf8.RuneCountInString(text)
		if n > MaxText {
			return fmt.Errorf("text %d has %d characters, at most %d are allowed: %w", i+1, n, MaxText, ErrTooLong)
		}
		total += n
	}
	if total > MaxBatch {
		return fmt.Errorf("the texts have %d characters together, at most %d are allowed: %w", total, MaxBatch, ErrTooLong)
	}
	return nil
}
