package providers

import (
	"regexp"
	"strings"
	"unicode"
)

// placeholder stands where a secret, or a part of one, was.
const placeholder = "[secret]"

var (
	// masked finds a secret that its provider has hidden in part: sk-ab****wxyz.
	masked = regexp.MustCompile(`[\w-]*(?:\*{3,}|•{3,})[\w*•-]*`)
	// looksSecret finds what has the form of a well-known provider's key, whole or
	// cut short, regardless of its owner.
	looksSecret = regexp.MustCompile(`\b(?:sk|gsk|hf|r8|xai|pplx|csk|fw|tgp|AIza)[-_]?[\w-]{6,}(?:(?:\.{3}|…)[\w-]*)?|\b(?:sk|gsk|hf|r8|xai|pplx|csk|fw)[-_][\w-]*(?:\.{3}|…)[\w-]*`)
)

// minPart is how many characters of a secret in a row are too many to show.
const minPart = 8

// Redact is how other packages that speak to a provider take its secret out of
// what it wrote.
func Redact(text, secret string) string { return redact(text, secret) }

// redact takes a secret, its parts and masked forms of it out of a text that a
// provider wrote: several repeat the key that they refuse.
func redact(text, secret string) string {
	if len(secret) >= 4 { // less is no secret, but would hit every word
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

// hideParts replaces every run of the text that is minPart characters or more
// of the secret in a row.
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
