package hosted

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"sluice/outbound"
)

// DefaultReplicateURL is the base URL of Replicate's HTTP API.
const DefaultReplicateURL = "https://api.replicate.com/v1"

const (
	// answerTimeout bounds one call to the API, in addition to the requested wait. A server
	// that sends one byte a second must not block a worker.
	answerTimeout = 90 * time.Second
	// maxAnswer bounds a response of the API, in bytes. The largest real ones are batches
	// of embeddings as JSON numbers.
	maxAnswer = 32 << 20
	// maxRefusal bounds the part of an error response that is read, in bytes.
	maxRefusal = 64 << 10
)

// ReplicateConfig configures a Replicate client.
type ReplicateConfig struct {
	BaseURL string // /v1 is added to an address without a path; empty: DefaultReplicateURL
	// API makes the calls. Its timeouts must allow a first byte after StartRequest.Wait,
	// and uploads of any duration.
	API *http.Client
	// Files downloads outputs, so its size limit is that of a file. The author of a model
	// chooses the URLs, so it must refuse private networks that the operator did not allow.
	Files *http.Client
	// OwnFiles downloads from the server of BaseURL and must not follow redirects to other
	// servers. If nil, Files is used. All clients come from package outbound, which
	// restricts their destinations.
	OwnFiles *http.Client
}

// Replicate is a Host for replicate.com or a server with the same API. It is stateless and
// safe for concurrent use.
type Replicate struct {
	base      *url.URL
	api       *http.Client
	files     *http.Client
	ownFiles  *http.Client // only for the server of base
	maxAnswer int64
	timeout   time.Duration // of one call, in addition to the requested wait
	// pause waits between two attempts. Tests replace it.
	pause func(ctx context.Context, d time.Duration) error
	now   func() time.Time
}

var _ Host = (*Replicate)(nil)

// NewReplicate returns a client of the platform. With an invalid base URL, the first call
// fails.
func NewReplicate(cfg ReplicateConfig) *Replicate {
	base, err := url.Parse(strings.TrimRight(cmp.Or(cfg.BaseURL, DefaultReplicateURL), "/"))
	if err != nil {
		base = &url.URL{}
	}
	if base.Host != "" && base.Path == "" {
		base.Path = "/v1" // users mostly omit it
	}
	return &Replicate{
		base: base, api: cfg.API, files: cfg.Files, ownFiles: cmp.Or(cfg.OwnFiles, cfg.Files),
		maxAnswer: maxAnswer, timeout: answerTimeout, pause: pause, now: time.Now,
	}
}

// pause waits between polls, or until the context ends. It reports that the step is
// waiting, so that its time is not counted as work.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	outbound.Report(ctx, false)
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// url returns the URL of a call from unescaped path segments.
func (p *Replicate) url(parts ...string) string {
	u := p.base.JoinPath()
	for _, part := range parts {
		u = u.JoinPath(url.PathEscape(part))
	}
	return u.String()
}

// streamHost is the host of replicate.com's event streams.
const streamHost = "stream.replicate.com"

// Address returns the base URL of the API, to which the secret is sent.
func (p *Replicate) Address() string { return p.base.String() }

// own reports whether an address is on the server of the API itself. Outputs are
// files on other hosts, chosen by the model's author.
func (p *Replicate) own(u *url.URL) bool {
	return u.User == nil && u.Scheme == p.base.Scheme && strings.EqualFold(u.Hostname(), p.base.Hostname()) && port(u) == port(p.base)
}

// port returns the port of a URL, or the default of its scheme, for comparing hosts.
func port(u *url.URL) string {
	return cmp.Or(u.Port(), map[string]string{"https": "443", "http": "80"}[u.Scheme])
}

// trusts reports whether the secret may be sent to a URL: to the server of the API, and to
// streamHost if the API is that of replicate.com.
func (p *Replicate) trusts(u *url.URL) bool {
	if p.own(u) {
		return true
	}
	platform := p.base.Scheme == "https" && strings.EqualFold(p.base.Hostname(), "api.replicate.com")
	return platform && u.User == nil && u.Scheme == "https" && strings.EqualFold(u.Hostname(), streamHost) && port(u) == "443"
}
