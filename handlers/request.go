package handlers

import (
	"crypto/rand"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"sluice/flow"
)

// requestID is the caller's X-Request-Id if it is harmless in a log and a
// header, else a fresh one.
func requestID(r *http.Request) string {
	if id := r.Header.Get("X-Request-Id"); validRequestID(id) {
		return id
	}
	return "req_" + rand.Text()
}

func validRequestID(id string) bool {
	if id == "" || len(id) > 128 || holdsKey(id) {
		return false
	}
	for _, c := range []byte(id) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case c == '-', c == '_', c == '.', c == ':', c == '/', c == '=', c == '+':
		default:
			return false
		}
	}
	return true
}

// writeJSON answers with a value.
func (c *call) writeJSON(status int, v any) error { return c.writeBody(status, flow.EncodeJSON(v)) }

// writeBody answers with JSON that is already encoded.
func (c *call) writeBody(status int, body []byte) error {
	if h := c.Response().Header(); h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
	}
	return writeBody(c, status, "application/json", body)
}

func writeBody(c echo.Context, status int, mediaType string, body []byte) error {
	limitAnswer(c.Response())
	h := c.Response().Header()
	h.Set("Content-Type", mediaType)
	c.Response().WriteHeader(status)
	if _, err := c.Response().Write(body); err != nil {
		return fmt.Errorf("%w: %w", errGone, err)
	}
	return nil
}

// wants refuses a request whose Accept header takes none of what a route can
// give, and returns the offer it likes best.
func (c *call) wants(offers ...string) (string, error) {
	best := chooseType(c.Request().Header.Values("Accept"), offers)
	if best == "" {
		return "", flow.Errorf(flow.CodeNotAcceptable, "This path answers with %s, which the Accept header does not take.", joinOr(offers))
	}
	return best, nil
}

// header reads a header that may be there at most once.
func header(h http.Header, name string) (value string, present bool, err error) {
	values := h.Values(name)
	if len(values) > 1 {
		return "", true, flow.Errorf(flow.CodeInvalidHeader, "%s is there more than once.", name)
	}
	if len(values) == 0 {
		return "", false, nil
	}
	return values[0], true, nil
}
