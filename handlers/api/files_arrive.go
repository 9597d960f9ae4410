package api

import (
	"net/http"
	"sluice/handlers/web"
)

// steadyWriter is an answer that may take long as long as the peer keeps taking
// it. It keeps to itself what http.ServeContent says of a request that it
// refuses, for the door for errors to say.
type fileWriter struct {
	http.ResponseWriter
	refused int // the status of a refusal; 0 while there is none
}

// WriteHeader passes a status on unless it is an error.
func (w *fileWriter) WriteHeader(status int) {
	if status >= 400 {
		w.refused = status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write gives the peer a minute for each piece.
func (w *fileWriter) Write(p []byte) (int, error) {
	if w.refused != 0 {
		return len(p), nil
	}
	web.LimitWrite(w.ResponseWriter)
	return w.ResponseWriter.Write(p)
}
