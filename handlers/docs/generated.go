package docs

import (
	"net/http"

	"sluice/docs"
	"sluice/flow"
	"sluice/handlers/web"
)

// generatedPages returns the pages that this server generates, by name: the API
// reference. On an error it returns nil, and the documentation has no such page.
func (s *Server) generatedPages() map[string]string {
	r, err := http.NewRequest(http.MethodGet, "/v1/openapi.json", nil)
	if err != nil {
		return nil // cannot happen: the URL is constant
	}
	w := web.NewResponseRecorder() // an error response is not a valid document, so APIPage fails
	s.api(&flow.Key{}, w, r)
	text, err := docs.APIPage(w.Body.Bytes())
	if err != nil {
		s.Log.Error("API reference not generated", "error", err)
		return nil
	}
	return map[string]string{"api": text}
}
