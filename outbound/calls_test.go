package outbound

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"sync/atomic"
	"testing"
)

// TestWithCalls looks at what a context was told when the server sees a request
// and when the caller gets the parts of the answer.
func TestWithCalls(t *testing.T) {
	t.Parallel()
	var working atomic.Bool
	var asked atomic.Int32
	refuse := atomic.Pointer[error]{}
	ctx := WithCalls(t.Context(), func(context.Context) error {
		asked.Add(1)
		if err := refuse.Load(); err != nil {
			return *err
		}
		return nil
	}, working.Store)
	var waited []bool
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		waited = append(waited, working.Load())
		_, _ = io.WriteString(w, "first")
		_ = http.NewResponseController(w).Flush()
		if r.URL.Path == "/slow" {
			<-r.Context().Done() // the rest never comes
		}
	}))
	t.Cleanup(s.Close)
	c := newClient(t, Config{AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})

	t.Run("works on a whole answer", func(t *testing.T) {
		working.Store(true)
		if _, err := c.Do(ctx, Request{URL: s.URL}); err != nil || !working.Load() {
			t.Errorf("after the answer: working is %v, %v", working.Load(), err)
		}
		if !slices.Equal(waited, []bool{false}) {
			t.Errorf("working while the server was asked: %v", waited)
		}
	})
	t.Run("waits for the rest of an answer", func(t *testing.T) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		answer, err := c.Stream(ctx, Request{URL: s.URL + "/slow"})
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		first := make([]byte, 5)
		if _, err := io.ReadFull(answer.Body, first); err != nil || !working.Load() {
			t.Errorf("after the first bytes: working is %v, %v", working.Load(), err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = answer.Body.Read(first)
		}()
		for working.Load() { // the read is about to wait
		}
		cancel()
		<-done
	})
	t.Run("sends nothing that is refused", func(t *testing.T) {
		gone := errors.New("gone")
		refuse.Store(&gone)
		before, seen := asked.Load(), len(waited)
		_, err := c.Do(ctx, Request{URL: s.URL})
		if !errors.Is(err, gone) || asked.Load() != before+1 || len(waited) != seen {
			t.Errorf("asked %d times, %d requests arrived: %v", asked.Load()-before, len(waited)-seen, err)
		}
	})
}
