package signature

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"sluice/flow/value"
)

// Request is what was received, as far as it can be signed.
type Request struct {
	Method string
	URL    string // public address with its query, which Twilio signs
	Header http.Header
	Body   []byte
}

// Secret is a secret that the sender may have used, and the name under which people know it.
type Secret struct{ Name, Text string }

// Refusal says why a request was not accepted. It contains no secret and no signature.
type Refusal struct {
	Old    bool   // the signature is right, but the request is too old
	Reason string // for the people who set the webhook up
}

// Error returns the reason.
func (r *Refusal) Error() string { return r.Reason }

// refuse returns a Refusal.
func refuse(format string, args ...any) error { return &Refusal{Reason: fmt.Sprintf(format, args...)} }

// maxSignatures bounds how many signatures of a header are compared.
const maxSignatures = 10

// Verify checks a request with any of the secrets. An error is a *Refusal.
func (c *Config) Verify(r *Request, secrets []Secret, now time.Time) error {
	s := c.scheme()
	if s.way == byNothing {
		return nil
	}
	if len(secrets) == 0 {
		return refuse("No secret is set for this webhook, so that no request can be checked.")
	}
	header := r.Header.Get(s.header)
	if header == "" {
		return refuse("The header %s is missing; %d bytes were received. %s", s.header, len(r.Body), s.hint())
	}
	switch s.way {
	case byToken:
		return s.verifyToken(header, secrets)
	case byTwilio:
		return s.verifyTwilio(r, header, secrets)
	}
	stamp, err := s.timestampText(r, header)
	if err != nil {
		return err
	}
	given := s.signatures(header)
	if len(given) == 0 {
		return refuse("The header %s has no signature in the form %s.", s.header, s.form())
	}
	message, err := s.message(r, stamp)
	if err != nil {
		return err
	}
	if !s.matches(message, given, secrets) {
		return refuse("The signature doesn't match: checked %s with %s, %s; header %s found%s. The body was changed on its way, or it was signed with another secret.",
			s.described(len(r.Body)), s.algorithm(), names(secrets), s.header, age(stamp, now))
	}
	return s.checkAge(r, stamp, now)
}

// hint says how to make the sender sign its requests.
func (s *scheme) hint() string {
	if s.way == byToken {
		return "Set the secret at the sender, so that it sends this header."
	}
	return "Set the secret at the sender, so that it signs its requests."
}

// form describes a signature in its header.
func (s *scheme) form() string {
	if s.encoding == "" {
		return s.prefix + "…"
	}
	return s.prefix + "(" + s.encoding + ")"
}

// algorithm names what signatures are made with.
func (s *scheme) algorithm() string {
	if s.way == byEd25519 {
		return "Ed25519"
	}
	return "HMAC " + strings.Replace(strings.ToUpper(s.hash), "SHA", "SHA-", 1)
}

// described says what was signed: the body of so many bytes, and what else.
func (s *scheme) described(bytes int) string {
	if s.signed == "{body}" {
		return fmt.Sprintf("%d bytes", bytes)
	}
	return fmt.Sprintf("%d bytes as %s", bytes, s.signed)
}

// names lists the names of secrets.
func names(secrets []Secret) string {
	list := make([]string, len(secrets))
	for i, s := range secrets {
		list[i] = s.Name
	}
	if len(list) == 1 {
		return "secret " + list[0]
	}
	return "secrets " + strings.Join(list, ", ")
}

// age describes how old a timestamp is.
func age(stamp string, now time.Time) string {
	at, err := strconv.ParseInt(stamp, 10, 64)
	switch seconds := now.Unix() - at; {
	case stamp == "" || err != nil:
		return ""
	case seconds < 0:
		return fmt.Sprintf(", dated %d s ahead", -seconds)
	default:
		return fmt.Sprintf(", %d s old", seconds)
	}
}

// signatures returns the signatures of a header that can be decoded.
func (s *scheme) signatures(header string) (list [][]byte) {
	items := []string{header}
	if s.split != "" {
		items = strings.Split(header, s.split)
	}
	for _, item := range items {
		text, ok := strings.CutPrefix(strings.TrimSpace(item), s.prefix)
		if !ok {
			continue
		}
		if signature, err := decode(s.encoding, text); err == nil && len(list) < maxSignatures {
			list = append(list, signature)
		}
	}
	return list
}

// decode decodes a signature or a key.
func decode(encoding, text string) ([]byte, error) {
	switch encoding {
	case "hex":
		return hex.DecodeString(text)
	case "base64":
		return base64.StdEncoding.DecodeString(text)
	}
	return []byte(text), nil
}

// timestampText returns the time that the sender signed, as it wrote it. Of a body, it is read after the signature was checked.
func (s *scheme) timestampText(r *Request, header string) (string, error) {
	text := ""
	switch {
	case s.timestamp == "" || s.timestamp[0] == '/':
		return "", nil
	case s.timestamp[0] == '=':
		for item := range strings.SplitSeq(header, s.split) {
			if t, ok := strings.CutPrefix(strings.TrimSpace(item), s.timestamp[1:]+"="); ok {
				text = t
			}
		}
	default:
		text = r.Header.Get(s.timestamp)
	}
	if text == "" || len(text) > 20 || strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsDigit(c) }) {
		return "", refuse("The time of the request is missing: %s has no seconds since 1970.", s.timestampPlace())
	}
	return text, nil
}

// timestampPlace names where the time is.
func (s *scheme) timestampPlace() string {
	switch s.timestamp[0] {
	case '=':
		return s.timestamp[1:] + "= of the header " + s.header
	case '/':
		return "the member " + s.timestamp[1:] + " of the body"
	}
	return "the header " + s.timestamp
}

// message returns the parts of the text that is signed.
func (s *scheme) message(r *Request, stamp string) (parts [][]byte, err error) {
	id := ""
	if s.id != "" {
		if id = r.Header.Get(s.id); id == "" {
			return nil, refuse("The header %s is missing, which is part of what is signed.", s.id)
		}
	}
	around := strings.NewReplacer("{timestamp}", stamp, "{id}", id)
	for i, text := range strings.Split(s.signed, "{body}") {
		if i > 0 {
			parts = append(parts, r.Body)
		}
		parts = append(parts, []byte(around.Replace(text)))
	}
	return parts, nil
}

// matches reports whether one of the signatures was made with one of the secrets. It compares all of them.
func (s *scheme) matches(message [][]byte, given [][]byte, secrets []Secret) bool {
	found := 0
	for _, secret := range secrets {
		text := secret.Text
		if s.key != "" {
			text = strings.TrimPrefix(strings.TrimSpace(text), "whsec_")
		}
		key, err := decode(s.key, text)
		if err != nil || len(key) == 0 {
			continue
		}
		if s.way == byEd25519 {
			found |= s.matchesEd25519(message, given, key)
			continue
		}
		mac := hmac.New(hashes[s.hash], key)
		for _, part := range message {
			_, _ = mac.Write(part)
		}
		sum := mac.Sum(nil)
		for _, signature := range given {
			found |= subtle.ConstantTimeCompare(sum, signature)
		}
	}
	return found == 1
}

// matchesEd25519 returns 1 if one of the signatures was made with the private key of a public key, otherwise 0.
func (s *scheme) matchesEd25519(message, given [][]byte, key []byte) (found int) {
	if len(key) != ed25519.PublicKeySize {
		return 0
	}
	var text []byte
	for _, part := range message {
		text = append(text, part...)
	}
	for _, signature := range given {
		if ed25519.Verify(key, text, signature) {
			found = 1
		}
	}
	return found
}

// checkAge returns a Refusal if the time of a signed request is too far from now.
func (s *scheme) checkAge(r *Request, stamp string, now time.Time) error {
	if s.timestamp == "" || s.tolerance == 0 {
		return nil
	}
	at, err := strconv.ParseInt(stamp, 10, 64)
	if s.timestamp[0] == '/' {
		at, err = bodyMilliseconds(r.Body, s.timestamp)
		at /= 1000
	}
	if err != nil {
		return refuse("The time of the request is missing: %s has no time.", s.timestampPlace())
	}
	off := now.Unix() - at
	if off > s.tolerance || off < -s.tolerance {
		return &Refusal{Old: true, Reason: fmt.Sprintf("The signature is right, but the request is from %s, and at most %d s are accepted. It was sent again by somebody else, or a clock is wrong.",
			time.Unix(at, 0).UTC().Format(time.RFC3339), s.tolerance)}
	}
	return nil
}

// bodyMilliseconds returns a number of a JSON body.
func bodyMilliseconds(body []byte, pointer string) (int64, error) {
	return strconv.ParseInt(value.Raw(body).Get(pointer[1:]).String(), 10, 64)
}

// verifyToken compares a shared token.
func (s *scheme) verifyToken(header string, secrets []Secret) error {
	text, ok := header, true
	if s.prefix != "" {
		ok = len(header) >= len(s.prefix) && strings.EqualFold(header[:len(s.prefix)], s.prefix)
		if ok {
			text = header[len(s.prefix):]
		}
	}
	given, err := decode(s.encoding, text)
	if !ok || err != nil {
		return refuse("The header %s is not in the form %s.", s.header, s.form())
	}
	found, sum := 0, sha256.Sum256(given) // equal lengths, so that the length of the secret stays unknown
	for _, secret := range secrets {
		want := sha256.Sum256([]byte(secret.Text))
		if secret.Text != "" {
			found |= subtle.ConstantTimeCompare(sum[:], want[:])
		}
	}
	if found != 1 {
		return refuse("The header %s doesn't have the token of %s.", s.header, names(secrets))
	}
	return nil
}

// EventID returns the ID by which the sender marks an event that it may send again, or "". body is the decoded body. ByBody means
// that the sender has no IDs, but repeats the same body.
func (c *Config) EventID(header http.Header, body any) string {
	source := schemes[c.Scheme].event
	switch {
	case source == "" || source == ByBody:
		return source
	case source[0] != '/':
		return header.Get(source)
	}
	switch v := value.Get(body, source[1:]).(type) {
	case string:
		return v
	default:
		text, _ := value.NumberText(v)
		return text
	}
}
