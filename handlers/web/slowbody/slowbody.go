// Package slowbody reads request bodies that may take long as long as they keep
// coming. The API and the pages both take files; it knows neither.
package slowbody

import (
	"io"
	"net/http"
	"time"
)

// leastRate is how many bytes a second a body must bring on average once its
// first seconds are over. One that only just keeps moving would hold its
// connection for days.
const leastRate = 1 << 10

// Body is a request body that may take long as long as it keeps coming. It
// replaces the time limit that other bodies have as a whole.
type Body struct {
	io.ReadCloser
	limit    *http.ResponseController
	patience time.Duration // for one piece, and for the slowness of all of them
	waited   time.Duration // for the peer; the time that the store took does not count
	read     int64
}

// New is the body of a request that w answers. It waits for the next piece as
// long as patience has it.
func New(w http.ResponseWriter, body io.ReadCloser, patience time.Duration) *Body {
	return &Body{ReadCloser: body, limit: http.NewResponseController(w), patience: patience}
}

// Read waits for the next piece.
func (b *Body) Read(p []byte) (int, error) {
	earned := time.Duration(float64(b.read) / leastRate * float64(time.Second))
	begun := time.Now()
	_ = b.limit.SetReadDeadline(begun.Add(min(b.patience, b.patience+earned-b.waited))) // recorders of tests have none
	n, err := b.ReadCloser.Read(p)
	b.waited += time.Since(begun)
	b.read += int64(n)
	return n, err
}
