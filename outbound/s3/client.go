package s3

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	mathrand "math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

const (
	// attempts is how often a request is sent before its error is returned.
	attempts = 4
	// firstPause is the pause after the first attempt; each further one is twice as long.
	firstPause = 100 * time.Millisecond
	// stallTimeout is how long a request may make no progress.
	stallTimeout = 15 * time.Second
)

// Client stores objects in one bucket. It is safe for concurrent use.
type Client struct {
	settings Settings
	sources  *Sources
	signer   signer
	http     *http.Client
	now      func() time.Time
	stall    time.Duration
}

// New returns a client. It makes no connection yet.
func New(settings Settings, sources *Sources) *Client {
	return &Client{
		settings: settings, sources: sources, signer: signer{settings.Region, "s3"}, now: time.Now, stall: stallTimeout,
		http: &http.Client{Transport: newTransport(nil), CheckRedirect: noRedirect},
	}
}

// Settings returns where the bucket is.
func (c *Client) Settings() Settings { return c.settings }

// Name returns the bucket for messages.
func (c *Client) Name() string { return c.settings.Name() }

// Put stores an object. size is in bytes, and hash is the SHA-256 in hex, which the storage verifies.
// open returns the content from its beginning; it is called again for each attempt.
func (c *Client) Put(ctx context.Context, key string, size int64, hash string, open func() io.Reader) error {
	return c.retry(ctx, func(fresh bool) error {
		resp, err := c.send(ctx, request{method: http.MethodPut, url: c.settings.urlOf(key), body: open(), size: size, hash: hash, fresh: fresh})
		if err != nil {
			return err
		}
		return finish(resp)
	})
}

// Get returns length bytes of an object from an offset, all further ones if length is negative. It
// returns fs.ErrNotExist if there is no such object. An error while the result is read, also at its
// early end, is not retried.
func (c *Client) Get(ctx context.Context, key string, from, length int64) (content io.ReadCloser, err error) {
	span := fmt.Sprintf("bytes=%d-", from)
	if length >= 0 {
		span += strconv.FormatInt(from+length-1, 10)
	}
	err = c.retry(ctx, func(fresh bool) error {
		resp, err := c.send(ctx, request{method: http.MethodGet, url: c.settings.urlOf(key), header: http.Header{"Range": {span}}, fresh: fresh})
		if err != nil {
			return notExist(err)
		}
		if resp.StatusCode != http.StatusPartialContent && from > 0 {
			_ = resp.Body.Close()
			return &Error{Status: resp.StatusCode, Code: "RangeIgnored"}
		}
		content = resp.Body
		return nil
	})
	return content, err
}

// Delete deletes an object. A missing object is not an error.
func (c *Client) Delete(ctx context.Context, key string) error {
	err := c.retry(ctx, func(fresh bool) error {
		resp, err := c.send(ctx, request{method: http.MethodDelete, url: c.settings.urlOf(key), fresh: fresh})
		if err != nil {
			return notExist(err)
		}
		return finish(resp)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// notExist makes the status 404 an fs.ErrNotExist if it is about the object and not the bucket.
func notExist(err error) error {
	if e, ok := errors.AsType[*Error](err); ok && e.Status == http.StatusNotFound && (e.Code == "" || e.Code == "NoSuchKey" || e.Code == "NotFound") {
		return fmt.Errorf("%w (%w)", fs.ErrNotExist, err)
	}
	return err
}

// List calls each for all objects whose keys begin with a prefix, in the order of their keys.
func (c *Client) List(ctx context.Context, prefix string, each func(key string, size int64, modified time.Time) error) error {
	query := url.Values{"list-type": {"2"}, "prefix": {c.settings.Prefix + prefix}, "max-keys": {"1000"}}
	for {
		page, err := c.list(ctx, query)
		if err != nil {
			return err
		}
		for _, o := range page.Contents {
			if len(o.Key) < len(c.settings.Prefix) {
				continue
			}
			if err := each(o.Key[len(c.settings.Prefix):], o.Size, o.LastModified); err != nil {
				return err
			}
		}
		if !page.IsTruncated || page.NextContinuationToken == "" {
			return nil
		}
		query.Set("continuation-token", page.NextContinuationToken)
	}
}

// listPage is one answer to a list request.
type listPage struct {
	Contents []struct {
		Key          string
		Size         int64
		LastModified time.Time
	}
	IsTruncated           bool
	NextContinuationToken string
}

func (c *Client) list(ctx context.Context, query url.Values) (page listPage, err error) {
	u := c.settings.urlOf("")
	u.RawQuery = canonicalQuery(query)
	err = c.retry(ctx, func(fresh bool) error {
		resp, err := c.send(ctx, request{method: http.MethodGet, url: u, fresh: fresh})
		if err != nil {
			return err
		}
		defer resp.Body.Close() //nolint:errcheck // it was read
		data, err := io.ReadAll(io.LimitReader(resp.Body, 8<<20))
		if err != nil {
			return err
		}
		page = listPage{}
		return xml.Unmarshal(data, &page)
	})
	return page, err
}

// Link returns a URL with which anyone can get an object for a while. The response has the given media
// type and Content-Disposition.
func (c *Client) Link(ctx context.Context, key, mediaType, disposition string, lifetime time.Duration) (string, error) {
	keys, err := c.sources.Find(ctx, c.now(), false)
	if err != nil {
		return "", err
	}
	u := c.settings.urlOf(key)
	u.RawQuery = url.Values{"response-content-type": {mediaType}, "response-content-disposition": {disposition}, "response-cache-control": {"private, no-store"}}.Encode()
	return c.signer.presign(http.MethodGet, u, keys, c.now(), lifetime), nil
}

// Check stores, reads, lists and deletes a small object.
func (c *Client) Check(ctx context.Context) error {
	const text = "sluice"
	key, sum := "check/"+rand.Text(), sha256.Sum256([]byte(text)) // several instances may check at once
	if err := c.Put(ctx, key, int64(len(text)), hex.EncodeToString(sum[:]), func() io.Reader { return bytes.NewReader([]byte(text)) }); err != nil {
		return fmt.Errorf("store an object: %w", err)
	}
	content, err := c.Get(ctx, key, 0, -1)
	if err != nil {
		return fmt.Errorf("get an object: %w", err)
	}
	defer content.Close()
	if data, err := io.ReadAll(content); err != nil || string(data) != text {
		return fmt.Errorf("get an object: it has another content (%w)", err)
	}
	if _, err := c.list(ctx, url.Values{"list-type": {"2"}, "prefix": {c.settings.Prefix + key}, "max-keys": {"1"}}); err != nil {
		return fmt.Errorf("list the bucket: %w", err)
	}
	if err := c.Delete(ctx, key); err != nil {
		return fmt.Errorf("delete an object: %w", err)
	}
	return nil
}

// request is a request to the storage.
type request struct {
	method string
	url    *url.URL
	header http.Header
	body   io.Reader
	size   int64  // bytes of the body
	hash   string // SHA-256 of the body in hex; empty without a body
	fresh  bool   // the current access key was rejected as expired
}

// send sends a request once and returns a response with a status of success. The caller closes its body.
func (c *Client) send(ctx context.Context, r request) (*http.Response, error) {
	keys, err := c.sources.Find(ctx, c.now(), r.fresh)
	if err != nil {
		return nil, err
	}
	w := newWatch(ctx, c.stall)
	req := (&http.Request{Method: r.method, URL: r.url, Host: r.url.Host, Header: http.Header{}}).WithContext(w.ctx)
	for name, values := range r.header {
		req.Header[name] = values
	}
	if r.size > 0 {
		req.Body, req.ContentLength = io.NopCloser(&watched{r.body, w}), r.size
	}
	c.signer.sign(req, keys, c.now(), cmp.Or(r.hash, emptySHA256))
	resp, err := c.http.Do(req)
	if err != nil {
		err = cmp.Or(w.cause(), err)
		w.stop()
		return nil, err
	}
	if resp.StatusCode/100 != 2 {
		w.progress()
		e := readError(resp)
		_ = resp.Body.Close()
		w.stop()
		return nil, e
	}
	w.timer.Stop()
	resp.Body = &watchedBody{watched{resp.Body, w}, resp.Body}
	return resp, nil
}

// finish reads a short body, so that its connection is used again.
func finish(resp *http.Response) error {
	_, err := io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer))
	return errors.Join(err, resp.Body.Close())
}

// retry sends a request again after transient errors, with exponential back-off and jitter.
func (c *Client) retry(ctx context.Context, send func(fresh bool) error) error {
	pause, fresh := firstPause, false
	for attempt := 1; ; attempt++ {
		err := send(fresh)
		if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNoCredentials) || ctx.Err() != nil {
			return cmp.Or(ctx.Err(), err)
		}
		e, _ := errors.AsType[*Error](err)
		renew := e != nil && e.isExpired() && !fresh
		if attempt == attempts || !renew && !isTransient(err) {
			return err
		}
		if fresh = renew; renew {
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause/2 + mathrand.N(pause)):
		}
		pause *= 2
	}
}

// errStalled is the cause if a request made no progress.
var errStalled = errors.New("the storage did not answer in time")

// watch cancels a request that makes no progress.
type watch struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	after  time.Duration
	timer  *time.Timer
}

func newWatch(ctx context.Context, after time.Duration) *watch {
	w := &watch{after: after}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	w.timer = time.AfterFunc(after, func() { w.cancel(errStalled) })
	return w
}

func (w *watch) progress() { w.timer.Reset(w.after) }

func (w *watch) stop() {
	w.timer.Stop()
	w.cancel(nil)
}

// cause returns errStalled if that is why the request failed.
func (w *watch) cause() error {
	if errors.Is(context.Cause(w.ctx), errStalled) {
		return errStalled
	}
	return nil
}

// watched is a body whose reads count as progress.
type watched struct {
	io.Reader
	w *watch
}

// Read implements io.Reader.
func (b *watched) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	b.w.progress()
	if err != nil && !errors.Is(err, io.EOF) {
		err = cmp.Or(b.w.cause(), err)
	}
	return n, err
}

// watchedBody is the body of a response. Only the time within reads counts, because the reader may be slow.
type watchedBody struct {
	watched
	body io.Closer
}

// Read implements io.Reader.
func (b *watchedBody) Read(p []byte) (int, error) {
	b.w.progress()
	defer b.w.timer.Stop()
	return b.watched.Read(p)
}

// Close implements io.Closer.
func (b *watchedBody) Close() error {
	defer b.w.stop()
	return b.body.Close()
}
