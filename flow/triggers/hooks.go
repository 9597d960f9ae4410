package triggers

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"
	"time"

	"sluice/flow"
	"sluice/flow/hooks"
	"sluice/flow/signature"
	"sluice/flow/wording"
)

// Hook is the kind of triggers that start with a request of another service: an incoming webhook.
const Hook Kind = "hook"

// Limits of the requests that the log of events keeps.
const (
	MaxRequests    = 64 << 20 // bytes of the bodies of one trigger
	CaptureFor     = time.Hour
	LongestOverlap = 7 * 24 * time.Hour // of a URL that was replaced
)

// HookState is what a trigger of the kind Hook has.
type HookState struct {
	Hook         hooks.Config
	Token        string    // secret of its URL; set only for a new one
	OldUntil     time.Time // until then, the URL before the present one works
	CaptureUntil time.Time // until then, the log of events keeps every request
}

// Settings returns the configuration as the API and files have it.
func (t *Trigger) Settings() any {
	if t.Kind == Hook {
		return &t.Hook
	}
	return &t.Config
}

// NewToken returns the secret of a new URL: 256 random bits.
func NewToken() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// TokenHash returns what the store keeps of a token to find it, and "" for "".
func TokenHash(token string) string {
	if token == "" {
		return ""
	}
	return flow.Hash([]byte(token))
}

// ValidToken reports whether a text has the form of a token.
func ValidToken(text string) bool {
	b, err := base64.RawURLEncoding.DecodeString(text)
	return err == nil && len(b) == 32
}

// HookPath returns the path of the URL of a token.
func HookPath(token string) string { return "/h/" + token }

// Claim returns the idempotency key by which an event starts only one run. Callers cannot send it.
func Claim(triggerID, key string) string {
	sum := sha256.Sum256([]byte(key))
	return "\x01" + triggerID + ":" + hex.EncodeToString(sum[:])
}

// Received is a request as the log of events keeps it, without headers that may hold secrets.
type Received struct {
	Method  string            `json:"method"`
	Query   string            `json:"query,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Size    int64             `json:"size"` // bytes of the body
	Body    string            `json:"body,omitempty"`
	Left    bool              `json:"left,omitempty"` // the body was not kept
}

// errNoFiles stands for files, which are not kept with a request.
var errNoFiles = flow.Errorf(flow.CodeInputInvalid, "The request has files, which are not kept. Upload them in the form of the run.")

// ReceivedIn returns the request that the log of events kept with an event.
func ReceivedIn(e *Event) (*Received, error) {
	if e.Request == "" {
		return nil, flow.Errorf(flow.CodeNotFound, "The request was not kept. Let the webhook listen, and send it again.")
	}
	r := &Received{}
	if err := json.Unmarshal([]byte(e.Request), r); err != nil {
		return nil, fmt.Errorf("read the request of event %s: %w", e.Key, err)
	}
	return r, nil
}

// Message returns a request as the webhook reads it. Files were not kept.
func (r *Received) Message() (*hooks.Message, error) {
	m := &hooks.Message{Method: r.Method, Header: http.Header{}, Raw: []byte(r.Body)}
	for name, value := range r.Headers {
		m.Header.Set(name, value)
	}
	var err error
	if m.Query, err = url.ParseQuery(r.Query); err != nil {
		m.Query = url.Values{}
	}
	m.Body, err = hooks.Decode(hooks.Kept(m.Header.Get("Content-Type")), m.Raw, func(*multipart.Part) (any, error) { return nil, errNoFiles })
	return m, err
}

// HookSentence describes an incoming webhook in words, such as "Every request, verified: GitHub".
func (t *Trigger) HookSentence() string {
	text := "Every request"
	if t.Hook.When != "" {
		text = "When " + wording.Fit(t.Hook.When, 80)
	}
	if !signature.NeedsSecret(t.Hook.Verify.Scheme) {
		return text + ", not verified"
	}
	return text + ", verified: " + signature.Title(t.Hook.Verify.Scheme)
}
