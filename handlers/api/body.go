package api

import (
	"bytes"
	"errors"
	"mime"
	"net/http"
	"os"
	"strings"

	"sluice/flow"
	"sluice/handlers/web"
)

// MaxBody bounds a JSON body, in bytes.
const MaxBody = 1 << 20

// ReadObject reads the body as one strict JSON object (see flow.DecodeJSON) and also
// returns the raw bytes. If optional, a missing body is an empty object.
func (c *Call) ReadObject(optional bool) (object map[string]any, raw []byte, err error) {
	return c.ReadObjectUpTo(optional, MaxBody)
}

// ReadObjectUpTo is ReadObject for a body of at most limit bytes.
func (c *Call) ReadObjectUpTo(optional bool, limit int64) (object map[string]any, raw []byte, err error) {
	r := c.Request()
	if r.ContentLength == 0 && optional {
		return map[string]any{}, nil, nil
	}
	if err := checkJSONType(r.Header); err != nil {
		return nil, nil, err
	}
	if raw, err = c.readBody(limit); err != nil {
		return nil, nil, err
	}
	if len(raw) == 0 && optional {
		return map[string]any{}, nil, nil
	}
	object, err = decodeObject(raw)
	return object, raw, err
}

// checkJSONType returns an error unless the body is JSON in UTF-8.
func checkJSONType(h http.Header) error {
	media, params := contentType(h)
	ok := media == TypeJSON
	for name, value := range params {
		ok = ok && name == "charset" && strings.EqualFold(value, "utf-8")
	}
	if !ok {
		return flow.Errorf(flow.CodeUnsupportedMediaType, "The body must be application/json in UTF-8, without compression.")
	}
	return nil
}

// contentType returns the media type of a body and its parameters. It is "" for a
// compressed body, and if the header is missing, repeated or malformed.
func contentType(h http.Header) (media string, params map[string]string) {
	values := h.Values("Content-Type")
	if e := h.Get("Content-Encoding"); len(values) != 1 || e != "" && !strings.EqualFold(e, "identity") {
		return "", nil
	}
	if values[0] == TypeJSON { // nearly all requests; skips the parser
		return TypeJSON, nil
	}
	media, params, err := mime.ParseMediaType(values[0])
	if err != nil {
		return "", nil
	}
	return media, params
}

// readBody reads the whole body, at most limit bytes. It allocates memory as data arrives, not by
// Content-Length, which an attacker chooses.
func (c *Call) readBody(limit int64) ([]byte, error) {
	r := c.Request()
	tooLarge := flow.Errorf(flow.CodeBodyTooLarge, "The body is larger than %d MiB.", limit>>20)
	if r.ContentLength > limit {
		return nil, tooLarge
	}
	var b bytes.Buffer
	b.Grow(int(min(max(r.ContentLength, 0), 16<<10)) + bytes.MinRead)
	_, err := b.ReadFrom(http.MaxBytesReader(c.Response().Writer, r.Body, limit))
	if err == nil {
		web.ClearReadDeadline(c.Response()) // only now: an unread rest is drained after the response
	}
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, tooLarge
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, flow.Errorf(flow.CodeInvalidJSON, "The body was sent too slowly. Send it again.")
	}
	if err != nil {
		return nil, flow.Errorf(flow.CodeInvalidJSON, "The body is incomplete. Send it again.")
	}
	return b.Bytes(), nil
}

// decodeObject decodes a body, with an error that locates the first problem.
func decodeObject(raw []byte) (map[string]any, error) {
	invalid := flow.Errorf(flow.CodeInvalidJSON, "The body is not one JSON object.")
	if len(raw) == 0 {
		invalid.Fields = []flow.Problem{{Code: "required", Detail: "the body is empty; send at least {}"}}
		return nil, invalid
	}
	v, err := flow.DecodeJSON(raw)
	if p, ok := errors.AsType[*flow.ProblemError](err); ok {
		invalid.Fields = []flow.Problem{p.Problem}
		return nil, invalid
	}
	if err != nil {
		return nil, invalid
	}
	object, ok := v.(map[string]any)
	if !ok {
		invalid.Fields = []flow.Problem{{Code: "wrong_type", Detail: "wanted an object, got " + flow.TypeOf(v)}}
		return nil, invalid
	}
	return object, nil
}
