package providers

import (
	"bytes"
	"context"
	"errors"
	"io"
)

// keyPages are pages that require a valid key, for providers whose list of models is
// public.
var keyPages = map[string]string{
	nameOpenRouter:  "key",
	nameHuggingFace: "https://huggingface.co/api/whoami-v2",
}

// Test checks without cost whether a provider accepts the secret: with the list of
// models if that requires the secret, or else a page in keyPages, or else an invalid
// request. It returns the number of models if it read their list, otherwise 0.
func (c *Client) Test(ctx context.Context, ep Endpoint) (models int, err error) {
	s, err := c.open(ep)
	if err != nil {
		return 0, err
	}
	page, special := keyPages[s.preset.Name]
	own := ep.BaseURL == "" || ep.BaseURL == s.preset.BaseURL
	switch {
	case s.preset.Wire == WireHost:
		return 0, s.get(ctx, s.base.JoinPath("account").String())
	case special && (own || page == "key"):
		if page == "key" {
			page = s.base.JoinPath("key").String()
		}
		return 0, s.get(ctx, page)
	case !s.preset.Models:
		return 0, s.checkWithEmptyChat(ctx)
	}
	list, err := c.Models(ctx, ep)
	if e, ok := errors.AsType[*Error](err); ok && e.Class == ClassNotFound {
		return 0, s.checkWithEmptyChat(ctx) // a server without a list of models
	}
	return len(list), err
}

// get requests a resource and discards the response, to check whether the secret is accepted.
func (s *session) get(ctx context.Context, target string) error {
	var answer any
	return s.getJSON(ctx, target, &answer)
}

// checkWithEmptyChat sends an empty chat request. A provider that rejects the request itself has
// accepted the secret, and generates nothing. Some gateways refuse with the status 200.
func (s *session) checkWithEmptyChat(ctx context.Context) error {
	resp, err := s.post(ctx, "chat/completions", map[string]any{}, "")
	if err == nil {
		data, _ := io.ReadAll(io.LimitReader(resp.Body, maxError)) // any response is sufficient
		_ = resp.Body.Close()
		err = s.errorIn("", bytes.TrimSpace(data))
	}
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok && e.Class == ClassRejected && (e.Status == 400 || e.Status == 422) {
		return nil
	}
	return err
}
