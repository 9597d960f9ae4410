package handlers

import (
	"io"
	"net/http"
	"time"

	"sluice/handlers/conns"
)

// Time limits of a connection. There is no limit on a whole request: runs are
// waited for and streamed. Instead each part that a slow or hostile peer could
// stretch has its own.
const (
	headerTime = 10 * time.Second  // until the header is complete
	answerTime = 60 * time.Second  // until one answer, or one piece of a stream, is taken
	idleTime   = 120 * time.Second // between two requests
	maxHeader  = 32 << 10
)

// NewHTTPServer makes a server that slow peers cannot exhaust.
func NewHTTPServer(handler http.Handler) *conns.Server {
	srv := conns.New(handler)
	srv.ReadHeaderTimeout, srv.IdleTimeout, srv.MaxHeaderBytes = headerTime, idleTime, maxHeader
	return srv
}

// limitArrival bounds the time that the request's body may take. The write
// deadline is for "100 Continue": that of an earlier answer may have passed.
func (s *Server) limitArrival(w http.ResponseWriter) {
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(s.arrival)) // recorders of tests have none
	_ = rc.SetWriteDeadline(time.Now().Add(answerTime))
}

// endArrival lifts the bound once the body is read: what follows may be long.
func endArrival(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
}

// limitAnswer bounds the time that a peer may take to read what comes next.
func limitAnswer(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTime))
}

// maxUnread is how much of a body nobody read is read away before its
// connection is closed, in bytes; as net/http does where it keeps one open.
const maxUnread = 256 << 10

// readAway takes what is left of the body of a request that closes its
// connection. Closed over unread bytes, the connection would be reset, and the
// reset could overtake the answer. With more than maxUnread left, net/http
// waits a moment between its last byte and the end.
func readAway(w http.ResponseWriter, r *http.Request) {
	if !r.Close || r.ContentLength == 0 || r.Header.Get("Expect") != "" {
		return
	}
	_, _ = io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, maxUnread)) // what does not arrive in time is lost to nobody
}
