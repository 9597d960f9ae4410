package hostedtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

// Secret is the only token that the fake accepts.
const Secret = "r8_hostedtest_0123456789abcdefghijklmnopq"

// maxRequests bounds what the fake remembers.
const maxRequests = 10_000

// Fake is a model-hosting platform on loopback. It is safe for concurrent use.
type Fake struct {
	URL string // of the API, with its version: a base URL for clients
	// Second is how long the fake takes a second to be where it waits for one:
	// Prefer, Cancel-After and Script.Seconds. Set it before the first request.
	Second time.Duration
	// PageSize is how many entries a list gives at once.
	PageSize int

	api, delivery *server
	mu            sync.Mutex
	changed       chan struct{} // closed and replaced when any prediction changes
	models        []*Model
	collections   []Collection
	predictions   []*prediction // oldest first
	files         []*file
	outputs       map[string]output
	faults        []*Fault
	requests      []Request
	leaks         int
	ids           int
}

// Request is one the fake has seen.
type Request struct {
	Method, Path string
	Header       http.Header
	Body         []byte
}

// Collection is a category of the platform's own.
type Collection struct {
	Slug, Name, Description string
	Models                  []string // owner/name
}

// New starts a fake that ends with the test.
func New(t testing.TB) *Fake {
	t.Helper()
	f, err := NewServer("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

// NewServer starts a fake on an address, for programs that must outlive what
// they test. Close ends it.
func NewServer(addr string) (*Fake, error) {
	f := &Fake{
		Second: time.Second, PageSize: 100,
		changed: make(chan struct{}), outputs: map[string]output{},
	}
	var err error
	if f.api, err = serve(addr, f.intercept(f.routes())); err != nil {
		return nil, err
	}
	if f.delivery, err = serve("127.0.0.1:0", http.HandlerFunc(f.deliver)); err != nil {
		f.api.close()
		return nil, err
	}
	f.URL = f.api.url + "/v1"
	return f, nil
}

// Close ends the fake and every request under way.
func (f *Fake) Close() {
	f.api.close()
	f.delivery.close()
}

// server is an HTTP server whose requests end when it is closed.
type server struct {
	http *http.Server
	url  string
	end  context.CancelFunc
	done chan struct{}
}

// serve listens at addr and serves requests until close. Their contexts end with it.
func serve(addr string, h http.Handler) (*server, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(context.Background())
	s := &server{
		url: "http://" + l.Addr().String(), end: end, done: make(chan struct{}),
		http: &http.Server{
			Handler: h, ReadHeaderTimeout: 10 * time.Second,
			BaseContext: func(net.Listener) context.Context { return ctx },
		},
	}
	go func() {
		defer close(s.done)
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			panic(fmt.Sprintf("the fake of Replicate stopped serving: %v", err))
		}
	}()
	return s, nil
}

// close ends all requests and waits for the server. A graceful shutdown would wait
// forever for streams that a test holds open.
func (s *server) close() {
	s.end()
	_ = s.http.Close() // the test is over
	<-s.done
}

// Created is how many predictions have been created.
func (f *Fake) Created() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.predictions)
}

// Requests are those seen so far.
func (f *Fake) Requests() []Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.requests)
}

// Leaks counts requests for output files that carried an Authorization header:
// the host of such files must never see the secret.
func (f *Fake) Leaks() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.leaks
}

// AddCollection adds a category.
func (f *Fake) AddCollection(c Collection) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.collections = append(f.collections, c)
}

// id makes an identifier of the platform's form: 26 small letters and digits.
// The lock is held.
func (f *Fake) id() string {
	f.ids++
	return fmt.Sprintf("%026d", f.ids)
}

// answer writes a JSON response with a status.
func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may be gone
}

// refuse writes an error in the platform's form.
func refuse(w http.ResponseWriter, status int, title, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"title": title, "detail": detail, "status": status})
}

// notFound responds as the platform does to an ID that does not exist, or that the
// account may not see.
func notFound(w http.ResponseWriter) {
	refuse(w, http.StatusNotFound, "Not found", "The requested resource could not be found.")
}
