package document

import (
	"net/url"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/value"
)

// SecretSuggestion is a text in the config of a node that looks like a secret, which a user may
// move to a credential. Texts with secret names move automatically when a draft is saved;
// suggestions are for others, and for texts that are older than that rule.
type SecretSuggestion struct {
	Field  string // the config field
	Name   string // name of the text in the field; empty for a part of a URL path
	Secret string
	raw    string // its encoding in the text of the field; empty if it is a whole value
	quoted bool   // raw is a JSON string
}

// SuggestSecrets returns the texts in a field of a node that look like secrets.
func SuggestSecrets(n *flow.Node, f *flow.Field) []SecretSuggestion {
	value := n.Config[f.Name]
	s := &suggester{field: f}
	text, isText := value.(string)
	switch {
	case f.Secrets == flow.SecretsInURL && isText:
		s.url(text)
	case f.Secrets == flow.SecretsByName && isText && flow.LooksLikeJSON(text):
		s.jsonText(text)
	case f.Secrets == flow.SecretsByName && isText && n.Config["body_type"] == "form":
		s.pairs(text)
	case f.Secrets == flow.SecretsByName && !isText:
		s.members(value)
	}
	return s.list
}

// suggester finds texts in one field that may be secrets although their names are harmless. The
// user decides whether to move them.
type suggester struct {
	field *flow.Field
	list  []SecretSuggestion
}

// add suggests a text once if it looks like a secret or has a secret name.
func (s *suggester) add(name, secret, raw string, quoted bool) {
	known := slices.ContainsFunc(s.list, func(o SecretSuggestion) bool { return o.Name == name && o.Secret == secret })
	if strings.Contains(secret, "{{") || strings.TrimSpace(secret) == "" || known || !flow.LooksSecret(secret) && !flow.IsSecretName(name) {
		return
	}
	s.list = append(s.list, SecretSuggestion{Field: s.field.Name, Name: name, Secret: secret, raw: raw, quoted: quoted})
}

// members looks through a JSON value at any depth.
func (s *suggester) members(v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			s.members(item)
		}
	case *flow.Object, map[string]any:
		if flow.IsSecretRef(v) {
			return
		}
		for name, item := range value.Members(v) {
			if text, ok := item.(string); ok && !(name == "key" && !flow.LooksSecret(text)) {
				s.add(name, text, "", false)
			} else if !ok {
				s.members(item)
			}
		}
	}
}

// url checks the path and the query of a URL. The webhook URLs of chat services have their secret
// in the path.
func (s *suggester) url(text string) {
	address, query, _ := strings.Cut(text, "?")
	if _, path, found := strings.Cut(address, "://"); found {
		for part := range strings.SplitSeq(path, "/") {
			if secret, err := url.PathUnescape(part); err == nil && flow.LooksSecret(secret) {
				s.add("", secret, part, false)
			}
		}
	}
	query, _, _ = strings.Cut(query, "#")
	s.pairs(query)
}

// pairs looks through name=value&name=value.
func (s *suggester) pairs(text string) {
	for pair := range strings.SplitSeq(text, "&") {
		name, value, found := strings.Cut(pair, "=")
		name, errName := url.QueryUnescape(name)
		secret, err := url.QueryUnescape(value)
		if found && err == nil && errName == nil {
			s.add(name, secret, value, false)
		}
	}
}

// jsonText checks the strings of JSON text, which may be a template.
func (s *suggester) jsonText(text string) {
	text = flow.WithPlaceholders(text)
	name := ""
	for i := 0; i < len(text); i++ {
		if text[i] != '"' {
			continue
		}
		end := stringEnd(text, i)
		v, err := flow.DecodeJSON([]byte(text[i:end]))
		value, _ := v.(string)
		isName := strings.HasPrefix(strings.TrimLeft(text[end:], " \t\r\n"), ":")
		switch {
		case err == nil && isName:
			name = value
		case err == nil && !(name == "key" && !flow.LooksSecret(value)):
			s.add(name, value, text[i:end], true)
			name = ""
		}
		i = end - 1
	}
}

// Replace returns the value of the field with the secret replaced by a reference.
func (s *SecretSuggestion) Replace(value any, credential string) any {
	text, isText := value.(string)
	switch {
	case isText && s.quoted:
		return strings.ReplaceAll(text, s.raw, `"`+flow.CredentialText(credential)+`"`)
	case isText && s.raw != "":
		return strings.ReplaceAll(text, s.raw, flow.CredentialText(credential))
	}
	return replaceLiteral(value, s.Name, func(text string) string {
		if text == s.Secret {
			return credential
		}
		return ""
	})
}
