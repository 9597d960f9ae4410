package api

import (
	"fmt"
	"net/http"
	"strings"

	"sluice/flow"
	"sluice/handlers/web"
)

// WriteJSON responds with a value as JSON.
func (c *Call) WriteJSON(status int, v any) error { return c.writeBody(status, flow.EncodeJSON(v)) }

// writeBody responds with encoded JSON.
func (c *Call) writeBody(status int, body []byte) error {
	return writeBody(c, status, TypeJSON, body)
}

// writeBody sends a response, which is not cached unless the handler has set
// Cache-Control.
func writeBody(c web.Exchange, status int, mediaType string, body []byte) error {
	web.LimitWrite(c.Response())
	h := c.Response().Header()
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
	}
	h.Set("Content-Type", mediaType)
	c.Response().WriteHeader(status)
	if _, err := c.Response().Write(body); err != nil {
		return fmt.Errorf("%w: %w", web.ErrClientGone, err)
	}
	return nil
}

// negotiate chooses the media type of the response from those that the route
// offers. It does nothing for routes without a choice.
func (c *Call) negotiate(offers []string) error {
	if len(offers) == 0 {
		return nil
	}
	if c.accepted = ChooseType(c.Request().Header.Values("Accept"), offers); c.accepted == "" {
		return flow.Errorf(flow.CodeNotAcceptable, "This path responds with %s. Include it in the Accept header.", strings.Join(offers, " or "))
	}
	return nil
}

// SingleHeader returns the value of a header that may occur once.
func SingleHeader(h http.Header, name string) (value string, present bool, err error) {
	values := h.Values(name)
	if len(values) > 1 {
		return "", true, flow.Errorf(flow.CodeInvalidHeader, "%s occurs more than once. Send it once.", name)
	}
	if len(values) == 0 {
		return "", false, nil
	}
	return values[0], true, nil
}
