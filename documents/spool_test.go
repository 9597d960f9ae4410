package documents

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"sluice/e2e/need"
)

// slowContent says when it is read and gives nothing until it is released.
type slowContent struct {
	once              sync.Once
	started, released chan struct{}
}

func (s *slowContent) Read([]byte) (int, error) {
	s.once.Do(func() { close(s.started) })
	<-s.released
	return 0, io.EOF
}

// TestSlowContent proves that one workspace cannot hold up another with content that
// arrives slowly.
func TestSlowContent(t *testing.T) {
	t.Parallel()
	r := New(Config{})
	released := make(chan struct{})
	var all sync.WaitGroup
	defer all.Wait()
	defer close(released)
	for range maxChildren {
		slow := &slowContent{started: make(chan struct{}), released: released}
		all.Go(func() {
			if _, err := r.Read(t.Context(), "slow", Request{}, slow, nil); err != nil {
				t.Errorf("the slow one: %v", err)
			}
		})
		<-slow.started
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got, err := r.Read(ctx, "default", Request{}, strings.NewReader("text"), nil)
	same(t, "text", []any{err, got.Text}, []any{nil, "text"})
}

// TestSpool proves that content is cut at MaxSize however much is sent, that no file
// stays behind, and that an error of the sender arrives unchanged.
func TestSpool(t *testing.T) {
	need.Time(t)
	t.Parallel()
	s, err := spool(t.Context(), []byte("head\n"), io.LimitReader(endless{}, MaxSize+1))
	if err != nil {
		t.Fatal(err)
	}
	head := make([]byte, len("head\nx"))
	_, err = io.ReadFull(s, head)
	same(t, "beginning", []any{err, string(head)}, []any{nil, "head\nx"})
	about, err := s.Stat()
	same(t, "size", []any{err, about.Size()}, []any{nil, MaxSize + len("head\n")})
	s.close()
	if _, err := os.Stat(s.Name()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file stayed: %v", err)
	}
	broken := errors.New("broken")
	if _, err := spool(t.Context(), nil, io.MultiReader(strings.NewReader("x"), iotest.ErrReader(broken))); err != broken {
		t.Errorf("got %v", err)
	}
}

// endless gives the letter x.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}
