package flow

import (
	"regexp"
	"slices"
	"strings"

	"sluice/flow/position"
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
	at         position.Position // of the secret
	name       string            // of the placeholder, if the text is a value that was inserted
}

// Credentials returns the names that the text references, without duplicates.
func (s SecretText) Credentials() (names []string) {
	for _, p := range s {
		if p.Credential != "" && !slices.Contains(names, p.Credential) {
			names = append(names, p.Credential)
		}
	}
	return names
}

// Fill returns the text with secrets inserted, each encoded for its position in a form or in
// JSON. See FillURL for URLs.
func (s SecretText) Fill(secrets map[string]string) (string, error) {
	var b strings.Builder
	for _, p := range s {
		if p.Credential == "" {
			b.WriteString(p.Text)
			continue
		}
		text, err := p.at.Encode(secrets[p.Credential])
		if err != nil {
			return "", Errorf(CodeInputInvalid, "%s: %v.", CredentialText(p.Credential), err)
		}
		b.WriteString(text)
	}
	return b.String(), nil
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
	w := position.NewWriter(t.format(escape))
	for _, p := range t.parts {
		start := w.Len()
		part := SecretPart{Credential: p.credential, at: w.At()}
		if p.path != nil {
			part.name = "{{" + strings.Join(p.path, ".") + "}}"
			if name, isSecret := SecretInput(values[p.path[0]]); isSecret && len(p.path) == 1 {
				part.Credential = secretInputMark + name
			} else if err := insertValue(w, values, p.path); err != nil {
				return nil, err
			}
		}
		switch {
		case part.Credential != "":
			w.Insert(part.name, unknownSecret) // FillURL checks the secret itself
		case p.path == nil:
			w.Typed(p.text)
			part.Text = p.text
		default:
			part.Text = w.Since(start)
		}
		if w.Len() > MaxTextBytes {
			return nil, errTextTooLarge
		}
		out = append(out, part)
	}
	_, err := w.Finish()
	return out, err
}

// unknownSecret stands for a secret in the checks of a text that is not filled in yet.
const unknownSecret = "x"

// TemplateText returns a text of the field in the form that ParseTemplate expects.
func (f *Field) TemplateText(s string) string {
	if f.Secrets == SecretsByName && f.Escape == EscapeJSON {
		return WithPlaceholders(s)
	}
	return s
}
