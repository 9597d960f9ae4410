package flow

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// IsSecretName reports whether a value under this name is treated as a secret.
// The name is that of a header, a query parameter or a member of a JSON body.
//
// The name is split into words at punctuation and at changes of case. It is secret if one of
// the words grants access (password, secret, token, key, auth, signature …), unless another
// word such as max, id or idempotency means that it does not: max_tokens, key_id and
// Idempotency-Key are not secrets. Neither are keyword, monkey or author, which only contain
// such a word.
//
// The whole program uses this rule. The redirect rule in package outbound covers at least
// these names.
func IsSecretName(name string) bool {
	words := nameWords(name)
	if len(words) == 0 {
		return false
	}
	if slices.ContainsFunc(words, func(w string) bool { return harmlessWords[w] }) {
		return false
	}
	if last := words[len(words)-1]; len(words) > 1 && describingWords[last] && !sessionID(words) {
		return false
	}
	return slices.ContainsFunc(words, isSecretWord) || sessionID(words)
}

// secretWords are words that grant access, anywhere in a name.
var secretWords = map[string]bool{
	"auth": true, "oauth": true, "oauth2": true, "authn": true, "authz": true, "authentication": true, "authorization": true, "authorisation": true,
	"token": true, "key": true, "pass": true, "pwd": true, "psw": true, "passcode": true, "sig": true, "hmac": true, "jwt": true, "bearer": true,
	"cookie": true, "cookies": true, "session": true, "sessionid": true, "sid": true, "creds": true, "otp": true,
}

// secretParts grant access even as parts of longer words, such as clientsecret.
var secretParts = []string{"secret", "password", "passwd", "passphrase", "credential", "signature", "apikey", "authtoken", "accesstoken"}

// gluedSecretWord lists words that are written before key, token or auth without a
// separator. Words such as monkey, keyword and author are not among them.
var gluedSecretWord = regexp.MustCompile(`^(?:x|my|api|app|application|auth|access|secret|private|subscription|functions?|service|account|master|admin|root|client|licen[sc]e|consumer|encryption|signing|shared|storage|security|user|host|web|server|team|workspace|org|deploy|write|read|integration|routing|bot|id|refresh|session|csrf|xsrf|bearer|basic|http|proxy|device|login|db|database|redis|rapidapi|openai|github|gitlab|slack|stripe)+(?:key|token|auth|pass|pwd|sig)$`)

// harmlessWords make a name harmless, anywhere in it.
var harmlessWords = wordSet("max min count limit page next prev previous continuation pagination cursor tokenizer tokens stop pad eos bos mask special" +
	" idempotency idempotent primary foreign public publishable partition sort surrogate cache websocket socket dedup deduplication unique object dictionary" +
	" index group grouping row natural composite translation i18n keyboard issue feature flag author authors authored authority")

// describingWords end a name that only describes a secret: token_type, auth_url.
var describingWords = wordSet("type kind method mode url uri endpoint name id ids length size version algorithm alg expiry expires expiration ttl in at status state" +
	" enabled required optional policy scheme scope scopes header hint format provider prefix field label budget usage user username email host domain region used left remaining")

func wordSet(list string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(list) {
		set[word] = true
	}
	return set
}

// sessionID reports whether the words name a session ID, which grants access.
func sessionID(words []string) bool {
	return len(words) > 1 && words[len(words)-1] == "id" && words[len(words)-2] == "session"
}

// isSecretWord reports whether a word of a name marks a secret: it is one of secretWords,
// contains one of secretParts, or matches gluedSecretWord, such as "stripekey".
func isSecretWord(word string) bool {
	return secretWords[word] || gluedSecretWord.MatchString(word) || slices.ContainsFunc(secretParts, func(part string) bool { return strings.Contains(word, part) })
}

// nameWords splits a name at punctuation and at changes of case, in lower case:
// X-RapidAPI-Key is x, rapid, api, key.
func nameWords(name string) (words []string) {
	runes := []rune(strings.TrimSpace(name))
	var word []rune
	flush := func() {
		if len(word) > 0 {
			words, word = append(words, strings.ToLower(string(word))), nil
		}
	}
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush()
			continue
		case unicode.IsUpper(r) && i > 0 && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]) && unicode.IsUpper(runes[i-1])):
			flush()
		}
		word = append(word, r)
	}
	flush()
	return words
}

// IsSecretMember is IsSecretName for a member of a JSON body. There, "key" is often harmless, so
// its value must also look like a secret.
func IsSecretMember(name string, value any) bool {
	if strings.EqualFold(strings.TrimSpace(name), "key") {
		s, _ := value.(string)
		return LooksSecret(s)
	}
	return IsSecretName(name)
}

var (
	// knownSecret matches widely used token formats: those of model providers and code hosts,
	// JWTs, and values with an authentication scheme.
	knownSecret = regexp.MustCompile(`^(?:(?:sk|pk|rk|xai|gsk|hf|pplx|whsec|ghp|gho|ghs|ghu|github_pat|glpat|xox[abeprs]|xapp|r8|npm|pypi|shpat|dop_v1)[-_][A-Za-z0-9_+/=-]{8,}` +
		`|AIza[A-Za-z0-9_-]{20,}|(?:AKIA|ASIA)[A-Z0-9]{12,}|eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*|(?i:bearer|basic|token)\s+[A-Za-z0-9._~+/=-]{6,})$`)
	secretRun = regexp.MustCompile(`[A-Za-z0-9]{16,}`)
	uuidForm  = regexp.MustCompile(`(?i)^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
)

// Bounds of texts that look like secrets: characters, and bits per character and digits of one
// sequence of letters and digits.
const (
	leastSecretLength  = 20
	mostSecretLength   = 4096
	leastSecretEntropy = 3.3
	leastSecretDigits  = 3
)

// LooksSecret reports whether a text looks like a token, regardless of its name: it has a known
// prefix, or a long random sequence of letters and digits. This heuristic is for suggestions
// only, never for errors.
func LooksSecret(s string) bool {
	s = strings.TrimSpace(s)
	if knownSecret.MatchString(s) {
		return true
	}
	if len(s) < leastSecretLength || len(s) > mostSecretLength || uuidForm.MatchString(s) || strings.Contains(s, "{{") ||
		strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~+/=:") != "" || strings.Contains(s, "://") {
		return false
	}
	return slices.ContainsFunc(secretRun.FindAllString(s, -1), func(run string) bool {
		digits := 0
		for _, c := range []byte(run) {
			if c >= '0' && c <= '9' {
				digits++
			}
		}
		return digits >= leastSecretDigits && digits < len(run) && entropy(run) >= leastSecretEntropy
	})
}

// entropy returns the Shannon entropy in bits per byte.
func entropy(s string) (bits float64) {
	var counts [256]int
	for _, c := range []byte(s) {
		counts[c]++
	}
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(s))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}

// WithoutSecrets replaces the texts under names of secrets, such as Set-Cookie and Authorization, by Redacted. It calls
// removed with each.
func WithoutSecrets(v any, removed func(text string)) any {
	member := func(name string, item any) any {
		if text, isText := item.(string); isText && text != "" && IsSecretMember(name, item) {
			removed(text)
			return Redacted
		}
		if list, isList := item.([]any); isList && IsSecretName(name) {
			texts := 0
			for _, entry := range list {
				if text, isText := entry.(string); isText {
					removed(text)
					texts++
				}
			}
			if texts > 0 {
				return []any{Redacted}
			}
		}
		return WithoutSecrets(item, removed)
	}
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for name, item := range v {
			m[name] = member(name, item)
		}
		return m
	case *Object:
		if v == nil {
			return v
		}
		o, _ := v.Replace(func(name string, item any) (any, error) { return member(name, item), nil })
		return o
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = WithoutSecrets(v[i], removed)
		}
		return list
	}
	return v
}
