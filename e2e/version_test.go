package e2e

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestVersion checks that the program names its version the same everywhere.
func TestVersion(t *testing.T) {
	t.Parallel()
	agents := make(chan string, 1)
	called := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { agents <- r.UserAgent() }))
	t.Cleanup(called.Close)
	d := &dashboard{server: newServer(t)}
	d.person(ownerEmail, "owner")
	key := d.key()
	c := d.client(key)

	var built struct{ Version, Go, Platform string }
	if err := json.Unmarshal([]byte(d.must("version", "--json")), &built); err != nil || built.Version != testRelease || built.Go == "" || built.Platform == "" {
		t.Errorf("version --json: %+v, %v", built, err)
	}
	if out := d.must("version"); !strings.HasPrefix(out, "sluice "+testRelease+" ") {
		t.Errorf("version: %s", out)
	}
	if out := d.process().out.String(); !strings.HasPrefix(out, "Sluice "+testRelease+" is running at ") {
		t.Errorf("the server started with %q", out)
	}
	if out := d.must("doctor"); !strings.HasPrefix(out, "Sluice "+testRelease+", ") {
		t.Errorf("doctor: %s", out)
	}

	var api struct{ Info struct{ Version string } }
	if err := json.Unmarshal(c.want(200, "GET", "/v1/openapi.json", nil).body, &api); err != nil || api.Info.Version != testRelease {
		t.Errorf("OpenAPI: %+v, %v", api, err)
	}
	hello := object{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": object{
		"protocolVersion": "2025-06-18", "capabilities": object{}, "clientInfo": object{"name": "test", "version": "1"}}}
	if a := c.want(200, "POST", "/mcp", hello, "Accept: application/json, text/event-stream"); !strings.Contains(string(a.body), `"version":"`+testRelease+`"`) {
		t.Errorf("MCP: %s", a.body)
	}

	signedIn := []string{"Cookie: " + d.cookies(), "Sec-Fetch-Site: same-origin"}
	if a := (&client{t, d.base, ""}).want(200, "GET", "/flows", nil, signedIn...); !strings.Contains(string(a.body), ">Sluice "+testRelease+"</a>") {
		t.Errorf("the page has no version:\n%s", a.body)
	}
	for _, path := range []string{"/docs", "/sign-in", "/livez", "/readyz"} {
		a := (&client{t, d.base, ""}).want(200, "GET", path, nil)
		if strings.Contains(string(a.body), testRelease) || a.header.Get("Server") != "" {
			t.Errorf("%s tells strangers the version", path)
		}
	}

	id := d.publish(documentOf("Call", []object{node("call", "http_request", object{"url": called.URL}), output("got")}, "call.body > out_got.value"))
	c.succeed(id, object{})
	if agent := <-agents; agent != "Sluice/"+testRelease {
		t.Errorf("flows call others as %q", agent)
	}
}
