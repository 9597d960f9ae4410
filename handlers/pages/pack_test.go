package pages

import (
	"net/http"
	"testing"

	"sluice/flow"
)

func TestPack(t *testing.T) {
	t.Parallel()
	h := setup(t)
	b := h.as(flow.MemberViewer)
	for accept, want := range map[string]string{"gzip, br": "gzip", "identity": ""} {
		r, err := http.NewRequest("GET", h.http.URL+"/flows", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept-Encoding", accept) // set by hand, it is not unpacked on the way
		resp, err := b.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := resp.Header.Get("Content-Encoding"); got != want || resp.StatusCode != http.StatusOK {
			t.Errorf("with Accept-Encoding %q the page is %d, packed as %q, want %q", accept, resp.StatusCode, got, want)
		}
	}
}
