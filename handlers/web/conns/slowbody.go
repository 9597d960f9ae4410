package conns

import (
	"io"
	"net/http"
	"time"
)

// minRate is the minimum average rate of a body in bytes per second, apart from an
// initial grace period. Otherwise a client that sends single bytes could keep its
// connection for days.
const minRate = 1 << 10

// SlowBody is the body of an upload. In place of the fixed deadline of other bodies it bounds each
// pause and the average rate, so a slow upload may take hours as long as data keeps arriving. It is
// not safe for concurrent use.
type SlowBody struct {
	io.ReadCloser
	limit    *http.ResponseController
	patience time.Duration // for one read, and for the total delay below minRate
	waited   time.Duration // total time in Read
	read     int64
}

// NewSlowBody returns a body that reads the request of w. A read waits at most patience for data.
func NewSlowBody(w http.ResponseWriter, body io.ReadCloser, patience time.Duration) *SlowBody {
	return &SlowBody{ReadCloser: body, limit: http.NewResponseController(w), patience: patience}
}

// Read implements io.Reader with a deadline.
func (b *SlowBody) Read(p []byte) (int, error) {
	earned := time.Duration(float64(b.read) / minRate * float64(time.Second))
	begun := time.Now()
	_ = b.limit.SetReadDeadline(begun.Add(min(b.patience, b.patience+earned-b.waited))) // test recorders have no deadlines
	n, err := b.ReadCloser.Read(p)
	b.waited += time.Since(begun)
	b.read += int64(n)
	return n, err
}
