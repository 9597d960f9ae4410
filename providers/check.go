package providers

import (
	"context"
	"errors"
)

// keyPages answer only to a good key, at providers that show their list of
// models to everybody.
var keyPages = map[string]string{
	nameOpenRouter:  "key",
	nameHuggingFace: "https://huggingface.co/api/whoami-v2",
}

// Test asks whether a provider accepts the secret, without paying for anything:
// by the list of models where that needs the secret, else by a page of its own,
// else by a request that is too empty to be carried out.
func (c *Client) Test(ctx context.Context, ep Endpoint) error {
	s, err := c.open(ep)
	if err != nil {
		return err
	}
	page, special := keyPages[s.preset.Name]
	own := ep.BaseURL == "" || ep.BaseURL == s.preset.BaseURL
	switch {
	case s.preset.Wire == WireHost:
		return s.get(ctx, s.base.JoinPath("account").String())
	case special && (own || page == "key"):
		if page == "key" {
			page = s.base.JoinPath("key").String()
		}
		return s.get(ctx, page)
	case !s.preset.Models:
		return s.knock(ctx)
	}
	_, err = c.Models(ctx, ep)
	if e, ok := errors.AsType[*Error](err); ok && e.Class == ClassNotFound {
		return s.knock(ctx) // a server without a list
	}
	return err
}

// get requests a resource and discards the answer, to see whether the secret is accepted.
func (s *session) get(ctx context.Context, target string) error {
	var answer any
	return s.getJSON(ctx, target, &answer)
}

// knock sends a chat request with nothing in it. A provider that rejects the
// request has let the secret pass, and generates nothing.
func (s *session) knock(ctx context.Context) error {
	resp, err := s.post(ctx, "chat/completions", map[string]any{}, "")
	if err == nil {
		_ = resp.Body.Close() // that it answered is the answer
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok && e.Class == ClassRejected && (e.Status == 400 || e.Status == 422) {
		return nil
	}
	return err
}
