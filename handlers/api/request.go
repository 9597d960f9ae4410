package api

import (
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"sluice/flow"
	"sluice/handlers/web"
)

// writeJSON answers with a value.
func (c *Call) WriteJSON(status int, v any) error { return c.writeBody(status, flow.EncodeJSON(v)) }

// writeBody answers with JSON that is already encoded.
func (c *Call) writeBody(status int, body []byte) error {
	if h := c.Response().Header(); h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
	}
	return writeBody(c, status, "application/json", body)
}

func writeBody(c echo.Context, status int, mediaType string, body []byte) error {
	web.LimitWrite(c.Response())
	h := c.Response().Header()
	h.Set("Content-Type", mediaType)
	c.Response().WriteHeader(status)
	if _, err := c.Response().Write(body); err != nil {
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	return nil
}

// wants refuses a request whose Accept header takes none of what a route can
// give, and returns the offer it likes best.
func (c *Call) Wants(offers ...string) (string, error) {
	best := ChooseType(c.Request().Header.Values("Accept"), offers)
	if best == "" {
		return "", flow.Errorf(flow.CodeNotAcceptable, "This path answers with %s, which the Accept header does not take.", joinOr(offers))
	}
	return best, nil
}

// header reads a header that may be there at most once.
func SingleHeader(h http.Header, name string) (value string, present bool, err error) {
	values := h.Values(name)
	if len(values) > 1 {
		return "", true, flow.Errorf(flow.CodeInvalidHeader, "%s is there more than once.", name)
	}
	if len(values) == 0 {
		return "", false, nil
	}
	return values[0], true, nil
}
