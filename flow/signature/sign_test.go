package signature

import (
	"net/http"
	"testing"
	"time"
)

func TestSign_makes_requests_that_each_scheme_accepts(t *testing.T) {
	t.Parallel()
	for _, name := range Names {
		c := Config{Scheme: name}
		secret := "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
		switch name {
		case "hmac":
			c = Config{Scheme: name, Header: "X-Sign", Signed: "{timestamp}.{body}", TimestampHeader: "X-Time", Encoding: "base64", Prefix: "sha256=", Algorithm: "sha512"}
		case "basic":
			secret = "ada:lovelace"
		case "discord":
			if c.CanSign() {
				t.Error("a test of Discord can be signed without its private key")
			}
			continue
		}
		if !c.CanSign() {
			t.Errorf("%s cannot be signed", name)
		}
		for media, body := range map[string]string{"application/json": `{"a":"b"}`, "application/x-www-form-urlencoded": "A=B&C=D"} {
			if name == "linear" && media != "application/json" {
				continue // its time is a member of the body
			}
			now := time.Unix(at, 0)
			r := &Request{Method: http.MethodPost, URL: "https://sluice.example.com/h/x", Header: http.Header{"Content-Type": {media}}, Body: []byte(body)}
			c.Sign(r, secret, "event-1", now)
			if err := c.Verify(r, []Secret{{"s", secret}}, now); err != nil {
				t.Errorf("%s, %s: %v", name, media, err)
			}
			if err := c.Verify(r, []Secret{{"s", "another"}}, now); err == nil && name != "none" {
				t.Errorf("%s, %s: accepted with another secret", name, media)
			}
		}
	}
}
