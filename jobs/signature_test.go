package jobs

import (
	"encoding/base64"
	"net/http"
	"strconv"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// verify checks a signature with the reference library.
func verify(t testing.TB, secret, id string, at time.Time, body []byte) error {
	t.Helper()
	wh, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatalf("the reference library rejects the secret: %v", err)
	}
	h := http.Header{}
	h.Set("webhook-id", id)
	h.Set("webhook-timestamp", strconv.FormatInt(at.Unix(), 10))
	h.Set("webhook-signature", sign(secret, id, at, body))
	return wh.Verify(body, h)
}

func TestSign_verifies_with_reference_library(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"empty": "", "object": `{"answer":"42"}`, "unicode": `{"name":"Zoë 🌊"}`, "newlines": "{\n}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := verify(t, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whd_01", time.Now(), []byte(body)); err != nil {
				t.Error(err)
			}
		})
	}
}

// The example is from the documentation of Standard Webhooks.
func TestSign_matches_example_of_standard(t *testing.T) {
	t.Parallel()
	got := sign("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestSigningKey_uses_other_text_as_is(t *testing.T) {
	t.Parallel()
	if got := string(signingKey("not base64!")); got != "not base64!" {
		t.Errorf("a plain text signs as %q", got)
	}
}

func FuzzSign(f *testing.F) {
	f.Add([]byte("secret"), "whd_01", []byte("{}"))
	f.Fuzz(func(t *testing.T, key []byte, id string, body []byte) {
		if len(key) == 0 {
			t.Skip("an empty key signs nothing")
		}
		secret := "whsec_" + base64.StdEncoding.EncodeToString(key)
		now := time.Now()
		if err := verify(t, secret, id, now, body); err != nil && id != "" {
			t.Errorf("secret %s, id %q: %v", secret, id, err)
		}
		if sign(secret, id, now, body) == sign(secret, id, now, append(body, 'x')) {
			t.Error("two bodies have the same signature")
		}
	})
}
