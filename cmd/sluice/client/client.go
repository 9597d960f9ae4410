package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"sluice/flow"
)

// Client calls the API of the server on this machine, for "sluice flow run". It
// implements only what that needs, with the same paths and rules as any client, which
// makes the command a check of the API from outside. It authenticates with the
// token that the server keeps for the command line beside its lock file, so it needs
// no API key.
type Client struct {
	Base, Token string
	Temporary   bool // the server ends with this command, so its URLs must not be shown
}

// Run has the fields of the API's run object that commands show. Raw is the response
// as received, for --json: decoding and encoding it again could change numbers.
type Run struct {
	ID      string            `json:"run_id"`
	Status  string            `json:"status"`
	Outputs map[string]any    `json:"-"`
	Error   *flow.Error       `json:"error"`
	URLs    map[string]string `json:"urls"`

	Raw []byte
}

// StepEvent has the fields that commands show of a step event.
type StepEvent struct {
	Path  string `json:"path"`
	State string `json:"state"`
}

// Start starts a run and returns without waiting for its end.
func (c *Client) Start(ctx context.Context, flowID string, given map[string]any) (*Run, error) {
	return c.run(ctx, http.MethodPost, "/v1/flow/"+flowID+"/run", flow.EncodeJSON(given))
}

// Get reads a run; self is its URL from the run object.
func (c *Client) Get(ctx context.Context, self string) (*Run, error) {
	return c.run(ctx, http.MethodGet, c.path(self), nil)
}

// Await polls until the run has ended. Each request waits up to a minute at the server,
// so there is no delay and little traffic.
func (c *Client) Await(ctx context.Context, self string) (*Run, error) {
	for {
		run, err := c.run(ctx, http.MethodGet, c.path(self)+"?wait=60", nil)
		if err != nil || flow.RunState(run.Status).Ended() {
			return run, err
		}
	}
}

// path returns the path of a URL. The public host is dropped: it may not be
// reachable from here.
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
	run.Outputs, _ = decoded.(map[string]any)["outputs"].(map[string]any)
	return run, nil
}

// InputTypes returns the types of the flow's inputs by name, from its JSON Schema. An
// input that accepts any JSON value has no type there.
func (c *Client) InputTypes(ctx context.Context, flowID string) (map[string]flow.Type, error) {
	raw, err := c.call(ctx, http.MethodGet, "/v1/flow/"+flowID, nil)
	if err != nil {
		return nil, err
	}
	var description struct {
		Inputs struct {
			Properties map[string]struct {
				Type  string            `json:"type"`
				OneOf []json.RawMessage `json:"oneOf"` // of a file: stored, or an address
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
	}
	return types, nil
}

// call sends a request and returns the body of the response.
func (c *Client) call(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	resp, err := c.Do(ctx, method, path, "application/json", body)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}

// Do sends a request. An error response becomes an error with its message.
func (c *Client) Do(ctx context.Context, method, path, accept string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.Base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", accept)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return c.send(req)
}

// send authenticates and sends a request. It uses no proxy, because the server is on
// this machine.
func (c *Client) send(req *http.Request) (*http.Response, error) {
	req.Header.Set("Authorization", "Bearer "+c.Token)
	resp, err := (&http.Client{Transport: &http.Transport{Proxy: nil, ExpectContinueTimeout: time.Second}}).Do(req)
	if err != nil {
		return nil, fmt.Errorf("the server at %s does not respond: %w", c.Base, err)
	}
	if resp.StatusCode < 400 {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, problem(resp)
}

// problem returns the error that a response describes: an RFC 9457 problem document,
// or else its status. A proxy in between may send anything, hence the limit on its size.
func problem(resp *http.Response) error {
	var p struct {
		Detail string         `json:"detail"`
		Code   flow.Code      `json:"code"`
		Errors []flow.Problem `json:"errors"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&p); err != nil || p.Detail == "" {
		return fmt.Errorf("the server responded %s", resp.Status)
	}
	return &flow.Error{Code: p.Code, Message: p.Detail, Fields: p.Errors}
}

// Events calls receive for each step event until the run ends.
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
