package outbound

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
)

func TestBodyLimit(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/chunked" {
			w.(http.Flusher).Flush() // no Content-Length
		}
		_, _ = w.Write([]byte("0123456789"))
	})
	c := newClient(t, loopback())
	for _, path := range []string{"/sized", "/chunked"} {
		if got := mustDo(t, c, Request{URL: s.URL + path, MaxBody: 10}); string(got.Body) != "0123456789" || got.Truncated {
			t.Errorf("%s: exactly the limit: %q, %v", path, got.Body, got.Truncated)
		}
		_, err := c.Do(t.Context(), Request{URL: s.URL + path, MaxBody: 9})
		if e := wantKind(t, err, ClassTooLarge); e.Retryable() || !strings.Contains(e.Message, "larger than 9 bytes") {
			t.Errorf("%s: %v", path, e)
		}
		got := mustDo(t, c, Request{URL: s.URL + path, MaxBody: 4, Truncate: true})
		if string(got.Body) != "0123" || !got.Truncated {
			t.Errorf("%s: truncated: %q, %v", path, got.Body, got.Truncated)
		}
	}
	if got := mustDo(t, c, Request{Method: http.MethodHead, URL: s.URL + "/sized", MaxBody: 1}); len(got.Body) != 0 {
		t.Errorf("HEAD: %q", got.Body)
	}
}

func TestDefaultBodyLimit(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
		block := make([]byte, 1<<20)
		for range 11 {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	})
	_, err := newClient(t, loopback()).Do(t.Context(), Request{URL: s.URL})
	if e := wantKind(t, err, ClassTooLarge); !strings.Contains(e.Message, "10 MiB") {
		t.Error(e)
	}
}

// gzipped returns size zero bytes in so many members, compressed about 1,000 times.
func gzipped(t *testing.T, members, size int) []byte {
	t.Helper()
	var buf bytes.Buffer
	zeros := make([]byte, 1<<20)
	for range members {
		w, _ := gzip.NewWriterLevel(&buf, gzip.BestSpeed)
		for n := size; n > 0; n -= len(zeros) {
			if _, err := w.Write(zeros[:min(n, len(zeros))]); err != nil {
				t.Fatal(err)
			}
		}
		_ = w.Close()
	}
	return buf.Bytes()
}

// Not parallel: it measures what the whole program allocates meanwhile.
func TestGzipBomb(t *testing.T) {
	const limit = 1 << 20
	bomb := gzipped(t, 4, 32<<20) // 128 MiB
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "gzip" {
			t.Errorf("asked for %q", r.Header.Get("Accept-Encoding"))
		}
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(bomb)
	})
	c := newClient(t, loopback())
	for name, header := range map[string]http.Header{"plain": nil, "asking_for_more": {"Accept-Encoding": {"br, zstd, gzip"}}} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := c.Do(t.Context(), Request{URL: s.URL, MaxBody: limit, Header: header})
			runtime.ReadMemStats(&after)
			wantKind(t, err, ClassTooLarge)
			if used := after.TotalAlloc - before.TotalAlloc; used > 8*limit {
				t.Errorf("allocated %d bytes for a limit of %d", used, limit)
			}
		})
	}
	t.Run("http_client", func(t *testing.T) {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
		req.Header.Set("Accept-Encoding", "gzip") // net/http alone would leave the body compressed
		resp, err := c.HTTPClient(ClientOptions{MaxBody: limit}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		n, err := io.Copy(io.Discard, resp.Body)
		wantKind(t, err, ClassTooLarge)
		if n != limit {
			t.Errorf("read %d bytes", n)
		}
		if _, again := resp.Body.Read(make([]byte, 1)); !errors.Is(again, err) {
			t.Errorf("the error is forgotten: %v", again)
		}
	})
}

func TestGzip(t *testing.T) {
	t.Parallel()
	good := gzipped(t, 1, 1000)
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		switch r.URL.Path {
		case "/cut":
			_, _ = w.Write(good[:len(good)-5])
		case "/garbage":
			_, _ = w.Write([]byte("this is not gzip at all"))
		default:
			_, _ = w.Write(good)
		}
	})
	c := newClient(t, loopback())
	if got := mustDo(t, c, Request{URL: s.URL}); len(got.Body) != 1000 || got.Header.Get("Content-Encoding") != "" {
		t.Errorf("%d bytes, %v", len(got.Body), got.Header)
	}
	for path, class := range map[string]ErrorClass{"/cut": ClassConnection, "/garbage": ClassEncoding} {
		_, err := c.Do(t.Context(), Request{URL: s.URL + path})
		wantKind(t, err, class)
	}
}

func TestHeaderLimit(t *testing.T) {
	t.Parallel()
	handler := func(w http.ResponseWriter, r *http.Request) {
		size := 60 << 10
		if r.URL.Path == "/large" {
			size = 65 << 10
		}
		for range size >> 10 { // each line just under 1 KiB with its name
			w.Header().Add("X-Filler", strings.Repeat("x", 1000))
		}
	}
	secure := newTLSServer(t, handler)
	c := newClient(t, trusting(secure))
	for _, base := range []string{newServer(t, handler).URL, secure.URL} {
		mustDo(t, c, Request{URL: base})
		_, err := c.Do(t.Context(), Request{URL: base + "/large"})
		wantKind(t, err, ClassTooLarge)
	}
}
