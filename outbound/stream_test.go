package outbound

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestStream(t *testing.T) {
	t.Parallel()
	t.Run("gives the answer before its end", func(t *testing.T) {
		t.Parallel()
		rest := make(chan struct{})
		s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/" {
				http.Redirect(w, r, "/there", http.StatusFound)
				return
			}
			w.Header().Set("X-Is", "there")
			_, _ = io.WriteString(w, "first")
			_ = http.NewResponseController(w).Flush()
			<-rest
			_, _ = io.WriteString(w, " last")
		})
		got := mustStream(t, newClient(t, loopback()), Request{URL: s.URL, MaxRedirects: MaxRedirects})
		first := make([]byte, 5)
		if _, err := io.ReadFull(got.Body, first); err != nil || string(first) != "first" {
			t.Fatalf("got %q, %v", first, err)
		}
		close(rest)
		last, err := io.ReadAll(got.Body)
		if err != nil || string(last) != " last" || got.Status != 200 || got.Length != -1 || got.URL != s.URL+"/there" || got.Header.Get("X-Is") != "there" {
			t.Errorf("got %q, %v of %+v", last, err, got)
		}
	})
	t.Run("ends with an error beyond the limit", func(t *testing.T) {
		t.Parallel()
		s := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
			_ = http.NewResponseController(w).Flush() // so that no length is announced
			_, _ = io.WriteString(w, strings.Repeat("x", 11))
		})
		got := mustStream(t, newClient(t, loopback()), Request{URL: s.URL, MaxBody: 10})
		data, err := io.ReadAll(got.Body)
		wantKind(t, err, ClassTooLarge)
		if len(data) != 10 {
			t.Errorf("read %d bytes", len(data))
		}
	})
	t.Run("refuses an announced length beyond the limit", func(t *testing.T) {
		t.Parallel()
		s := newServer(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("x", 11)) })
		_, err := newClient(t, loopback()).Stream(t.Context(), Request{URL: s.URL, MaxBody: 10})
		wantKind(t, err, ClassTooLarge)
	})
	t.Run("refuses what Do refuses", func(t *testing.T) {
		t.Parallel()
		c := newClient(t, Config{})
		_, err := c.Stream(t.Context(), Request{URL: "http://127.0.0.1:1/"})
		wantKind(t, err, ClassBlocked)
		_, err = c.Stream(t.Context(), Request{URL: "nowhere"})
		wantKind(t, err, ClassBadURL)
	})
	t.Run("is bounded in time while the body is read", func(t *testing.T) {
		t.Parallel()
		s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		})
		got := mustStream(t, newClient(t, loopback()), Request{URL: s.URL, Timeout: 5 * time.Second})
		_, err := io.ReadAll(got.Body)
		wantKind(t, err, ClassTimeout)
	})
	t.Run("closes its connection when it is closed", func(t *testing.T) {
		t.Parallel()
		gone := make(chan struct{})
		s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			close(gone)
		})
		if err := mustStream(t, newClient(t, loopback()), Request{URL: s.URL}).Body.Close(); err != nil {
			t.Error(err)
		}
		<-gone
	})
}

// mustStream begins an answer and closes it with the test.
func mustStream(t *testing.T, c *Client, req Request) *Stream {
	t.Helper()
	s, err := c.Stream(t.Context(), req)
	if err != nil {
		t.Fatalf("Stream(%s): %v", req.URL, err)
	}
	t.Cleanup(func() { _ = s.Body.Close() })
	return s
}
