package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"sluice/flow"
)

// ApplyRequest is the body of POST /v1/apply; the API reference explains its members.
type ApplyRequest struct {
	Documents     []any  `json:"documents"`
	Companions    []any  `json:"companions,omitempty"`
	Source        string `json:"source"`
	Publish       bool   `json:"publish"`
	AllowBreaking bool   `json:"allow_breaking"`
	Prune         bool   `json:"prune"`
	Force         bool   `json:"force"`
	TakeAlias     bool   `json:"take_alias"`
	DryRun        bool   `json:"dry_run"`

	// Of tests before publishing. Servers of earlier releases do not know them.
	Test      bool     `json:"test,omitempty"`
	TestMode  string   `json:"test_mode,omitempty"`
	MaxUSD    *float64 `json:"max_usd,omitempty"`
	NoCallers bool     `json:"no_callers,omitempty"`
}

// Applied is the result of an apply for one flow or, in a dry run, the result that it would
// have.
type Applied struct {
	Slug    string `json:"slug"`
	FlowID  string `json:"flow_id"`
	Change  string `json:"change"`  // created, changed, unchanged or archived
	Version *int64 `json:"version"` // live version; nil if the flow was never published
	Diff    *Diff  `json:"diff"`    // nil for an archived flow
	Losses  []Loss `json:"losses"`  // of an export of AI-Flow; nil for a document
}

// Loss is a part of an export that the conversion could not keep, or a step that is left to the
// user. Kind groups losses; Text is a sentence.
type Loss struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// Diff has the differences between two documents, as the API reports them.
type Diff struct {
	Slug     string   `json:"slug"`
	From     string   `json:"from"`
	To       string   `json:"to"`
	Changes  []string `json:"changes"` // as sentences
	Breaking []struct {
		Detail string `json:"detail"`
	} `json:"breaking"`
	Keys []struct {
		ID    string `json:"id"`
		Name  string `json:"name"`
		Calls int64  `json:"calls_30d"`
	} `json:"keys"`
	// Widened are tools of agents in other flows that can do more with the newer side.
	Widened []WidenedTool `json:"widened"`
	Alias   *Alias        `json:"alias"` // nil unless the document takes a former slug
}

// WidenedTool is a tool of an agent that runs a flow which can do more.
type WidenedTool struct {
	Slug string   `json:"slug"` // of the agent's flow
	Node string   `json:"node"`
	More []string `json:"more"`
}

// Alias is a former slug of a flow that a document claims, with the keys that used it in the
// last 30 days.
type Alias struct {
	Slug string `json:"slug"`
	Now  string `json:"flow_slug"`
	Name string `json:"flow_name"`
	Keys []struct {
		Name  string `json:"name"`
		Calls int64  `json:"calls_30d"`
	} `json:"keys"`
}

// Flow has the fields of a listed flow that commands print. Version is nil if the flow was
// never published.
type Flow struct {
	ID      string `json:"flow_id"`
	Slug    string `json:"slug"`
	Name    string `json:"name"`
	Version *int64 `json:"version"`

	UpdatedAt time.Time `json:"updated_at"`
}

// AppliedCompanion is the result of an apply for a file beside a flow.
type AppliedCompanion struct {
	Slug    string   `json:"slug"` // empty for the workspace
	Name    string   `json:"name"`
	Change  string   `json:"change"` // created, changed or unchanged
	Rev     int64    `json:"revision"`
	Changes []string `json:"changes"`
}

// FileName returns the name of the file.
func (a *AppliedCompanion) FileName() string {
	if a.Slug == "" {
		return "sluice." + a.Name + ".json"
	}
	return a.Slug + "." + a.Name + ".json"
}

// Companion is a file beside a flow in a list. FlowID and Slug are empty for one of the workspace.
type Companion struct {
	FlowID   string `json:"flow_id"`
	Slug     string `json:"slug"`
	Name     string `json:"name"`
	Revision int64  `json:"revision"`
}

// path returns the path of the companion in the API.
func (c *Companion) path() string {
	if c.FlowID == "" {
		return "/v1/companions/" + url.PathEscape(c.Name)
	}
	return "/v1/flow/" + url.PathEscape(c.FlowID) + "/companions/" + url.PathEscape(c.Name)
}

// ListCompanions returns the files beside flows that the key may read.
func (c *Client) ListCompanions(ctx context.Context) ([]Companion, error) {
	var response struct {
		Companions []Companion `json:"companions"`
	}
	_, err := c.decode(ctx, http.MethodGet, "/v1/companions", nil, &response)
	return response.Companions, err
}

// ReadCompanion reads a file beside a flow in canonical form. Its tag changes with every change.
func (c *Client) ReadCompanion(ctx context.Context, of *Companion) (data []byte, tag string, err error) {
	resp, err := c.Do(ctx, http.MethodGet, of.path(), "application/json", nil)
	if err != nil {
		return nil, "", err
	}
	data, err = readBody(resp)
	return data, resp.Header.Get("ETag"), err
}

// ReplaceCompanion makes what a file beside a flow holds equal to the file. If tag is not the present one, it returns an error with
// flow.CodePreconditionFailed.
func (c *Client) ReplaceCompanion(ctx context.Context, of *Companion, tag string, data []byte) (newTag string, err error) {
	req, err := c.request(ctx, http.MethodPut, of.path()+"?prune=true", "application/json", data)
	if err != nil {
		return "", err
	}
	req.Header.Set("If-Match", tag)
	resp, err := c.send(req)
	if err != nil {
		return "", err
	}
	_, err = readBody(resp)
	return resp.Header.Get("ETag"), err
}

// Apply makes the flows of the server equal to documents, and what is beside them to companions, in one transaction. It is
// idempotent, so it can be retried after a network error. It also returns the response as received, for
// --json.
func (c *Client) Apply(ctx context.Context, r ApplyRequest) ([]Applied, []AppliedCompanion, []byte, error) {
	var response struct {
		Flows      []Applied          `json:"flows"`
		Companions []AppliedCompanion `json:"companions"`
	}
	if c.OnChange != nil && !r.DryRun {
		c.changing.Do(c.OnChange)
	}
	raw, err := c.decode(ctx, http.MethodPost, "/v1/apply", r, &response)
	return response.Flows, response.Companions, raw, err
}

// Diff compares the draft of a flow with its live version.
func (c *Client) Diff(ctx context.Context, flowID string) (*Diff, []byte, error) {
	d := &Diff{}
	raw, err := c.decode(ctx, http.MethodGet, "/v1/flow/"+url.PathEscape(flowID)+"/diff", nil, d)
	return d, raw, err
}

// ListFlows returns all flows that the key may call.
func (c *Client) ListFlows(ctx context.Context) ([]Flow, error) {
	flows, _, err := List[Flow](ctx, c, "/v1/flow?limit=100", "flows")
	return flows, err
}

// List reads a list of the API page by page. path is that of the first page, and member the name of
// the list in a page. It returns the elements decoded and as received.
func List[T any](ctx context.Context, c *Client, path, member string) (list []T, raw []json.RawMessage, err error) {
	u, err := url.Parse(path)
	if err != nil {
		return nil, nil, err
	}
	raw = []json.RawMessage{}
	for query := u.Query(); ; {
		page := map[string]json.RawMessage{}
		if _, err := c.decode(ctx, http.MethodGet, path, nil, &page); err != nil {
			return nil, nil, err
		}
		var elements []json.RawMessage
		var next *string
		if json.Unmarshal(page[member], &elements) != nil || page["next_cursor"] != nil && json.Unmarshal(page["next_cursor"], &next) != nil {
			return nil, nil, errNotSluice(c.Base)
		}
		if raw = append(raw, elements...); next == nil {
			break
		}
		query.Set("cursor", *next)
		path = u.Path + "?" + query.Encode()
	}
	list = make([]T, len(raw))
	for i := range raw {
		if err := json.Unmarshal(raw[i], &list[i]); err != nil {
			return nil, nil, errNotSluice(c.Base)
		}
	}
	return list, raw, nil
}

// CurrentSlug returns the slug of the flow that has a slug now or had it.
func (c *Client) CurrentSlug(ctx context.Context, slug string) (string, error) {
	f := Flow{}
	_, err := c.decode(ctx, http.MethodGet, "/v1/flow/"+url.PathEscape(slug), nil, &f)
	return f.Slug, err
}

// Document reads a document of a flow in canonical form; version is "draft", "live" or a number.
// tag is its ETag. The tag of a draft changes with every edit, even if the edit is undone, so
// equal tags mean that there was no edit in between.
func (c *Client) Document(ctx context.Context, flowID, version string) (data []byte, tag string, err error) {
	path := "/v1/flow/" + url.PathEscape(flowID) + "/document?version=" + url.QueryEscape(version)
	resp, err := c.Do(ctx, http.MethodGet, path, "application/json", nil)
	if err != nil {
		return nil, "", err
	}
	data, err = readBody(resp)
	return data, resp.Header.Get("ETag"), err
}

// ReplaceDraft replaces the draft of a flow and returns the flow and the new tag. If tag is not
// that of the current draft, it returns an error with flow.CodePreconditionFailed.
func (c *Client) ReplaceDraft(ctx context.Context, flowID, tag string, document []byte) (f Flow, newTag string, err error) {
	req, err := c.request(ctx, http.MethodPut, "/v1/flow/"+url.PathEscape(flowID), "application/json", document)
	if err != nil {
		return f, "", err
	}
	req.Header.Set("If-Match", tag)
	resp, err := c.send(req)
	if err != nil {
		return f, "", err
	}
	raw, err := readBody(resp)
	if err == nil && json.Unmarshal(raw, &f) != nil {
		err = errNotSluice(c.Base)
	}
	return f, resp.Header.Get("ETag"), err
}

// Call sends a request with an optional JSON body and returns the response as received.
func (c *Client) Call(ctx context.Context, method, path string, body any) ([]byte, error) {
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	return c.call(ctx, method, path, data)
}

// decode is like Call and also decodes the response into v.
func (c *Client) decode(ctx context.Context, method, path string, body, v any) ([]byte, error) {
	raw, err := c.Call(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return nil, errNotSluice(c.Base)
	}
	return raw, nil
}

// Rejection is an error response of the API: a problem document (RFC 9457). The server has
// received and refused the request, whereas after a network error the request may or may not
// have been executed. It has the members of the problem that a flow.Error does not have.
type Rejection struct {
	Problem *flow.Error
	Diffs   []Diff // of a breaking change: what would break, for each flow
}

// Error implements error.
func (e *Rejection) Error() string { return e.Problem.Error() }

// Unwrap exposes the problem, so that errors.Is and errors.As find its code.
func (e *Rejection) Unwrap() error { return e.Problem }
