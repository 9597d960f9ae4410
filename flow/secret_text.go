package flow

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// SecretText is a typed text that references credentials. Its templates are filled in, its
// secrets are not yet. Only texts in the config of a node become a SecretText: a value that
// arrives through an edge is data and cannot reference a credential.
//
// A text references a credential as {{credential:name}}. JSON text can also contain
// {"credential": "name"} instead of a string.
type SecretText []SecretPart

// SecretPart is a piece of text, or a reference if Credential is set.
type SecretPart struct {
	Text       string
	Credential string
	inJSON     jsonPlace // how the secret is escaped
}

// jsonPlace is the place of a secret in a JSON text, which determines how it is escaped.
type jsonPlace int

const (
	noJSON       jsonPlace = iota // not in JSON
	inJSONString                  // inside a string
	atJSONValue                   // as a whole string
)

// Credentials returns the names that the text references, without duplicates.
func (s SecretText) Credentials() (names []string) {
	for _, p := range s {
		if p.Credential != "" && !slices.Contains(names, p.Credential) {
			names = append(names, p.Credential)
		}
	}
	return names
}

// Fill returns the text with secrets inserted. escape encodes a secret outside of JSON, given
// the text before it; nil inserts it unchanged.
func (s SecretText) Fill(secrets map[string]string, escape func(before, secret string) string) string {
	var b strings.Builder
	for _, p := range s {
		secret := secrets[p.Credential]
		switch {
		case p.Credential == "":
			b.WriteString(p.Text)
		case p.inJSON == atJSONValue:
			b.Write(EncodeJSON(secret))
		case p.inJSON == inJSONString:
			quoted := EncodeJSON(secret)
			b.Write(quoted[1 : len(quoted)-1])
		case escape != nil:
			b.WriteString(escape(b.String(), secret))
		default:
			b.WriteString(secret)
		}
	}
	return b.String()
}

// String returns the text with names instead of secrets.
func (s SecretText) String() string {
	var b strings.Builder
	for _, p := range s {
		if p.Credential != "" {
			b.WriteString(CredentialText(p.Credential))
		} else {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// MarshalJSON returns String, so that steps show names instead of secrets.
func (s SecretText) MarshalJSON() ([]byte, error) { return EncodeJSON(s.String()), nil }

// ParseSecretText parses a text that is not a template, in which only references to credentials
// are special. It returns nil for a text without references.
func ParseSecretText(s string) SecretText {
	var out SecretText
	for rest := s; ; {
		m := credentialPlace.FindStringSubmatchIndex(rest)
		if m == nil {
			if out != nil {
				out = append(out, SecretPart{Text: rest})
			}
			return out
		}
		out = append(out, SecretPart{Text: rest[:m[0]]}, SecretPart{Credential: rest[m[2]:m[3]]})
		rest = rest[m[1]:]
	}
}

// CredentialText returns the reference to a credential in a text.
func CredentialText(name string) string { return "{{" + credentialMark + name + "}}" }

// credentialMark begins a placeholder for a credential instead of a port.
const credentialMark = "credential:"

var (
	credentialRefName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)
	credentialPlace   = regexp.MustCompile(`\{\{\s*credential:\s*([A-Za-z0-9][A-Za-z0-9_.-]*)\s*\}\}`)
	// CredentialObject matches a reference in JSON text. It is always a whole value, because
	// its quotes would be escaped inside a JSON string.
	CredentialObject = regexp.MustCompile(`\{\s*"credential"\s*:\s*"([A-Za-z0-9][A-Za-z0-9_.-]*)"\s*\}`)
)

// WithPlaceholders replaces {"credential": "name"} in JSON text by placeholders of a template.
func WithPlaceholders(s string) string {
	if !LooksLikeJSON(s) {
		return s
	}
	return CredentialObject.ReplaceAllString(s, "{{"+credentialMark+"$1}}")
}

// TextCredentials returns the names of the credentials that a text references.
func TextCredentials(s string) (names []string) {
	for _, m := range credentialPlace.FindAllStringSubmatch(WithPlaceholders(s), -1) {
		names = append(names, m[1])
	}
	return names
}

// HasCredentials reports whether the template references credentials.
func (t *Template) HasCredentials() bool {
	return slices.ContainsFunc(t.parts, func(p templatePart) bool { return p.credential != "" })
}

// usesSecrets reports whether one of the values in the template is a secret input.
func (t *Template) usesSecrets(values map[string]any) bool {
	return slices.ContainsFunc(t.parts, func(p templatePart) bool {
		if p.path == nil {
			return false
		}
		_, is := SecretInput(values[p.path[0]])
		return is
	})
}

// HasSecrets reports whether the template with these values contains secrets and must be
// rendered with RenderSecret.
func (t *Template) HasSecrets(values map[string]any) bool {
	return t.HasCredentials() || t.usesSecrets(values)
}

// RenderSecret is Render for a template with secrets, which remain references.
func (t *Template) RenderSecret(values map[string]any, escape Escape) (SecretText, error) {
	var out SecretText
	position := jsonPosition{on: escape == EscapeJSON && t.looksLikeJSON()}
	size := 0
	for _, p := range t.parts {
		part := SecretPart{Text: p.text, Credential: p.credential}
		switch {
		case p.credential != "" && position.on && position.inString:
			part.inJSON = inJSONString
		case p.credential != "" && position.on:
			part.inJSON = atJSONValue
		case p.path != nil:
			v, err := lookUp(values, p.path)
			if err != nil {
				return nil, err
			}
			if name, isSecret := SecretInput(v); isSecret {
				part.Credential = secretInputMark + name
				if position.on {
					part.inJSON = map[bool]jsonPlace{true: inJSONString, false: atJSONValue}[position.inString]
				}
				break
			}
			part.Text = escaped(v, escape, position)
		default:
			position.pass(p.text)
		}
		if size += len(part.Text); size > MaxTextBytes {
			return nil, fmt.Errorf("the text grows beyond %d MiB", MaxTextBytes>>20)
		}
		out = append(out, part)
	}
	return out, nil
}

// EscapeURLSecret percent-encodes a secret for a URL, given the text before it. Slashes are not
// encoded in the path.
func EscapeURLSecret(before, secret string) string {
	if strings.ContainsAny(before, "?#") {
		return strings.ReplaceAll(url.QueryEscape(secret), "+", "%20")
	}
	parts := strings.Split(secret, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return strings.Join(parts, "/")
}

// TemplateText returns a text of the field in the form that ParseTemplate expects.
func (f *Field) TemplateText(s string) string {
	if f.Secrets == SecretsByName && f.Escape == EscapeJSON {
		return WithPlaceholders(s)
	}
	return s
}
