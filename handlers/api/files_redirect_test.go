package api

import (
	"context"
	"net/http"
	"testing"
	"time"

	"sluice/flow"
)

// linkedShelf keeps its files in object storage.
type linkedShelf struct{ Files }

func (linkedShelf) ContentLink(_ context.Context, f *flow.File, mediaType, disposition string, lifetime time.Duration) (string, error) {
	return "https://storage.example.com/" + f.ID + "?" + mediaType + "&" + disposition + "&" + lifetime.String(), nil
}

// TestShowFile_redirects_to_object_storage checks that only plain downloads are redirected, and as
// attachments.
func TestShowFile_redirects_to_object_storage(t *testing.T) {
	t.Parallel()
	w := setup(t, func(c *Config) { c.Files = linkedShelf{c.Files} })
	id := w.uploaded("cat.png", "image/png", pngBytes)
	w.http.Client().CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	a := w.get("/v1/files/" + id)
	a.want(t, 307)
	want := "https://storage.example.com/" + id + `?image/png&attachment; filename="cat.png"; filename*=UTF-8''cat.png&1m0s`
	if got := a.header.Get("Location"); got != want || a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("got %s, want %s; %v", got, want, a.header)
	}
	w.get("/v1/files/"+id, "Sec-Fetch-Mode", "navigate").want(t, 307)
	for _, headers := range [][]string{{"Sec-Fetch-Mode", "no-cors"}, {"If-None-Match", `"other"`}} {
		w.get("/v1/files/"+id, headers...).want(t, 200)
	}
	w.send(request{method: "HEAD", path: "/v1/files/" + id}).want(t, 200)
	w.send(request{method: "GET", path: "/v1/files/" + id, key: "-"}).want(t, 401)
}
