package flow

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"sluice/flow/value"
)

// The value of a secret input passes through a run as a reference, never as text: in the inputs
// of the run, in steps, events and webhooks, and in every list. The text is stored encrypted
// with the run and decrypted for the node that uses it; see In.Secret.

// secretInputMark begins the names by which a SecretText and a SecretRef refer to a secret
// input. Credential names have no colon.
const secretInputMark = "input:"

// SecretInputRef returns the reference to the value of a secret input. digest is
// SecretDigest of the value, so that a rerun with another value does not reuse the
// steps that used the first.
func SecretInputRef(name, digest string) map[string]any {
	return map[string]any{"secret_input": name, "digest": digest}
}

// SecretInput returns the name of the secret input that a value refers to.
func SecretInput(v any) (name string, ok bool) {
	if ref, isRef := SecretRef(v); isRef {
		return strings.CutPrefix(ref, secretInputMark)
	}
	if value.Len(v) != 2 || value.Get(v, "digest") == nil {
		return "", false
	}
	name, ok = value.Get(v, "secret_input").(string)
	return name, ok && name != ""
}

// SecretDigest returns a keyed hash of the value of a secret input. Guesses of the value cannot
// be tested without the key.
func SecretDigest(key []byte, ws WorkspaceID, name, value string) string {
	return keyedHash(key, "secret input", string(ws), name, value)[:16]
}

// KeyedFingerprint returns the fingerprint of a request with secrets. With a plain hash of its
// body, anyone who reads the database could test guesses of them.
func KeyedFingerprint(key []byte, fingerprint string) string {
	return "k:" + keyedHash(key, "fingerprint", fingerprint)
}

// keyedHash returns the HMAC-SHA256 of the parts as hexadecimal digits. Each part ends
// with a zero byte, so that moving text from one part to the next changes the hash.
func keyedHash(key []byte, parts ...string) string {
	h := hmac.New(sha256.New, key)
	for _, p := range parts {
		_, _ = h.Write([]byte(p + "\x00")) // never fails
	}
	return hex.EncodeToString(h.Sum(nil))
}
