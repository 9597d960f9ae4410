package builtin

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"unicode/utf8"

	"sluice/sandbox"
)

// Limits of the text in one call, in characters. A token has about 4 characters and takes 0.2 ms of one core with AVX2,
// 1.2 ms without, so the longest text takes about 10 or 60 seconds of CPU time.
const (
	MaxText  = 200_000   // of each text
	MaxBatch = 1_000_000 // of all the texts of one call to Embed
)

// MaxTexts is the maximum number of texts, sentences or labels in one call. Each vector takes 2 kB.
const MaxTexts = 10_000

var (
	// ErrTooLong is returned for text beyond MaxText, MaxBatch or MaxTexts.
	ErrTooLong = errors.New("text is too long")
	// ErrCount is returned when a number of sentences, passages or labels is out of range.
	ErrCount = errors.New("number is out of range")
)

// Model is the built-in model. It is safe for concurrent use; all calls together use at most GOMAXPROCS cores. Its zero
// value is ready to use.
//
// Calls name the group, such as a workspace, for which they compute. Groups share the cores fairly: a long text is computed
// in passes of milliseconds, and the next pass is of the group that computes the least. So much text of one group delays
// others by a pass.
type Model struct {
	load    sync.Once
	encoder *encoder
	err     error
	// slots limits concurrent passes to the number of cores. More passes would only wait for a core, each with 2 MB of
	// buffers.
	slots      *sandbox.Queue
	workspaces sync.Pool
}

// New returns a model that reads its weights when it is first used, in some 30 milliseconds.
func New() *Model { return &Model{} }

// ready loads the model once. An error here means a broken build: the weights are part of the binary.
func (m *Model) ready() (*encoder, error) {
	m.load.Do(func() {
		m.slots = sandbox.NewQueue(runtime.GOMAXPROCS(0))
		m.workspaces.New = func() any { return newWorkspace() }
		var file []byte
		if file, m.err = unpackModel(); m.err == nil {
			m.encoder, m.err = newEncoder(file)
		}
	})
	return m.encoder, m.err
}

// pass runs sequences through the network as soon as the group gets a slot.
func (m *Model) pass(ctx context.Context, group string, sequences [][]int32) ([][]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err // Acquire may succeed even though the context has ended
	}
	if err := m.slots.Acquire(ctx, group); err != nil {
		return nil, err
	}
	defer m.slots.Release(group)
	w := m.workspaces.Get().(*workspace)
	defer m.workspaces.Put(w)
	return m.encoder.encode(sequences, w), nil
}

// checkLength returns ErrTooLong for texts beyond the limits.
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
