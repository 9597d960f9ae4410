package documents

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
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

// TestQueue proves that one workspace cannot hold up another: neither with content
// that arrives slowly nor with many documents. It also proves that a caller who
// gives up takes no slot along: with both of them lost, a server would read no
// document until it is restarted.
func TestQueue(t *testing.T) {
	t.Parallel()
	t.Run("wait for no slow server", func(t *testing.T) {
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
	})
	t.Run("take turns between workspaces", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			q := newQueue(2)
			var order []string
			wait := func(workspaces ...string) {
				for _, ws := range workspaces {
					go func() {
						if q.take(t.Context(), ws) == nil {
							order = append(order, ws)
						}
					}()
					synctest.Wait()
				}
			}
			wait("a", "a", "a", "a", "a", "b", "b", "c")
			for _, ws := range []string{"a", "b", "a", "c", "b", "a"} {
				q.give(ws)
				synctest.Wait()
			}
			if want := []string{"a", "a", "b", "c", "a", "b", "a", "a"}; !slices.Equal(order, want) {
				t.Errorf("got %v, want %v", order, want)
			}
			q.give("a")
			q.give("a")
			same(t, "what is left", []any{q.free, len(q.held), len(q.lines)}, []any{2, 0, 0})
		})
	})
	t.Run("may be left", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			q := newQueue(1)
			same(t, "first", q.take(t.Context(), "a"), nil)
			ctx, cancel := context.WithCancel(t.Context())
			left := make(chan error, 1)
			go func() { left <- q.take(ctx, "b") }()
			synctest.Wait()
			cancel()
			if err := <-left; !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			q.leave("a", make(chan struct{})) // its place came as it left
			same(t, "what is left", []any{q.free, len(q.held), len(q.lines)}, []any{1, 0, 0})
		})
	})
}

// TestSpool proves that content is cut at MaxSize however much is sent, that no file
// stays behind, and that an error of the sender arrives unchanged.
func TestSpool(t *testing.T) {
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
