package jobs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"sluice/db"
	"sluice/flow"
	"sluice/flow/filelinks"
	"sluice/flow/value"
)

// links is the configuration of all Runners of these tests.
var links = &filelinks.Signer{Base: "https://sluice.test", Key: []byte("secret that signs links in tests")}

// TestDelivery_links_to_files wants all attempts to send the same bytes, with links to
// the files, and the stored body to have no links.
func TestDelivery_links_to_files(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		target, got := receiver(t, status(500), status(200))
		document := strings.Replace(sendFlow(target), `{"name":"x"}`, `{"name":"x","type":"json"}`, 1)
		fx := newFixture(t, cfg, document).start()
		f, err := fx.store.SaveFile(context.Background(), flow.NewFile{WorkspaceID: flow.DefaultWorkspace, Name: "a.txt"}, strings.NewReader("hello"))
		if err != nil {
			t.Fatal(err)
		}
		claimed := map[string]any{"file": f.ID, "url": "https://evil.example"}
		fx.awaitEnd(fx.startRun(func(s *flow.Start) { s.Given = value.FromMap(map[string]any{"x": map[string]any{"picture": claimed}}) }))
		first := <-got
		fx.awaitDelivery(flow.DeliveryPending, 1)
		fx.clock.advance(5 * time.Second)
		second := <-got
		if !bytes.Equal(first.body, second.body) {
			t.Errorf("the attempts differ:\n%s\n%s", first.body, second.body)
		}
		var sent struct {
			Picture struct{ File, Name, URL string }
		}
		if err := json.Unmarshal(second.body, &sent); err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(sent.Picture.URL)
		if err != nil || sent.Picture.Name != "a.txt" || u.Path != "/v1/files/"+f.ID {
			t.Fatalf("sent %s: %v", second.body, err)
		}
		for days, want := range map[int]bool{0: true, 6: true, 8: false} {
			at := fx.clock.now().Add(time.Duration(days) * 24 * time.Hour)
			if links.Valid(f, u.Query().Get("expires"), u.Query().Get("signature"), at) != want {
				t.Errorf("after %d days the link is valid: %v", days, !want)
			}
		}
		if d := fx.awaitDelivery(flow.DeliveryDelivered, 2); bytes.Contains(d.Body, []byte("url")) {
			t.Errorf("a link was stored: %s", d.Body)
		}
	})
}
