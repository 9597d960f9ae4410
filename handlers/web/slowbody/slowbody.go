// Package slowbody reads uploads. In place of the fixed deadline of other request
// bodies it bounds each pause and the average rate, so a slow upload may take
// hours as long as data keeps arriving.
package slowbody

import (
	"io"
	"net/http"
	"time"
)

// minRate is the minimum average rate of a body in bytes per second, apart from an
// initial grace period. Otherwise a client that sends single bytes could keep its
// connection for days.
const minRate = 1 << 10

// Body is a request body with a deadline for each Read but no total one. It is not safe
// for concurrent use.
type Body struct {
	io.ReadCloser
	limit    *http.ResponseController
	patience time.Duration // for one read, and for the total delay below minRate
	waited   time.Duration // total time in Read
	read     int64
}

// New returns a body that reads the request of w. A read waits at most patience for data.
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
