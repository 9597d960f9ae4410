package redaction

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"sluice/flow"
	"sluice/flow/sorting"
)

// minSecretLength is the minimum length of a redacted secret, in bytes. A shorter one
// would also match unrelated text.
const minSecretLength = 6

// Redactor removes secrets from responses: providers echo requests in error messages and
// elsewhere. It is safe for concurrent use.
type Redactor struct {
	outer    *Redactor // redacts before this one; nil for none
	mu       sync.RWMutex
	known    map[string]bool // the secrets
	forms    []string        // the secrets and their encodings without escapes, longest first
	replacer *strings.Replacer
	escaped  escapable // the secrets and those encodings that may be escaped
}

// Within returns a redactor that also knows the secrets of another one, and those that it learns
// later.
func Within(outer *Redactor) *Redactor { return &Redactor{outer: outer} }

// New returns a redactor of the given secrets. Add registers more.
func New(secrets ...string) *Redactor {
	r := &Redactor{}
	r.AddAll(secrets)
	return r
}

// Add registers a secret in every form in which a service may echo it:
// unchanged, in hexadecimal and in base64, with and without the scheme of an
// Authorization header, and each of them escaped for a URL, JSON or HTML. In base64
// it is found at any offset, such as after "Bearer " or a user name.
func (r *Redactor) Add(secret string) { r.AddAll([]string{secret}) }

// AddAll is Add for several secrets.
func (r *Redactor) AddAll(secrets []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := len(r.forms)
	for _, secret := range secrets {
		if len(secret) >= minSecretLength && !r.known[secret] {
			for _, piece := range pieces(secret) {
				r.addForms(piece)
			}
			r.known[secret] = true
		}
	}
	if len(r.forms) == before {
		return
	}
	// The replacer prefers earlier forms where several fit.
	sorting.By(r.forms, func(a, b string) int { return len(b) - len(a) })
	pairs := make([]string, 0, 2*len(r.forms))
	for _, form := range r.forms {
		pairs = append(pairs, form, flow.Redacted)
	}
	r.replacer = strings.NewReplacer(pairs...)
}

// maxPiece is the length in bytes of the parts in which a long secret is looked for: a text is
// compared with them at each of its positions.
const maxPiece = 1023 // a multiple of 3, so that parts are whole groups in base64

// pieces splits a secret into parts of maxPiece. The last one may be longer, so that none is
// too short to be looked for.
func pieces(secret string) (list []string) {
	for len(secret) >= 2*maxPiece {
		end := maxPiece
		for end > maxPiece-utf8.UTFMax && !utf8.RuneStart(secret[end]) {
			end--
		}
		list, secret = append(list, secret[:end]), secret[end:]
	}
	return append(list, secret)
}

// addForms adds the forms of a secret. The caller holds mu and renews the replacer.
func (r *Redactor) addForms(secret string) {
	if r.known == nil {
		r.known = map[string]bool{}
	}
	r.known[secret] = true
	for _, text := range variants(secret) {
		for i, form := range secretForms(text) {
			if len(form) >= minSecretLength && !slices.Contains(r.forms, form) {
				r.forms = append(r.forms, form)
				if i == 0 || strings.ContainsAny(form, "+/=") { // other encodings have nothing to escape
					r.escaped.add(form)
				}
			}
		}
	}
}

// variants returns the texts to look for: the secret, and the part after its
// scheme. Basic credentials are decoded, because a service may echo the
// password.
func variants(secret string) []string {
	list := []string{secret}
	scheme, rest, found := strings.Cut(strings.TrimSpace(secret), " ")
	rest = strings.TrimSpace(rest)
	switch strings.ToLower(scheme) {
	case "bearer", "token", "apikey", "key", "digest":
	case "basic":
		if pair, err := base64.StdEncoding.DecodeString(rest); err == nil {
			_, password, _ := strings.Cut(string(pair), ":")
			list = append(list, string(pair), password)
		}
	default:
		found = false
	}
	if found {
		list = append(list, rest)
	}
	return slices.DeleteFunc(list, func(s string) bool { return len(s) < minSecretLength })
}

// secretForms returns a text and its encodings inside other texts.
func secretForms(s string) []string {
	digits := hex.EncodeToString([]byte(s))
	return append(append([]string{s, digits, strings.ToUpper(digits)}, base64Forms(s)...), base64Cores(s)...)
}

// base64Forms returns s in the standard and the URL alphabet, with and without
// padding.
func base64Forms(s string) []string {
	standard, forURL := base64.StdEncoding.EncodeToString([]byte(s)), base64.URLEncoding.EncodeToString([]byte(s))
	return []string{standard, forURL, strings.TrimRight(standard, "="), strings.TrimRight(forURL, "=")}
}

// base64Cores returns the base64 characters that depend only on s, whatever
// surrounds it: one text for each of the three offsets in a group of three
// bytes at which s can begin. A character that s shares with its neighbors is
// not redacted; it reveals at most four bits.
func base64Cores(s string) (cores []string) {
	for before := range 3 {
		text := append(make([]byte, before), s...)
		from, to := (before*8+5)/6, len(text)*8/6
		cores = append(cores, base64.RawStdEncoding.EncodeToString(text)[from:to], base64.RawURLEncoding.EncodeToString(text)[from:to])
	}
	return cores
}

// Text returns s with every secret replaced by flow.Redacted.
func (r *Redactor) Text(s string) string {
	if r.outer != nil {
		s = r.outer.Text(s)
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.replacer == nil {
		return s
	}
	return r.escaped.replace(r.replacer.Replace(s), flow.Redacted)
}

// Held returns how many bytes at the end of s could be the beginning of a secret. A stream
// must hold them back until more of the text is known.
func (r *Redactor) Held(s string) int {
	most := 0
	if r.outer != nil {
		most = r.outer.Held(s)
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	most = max(most, r.escaped.held(s))
	for _, form := range r.forms {
		for n := min(len(form)-1, len(s)); n > most; n-- {
			if strings.HasSuffix(s, form[:n]) {
				most = n
			}
		}
	}
	return most
}

// Empty reports whether there is nothing to look for.
func (r *Redactor) Empty() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.replacer == nil && (r.outer == nil || r.outer.Empty())
}

// Value returns a copy of v with the secrets redacted in all texts and names inside it.
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
	case *flow.Object:
		out := &flow.Object{}
		for name, item := range v.All() {
			out.Set(r.Text(name), r.Value(item))
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
