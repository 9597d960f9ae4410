package jobs

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"time"
)

// signAll is the webhook-signature header with one signature for each secret:
// a receiver that knows any of them is content.
func signAll(secrets []string, id string, at time.Time, body []byte) string {
	signatures := make([]string, len(secrets))
	for i, secret := range secrets {
		signatures[i] = sign(secret, id, at, body)
	}
	return strings.Join(signatures, " ")
}

// sign is a signature of Standard Webhooks 1.0.0: HMAC-SHA256 over
// id.timestamp.body, in base64, marked with its version.
func sign(secret, id string, at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, signingKey(secret))
	mac.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// signingKey decodes whsec_ and base64, as the standard writes secrets; any
// other text is used as it is.
func signingKey(secret string) []byte {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) == 0 {
		return []byte(secret)
	}
	return key
}
