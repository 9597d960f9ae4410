package library

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// MaxSecretBytes bounds the secret of a credential. Service account files, the
// longest in common use, have about 3,000 bytes.
const MaxSecretBytes = 16 << 10

// credentialName matches names that need no escaping in URLs and in references to
// models.
var credentialName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

// ValidCredentialName reports whether a credential may have a name: up to 64
// letters, digits, "_", "." and "-", beginning with a letter or a digit. Such names
// need no escaping in model references (name/model) and URLs.
func ValidCredentialName(name string) bool { return credentialName.MatchString(name) }

// CheckSecret returns why a credential cannot have a secret, as a sentence, or "".
// A secret is sent in HTTP headers, so it must not contain control characters.
func CheckSecret(secret string) string {
	switch {
	case secret == "":
		return "Paste the secret here."
	case len(secret) > MaxSecretBytes:
		return fmt.Sprintf("A secret has at most %d bytes.", MaxSecretBytes)
	case strings.ContainsFunc(secret, unicode.IsControl):
		return "A secret is one line without control characters."
	}
	return ""
}
