package web

import (
	"bytes"
	"net/http"
)

// ResponseRecorder is an http.ResponseWriter that keeps the response in memory, for
// requests that the server sends to its own API.
type ResponseRecorder struct {
	Status int // 0 until the handler responds
	Body   bytes.Buffer
	header http.Header
}

// NewResponseRecorder returns an empty recorder.
func NewResponseRecorder() *ResponseRecorder { return &ResponseRecorder{header: http.Header{}} }

// Header returns the header of the response.
func (w *ResponseRecorder) Header() http.Header { return w.header }

// WriteHeader keeps the first status, as net/http does.
func (w *ResponseRecorder) WriteHeader(status int) {
	if w.Status == 0 {
		w.Status = status
	}
}

// Write keeps the body.
func (w *ResponseRecorder) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.Body.Write(p)
}
