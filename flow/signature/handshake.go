package signature

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/url"

	"sluice/flow/value"
)

// Reply is the answer to a handshake.
type Reply struct {
	Status int
	Type   string // media type of the body
	Body   string
}

// maxChallenge bounds the text that a handshake repeats.
const maxChallenge = 2000

// text returns a reply that repeats a challenge, or nil without one.
func text(challenge string) *Reply {
	if challenge == "" || len(challenge) > maxChallenge {
		return nil
	}
	return &Reply{http.StatusOK, "text/plain; charset=utf-8", challenge}
}

// Greet answers a handshake that is not signed, by which a service checks an address: Meta's GET, and the validation token of
// Microsoft Graph, which signs nothing. It returns nil for any other request. tokens are the texts that Meta's verify token
// must be one of; without them, the address itself is the proof.
func (c *Config) Greet(method string, query url.Values, tokens []Secret) *Reply {
	switch {
	case c.Scheme == "meta" && method == http.MethodGet && query.Get("hub.mode") == "subscribe":
		if len(tokens) > 0 && !oneOf(query.Get("hub.verify_token"), tokens) {
			return nil
		}
		return text(query.Get("hub.challenge"))
	case c.Scheme == "none" && method == http.MethodPost:
		return text(query.Get("validationToken"))
	}
	return nil
}

// oneOf reports in constant time whether a text is one of the tokens.
func oneOf(given string, tokens []Secret) bool {
	found, sum := 0, sha256.Sum256([]byte(given))
	for _, t := range tokens {
		want := sha256.Sum256([]byte(t.Text))
		found |= subtle.ConstantTimeCompare(sum[:], want[:])
	}
	return found == 1
}

// Answer answers a handshake whose signature was verified: the challenge of Slack and Zoom, and the pings of GitHub and
// Discord. It returns nil for an event.
func (c *Config) Answer(r *Request, secrets []Secret) *Reply {
	body := value.Raw(r.Body)
	switch c.Scheme {
	case "slack":
		if body.Get("type").Text() == "url_verification" {
			return text(body.Get("challenge").Text())
		}
	case "zoom":
		if plain := body.Get("payload", "plainToken").Text(); body.Get("event").Text() == "endpoint.url_validation" && len(plain) <= maxChallenge {
			return &Reply{http.StatusOK, "application/json", value.Text(value.NewObject(
				value.Member{Name: "plainToken", Value: plain}, value.Member{Name: "encryptedToken", Value: hmacHex(secrets[0].Text, plain)}))}
		}
	case "github":
		if r.Header.Get("X-Github-Event") == "ping" {
			return &Reply{http.StatusOK, "application/json", "{}"}
		}
	case "discord":
		switch kind := body.Get("type"); {
		case kind.String() == "1" && body.Get("application_id").IsText() && !body.Get("event").IsObject(): // an interaction
			return &Reply{http.StatusOK, "application/json", `{"type":1}`}
		case kind.String() == "0":
			return &Reply{Status: http.StatusNoContent}
		}
	}
	return nil
}
