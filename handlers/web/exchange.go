package web

import (
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"
)

// Exchange is the part of echo.Context that handlers use: one request and its response. The
// types for calls embed it, and each other; for each promoted method the compiler generates
// a wrapper in each of these types, so the whole interface would make builds slower.
type Exchange interface {
	Request() *http.Request
	Response() *echo.Response
	SetRequest(r *http.Request)
	Path() string // of the route, with the names of parameters
	Param(name string) string
	QueryParam(name string) string
	QueryParams() url.Values
	Cookie(name string) (*http.Cookie, error)
	SetCookie(cookie *http.Cookie)
	NoContent(status int) error
	Redirect(status int, url string) error
	String(status int, text string) error
	Blob(status int, mediaType string, data []byte) error
	HTMLBlob(status int, data []byte) error
	JSON(status int, value any) error
	JSONBlob(status int, data []byte) error
}
