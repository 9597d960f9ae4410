package web

import (
	"crypto/rand"
	"io"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"sluice/flow/caller"
	"sluice/flow/trace"
	"sluice/handlers/web/conns"
)

// Time limits of a connection. A whole request has no limit, because clients wait
// for runs and stream them. Instead, each part that a slow or hostile client could
// stretch has its own.
const (
	headerTimeout = 10 * time.Second  // until the header is complete
	writeTimeout  = 60 * time.Second  // until the client has read one response, or one write of a stream
	idleTimeout   = 120 * time.Second // between two requests
	bodyTimeout   = 30 * time.Second  // until a body is complete
	maxHeader     = 32 << 10          // bytes
)

// NewHTTPServer returns a server that slow peers cannot exhaust.
func NewHTTPServer(handler http.Handler) *conns.Server {
	srv := conns.New(handler)
	srv.ReadHeaderTimeout, srv.IdleTimeout, srv.MaxHeaderBytes = headerTimeout, idleTimeout, maxHeader
	return srv
}

// Edge handles every request first. It sets the request ID and common headers,
// limits the time for reading the body, and drains what handlers leave unread.
type Edge struct {
	BodyTimeout time.Duration // until a body must be complete; default 30 seconds
	// CallerKey verifies which run has sent a request; see package caller. Without it, none counts as sent by a run.
	CallerKey []byte
	// Observe receives each request once it has been served. It must be set before the first; nil receives none.
	Observe func(*Served)

	next     http.Handler
	maxDrain int64  // see MaxDrain
	hsts     string // the Strict-Transport-Security header; "" omits it
}

// NewEdge returns an edge in front of a handler. With an https public URL, responses
// tell browsers to use HTTPS only.
func NewEdge(next http.Handler, publicURL string) *Edge {
	return &Edge{BodyTimeout: bodyTimeout, next: next, maxDrain: MaxDrain, hsts: hstsHeader(publicURL)}
}

// ServeHTTP prepares a request and passes it to the next handler.
func (e *Edge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if e.Observe != nil {
		e.serveObserved(w, r)
		return
	}
	e.serve(w, r)
}

// serve serves a request; see ServeHTTP.
func (e *Edge) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Request-Id", RequestID(r))
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if e.hsts != "" {
		w.Header().Set("Strict-Transport-Security", e.hsts)
	}
	if value := r.Header.Get(caller.Header); value != "" && len(e.CallerKey) > 0 {
		if sender, ok := caller.Verify(e.CallerKey, value); ok {
			r = r.WithContext(caller.Received(r.Context(), sender))
		}
	}
	if r.ContentLength == 0 {
		e.next.ServeHTTP(w, r)
		return
	}
	limitBody(w, e.BodyTimeout)
	body := &countedBody{ReadCloser: r.Body}
	counted := *r // net/http looks at the body of the original
	counted.Body = body
	e.next.ServeHTTP(w, &counted)
	e.drainBody(w, r, body)
}

// SplitAPI serves the paths of the API with api and all others with pages. Runs that a request to the API starts belong to the
// trace that it names; those of pages and forms do not, because anyone could choose their trace.
func SplitAPI(api, pages http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isAPIPath(r.URL.Path) {
			if header := r.Header.Get("Traceparent"); header != "" {
				r = r.WithContext(trace.WithParent(r.Context(), header))
			}
			api.ServeHTTP(w, r)
		} else {
			pages.ServeHTTP(w, r)
		}
	})
}

// isAPIPath reports whether a path belongs to the API.
func isAPIPath(path string) bool {
	for _, root := range []string{"/v1", "/mcp", "/livez", "/readyz"} {
		if rest, ok := strings.CutPrefix(path, root); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

// limitBody sets the deadline for reading the body. It also renews the write
// deadline, for "100 Continue": that of an earlier response may have passed.
func limitBody(w http.ResponseWriter, limit time.Duration) {
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(limit)) // test recorders have no deadlines
	_ = rc.SetWriteDeadline(time.Now().Add(writeTimeout))
}

// ClearReadDeadline removes the deadline of limitBody. Call it once the body has been
// read, because the handler may take longer.
func ClearReadDeadline(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
}

// LimitWrite gives the client a minute to read the next write.
func LimitWrite(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
}

// Limits of drainBody.
const (
	// smallDrain is how much of an unread body net/http itself drains, in bytes.
	smallDrain = 256 << 10
	// MaxDrain bounds how much of an unread body is drained, in bytes, and drainTime for how long.
	MaxDrain  = 256 << 20
	drainTime = 15 * time.Second
	// maxDrains bounds how many large bodies are drained at once.
	maxDrains = 64
)

// draining has a token for each large body that is drained.
var draining = make(chan struct{}, maxDrains)

// drainBody reads what the handler left of a body. Closed over unread bytes, a connection is
// reset, and the reset destroys a response that the client has not read yet. Many clients
// send the whole body before they read. If much is left, the response is sent first, for clients
// that read meanwhile.
func (e *Edge) drainBody(w http.ResponseWriter, r *http.Request, body *countedBody) {
	read, done := body.state()
	left := r.ContentLength - read
	if done || r.ContentLength == 0 || read == 0 && r.Header.Get("Expect") != "" {
		return
	}
	if r.ContentLength > 0 && left <= smallDrain {
		if r.Close {
			_, _ = io.Copy(io.Discard, io.LimitReader(body.ReadCloser, smallDrain)) // errors are ignored: the connection closes anyway
		}
		return
	}
	select {
	case draining <- struct{}{}:
		defer func() { <-draining }()
	default:
		return // net/http waits a moment between the response and the end of the connection
	}
	rc := http.NewResponseController(w)
	if rc.EnableFullDuplex() != nil {
		return
	}
	if rc.SetReadDeadline(time.Now().Add(min(drainTime, e.BodyTimeout))) == nil && rc.Flush() == nil {
		if n, err := io.Copy(io.Discard, io.LimitReader(body.ReadCloser, e.maxDrain)); err == nil && n < e.maxDrain {
			return
		}
	}
	closeAfterResponse(w)
}

// closeAfterResponse makes net/http close the connection. In full duplex mode it would take what is left of a body for the next
// request. Or it would read the end of the body only when it closes it, start to read in the background then, and panic with
// "invalid concurrent Body.Read call" when it reads the next request at the same time.
func closeAfterResponse(w http.ResponseWriter) {
	_, _ = http.MaxBytesReader(w, io.NopCloser(strings.NewReader("x")), 0).Read(make([]byte, 1)) // a body above its limit does that
}

// countedBody is a request body that knows how much of it was read.
type countedBody struct {
	io.ReadCloser
	read atomic.Int64
	done atomic.Bool // it ended, or reading it failed
}

// Read implements io.Reader.
func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read.Add(int64(n))
	if err != nil {
		b.done.Store(true)
	}
	return n, err
}

// state returns how many bytes were read, and whether there is nothing more to read.
func (b *countedBody) state() (read int64, done bool) { return b.read.Load(), b.done.Load() }

// hstsHeader returns the Strict-Transport-Security header for a public URL: one
// year, without subdomains, which may belong to others. It returns "" for http and
// localhost.
func hstsHeader(publicURL string) string {
	u, err := url.Parse(publicURL)
	if err != nil || u.Scheme != "https" || IsLoopback(u.Hostname()) {
		return ""
	}
	return "max-age=31536000"
}

// RequestID returns the client's X-Request-Id if it is safe in a log and a header,
// otherwise a random one.
func RequestID(r *http.Request) string {
	if id := r.Header.Get("X-Request-Id"); requestIDForm.MatchString(id) && !ContainsKey(id) {
		return id
	}
	return "req_" + rand.Text()
}

// requestIDForm matches request IDs that clients may choose.
var requestIDForm = regexp.MustCompile(`^[0-9A-Za-z_.:/=+-]{1,128}$`)

// keyText matches what has the form of a key, even with a wrong checksum.
var keyText = regexp.MustCompile(`slu_[0-9A-Za-z]{20,}`)

// ContainsKey reports whether a text contains what looks like an API key. Such
// a text must not reach a log.
func ContainsKey(s string) bool { return strings.Contains(s, "slu_") && keyText.MatchString(s) }

// Seconds formats a duration for Retry-After. It rounds up, so that a client
// which waits that long has waited long enough.
func Seconds(d time.Duration) string { return strconv.Itoa(int(math.Ceil(d.Seconds()))) }

// StatusClientGone is the status in the log of a request whose client has
// disconnected. nginx uses the same number.
const StatusClientGone = 499
