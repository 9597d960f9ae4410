package handlers

import (
	"io"
	"net/http"
	"time"
)

// leastRate is how many bytes a second an upload must bring on average once its
// first seconds are over. One that only just keeps moving would hold its
// connection for days.
const leastRate = 1 << 10

// steadyBody is a request body that may take long as long as it keeps coming.
// It replaces the time limit that other bodies have as a whole.
type steadyBody struct {
	body     io.Reader
	limit    *http.ResponseController
	patience time.Duration // for one piece, and for the slowness of all of them
	waited   time.Duration // for the peer; the time that the store took does not count
	read     int64
}

func (c *call) steadyBody() *steadyBody {
	return &steadyBody{body: c.Request().Body, limit: http.NewResponseController(c.Response()), patience: c.s.arrival}
}

// Read waits for the next piece.
func (b *steadyBody) Read(p []byte) (int, error) {
	earned := time.Duration(float64(b.read) / leastRate * float64(time.Second))
	begun := time.Now()
	_ = b.limit.SetReadDeadline(begun.Add(min(b.patience, b.patience+earned-b.waited))) // recorders of tests have none
	n, err := b.body.Read(p)
	b.waited += time.Since(begun)
	b.read += int64(n)
	return n, err
}

// steadyWriter is an answer that may take long as long as the peer keeps taking
// it. It keeps to itself what http.ServeContent says of a request that it
// refuses, for the door for errors to say.
type steadyWriter struct {
	http.ResponseWriter
	refused int // the status of a refusal; 0 while there is none
}

// WriteHeader passes a status on unless it is an error.
func (w *steadyWriter) WriteHeader(status int) {
	if status >= 400 {
		w.refused = status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write gives the peer a minute for each piece.
func (w *steadyWriter) Write(p []byte) (int, error) {
	if w.refused != 0 {
		return len(p), nil
	}
	limitAnswer(w.ResponseWriter)
	return w.ResponseWriter.Write(p)
}
