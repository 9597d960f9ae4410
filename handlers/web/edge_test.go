package web

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestEdge_closes_a_connection_whose_body_did_not_end leaves a chunked body unfinished. What comes after it on the connection
// would otherwise be read as the next request.
func TestEdge_closes_a_connection_whose_body_did_not_end(t *testing.T) {
	t.Parallel()
	edge := NewEdge(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }), "")
	edge.BodyTimeout = 50 * time.Millisecond
	states := make(chan http.ConnState, 10)
	srv := httptest.NewUnstartedServer(edge)
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) { states <- s }
	srv.Start()
	defer srv.Close()
	c, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := c.Write([]byte("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n99\r\nfirst")); err != nil {
		t.Fatal(err)
	}
	answer, _ := io.ReadAll(c)
	if !strings.HasPrefix(string(answer), "HTTP/1.1 403 ") {
		t.Errorf("%q", answer)
	}
	for s := range states {
		if s == http.StateIdle {
			t.Fatal("the connection waits for another request")
		}
		if s == http.StateClosed {
			break
		}
	}
}

// TestEdge_reads_a_body_from_one_place_at_a_time has bodies that end right where draining stops, around it, and far from it, each
// followed by another request on the connection. A handler may still read its body in another goroutine after it has returned.
func TestEdge_reads_a_body_from_one_place_at_a_time(t *testing.T) {
	t.Parallel()
	const limit = 300 << 10 // more than net/http itself drains
	var logged syncBuffer
	handlers := map[string]http.HandlerFunc{
		"responds early":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
		"reads a part":     func(w http.ResponseWriter, r *http.Request) { _, _ = io.CopyN(w, r.Body, 1000) },
		"reads afterwards": func(_ http.ResponseWriter, r *http.Request) { go func() { _, _ = io.Copy(io.Discard, r.Body) }() },
		"closes the body":  func(_ http.ResponseWriter, r *http.Request) { _ = r.Body.Close() },
		"reads too much": func(w http.ResponseWriter, r *http.Request) {
			_, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, 1000))
			http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		},
	}
	for name, handle := range handlers {
		edge := NewEdge(handle, "")
		edge.maxDrain = limit
		srv := httptest.NewUnstartedServer(edge)
		srv.Config.ErrorLog = log.New(&logged, "", 0)
		srv.Start()
		defer srv.Close()
		for _, size := range []int{limit - 1, limit, limit + 1, limit + 1000, 2 * limit} {
			for _, header := range []string{"Content-Length: " + strconv.Itoa(size), "Transfer-Encoding: chunked"} {
				body := strings.Repeat("x", size)
				if strings.HasSuffix(header, "chunked") {
					body = fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", size, body)
				}
				c, err := net.Dial("tcp", srv.Listener.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				request := "POST / HTTP/1.1\r\nHost: x\r\n" + header + "\r\n\r\n" + body
				go func() { _, _ = io.WriteString(c, request+"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n") }()
				if answer, _ := io.ReadAll(c); !strings.HasPrefix(string(answer), "HTTP/1.1 ") {
					t.Errorf("%s, %s: the answer is %q", name, header, answer)
				}
				_ = c.Close()
			}
		}
	}
	if text := logged.String(); strings.Contains(text, "panic") {
		t.Error(text)
	}
}

// syncBuffer is a buffer that is safe for concurrent use.
type syncBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
