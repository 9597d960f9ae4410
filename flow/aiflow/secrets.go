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
	// secretName is part of the name of a setting that holds one.
	secretName = regexp.MustCompile(`(?i)(secret|token|passw|passphrase|api[-_ ]?key|apikey|access[-_ ]?key|private[-_ ]?key|subscription[-_ ]?key|auth|credential|signature|cookie|bearer)`)
	// notSecretName are names that only look so.
	notSecretName = regexp.MustCompile(`(?i)^(max_?tokens|max_new_tokens|min_new_tokens|max_completion_tokens|num_tokens|tokens|author)$`)
	// secretText are secrets that show by their form: the keys of the usual
	// providers, tokens of three parts, and what follows "Bearer" or "Basic".
	secretText = regexp.MustCompile(`(?i)\b(?:sk|pk|rk|xai|gsk|hf|pplx|whsec|ghp|gho|github_pat|glpat|xox[abprs]|r8|key)[-_][A-Za-z0-9_+/=-]{8,}` +
		`|\bAIza[A-Za-z0-9_-]{20,}|\bAKIA[A-Z0-9]{12,}|\beyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*|\b(?:bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}`)
	addressText = regexp.MustCompile(`(?i)\bhttps?://[^\s"'<>]+`)
	lineSecret  = regexp.MustCompile(`(?im)^(\s*["']?[\w-]*(?:secret|token|passw|api-?_?key|authorization|cookie)[\w-]*["']?\s*[:=]\s*)\S.*$`)
)

func sorted(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

func isSecretName(name string) bool {
	return secretName.MatchString(name) && !notSecretName.MatchString(name)
}

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
	if isSecretName(name) {
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
	named := isSecretName(flow.Text(m["name"])) || isSecretName(flow.Text(m["key"]))
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
	s = lineSecret.ReplaceAllString(s, "${1}"+leftOut)
	return secretText.ReplaceAllString(s, leftOut)
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
		if isSecretName(name) || strings.EqualFold(name, "key") || strings.EqualFold(name, "sig") {
			q.Set(name, "…")
		}
	}
	u.RawQuery = q.Encode()
	return u.String()
}
