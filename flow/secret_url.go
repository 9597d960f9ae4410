package flow

import (
	"net/url"
	"strings"

	"sluice/flow/position"
)

// Redacted replaces secrets.
const Redacted = "[secret]"

// FillURL returns the URL of the text with its secrets. open is called with the host of the URL
// without secrets, in the form of HostPort, so that no secret can change the host that it is
// sent to.
func (s SecretText) FillURL(parse func(text string) (*url.URL, error), open func(credential, host string) (string, error)) (*url.URL, error) {
	secrets := map[string]string{}
	for _, name := range s.Credentials() {
		secrets[name] = unknownSecret
	}
	text, err := s.urlText(secrets)
	if err != nil {
		return nil, err
	}
	u, err := parse(text)
	if err != nil {
		return nil, err
	}
	host := HostPort(u)
	for name := range secrets {
		if secrets[name], err = open(name, host); err != nil {
			return nil, err
		}
	}
	if text, err = s.urlText(secrets); err != nil {
		return nil, err
	}
	if u, err = parse(text); err != nil || HostPort(u) != host {
		return nil, errSecretInHost
	}
	return u, nil
}

// errSecretInHost is returned for a secret that would decide where it is sent.
var errSecretInHost = Errorf(CodeInputInvalid, "A credential can be in the path or the query of a URL, but not in its host. Type the host.")

// urlText returns the URL with secrets, each encoded for its position. A credential keeps its
// slashes in the path, because its owner typed it; a secret input is data of a caller.
func (s SecretText) urlText(secrets map[string]string) (string, error) {
	w := position.NewWriter(position.URL)
	for _, p := range s {
		if p.Credential == "" {
			if p.name == "" {
				w.Typed(p.Text)
			} else {
				w.Insert(p.name, p.Text)
			}
			continue
		}
		at := w.At()
		_, isInput := strings.CutPrefix(p.Credential, secretInputMark)
		switch {
		case at == position.Authority:
			return "", errSecretInHost
		case at == position.PathSegment && !isInput:
			at = position.Path
		}
		text, err := at.Encode(secrets[p.Credential])
		if err != nil {
			return "", Errorf(CodeInputInvalid, "%v.", err)
		}
		w.Insert(CredentialText(p.Credential), text)
	}
	text, err := w.Finish()
	if err != nil {
		return "", Errorf(CodeInputInvalid, "%v.", err)
	}
	return text, nil
}

// StoredURL returns the text in a form that ParseSecretText parses to the same references:
// braces outside of references are percent-encoded.
func (s SecretText) StoredURL() string {
	var b strings.Builder
	for _, p := range s {
		if p.Credential != "" {
			b.WriteString(CredentialText(p.Credential))
		} else {
			b.WriteString(strings.ReplaceAll(p.Text, "{", "%7B"))
		}
	}
	return strings.TrimSpace(b.String())
}

// WithoutReferences percent-encodes double braces in a URL that is data, so that it contains no
// references to credentials.
func WithoutReferences(address string) string {
	return strings.ReplaceAll(address, "{{", "%7B%7B")
}

// WithSampleSecrets replaces every reference in a typed URL by a letter, so that it can be
// parsed.
func WithSampleSecrets(address string) string {
	return credentialPlace.ReplaceAllString(address, "x")
}

// ShownURL redacts a URL for logs and pages: user name and password, and the values of query
// parameters with secret names. References to credentials stay.
func ShownURL(address string) string {
	if scheme, userInfo, rest, found := CutUserInfo(address); found && len(TextCredentials(userInfo)) == 0 {
		address = scheme + Redacted + "@" + rest
	}
	before, query, found := strings.Cut(address, "?")
	if !found {
		return address
	}
	query, fragment, hasFragment := strings.Cut(query, "#")
	list := strings.Split(query, "&")
	for i, pair := range list {
		name, value, _ := strings.Cut(pair, "=")
		if decoded, err := url.QueryUnescape(name); err == nil && value != "" && IsSecretName(decoded) && len(TextCredentials(value)) == 0 {
			list[i] = name + "=" + Redacted
		}
	}
	query = strings.Join(list, "&")
	if hasFragment {
		query += "#" + fragment
	}
	return before + "?" + query
}

// CutUserInfo splits a URL around its user name and password. scheme ends with
// the slashes.
func CutUserInfo(address string) (scheme, userInfo, rest string, found bool) {
	scheme, rest, found = strings.Cut(address, "://")
	end := len(rest)
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		end = i
	}
	at := strings.LastIndexByte(rest[:end], '@')
	if !found || at < 0 {
		return "", "", "", false
	}
	return scheme + "://", rest[:at], rest[at+1:], true
}
