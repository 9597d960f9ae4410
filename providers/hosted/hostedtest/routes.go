package hostedtest

import (
	"io"
	"net/http"
	"strings"
)

// routes returns the handler of the API. It has more routes than Sluice calls; all
// others respond with 404, so that a mistake in a URL fails a test.
func (f *Fake) routes() http.Handler {
	mux := http.NewServeMux()
	for pattern, handler := range map[string]http.HandlerFunc{
		"GET /v1/account":               f.account,
		"GET /v1/models":                f.listModels,
		"QUERY /v1/models":              f.queryModels,
		"GET /v1/models/{owner}/{name}": f.showModel,
		"GET /v1/models/{owner}/{name}/versions/{version}": f.showVersion,
		"POST /v1/models/{owner}/{name}/predictions":       f.createOfficial,
		"GET /v1/search":                   f.search,
		"GET /v1/collections":              f.listCollections,
		"GET /v1/collections/{slug}":       f.showCollection,
		"POST /v1/predictions":             f.createPrediction,
		"GET /v1/predictions":              f.listPredictions,
		"GET /v1/predictions/{id}":         f.showPrediction,
		"POST /v1/predictions/{id}/cancel": f.cancelPrediction,
		"GET /stream/{id}":                 f.stream,
		"POST /v1/files":                   f.createFile,
		"GET /v1/files":                    f.listFiles,
		"GET /v1/files/{id}":               f.showFile,
		"DELETE /v1/files/{id}":            f.deleteFile,
	} {
		mux.HandleFunc(pattern, handler)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { notFound(w) })
	return mux
}

// account is GET /v1/account. Sluice calls it to test a credential.
func (f *Fake) account(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]any{
		"type": "organization", "username": "acme", "name": "Acme Corp, Inc.", "github_url": "https://github.com/acme",
	})
}

// queryModels is the search of older clients: a QUERY with the words as body.
func (f *Fake) queryModels(w http.ResponseWriter, r *http.Request) {
	words, _ := io.ReadAll(io.LimitReader(r.Body, 1000))
	f.mu.Lock()
	defer f.mu.Unlock()
	f.page(w, r, wireModels(f.matching(strings.Trim(string(words), `"`))))
}
