package console

import (
	"bytes"
	"net/http"

	"sluice/docs"
	"sluice/flow"
)

// docsInstead are the pages that this server writes itself.
func (s *Server) docsInstead() map[string]string {
	if s.API == nil {
		return nil
	}
	r, err := http.NewRequest(http.MethodGet, "/v1/openapi.json", nil)
	if err != nil {
		return nil // the line above is wrong
	}
	var document kept
	s.API(&flow.Key{}, &document, r)
	text, err := docs.APIPage(document.Bytes())
	if err != nil {
		s.Log.Error("the reference of the API is that of the files", "error", err)
		return nil
	}
	return map[string]string{"api": text}
}

// kept is an answer that stays in memory.
type kept struct {
	bytes.Buffer
	header http.Header
}

// Header is written and not read.
func (k *kept) Header() http.Header {
	if k.header == nil {
		k.header = http.Header{}
	}
	return k.header
}

// WriteHeader does nothing: what is no document cannot be read as one.
func (k *kept) WriteHeader(int) {}
