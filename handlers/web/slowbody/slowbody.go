// Package slowbody reads uploads, which may take long as long as data keeps
// arriving. It replaces the fixed deadline for other request bodies by a bound on
// each pause and on the average rate.
package slowbody

import (
	"io"
	"net/http"
	"time"
)

// minRate is the average rate, in bytes per second, that a body needs after its
// first seconds. A body that sends a byte at a time would otherwise keep its
// connection for days.
const minRate = 1 << 10

// Body is a request body without a deadline for the whole. Each Read has one.
type Body struct {
	io.ReadCloser
	limit    *http.ResponseController
	patience time.Duration // for one read, and for all time lost below minRate
	waited   time.Duration // for the client; the time between reads does not count
	read     int64
}

// New returns a body that reads from the request of w. A read waits for data at most
// as long as patience.
func New(w http.ResponseWriter, body io.ReadCloser, patience time.Duration) *Body {
	return &Body{ReadCloser: body, limit: http.NewResponseController(w), patience: patience}
}

// Read implements io.Reader with a deadline.
func (b *Body) Read(p []byte) (int, error) {
	earned := time.Duration(float64(b.read) / minRate * float64(time.Second))
	begun := time.Now()
	_ = b.limit.SetReadDeadline(begun.Add(min(b.patience, b.patience+earned-b.waited))) // test recorders have no deadlines
	n, err := b.ReadCloser.Read(p)
	b.waited += time.Since(begun)
	b.read += int64(n)
	return n, err
}
