package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// message is one webhook request as it arrived.
type message struct {
	path   string
	header http.Header
	body   []byte
}

func (m *message) id() string { return m.header.Get("Webhook-Id") }

// receiver is a webhook receiver that records requests.
type receiver struct {
	*httptest.Server
	mu   sync.Mutex
	list []message
	// answer says what to answer the nth request (from 1) to a path with; nil
	// answers 200.
	answer func(w http.ResponseWriter, path string, nth int)
}

func newReceiver(t testing.TB, answer func(w http.ResponseWriter, path string, nth int)) *receiver {
	r := &receiver{answer: answer}
	r.Server = httptest.NewServer(http.HandlerFunc(r.receive))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) receive(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return // the sender was killed in the middle of it
	}
	r.mu.Lock()
	r.list = append(r.list, message{req.URL.Path, req.Header.Clone(), body})
	nth := 0
	for _, m := range r.list {
		if m.path == req.URL.Path {
			nth++
		}
	}
	r.mu.Unlock()
	if r.answer != nil {
		r.answer(w, req.URL.Path, nth)
	}
}

// at returns the messages that arrived at a path so far.
func (r *receiver) at(path string) []message {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []message
	for _, m := range r.list {
		if m.path == path {
			list = append(list, m)
		}
	}
	return list
}

// await waits until n messages have arrived at a path.
func (r *receiver) await(t testing.TB, path string, n int) []message {
	t.Helper()
	waitUntil(t, "messages at "+path, func() bool { return len(r.at(path)) >= n })
	return r.at(path)
}
