package hosted

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"sluice/providers"
	"sluice/providers/fault"
)

const (
	maxTries = 3                // attempts of a repeatable call, including the first
	maxPause = 10 * time.Second // longer waits are left to the caller
)

// call is one request to the platform.
type call struct {
	method, url string
	header      http.Header
	// body opens the request's body for each attempt. nil means no body.
	body   func() (io.ReadCloser, error)
	length int64
	wait   time.Duration // requested delay of the response
	// unbounded calls transfer files or streams. Only the context limits their time.
	unbounded bool
	subject   string // what a 404 is about, such as "the model owner/name"
}

// ask makes a call with a time limit and decodes the response into out. In fields of type
// any, numbers are json.Number.
func (p *Replicate) ask(ctx context.Context, secret string, c call, out any) error {
	if secret == "" {
		return needsCredential()
	}
	if !c.unbounded {
		bounded, cancel := context.WithTimeout(ctx, p.timeout+c.wait)
		defer cancel()
		err := p.askWithin(bounded, secret, c, out)
		if err != nil && ctx.Err() == nil && bounded.Err() != nil {
			return unavailable("Replicate did not answer in time.")
		}
		return err
	}
	return p.askWithin(ctx, secret, c, out)
}

// askWithin makes a request and decodes the response into out, which may be nil. Only
// the context limits its time. Numbers are kept as json.Number.
func (p *Replicate) askWithin(ctx context.Context, secret string, c call, out any) error {
	resp, err := p.send(ctx, p.api, secret, c)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // the answer has been read; closing only returns the connection
	if out == nil {
		return nil
	}
	body := &limitedReader{r: resp.Body, left: p.maxAnswer}
	var raw json.RawMessage
	if err := json.NewDecoder(body).Decode(&raw); err != nil {
		return decodeError(ctx, err, body)
	}
	if failure := p.fault(resp, raw, secret, c.subject); failure != nil {
		return failure
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(out); err != nil {
		return decodeError(ctx, err, body)
	}
	return nil
}

// fault returns the error in a body that arrived with a status of success, which gateways
// send; see fault.Find. A prediction, which has an ID, describes its own failure.
func (p *Replicate) fault(resp *http.Response, raw json.RawMessage, secret, subject string) *providers.Error {
	status, text, failed := fault.Find(raw)
	var named struct{ ID string }
	if !failed || json.Unmarshal(raw, &named) == nil && named.ID != "" {
		return nil
	}
	judged := *resp
	judged.StatusCode = status
	return p.refusal(&judged, text, secret, subject)
}

// decodeError explains why a response could not be decoded. A canceled request and a
// body that was too large or broke off also fail to decode, so these causes come first.
func decodeError(ctx context.Context, err error, body *limitedReader) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if body.over {
		return &providers.Error{Class: providers.ClassTooLarge, Message: "The answer of Replicate is larger than Sluice reads."}
	}
	if body.err != nil && !errors.Is(body.err, io.EOF) {
		return transportError(ctx, body.err)
	}
	return badAnswer("Replicate answered with something that is not the JSON it documents.")
}

// send makes a call, with retries if it is repeatable, until it succeeds or maxTries is
// reached. The caller must close the body of the response.
func (p *Replicate) send(ctx context.Context, client *http.Client, secret string, c call) (*http.Response, error) {
	for try := 1; ; try++ {
		resp, failure := p.sendOnce(ctx, client, secret, c)
		if failure == nil {
			return resp, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		wait := backoff(try, failure.After)
		if try == maxTries || !repeatable(c.method, failure) || wait > maxPause {
			return nil, failure
		}
		if err := p.pause(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// repeatable reports whether a failed call can be retried safely: a read always, any other
// only if the platform refused it before doing anything.
func repeatable(method string, e *providers.Error) bool {
	if method == http.MethodGet {
		return e.Retryable
	}
	return e.Class == providers.ClassRateLimited
}

// backoff returns the wait after an attempt: the time that the platform stated, else
// exponential back-off from 0.5 s with jitter of a quarter.
func backoff(try int, after time.Duration) time.Duration {
	if after > 0 {
		return after
	}
	d := 500 * time.Millisecond << (try - 1)
	return d - rand.N(d/4)
}

// sendOnce makes a single attempt. Any status other than 2xx is an error; Retryable is
// set in it if another attempt makes sense.
func (p *Replicate) sendOnce(ctx context.Context, client *http.Client, secret string, c call) (*http.Response, *providers.Error) {
	req, failure := p.newRequest(ctx, secret, c)
	if failure != nil {
		return nil, failure
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, asProviderError(err)
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer resp.Body.Close() //nolint:errcheck // the error response needs no more from the connection
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	return nil, p.refusal(resp, text, secret, c.subject)
}

// newRequest returns a request with the headers that the platform needs. The secret is
// added only for hosts that trusts accepts, since URLs come from responses too.
func (p *Replicate) newRequest(ctx context.Context, secret string, c call) (*http.Request, *providers.Error) {
	u, err := url.Parse(c.url)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, &providers.Error{Class: providers.ClassBadRequest, Message: "The address is not one that can be called."}
	}
	req := (&http.Request{Method: c.method, URL: u, Host: u.Host, Header: http.Header{}}).WithContext(ctx)
	for name, values := range c.header {
		req.Header[name] = values
	}
	req.Header.Set("User-Agent", "Sluice")
	if secret != "" && p.trusts(u) {
		req.Header.Set("Authorization", "Bearer "+secret)
	}
	if c.body != nil {
		content, err := c.body()
		if err != nil {
			return nil, &providers.Error{Class: providers.ClassBadRequest, Message: "The file to upload cannot be read."}
		}
		req.Body, req.GetBody, req.ContentLength = content, c.body, c.length
	}
	return req, nil
}

// jsonBody returns the body of a call that sends v as JSON, and its length in bytes.
func jsonBody(v any) (func() (io.ReadCloser, error), int64, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, 0, &providers.Error{Class: providers.ClassBadRequest, Message: "An input holds a value that JSON cannot carry."}
	}
	return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }, int64(len(data)), nil
}

// limitedReader is a reader with a limit that remembers the error that ended it.
type limitedReader struct {
	r    io.Reader
	left int64
	over bool
	err  error
}

// Read reads up to the limit and fails beyond it, instead of ending: a truncated
// response must never look like a complete one.
func (c *limitedReader) Read(b []byte) (int, error) {
	if c.left <= 0 {
		c.over = true
		return 0, io.ErrUnexpectedEOF
	}
	n, err := c.r.Read(b[:min(int64(len(b)), c.left)])
	c.left -= int64(n)
	if err != nil {
		c.err = err
	}
	return n, err
}
