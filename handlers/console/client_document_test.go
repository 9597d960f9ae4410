package console_test

import (
	"net/http"
	"testing"

	"sluice/handlers"
	"sluice/handlers/webtest"
)

// Authorization servers read who Sluice is without an account, at the URL that is its client ID.
func TestClientDocument_is_public_at_an_https_address(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t, func(c *handlers.Config) { c.PublicURL = "https://flows.example.com" })
	h.Anonymous().Get("/oauth/client.json").Is(http.StatusOK).Has(`"client_id":"https://flows.example.com/oauth/client.json"`,
		`"redirect_uris":["https://flows.example.com/oauth/callback"]`, `"token_endpoint_auth_method":"none"`)
	webtest.Setup(t).Anonymous().Get("/oauth/client.json").Is(http.StatusNotFound)
}
