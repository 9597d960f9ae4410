package flow

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// SecretText is a typed text that references credentials, with templates filled
// in but secrets not yet. Only texts in the node's own config become a
// SecretText: a value that arrives by an edge is data and cannot reference a
// credential.
//
// A text references a credential as {{credential:name}}. In JSON text,
// {"credential": "name"} does the same in the place of a string.
type SecretText []SecretPart

// SecretPart is a piece of text, or a reference if Credential is set.
type SecretPart struct {
	Text       string
	Credential string
	inJSON     jsonPlace // how the secret is written there
}

// jsonPlace says where in a JSON text the reference to a secret is, because that decides
// how the secret must be escaped.
type jsonPlace int

const (
	noJSON       jsonPlace = iota // as it is
	inJSONString                  // between the quotes of a string
	atJSONValue                   // as a string of its own
)

// Credentials lists the names that the text references, each once.
func (s SecretText) Credentials() (names []string) {
	for _, p := range s {
		if p.Credential != "" && !slices.Contains(names, p.Credential) {
			names = append(names, p.Credential)
		}
	}
	return names
}

// Fill inserts the secrets. escape encodes a secret where the text is not JSON;
// nil inserts it unchanged.
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

// MarshalJSON writes String, as the record of a step shows it.
func (s SecretText) MarshalJSON() ([]byte, error) { return EncodeJSON(s.String()), nil }

// ParseSecretText parses a text that is not a template: only references to
// credentials are recognized. Without references it returns nil.
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

// CredentialText references a credential in a text.
func CredentialText(name string) string { return "{{" + credentialMark + name + "}}" }

// credentialMark begins a place that is a credential and not a port.
const credentialMark = "credential:"

var (
	credentialRefName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)
	credentialPlace   = regexp.MustCompile(`\{\{\s*credential:\s*([A-Za-z0-9][A-Za-z0-9_.-]*)\s*\}\}`)
	// CredentialObject is a reference as JSON text has it. Inside of a JSON string
	// its quotes would be escaped, so it stands in the place of a value.
	CredentialObject = regexp.MustCompile(`\{\s*"credential"\s*:\s*"([A-Za-z0-9][A-Za-z0-9_.-]*)"\s*\}`)
)

// WithPlaces rewrites the references in JSON text as placeholders of a
// template.
func WithPlaces(s string) string {
	if !LooksLikeJSON(s) {
		return s
	}
	return CredentialObject.ReplaceAllString(s, "{{"+credentialMark+"$1}}")
}

// TextCredentials lists the credentials that a text references.
func TextCredentials(s string) (names []string) {
	for _, m := range credentialPlace.FindAllStringSubmatch(WithPlaces(s), -1) {
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

// HasSecrets reports whether the template with these values holds secrets, so that
// RenderSecret must render it.
func (t *Template) HasSecrets(values map[string]any) bool {
	return t.HasCredentials() || t.usesSecrets(values)
}

// RenderSecret is Render for a template that references credentials.
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

// EscapeURLSecret encodes a secret for a URL: percent-encoded after the
// question mark, and with unescaped slashes before it.
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

// Places prepares a text of the field to be read as a template.
func (f *Field) Places(s string) string {
	if f.Secrets == SecretsByName && f.Escape == EscapeJSON {
		return WithPlaces(s)
	}
	return s
}
