package client

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"sluice/flow"
	"sluice/flow/value"
)

// Client calls the API of a server with the same routes and rules as any other client. A server
// on another machine needs an API key. For the server on this machine, and the API in this
// process, it has the local token, which acts for the operator.
type Client struct {
	Base, Token string // URL without a path; key or token
	Temporary   bool   // the server ends with this command, so its URLs must not be shown
	Remote      bool   // the server may be on another machine: use the proxies of the environment
	Idle        bool   // nothing executes runs: the API is that of this process, and the only one

	Header http.Header  // sent with every request
	HTTP   *http.Client // sends the requests; nil for a client that fits Remote
	// OnChange, if not nil, is called once, before the first request that may change something.
	OnChange func()
	// Open, if not nil, is called once before the first request to set the fields above, so that
	// a command that fails earlier opens nothing.
	Open func(ctx context.Context, c *Client) error

	opening, changing sync.Once
	openErr           error
}

// open calls Open before the first request.
func (c *Client) open(ctx context.Context) error {
	if c.Open != nil {
		c.opening.Do(func() { c.openErr = c.Open(ctx, c) })
	}
	return c.openErr
}

// directClient ignores proxies, which cannot reach a server on this machine. proxiedClient
// uses those of the environment.
var (
	directClient  = &http.Client{Transport: newTransport(nil)}
	proxiedClient = &http.Client{Transport: newTransport(http.ProxyFromEnvironment), CheckRedirect: refuseRedirect}
)

// NewHTTP returns an HTTP client for Client.HTTP whose connections come from dial.
func NewHTTP(dial func(ctx context.Context) (net.Conn, error)) *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }}}
}

func newTransport(proxy func(*http.Request) (*url.URL, error)) *http.Transport {
	dial := &net.Dialer{Timeout: connectTimeout}
	return &http.Transport{Proxy: proxy, DialContext: dial.DialContext, TLSHandshakeTimeout: connectTimeout, ExpectContinueTimeout: time.Second, ForceAttemptHTTP2: true, IdleConnTimeout: time.Minute}
}

// refuseRedirect turns a redirect into an error, since following it would turn a POST into a
// GET.
func refuseRedirect(req *http.Request, _ []*http.Request) error {
	return fmt.Errorf("it redirects to %s://%s; use that address", req.URL.Scheme, req.URL.Host)
}

// connectTimeout bounds the time to establish a connection. Responses are not bounded, since a
// request may wait for the end of a run.
const connectTimeout = 15 * time.Second

// Run has the fields of the API's run object that commands print, of single runs and in lists.
// Raw is the response as received, for --json: decoding and encoding it again could change
// numbers. Lists have neither Outputs nor Raw.
type Run struct {
	ID        string     `json:"run_id"`
	FlowID    string     `json:"flow_id"`
	Status    string     `json:"status"`
	Version   *int64     `json:"version"` // nil for a draft
	CreatedAt time.Time  `json:"created_at"`
	StartedAt *time.Time `json:"started_at"` // nil until then, like EndedAt
	EndedAt   *time.Time `json:"ended_at"`
	Trigger   string     `json:"trigger"`
	Cost      struct {
		USD string `json:"usd"`
	} `json:"cost"`
	Outputs *flow.Object      `json:"-"`
	Error   *flow.Error       `json:"error"`
	URLs    map[string]string `json:"urls"`

	Raw []byte `json:"-"`
}

// VersionName returns the version of the run, such as v3, or draft.
func (r *Run) VersionName() string {
	if r.Version == nil {
		return "draft"
	}
	return fmt.Sprintf("v%d", *r.Version)
}

// Duration returns how long the run took, or "" before its end.
func (r *Run) Duration() string {
	if r.StartedAt == nil || r.EndedAt == nil {
		return ""
	}
	return r.EndedAt.Sub(*r.StartedAt).Round(time.Millisecond).String()
}

// StepEvent has the fields that commands show of a step event.
type StepEvent struct {
	Path  string `json:"path"`
	State string `json:"state"`
}

// Start starts a run and returns without waiting for its end.
func (c *Client) Start(ctx context.Context, flowID string, given *flow.Object) (*Run, error) {
	return c.run(ctx, http.MethodPost, "/v1/flow/"+flowID+"/run", flow.EncodeJSON(given))
}

// Get reads a run; self is its URL from the run object.
func (c *Client) Get(ctx context.Context, self string) (*Run, error) {
	return c.run(ctx, http.MethodGet, c.path(self), nil)
}

// Await long-polls until the run has ended. The server holds each request for up to a minute.
func (c *Client) Await(ctx context.Context, self string) (*Run, error) {
	for {
		run, err := c.run(ctx, http.MethodGet, c.path(self)+"?wait=60", nil)
		if err != nil || flow.RunState(run.Status).Ended() {
			return run, err
		}
	}
}

// path returns the path of a URL without the public host, which may not be reachable from
// this machine.
func (c *Client) path(absolute string) string {
	u, err := url.Parse(absolute)
	if err != nil {
		return absolute
	}
	return u.Path
}

// run sends a request whose response is a run object.
func (c *Client) run(ctx context.Context, method, path string, body []byte) (*Run, error) {
	raw, err := c.call(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	run := &Run{Raw: raw}
	if err := json.Unmarshal(raw, run); err != nil {
		return nil, errNotSluice(c.Base)
	}
	decoded, err := flow.DecodeJSON(raw) // keeps large numbers exact, which Run would not
	if err != nil {
		return nil, errNotSluice(c.Base)
	}
	run.Outputs, _ = flow.AsObject(value.Get(decoded, "outputs"))
	return run, nil
}

// InputTypes returns the types of the flow's inputs by name, from its JSON Schema, in which an
// input that accepts any JSON value has no type.
func (c *Client) InputTypes(ctx context.Context, flowID string) (map[string]flow.Type, error) {
	raw, err := c.call(ctx, http.MethodGet, "/v1/flow/"+flowID, nil)
	if err != nil {
		return nil, err
	}
	var description struct {
		Inputs struct {
			Properties map[string]struct {
				Type  string            `json:"type"`
				OneOf []json.RawMessage `json:"oneOf"` // of a file: a stored one or a URL
				Items struct {
					Properties map[string]any `json:"properties"`
				} `json:"items"`
			} `json:"properties"`
		} `json:"inputs"`
	}
	if err := json.Unmarshal(raw, &description); err != nil {
		return nil, errNotSluice(c.Base)
	}
	jsonTypes := map[string]flow.Type{"string": flow.TypeText, "number": flow.TypeNumber, "boolean": flow.TypeBoolean, "array": flow.TypeList}
	types := map[string]flow.Type{}
	for name, p := range description.Inputs.Properties {
		if types[name] = jsonTypes[p.Type]; types[name] == "" {
			types[name] = flow.TypeJSON
		}
		if len(p.OneOf) > 0 {
			types[name] = flow.TypeFile
		}
		if p.Items.Properties["role"] != nil {
			types[name] = flow.TypeMessages
		}
	}
	return types, nil
}

// call sends a request and returns the body of the response.
func (c *Client) call(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	resp, err := c.Do(ctx, method, path, "application/json", body)
	if err != nil {
		return nil, err
	}
	return readBody(resp)
}

// readBody reads and closes the body of a response.
func readBody(resp *http.Response) ([]byte, error) {
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}

// Do sends a request. It returns an error response as an error; see problem.
func (c *Client) Do(ctx context.Context, method, path, accept string, body []byte) (*http.Response, error) {
	req, err := c.request(ctx, method, path, accept, body)
	if err != nil {
		return nil, err
	}
	return c.send(req)
}

// request returns a request with an optional JSON body.
func (c *Client) request(ctx context.Context, method, path, accept string, body []byte) (*http.Request, error) {
	if err := c.open(ctx); err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, c.Base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", accept)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// changes reports whether a request may change something on the server. An apply does so unless it is a
// dry run, which its caller knows.
func changes(req *http.Request) bool {
	if req.Method == http.MethodGet || req.Method == http.MethodHead {
		return false
	}
	for _, reading := range []string{"/v1/apply", "/search", "/test", "/tools/check"} {
		if strings.HasSuffix(req.URL.Path, reading) {
			return false
		}
	}
	return true
}

// send authenticates and sends a request. It returns an error response as an error; see
// problem.
func (c *Client) send(req *http.Request) (*http.Response, error) {
	if c.OnChange != nil && changes(req) {
		c.changing.Do(c.OnChange)
	}
	req.Header.Set("Authorization", "Bearer "+c.Token)
	maps.Copy(req.Header, c.Header)
	sender := cmp.Or(c.HTTP, directClient)
	if c.Remote {
		sender = proxiedClient
	}
	resp, err := sender.Do(req)
	if err != nil {
		return nil, fmt.Errorf("the server at %s does not respond: %w; check the address and that the server runs", c.Base, withoutURL(err))
	}
	if resp.StatusCode < 400 {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, problem(resp)
}

// problem returns the error of a response: a *Rejection for an RFC 9457 problem document,
// otherwise an error with the status. It limits the size, because a proxy may send anything.
func problem(resp *http.Response) error {
	var p struct {
		Detail string         `json:"detail"`
		Code   flow.Code      `json:"code"`
		Errors []flow.Problem `json:"errors"`
		Diffs  []Diff         `json:"diffs"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&p); err != nil || p.Detail == "" {
		return fmt.Errorf("the server responded %s", resp.Status)
	}
	return &Rejection{&flow.Error{Code: p.Code, Message: p.Detail, Fields: p.Errors}, p.Diffs}
}

// withoutURL removes the method and URL that net/http prepends to an error, because the
// message already names the server.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// Events reads the event stream of a run and calls receive for each step event until the run
// ends.
func (c *Client) Events(ctx context.Context, events string, receive func(StepEvent)) error {
	resp, err := c.Do(ctx, http.MethodGet, c.path(events), "text/event-stream", nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 32<<20)
	name := ""
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			name = value
		}
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && name == "step" {
			var step StepEvent
			if err := json.Unmarshal([]byte(data), &step); err != nil {
				return fmt.Errorf("read the event stream: %w", err)
			}
			receive(step)
		}
	}
	return lines.Err()
}

// errNotSluice is returned for a response that the API never sends.
func errNotSluice(base string) error {
	return fmt.Errorf("the server at %s is not Sluice; check the address", base)
}
