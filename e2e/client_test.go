package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// plain is an HTTP client without proxy and redirects.
var plain = &http.Client{
	Transport:     &http.Transport{Proxy: nil, MaxIdleConnsPerHost: 64},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// object is any JSON object.
type object = map[string]any

// client calls a server with one key, as a program would.
type client struct {
	t    testing.TB
	base func() string // it changes when the server starts again
	key  string
}

func (s *server) client(key string) *client { return &client{s.t, s.base, key} }

// response is a complete HTTP response.
type response struct {
	status int
	header http.Header
	body   []byte
}

// try sends a request. Headers are "Name: value". An error means that there was no complete
// response.
func (c *client) try(method, path string, body any, headers ...string) (*response, error) {
	return c.tryWithin(waitTimeout, method, path, body, headers...)
}

// tryWithin is try with a shorter timeout.
func (c *client) tryWithin(limit time.Duration, method, path string, body any, headers ...string) (*response, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	resp, err := c.open(ctx, method, path, body, headers...)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	return &response{resp.StatusCode, resp.Header, data}, nil
}

// open sends a request. The caller closes the body of the response.
func (c *client) open(ctx context.Context, method, path string, body any, headers ...string) (*http.Response, error) {
	var payload io.Reader
	switch b := body.(type) {
	case nil:
	case []byte:
		payload = bytes.NewReader(b)
	default:
		data, err := json.Marshal(b)
		if err != nil {
			return nil, err
		}
		payload = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base()+path, payload)
	if err != nil {
		return nil, err
	}
	if payload != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Content-Type" {
			req.Header.Del(name) // another than JSON, not one beside it
		}
		req.Header.Add(name, value)
	}
	return plain.Do(req)
}

// do sends a request and fails the test without a response.
func (c *client) do(method, path string, body any, headers ...string) *response {
	c.t.Helper()
	a, err := c.try(method, path, body, headers...)
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	return a
}

// want sends a request and fails the test unless the response has a status.
func (c *client) want(status int, method, path string, body any, headers ...string) *response {
	c.t.Helper()
	a := c.do(method, path, body, headers...)
	if a.status != status {
		c.t.Fatalf("%s %s: status %d, wanted %d\n%s", method, path, a.status, status, a.body)
	}
	return a
}

// rejected sends a request and fails the test unless it is rejected as a problem with a code.
func (c *client) rejected(status int, code, method, path string, body any, headers ...string) *response {
	c.t.Helper()
	a := c.want(status, method, path, body, headers...)
	if got := a.object(c.t)["code"]; got != code || a.header.Get("Content-Type") != "application/problem+json" {
		c.t.Fatalf("%s %s: code %v as %s, wanted %s as a problem", method, path, got, a.header.Get("Content-Type"), code)
	}
	return a
}

func (a *response) object(t testing.TB) object {
	t.Helper()
	var o object
	if err := json.Unmarshal(a.body, &o); err != nil {
		t.Fatalf("the answer is not a JSON object: %v\n%s", err, a.body)
	}
	return o
}

// run has the fields of the run object that tests use.
type run struct {
	ID       string    `json:"run_id"`
	FlowID   string    `json:"flow_id"`
	Version  *int      `json:"version"`
	Status   string    `json:"status"`
	Inputs   object    `json:"inputs"`
	Outputs  object    `json:"outputs"`
	Error    *runError `json:"error"`
	Trigger  string    `json:"trigger"`
	Parent   *string   `json:"parent_run_id"`
	Metadata object    `json:"metadata"`
	Created  time.Time `json:"created_at"`
}

type runError struct {
	Code      string `json:"code"`
	Message   string `json:"message"`
	Node      string `json:"node"`
	Retryable bool   `json:"retryable"`
}

func (r *run) ended() bool {
	return r.Status == "succeeded" || r.Status == "failed" || r.Status == "canceled"
}

func (r *run) path() string { return runPath(r.FlowID, r.ID) }

func runPath(flowID, runID string) string { return "/v1/flow/" + flowID + "/run/" + runID }

func (a *response) run(t testing.TB) *run {
	t.Helper()
	r, err := a.tryRun()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (a *response) tryRun() (*run, error) {
	if a.status != 200 && a.status != 202 {
		return nil, fmt.Errorf("status %d: %s", a.status, a.body)
	}
	var r run
	if err := json.Unmarshal(a.body, &r); err != nil {
		return nil, fmt.Errorf("read the run object: %w\n%s", err, a.body)
	}
	if r.ID == "" {
		return nil, errors.New("the answer is not a run object")
	}
	return &r, nil
}

// start starts a run and returns it as accepted.
func (c *client) start(flowID string, body object, headers ...string) *run {
	c.t.Helper()
	return c.do("POST", "/v1/flow/"+flowID+"/run", body, headers...).run(c.t)
}

// await waits until the run has ended. A run that makes progress may take any time: a map of a
// thousand items is slow on a busy machine. One in which nothing changes for waitTimeout fails the
// test.
func (c *client) await(r *run) *run {
	c.t.Helper()
	var last string
	for since := time.Now(); ; {
		got := c.do("GET", r.path()+"?wait=20", nil)
		now := got.run(c.t)
		if now.ended() {
			return now
		}
		seen := string(got.body) + string(c.do("GET", r.path()+"/children?limit=1", nil).body)
		switch {
		case seen != last:
			last, since = seen, time.Now()
		case time.Since(since) > waitTimeout:
			c.t.Fatalf("the run is %s and nothing changed for %s", now.Status, waitTimeout)
		}
	}
}

// succeed starts a run, waits for it and fails the test unless it succeeds.
func (c *client) succeed(flowID string, body object, headers ...string) *run {
	c.t.Helper()
	r := c.await(c.start(flowID, body, headers...))
	if r.Status != "succeeded" {
		c.t.Fatalf("the run %s: %+v", r.Status, r.Error)
	}
	return r
}

// step has the fields of a step that tests use.
type step struct {
	Path     string `json:"path"`
	State    string `json:"state"`
	Attempts int    `json:"attempts"`
}

// steps returns the steps of a run by path.
func (c *client) steps(r *run) map[string]step {
	c.t.Helper()
	var list struct{ Steps []step }
	a := c.want(200, "GET", r.path()+"/steps", nil)
	if err := json.Unmarshal(a.body, &list); err != nil {
		c.t.Fatal(err)
	}
	byPath := map[string]step{}
	for _, s := range list.Steps {
		byPath[s.Path] = s
	}
	return byPath
}
