package jobs

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"time"
)

// signAll returns the webhook-signature header: one signature per secret,
// separated by spaces. A receiver accepts the message if it knows any of them.
func signAll(secrets []string, id string, at time.Time, body []byte) string {
	signatures := make([]string, len(secrets))
	for i, secret := range secrets {
		signatures[i] = sign(secret, id, at, body)
	}
	return strings.Join(signatures, " ")
}

// sign returns a signature as Standard Webhooks 1.0.0 defines it: the version v1,
// a comma, and the base64 of HMAC-SHA256 over "id.timestamp.body", where the
// timestamp is in seconds since 1970.
func sign(secret, id string, at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, signingKey(secret))
	mac.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// signingKey decodes a secret in the standard's form, whsec_ and base64. Any other
// text is used as the key itself.
func signingKey(secret string) []byte {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) == 0 {
		return []byte(secret)
	}
	return key
}
