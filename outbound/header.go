package outbound

import (
	"net/http"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// steering are the headers that control the connection. Only the transport sets
// them: those of RFC 9110, section 7.6.1, and those that net/http would ignore or
// misinterpret.
var steering = map[string]bool{
	"Accept-Encoding": true, "Connection": true, "Content-Length": true, "Expect": true, "Host": true,
	"Http2-Settings": true, "Keep-Alive": true, "Proxy-Connection": true, "Te": true, "Trailer": true,
	"Transfer-Encoding": true, "Upgrade": true,
}

// newHeader copies the caller's headers. It validates them, because the
// transport's error for an invalid one looks like a broken connection.
func (c *Client) newHeader(from http.Header) (http.Header, error) {
	header := make(http.Header, len(from)+1)
	for name, values := range from {
		if !httpguts.ValidHeaderFieldName(name) {
			return nil, badRequest("A header name contains a character that cannot be sent.")
		}
		for _, value := range values {
			if !httpguts.ValidHeaderFieldValue(value) {
				return nil, badRequest("The header " + name + " has a value that cannot be sent, such as one with a line break.")
			}
		}
		if key := http.CanonicalHeaderKey(name); !steering[key] {
			header[key] = values
		}
	}
	if len(header["User-Agent"]) == 0 {
		header.Set("User-Agent", c.userAgent)
	}
	return header, nil
}

// checkMethod rejects invalid methods, CONNECT, which requests a tunnel, and
// TRACE, whose response echoes the credentials of the request.
func checkMethod(method string) error {
	upper := strings.ToUpper(method)
	if !httpguts.ValidHeaderFieldName(method) || upper == http.MethodConnect || upper == http.MethodTrace {
		return badRequest("The method of the request is not supported.")
	}
	return nil
}
