package aiflow

import (
	"net/url"
	"regexp"
	"strings"

	"sluice/flow"
)

// Limits of what a note shows, in bytes: of one setting, and of all before the rest is cut.
const (
	maxShownValue = 2000
	maxNoteText   = 20_000
)

// redactedText replaces a secret.
const redactedText = "(a secret, left out)"

var (
	// secretPattern matches secrets by their format: API keys of well-known providers, JSON
	// Web Tokens, and credentials after "Bearer" or "Basic".
	secretPattern = regexp.MustCompile(`(?i)\b(?:sk|pk|rk|xai|gsk|hf|pplx|whsec|ghp|gho|github_pat|glpat|xox[abprs]|r8|key)[-_][A-Za-z0-9_+/=-]{8,}` +
		`|\bAIza[A-Za-z0-9_-]{20,}|\bAKIA[A-Z0-9]{12,}|\beyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*|\b(?:bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}`)
	urlPattern = regexp.MustCompile(`(?i)\bhttps?://[^\s"'<>]+`)
	// assignment matches a line that assigns a value to a name, such as "name: value".
	assignment = regexp.MustCompile(`(?m)^(\s*["']?([\w-]+)["']?\s*[:=]\s*)(\S.*)$`)
)

// formatSetting formats a setting for a note: redacted, and cut to maxShownValue.
func formatSetting(name string, v any) string {
	text := flow.Text(redact(name, v))
	if len(text) > maxShownValue {
		text = strings.ToValidUTF8(text[:maxShownValue], "") + "…"
	}
	return strings.ReplaceAll(text, "\n", "\n  ")
}

// redact returns the value of a setting with every secret in it replaced.
func redact(name string, v any) any {
	if flow.IsSecretName(name) {
		return redactedText
	}
	switch v := v.(type) {
	case string:
		return redactText(v)
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = redact("", item)
		}
		return out
	case *flow.Object:
		return redactObject(v)
	}
	return v
}

// redactObject redacts an object. In {"name": "Authorization", "value": "…"} the value is
// recognized by the name beside it.
func redactObject(o *flow.Object) *flow.Object {
	named := flow.IsSecretName(flow.Text(o.Get("name"))) || flow.IsSecretName(flow.Text(o.Get("key")))
	out, _ := o.Replace(func(name string, v any) (any, error) {
		if named && name == "value" {
			return redactedText, nil
		}
		return redact(name, v), nil
	})
	return out
}

// redactText redacts a text: its values if it is JSON, otherwise its URLs, its "name:
// value" lines and everything that has the format of a secret.
func redactText(s string) string {
	if trimmed := strings.TrimSpace(s); strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") {
		if v, err := flow.DecodeJSON([]byte(trimmed)); err == nil {
			return string(flow.EncodeJSON(redact("", v)))
		}
	}
	s = urlPattern.ReplaceAllStringFunc(s, redactURL)
	s = assignment.ReplaceAllStringFunc(s, redactLine)
	return secretPattern.ReplaceAllString(s, redactedText)
}

// redactLine redacts the value of a line whose name is that of a secret. The name "key" is
// common in prose, so its value must look like a secret too.
func redactLine(s string) string {
	m := assignment.FindStringSubmatch(s)
	if name := m[2]; !flow.IsSecretName(name) || strings.EqualFold(name, "key") && !flow.LooksSecret(m[3]) {
		return s
	}
	return m[1] + redactedText
}

// redactURL removes the user and password of a URL and redacts query parameters whose
// names are those of secrets.
func redactURL(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return "(an address, left out)"
	}
	u.User = nil
	q := u.Query()
	for name := range q {
		if flow.IsSecretName(name) {
			q.Set(name, "…")
		}
	}
	u.RawQuery = q.Encode()
	return u.String()
}
