package upstream

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"sluice/outbound"
	"sluice/providers"
	"sluice/providers/hosted/hostedtest"
)

// TestClients_trust_only_the_platform checks that a hosting platform in a private network does
// not allow requests to other hosts in that network, not even to the URLs of outputs.
func TestClients_trust_only_the_platform(t *testing.T) {
	t.Parallel()
	platform := hostedtest.New(t)
	asked := 0
	private := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer private.Close()
	platform.Fail(hostedtest.Fault{Path: "/files/led", Status: http.StatusFound, Header: http.Header{"Location": {private.URL}}, Times: 9})
	platform.Fail(hostedtest.Fault{Path: "/files/own", Status: http.StatusOK, Body: "pixels", Times: 1})
	client, err := outbound.New(outbound.Config{})
	if err != nil {
		t.Fatal(err)
	}
	u, err := New(t.Context(), Config{HTTP: client, ReplicateURL: platform.URL, MaxFile: 100})
	if err != nil {
		t.Fatal(err)
	}
	defer u.HTTP.Close()
	if err := u.reach.trust(t.Context(), private.URL); err != nil { // such as a model server that a credential names
		t.Fatal(err)
	}
	if _, err := u.Host.Account(t.Context(), hostedtest.Secret); err != nil {
		t.Errorf("the platform itself: %v", err)
	}
	own, err := u.Host.Fetch(t.Context(), hostedtest.Secret, platform.URL+"/files/own")
	if err != nil {
		t.Fatalf("a file of its own: %v", err)
	}
	if content, err := io.ReadAll(own.Body); err != nil || string(content) != "pixels" || own.Body.Close() != nil {
		t.Errorf("a file of its own: %q, %v", content, err)
	}
	_, err = u.Host.Fetch(t.Context(), hostedtest.Secret, private.URL+"/out.png")
	if e, ok := errors.AsType[*providers.Error](err); !ok || e.Class != providers.ClassBlocked {
		t.Errorf("a file elsewhere: %v", err)
	}
	if _, err := u.Host.Fetch(t.Context(), hostedtest.Secret, platform.URL+"/files/led"); err == nil {
		t.Error("a file that leads elsewhere was fetched")
	}
	if err := u.Host.Stream(t.Context(), hostedtest.Secret, private.URL+"/stream", func(string) {}); err == nil || asked != 0 {
		t.Errorf("a stream elsewhere: %v; the other server was asked %d times", err, asked)
	}
	if address := u.Host.Address(); !strings.HasPrefix(address, "http://127.0.0.1:") {
		t.Errorf("secrets go to %s", address)
	}
}
