package signature

import (
	"crypto/sha1" //nolint:gosec // Twilio's default
	"crypto/sha256"
	"crypto/sha512"
	"hash"
	"slices"
	"strings"
)

// Tolerance is how many seconds the time in a signature may differ from the server's.
const Tolerance = 300

// way is how a scheme checks a request.
type way int

const (
	byNothing way = iota
	byHMAC
	byEd25519
	byToken
	byTwilio
)

// scheme is how a service proves that a request is its own.
type scheme struct {
	title  string
	way    way
	header string // that has the signature or the token
	prefix string // of the signature in its header
	// split separates the items of the header. Items without the prefix are ignored.
	split    string
	signed   string // text that is signed, with {body}, {timestamp} and {id}
	hash     string // name of the hash function, as in hashes
	encoding string // of the signature: hex or base64
	key      string // encoding of the secret: base64 or hex; empty: the text itself
	// timestamp is the source of the time: a header, "=t" for the item t of the signature's header, or the pointer of a member
	// of the body, which is signed with it and in milliseconds.
	timestamp string
	tolerance int64 // seconds; 0 accepts every time
	id        string
	event     string // source of the ID of the event: a header, the pointer of a member of the body, or ByBody
}

// ByBody marks events without an ID, which the sender repeats byte by byte.
const ByBody = "body"

// schemes has the services that are known. hmac, token and basic are completed by Config.
var schemes = map[string]scheme{
	"standard": {title: "Standard Webhooks", way: byHMAC, header: "Webhook-Signature", prefix: "v1,", split: " ", signed: "{id}.{timestamp}.{body}", hash: "sha256",
		encoding: "base64", key: "base64", timestamp: "Webhook-Timestamp", tolerance: Tolerance, id: "Webhook-Id", event: "Webhook-Id"},
	"github": {title: "GitHub", way: byHMAC, header: "X-Hub-Signature-256", prefix: "sha256=", signed: "{body}", hash: "sha256", encoding: "hex", event: "X-Github-Delivery"},
	"stripe": {title: "Stripe", way: byHMAC, header: "Stripe-Signature", prefix: "v1=", split: ",", signed: "{timestamp}.{body}", hash: "sha256", encoding: "hex",
		timestamp: "=t", tolerance: Tolerance, event: "/id"},
	"slack": {title: "Slack", way: byHMAC, header: "X-Slack-Signature", prefix: "v0=", signed: "v0:{timestamp}:{body}", hash: "sha256", encoding: "hex",
		timestamp: "X-Slack-Request-Timestamp", tolerance: Tolerance, event: "/event_id"},
	"shopify": {title: "Shopify", way: byHMAC, header: "X-Shopify-Hmac-Sha256", signed: "{body}", hash: "sha256", encoding: "base64", event: "X-Shopify-Webhook-Id"},
	"twilio":  {title: "Twilio", way: byTwilio, header: "X-Twilio-Signature", hash: "sha1", encoding: "base64", event: "I-Twilio-Idempotency-Token"},
	"meta":    {title: "Meta", way: byHMAC, header: "X-Hub-Signature-256", prefix: "sha256=", signed: "{body}", hash: "sha256", encoding: "hex", event: ByBody},
	"zoom": {title: "Zoom", way: byHMAC, header: "X-Zm-Signature", prefix: "v0=", signed: "v0:{timestamp}:{body}", hash: "sha256", encoding: "hex",
		timestamp: "X-Zm-Request-Timestamp", tolerance: Tolerance, event: ByBody},
	"linear": {title: "Linear", way: byHMAC, header: "Linear-Signature", signed: "{body}", hash: "sha256", encoding: "hex", timestamp: "/webhookTimestamp", tolerance: Tolerance,
		event: "Linear-Delivery"},
	"gitlab":   {title: "GitLab", way: byToken, header: "X-Gitlab-Token", event: "Idempotency-Key"},
	"telegram": {title: "Telegram", way: byToken, header: "X-Telegram-Bot-Api-Secret-Token", event: "/update_id"},
	"discord": {title: "Discord", way: byEd25519, header: "X-Signature-Ed25519", signed: "{timestamp}{body}", encoding: "hex", key: "hex", timestamp: "X-Signature-Timestamp",
		tolerance: Tolerance, event: "/id"},
	"hmac":  {title: "HMAC", way: byHMAC, signed: "{body}", hash: "sha256", encoding: "hex"},
	"token": {title: "Token in a header", way: byToken, header: "Authorization", prefix: "Bearer "},
	"basic": {title: "Basic authentication", way: byToken, header: "Authorization", prefix: "Basic ", encoding: "base64"},
	"none":  {title: "No verification", way: byNothing},
}

// Names lists the schemes in the order in which people choose from them.
var Names = []string{"standard", "github", "stripe", "slack", "shopify", "twilio", "meta", "zoom", "linear", "gitlab", "telegram", "discord", "hmac", "token", "basic", "none"}

// Title returns what people call a scheme.
func Title(name string) string { return schemes[name].title }

var hashes = map[string]func() hash.Hash{"sha1": sha1.New, "sha256": sha256.New, "sha512": sha512.New}

// Config selects a scheme, and completes it where the service is unknown.
type Config struct {
	Scheme          string `json:"scheme"`
	Header          string `json:"header,omitempty"`    // hmac, token
	Prefix          string `json:"prefix,omitempty"`    // hmac, token
	Algorithm       string `json:"algorithm,omitempty"` // hmac: sha256, sha1 or sha512
	Encoding        string `json:"encoding,omitempty"`  // hmac: hex or base64
	Signed          string `json:"signed,omitempty"`    // hmac, such as {timestamp}.{body}
	TimestampHeader string `json:"timestamp_header,omitempty"`
	Tolerance       int64  `json:"tolerance_s,omitempty"`
}

// Problem is a wrong field of a Config.
type Problem struct{ Field, Detail string }

// Check returns the problems of a configuration.
func (c *Config) Check() (problems []Problem) {
	fail := func(field, detail string) { problems = append(problems, Problem{field, detail}) }
	s, ok := schemes[c.Scheme]
	if !ok {
		fail("scheme", "must be one of "+strings.Join(Names, ", "))
		return problems
	}
	hmac := c.Scheme == "hmac"
	for _, f := range []struct {
		name, value string
		allowed     bool
	}{
		{"header", c.Header, hmac || c.Scheme == "token"}, {"prefix", c.Prefix, hmac || c.Scheme == "token"}, {"algorithm", c.Algorithm, hmac},
		{"encoding", c.Encoding, hmac}, {"signed", c.Signed, hmac}, {"timestamp_header", c.TimestampHeader, hmac},
	} {
		switch {
		case f.value != "" && !f.allowed:
			fail(f.name, "is fixed for "+s.title)
		case len(f.value) > 200:
			fail(f.name, "must have at most 200 characters")
		}
	}
	if !hmac {
		if c.Tolerance != 0 {
			fail("tolerance_s", "is fixed for "+s.title)
		}
		return problems
	}
	if c.Header == "" {
		fail("header", "is required: the header that has the signature")
	}
	if c.Algorithm != "" && hashes[c.Algorithm] == nil {
		fail("algorithm", "must be sha256, sha1 or sha512")
	}
	if c.Encoding != "" && !slices.Contains([]string{"hex", "base64"}, c.Encoding) {
		fail("encoding", "must be hex or base64")
	}
	if c.Signed != "" && !strings.Contains(c.Signed, "{body}") {
		fail("signed", "must contain {body}")
	}
	if strings.Contains(c.Signed, "{timestamp}") && c.TimestampHeader == "" {
		fail("timestamp_header", "is required for {timestamp}")
	}
	if c.Tolerance < 0 || c.Tolerance > 24*60*60 {
		fail("tolerance_s", "must be between 1 and 86400")
	}
	return problems
}

// scheme returns the scheme with what the configuration says.
func (c *Config) scheme() scheme {
	s := schemes[c.Scheme]
	if c.Header != "" {
		s.header, s.prefix = c.Header, c.Prefix
	} else if c.Prefix != "" {
		s.prefix = c.Prefix
	}
	if c.Algorithm != "" {
		s.hash = c.Algorithm
	}
	if c.Encoding != "" {
		s.encoding = c.Encoding
	}
	if c.Signed != "" {
		s.signed = c.Signed
	}
	if c.TimestampHeader != "" {
		s.timestamp, s.tolerance = c.TimestampHeader, Tolerance
	}
	if c.Tolerance != 0 {
		s.tolerance = c.Tolerance
	}
	return s
}

// NeedsSecret reports whether a scheme checks requests with a secret. An unknown one does.
func NeedsSecret(name string) bool { return name != "none" }

// Private lists the headers of a request that may hold a secret or a signature, so that they are never stored or
// shown.
func (c *Config) Private() []string {
	list := []string{"Authorization", "Proxy-Authorization", "Cookie", "X-Api-Key"}
	for _, s := range schemes {
		if s.header != "" {
			list = append(list, s.header)
		}
	}
	if c.Header != "" {
		list = append(list, c.Header)
	}
	return list
}
