package catalog

import (
	"errors"
	"testing"

	"sluice/flow"
)

// TestCredential_of_an_MCP_server is bound to the host of its URL. Its secret may be empty, a token, a header or client
// credentials.
func TestCredential_of_an_MCP_server(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ url, secret, wrong string }{
		{"https://mcp.example.com/mcp", "", ""},
		{"https://mcp.example.com/mcp", "token", ""},
		{"https://mcp.example.com/mcp", "X-API-Key: abc", ""},
		{"https://mcp.example.com/mcp", `{"client_id": "a", "client_secret": "b", "token_url": "https://auth.example.com/token"}`, ""},
		{"https://mcp.example.com/mcp", `{"client_id": "a"}`, "secret"},
		{"", "token", "base_url"},
	} {
		made, err := (&Credentials{}).Credential(flow.Credential{Name: "issues", Provider: flow.ProviderMCP, BaseURL: c.url}, c.secret)
		e, _ := errors.AsType[*flow.Error](err)
		switch {
		case c.wrong != "" && (e == nil || e.Fields[0].Pointer != c.wrong):
			t.Errorf("%s %q: got %v, want a problem of %s", c.url, c.secret, err, c.wrong)
		case c.wrong == "" && (err != nil || len(made.Hosts) != 1 || made.Hosts[0] != "mcp.example.com" || made.Trusted):
			t.Errorf("%s %q: %+v %v", c.url, c.secret, made, err)
		}
	}
}
