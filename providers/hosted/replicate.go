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

// DefaultReplicateURL is where Replicate's HTTP API is.
const DefaultReplicateURL = "https://api.replicate.com/v1"

const (
	// answerTimeout bounds one call to the API beyond the time it was asked to
	// wait: a server that sends one byte a second must not hold a worker.
	answerTimeout = 90 * time.Second
	// maxAnswer bounds an answer of the API in bytes. Embeddings of a batch come
	// as JSON numbers and are the largest real ones.
	maxAnswer = 32 << 20
	// maxRefusal bounds what is read of a refusal, in bytes.
	maxRefusal = 64 << 10
)

// ReplicateConfig says where Replicate is and how it is reached.
type ReplicateConfig struct {
	BaseURL string // with its version; empty: DefaultReplicateURL
	// API carries the calls. It must let an answer's first byte take as long as
	// StartRequest.Wait, and hold back uploads of any size for as long as they take.
	API *http.Client
	// Files carries downloads, so its size limit is that of a file. The
	// model's author chooses the URLs, so it must not reach private networks
	// that the operator did not allow.
	Files *http.Client
	// OwnFiles carries downloads from the server of BaseURL itself, and follows no
	// redirect away from it. Nil: Files does. All clients come from package
	// outbound, which guards where they may go.
	OwnFiles *http.Client
}

// Replicate is a Host: replicate.com or a server that speaks its API. It keeps
// nothing and is safe for concurrent use.
type Replicate struct {
	base      *url.URL
	api       *http.Client
	files     *http.Client
	ownFiles  *http.Client // for the server of base alone
	maxAnswer int64
	timeout   time.Duration // of one call, beyond what it was asked to wait
	// pause waits between two tries; tests replace it.
	pause func(ctx context.Context, d time.Duration) error
	now   func() time.Time
}

var _ Host = (*Replicate)(nil)

// NewReplicate makes a client for the platform. A base URL that cannot be read
// shows in the first call.
func NewReplicate(cfg ReplicateConfig) *Replicate {
	base, err := url.Parse(strings.TrimRight(cmp.Or(cfg.BaseURL, DefaultReplicateURL), "/"))
	if err != nil {
		base = &url.URL{}
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

// url is the address of a call; the parts of its path are escaped.
func (p *Replicate) url(parts ...string) string {
	u := p.base.JoinPath()
	for _, part := range parts {
		u = u.JoinPath(url.PathEscape(part))
	}
	return u.String()
}

// streamHost serves the event streams of the platform itself.
const streamHost = "stream.replicate.com"

// Address is where the API is, and so where the secret goes.
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

// trusts reports whether the secret may be sent to an address: only to the server
// of the API, and from the platform's own API to its own stream host.
func (p *Replicate) trusts(u *url.URL) bool {
	if p.own(u) {
		return true
	}
	platform := p.base.Scheme == "https" && strings.EqualFold(p.base.Hostname(), "api.replicate.com")
	return platform && u.User == nil && u.Scheme == "https" && strings.EqualFold(u.Hostname(), streamHost) && port(u) == "443"
}
