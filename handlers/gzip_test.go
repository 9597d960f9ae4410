package handlers_test

import (
	"net/http"
	"testing"

	"sluice/flow"
	"sluice/handlers/webtest"
)

func TestPages_are_compressed(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b := h.As(flow.MemberViewer)
	for accept, want := range map[string]string{"gzip, br": "gzip", "identity": ""} {
		r, err := http.NewRequest("GET", h.Http.URL+"/flows", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept-Encoding", accept) // setting it disables transparent decompression
		resp, err := b.Client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := resp.Header.Get("Content-Encoding"); got != want || resp.StatusCode != http.StatusOK {
			t.Errorf("with Accept-Encoding %q the page is %d, encoded as %q, want %q", accept, resp.StatusCode, got, want)
		}
	}
}
