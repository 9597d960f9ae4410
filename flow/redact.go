package flow

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// shortestRedacted is how long a secret must be to be looked for; a shorter one
// would blank out what only happens to look alike.
const shortestRedacted = 6

// Redactor takes secrets out of what others sent back: providers echo what they
// were given, in errors and elsewhere. It is safe for concurrent use.
type Redactor struct {
	mu      sync.RWMutex
	forms   []string // of the secrets, as they may appear
	replace *strings.Replacer
}

// NewRedactor makes a redactor of secrets that are known already.
func NewRedactor(secrets ...string) *Redactor {
	r := &Redactor{}
	for _, s := range secrets {
		r.Add(s)
	}
	return r
}

// Add makes a secret known, in every form in which it may be sent: as it is,
// inside JSON, inside a URL and as basic authentication.
func (r *Redactor) Add(secret string) {
	if len(secret) < shortestRedacted {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	quoted := string(EncodeJSON(secret))
	for _, form := range []string{
		secret, quoted[1 : len(quoted)-1], url.QueryEscape(secret), url.PathEscape(secret),
		base64.StdEncoding.EncodeToString([]byte(secret)), base64.URLEncoding.EncodeToString([]byte(secret)),
	} {
		if !slices.Contains(r.forms, form) {
			r.forms = append(r.forms, form)
		}
	}
	// The replacer prefers earlier forms where several fit.
	slices.SortStableFunc(r.forms, func(a, b string) int { return len(b) - len(a) })
	pairs := make([]string, 0, 2*len(r.forms))
	for _, form := range r.forms {
		pairs = append(pairs, form, Redacted)
	}
	r.replace = strings.NewReplacer(pairs...)
}

// Text is s without the secrets.
func (r *Redactor) Text(s string) string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.replace == nil {
		return s
	}
	return r.replace.Replace(s)
}

// held is how many bytes at the end of s may be the beginning of a secret.
func (r *Redactor) held(s string) int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	most := 0
	for _, form := range r.forms {
		for n := min(len(form)-1, len(s)); n > most; n-- {
			if strings.HasSuffix(s, form[:n]) {
				most = n
			}
		}
	}
	return most
}

// voice passes on text that comes in pieces without the secrets, also those
// that are cut in two.
type voice struct {
	secrets *Redactor
	say     func(text string)
	mu      sync.Mutex
	kept    string
}

func (v *voice) write(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.kept = v.secrets.Text(v.kept + text)
	v.pass(len(v.kept) - v.secrets.held(v.kept))
}

// end passes on what turned out to be no secret.
func (v *voice) end() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.pass(len(v.kept))
}

func (v *voice) pass(bytes int) {
	text := v.kept[:bytes]
	if v.kept = v.kept[bytes:]; text != "" {
		v.say(text)
	}
}

// Empty tells whether there is nothing to look for.
func (r *Redactor) Empty() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.replace == nil
}

// Value is v with the secrets taken out of every text and name in it. v itself
// is not changed.
func (r *Redactor) Value(v any) any {
	if r.Empty() {
		return v
	}
	switch v := v.(type) {
	case string:
		return r.Text(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = r.Value(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, item := range v {
			out[r.Text(name)] = r.Value(item)
		}
		return out
	}
	return v
}
