package signature

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"sluice/flow/value"
)

// CanSign reports whether a test can be sent as if from the service. Of Discord only the public key is known.
func (c *Config) CanSign() bool { return c.scheme().way != byEd25519 }

// Sign makes a request one that the service could have sent at a time: with a signature or a token, and with the ID of its event. The
// body and the URL change where these hold the time, the ID or a hash. It does not check the secret.
func (c *Config) Sign(r *Request, secret, id string, now time.Time) {
	s := c.scheme()
	if r.Header == nil {
		r.Header = http.Header{}
	}
	stamp := strconv.FormatInt(now.Unix(), 10)
	if s.timestamp != "" && s.timestamp[0] == '/' {
		setMember(r, s.timestamp[1:], json.Number(strconv.FormatInt(now.UnixMilli(), 10)))
	}
	switch {
	case s.event == "" || s.event == ByBody:
	case s.event[0] == '/':
		setMember(r, s.event[1:], id)
	default:
		r.Header.Set(s.event, id)
	}
	if s.id != "" {
		r.Header.Set(s.id, id)
	}
	switch s.way {
	case byToken:
		text := secret
		if s.encoding == "base64" {
			text = base64.StdEncoding.EncodeToString([]byte(secret))
		}
		r.Header.Set(s.header, s.prefix+text)
	case byTwilio:
		s.signTwilio(r, secret)
	case byHMAC:
		s.signHMAC(r, secret, stamp)
	}
}

// signHMAC sets the signature of a body.
func (s *scheme) signHMAC(r *Request, secret, stamp string) {
	text := secret
	if s.key != "" {
		text = strings.TrimPrefix(strings.TrimSpace(text), "whsec_")
	}
	key, err := decode(s.key, text)
	if err != nil {
		return // such a secret signs nothing, and the request is refused
	}
	message, err := s.message(r, stamp)
	if err != nil {
		return
	}
	header := s.prefix + s.encode(key, message...)
	switch {
	case s.timestamp == "" || s.timestamp[0] == '/':
	case s.timestamp[0] == '=':
		header = s.timestamp[1:] + "=" + stamp + s.split + header
	default:
		r.Header.Set(s.timestamp, stamp)
	}
	r.Header.Set(s.header, header)
}

// signTwilio sets the signature of an address with the fields of a form, or with the hash of another body.
func (s *scheme) signTwilio(r *Request, secret string) {
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		sum := sha256.Sum256(r.Body)
		r.URL += "?bodySHA256=" + hex.EncodeToString(sum[:])
	}
	address, err := url.Parse(r.URL)
	if err != nil {
		return
	}
	fields, err := twilioFields(r, address)
	if err != nil {
		return
	}
	r.Header.Set(s.header, s.encode([]byte(secret), []byte(portForms(address)[0]), []byte(fields)))
}

// encode returns the HMAC of a message as a header has it.
func (s *scheme) encode(key []byte, message ...[]byte) string {
	mac := hmac.New(hashes[s.hash], key)
	for _, part := range message {
		_, _ = mac.Write(part)
	}
	if s.encoding == "base64" {
		return base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	return hex.EncodeToString(mac.Sum(nil))
}

// setMember sets a member of a JSON object; another body stays as it is.
func setMember(r *Request, name string, v any) {
	decoded, err := value.Decode(r.Body)
	if body, ok := decoded.(*value.Object); ok && err == nil {
		body.Set(name, v)
		r.Body = value.Encode(body)
	}
}
