package providers

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
)

// TestNothingFromTheEnvironment is not parallel: it sets the environment that
// the client libraries would read.
func TestNothingFromTheEnvironment(t *testing.T) {
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_WEBHOOK_SECRET",
		"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE", "ANTHROPIC_ORGANIZATION_ID", "ANTHROPIC_IDENTITY_TOKEN", "ANTHROPIC_FEDERATION_RULE_ID"} {
		t.Setenv(name, "leaked-value")
	}
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/leaked-value")
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1/leaked-value")
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Leak: leaked-value")
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Leak: leaked-value")
	for _, m := range methods {
		for _, s := range []string{"", secret} {
			u := setup(t, refuse(500, "x", "x"))
			at := u.at(m.provider)
			at.Secret = s
			failure(t, m.run(brief(t), u.client, at))
			c := u.last(t)
			var all bytes.Buffer
			_ = c.header.Write(&all)
			if strings.Contains(all.String()+c.path+c.query+string(c.body), "leaked-value") {
				t.Errorf("%s sent something of the environment: %s", m.name, all.String())
			}
			if s == "" && (c.header.Get("Authorization") != "" || c.header.Get("X-Api-Key") != "") {
				t.Errorf("%s let itself in without a secret", m.name)
			}
			for name := range c.header {
				if strings.HasPrefix(name, "X-Stainless") || name == "User-Agent" && c.header.Get(name) != "Sluice" {
					t.Errorf("%s sent %s: %s", m.name, name, c.header.Get(name))
				}
			}
		}
	}
}

// TestRedirectsGetNoSecret wants a redirect to end the call at the first host.
func TestRedirectsGetNoSecret(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, m := range methods {
			other := setup(t, func(http.ResponseWriter, *http.Request) {})
			u := setup(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL+"/v1/take", status) })
			if e := failure(t, m.run(brief(t), u.client, u.at(m.provider))); e.Class != ClassRejected {
				t.Errorf("%s: got %+v", m.name, e)
			}
			if len(other.asked()) != 0 {
				t.Errorf("%s followed a redirect with status %d", m.name, status)
			}
		}
	}
}
