package providers

import (
	"regexp"
	"strings"
	"unicode"
)

// placeholder replaces a secret or a part of one.
const placeholder = "[secret]"

var (
	// masked matches a partially masked secret: sk-ab****wxyz.
	masked = regexp.MustCompile(`[\w-]*(?:\*{3,}|•{3,})[\w*•-]*`)
	// looksSecret finds what has the form of a well-known provider's key, whole or
	// cut short, regardless of its owner.
	looksSecret = regexp.MustCompile(`\b(?:sk|gsk|hf|r8|xai|pplx|csk|fw|tgp|AIza)[-_]?[\w-]{6,}(?:(?:\.{3}|…)[\w-]*)?|\b(?:sk|gsk|hf|r8|xai|pplx|csk|fw)[-_][\w-]*(?:\.{3}|…)[\w-]*`)
)

// minPart is the number of consecutive characters of a secret that are redacted.
const minPart = 8

// Redact removes a secret from a text that a provider sent, for other packages that call
// providers; see redact.
func Redact(text, secret string) string { return redact(text, secret) }

// redact removes a secret, parts of it and masked forms from a text that a provider sent:
// several providers quote the key that they reject.
func redact(text, secret string) string {
	if len(secret) >= 4 { // a shorter text is not a secret and would match common words
		text = strings.ReplaceAll(text, secret, placeholder)
	}
	text = hideParts(text, secret)
	text = masked.ReplaceAllString(text, placeholder)
	return looksSecret.ReplaceAllStringFunc(text, func(m string) string {
		if strings.ContainsFunc(m, unicode.IsDigit) || strings.ContainsAny(m, ".…") {
			return placeholder
		}
		return m // a word such as hf_transfer
	})
}

// hideParts replaces every part of the text with at least minPart consecutive characters of
// the secret.
func hideParts(text, secret string) string {
	if len(secret) < minPart {
		return text
	}
	hidden := make([]bool, len(text))
	found := false
	for i := 0; i+minPart <= len(text); i++ {
		if strings.Contains(secret, text[i:i+minPart]) {
			found = true
			for j := range minPart {
				hidden[i+j] = true
			}
		}
	}
	if !found {
		return text
	}
	var out strings.Builder
	for i := range len(text) {
		switch {
		case !hidden[i]:
			out.WriteByte(text[i])
		case i == 0 || !hidden[i-1]:
			out.WriteString(placeholder)
		}
	}
	return out.String()
}
