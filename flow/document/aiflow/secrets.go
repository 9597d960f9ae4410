package aiflow

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"sluice/flow"
)

// How much of a setting, and of all of them, a note shows, in bytes.
const (
	longestValue = 2000
	longestNote  = 20_000
)

// leftOut stands where a secret was.
const leftOut = "(a secret, left out)"

var (
	// secretText are secrets that show by their form: the keys of the usual
	// providers, tokens of three parts, and what follows "Bearer" or "Basic".
	secretText = regexp.MustCompile(`(?i)\b(?:sk|pk|rk|xai|gsk|hf|pplx|whsec|ghp|gho|github_pat|glpat|xox[abprs]|r8|key)[-_][A-Za-z0-9_+/=-]{8,}` +
		`|\bAIza[A-Za-z0-9_-]{20,}|\bAKIA[A-Z0-9]{12,}|\beyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*|\b(?:bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}`)
	addressText = regexp.MustCompile(`(?i)\bhttps?://[^\s"'<>]+`)
	// line is a line of a text that gives a name a value.
	line = regexp.MustCompile(`(?m)^(\s*["']?([\w-]+)["']?\s*[:=]\s*)(\S.*)$`)
)

// sorted returns the names of a map in order, so that a file always gives the same document
// and report.
func sorted(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

// readable writes a setting for people, cut and without secrets.
func readable(name string, v any) string {
	text := flow.Text(harmless(name, v))
	if len(text) > longestValue {
		text = strings.ToValidUTF8(text[:longestValue], "") + "…"
	}
	return strings.ReplaceAll(text, "\n", "\n  ")
}

// harmless is a value with every secret in it replaced.
func harmless(name string, v any) any {
	if flow.IsSecretName(name) {
		return leftOut
	}
	switch v := v.(type) {
	case string:
		return harmlessText(v)
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = harmless("", item)
		}
		return out
	case map[string]any:
		return harmlessObject(v)
	}
	return v
}

// harmlessObject also knows a name and its value written as two members.
func harmlessObject(m map[string]any) map[string]any {
	out := map[string]any{}
	named := flow.IsSecretName(flow.Text(m["name"])) || flow.IsSecretName(flow.Text(m["key"]))
	for _, name := range sorted(m) {
		if out[name] = harmless(name, m[name]); named && name == "value" {
			out[name] = leftOut
		}
	}
	return out
}

// harmlessText looks into a text that is JSON, and at what shows by its form.
func harmlessText(s string) string {
	if trimmed := strings.TrimSpace(s); strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") {
		if v, err := flow.DecodeJSON([]byte(trimmed)); err == nil {
			return string(flow.EncodeJSON(harmless("", v)))
		}
	}
	s = addressText.ReplaceAllStringFunc(s, harmlessAddress)
	s = line.ReplaceAllStringFunc(s, harmlessLine)
	return secretText.ReplaceAllString(s, leftOut)
}

// harmlessLine leaves out the value in a line of a text, if its name is that of a
// secret. In prose, "key" alone is often something else.
func harmlessLine(s string) string {
	m := line.FindStringSubmatch(s)
	if name := m[2]; !flow.IsSecretName(name) || strings.EqualFold(name, "key") && !flow.LooksSecret(m[3]) {
		return s
	}
	return m[1] + leftOut
}

// harmlessAddress takes the password out of an address, and the values of its
// query that let somebody in.
func harmlessAddress(s string) string {
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
