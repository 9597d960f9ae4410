package hosted

import (
	"net/url"
	"regexp"
	"strings"

	"sluice/providers"
)

// maxRef bounds a typed reference, in bytes. The longest real ones have about 150.
const maxRef = 400

var (
	// ownerPattern also matches names of models. Neither contains a slash or begins with
	// a dot, so both can be put into the path of a URL without escaping.
	ownerPattern   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)
	versionPattern = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// ParseRef parses a reference that a user typed or pasted: owner/name, owner/name:version,
// or the URL of a model's page. The error lists these forms.
func ParseRef(text string) (Ref, error) {
	text = strings.TrimSpace(text)
	if len(text) > maxRef {
		return Ref{}, badRef("This is too long for the name of a model.")
	}
	path, err := refPath(text)
	if err != nil {
		return Ref{}, err
	}
	path, version, versioned := strings.Cut(path, ":")
	owner, name, ok := strings.Cut(path, "/")
	if !ok || !ownerPattern.MatchString(owner) || !ownerPattern.MatchString(name) {
		return Ref{}, badRef("This does not name a model.")
	}
	if version = strings.ToLower(version); versioned && !versionPattern.MatchString(version) {
		return Ref{}, badRef("The version of a model has 64 hexadecimal digits.")
	}
	return Ref{Owner: owner, Name: name, Version: version}, nil
}

// refPath converts the URL of a model's page to owner/name. It returns other texts
// unchanged.
func refPath(text string) (string, error) {
	rest, isURL := strings.CutPrefix(text, "https://")
	if !isURL {
		rest, isURL = strings.CutPrefix(text, "http://")
	}
	if !isURL && !strings.HasPrefix(text, "replicate.com/") && !strings.HasPrefix(text, "www.replicate.com/") {
		return text, nil
	}
	if !isURL {
		rest = text
	}
	u, err := url.Parse("https://" + rest)
	if err != nil || u.Hostname() != "replicate.com" && u.Hostname() != "www.replicate.com" {
		return "", badRef("This is not the address of a model on replicate.com.")
	}
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	if len(parts) < 2 {
		return "", badRef("This address names no model.")
	}
	if len(parts) >= 4 && parts[2] == "versions" {
		return parts[0] + "/" + parts[1] + ":" + parts[3], nil
	}
	return parts[0] + "/" + parts[1], nil // tabs such as /api and /examples follow
}

// badRef returns the error for a text that is not a reference. It appends the accepted forms
// to the message.
func badRef(what string) error {
	return &providers.Error{Class: providers.ClassBadRequest, Message: what +
		" Write owner/name, such as black-forest-labs/flux-schnell, or owner/name:version, or paste the address of the model's page."}
}

// Path returns owner/name, without the version.
func (r Ref) Path() string { return r.Owner + "/" + r.Name }

// String returns the reference in the form that ParseRef accepts.
func (r Ref) String() string {
	if r.Version == "" {
		return r.Path()
	}
	return r.Path() + ":" + r.Version
}
