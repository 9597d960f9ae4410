package api

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"

	"sluice/flow"
	"sluice/flow/inflight"
	"sluice/handlers/web"
)

// MaxBody bounds a JSON body, in bytes.
const MaxBody = 1 << 20

// ReadObject reads the body as one strict JSON object (see flow.DecodeJSON). If optional, a missing
// body is an empty object.
func (c *Call) ReadObject(optional bool) (map[string]any, error) {
	return c.ReadObjectUpTo(optional, MaxBody)
}

// ReadOrdered is ReadObject for a body whose members have a meaningful order. check sees the bytes of
// the body before it is decoded; it is not called without a body.
func (c *Call) ReadOrdered(optional bool, check func(body io.Reader) error) (*flow.Object, error) {
	return c.readObject(optional, MaxBody, check)
}

// ReadObjectUpTo is ReadObject for a body of at most limit bytes.
func (c *Call) ReadObjectUpTo(optional bool, limit int64) (map[string]any, error) {
	ordered, err := c.readObject(optional, limit, nil)
	if err != nil {
		return nil, err
	}
	return ordered.Map(), nil
}

// ReadObjectAfter is ReadObjectUpTo for a body that check accepts. It is checked before it is
// decoded, which takes much more memory than the body has bytes.
func (c *Call) ReadObjectAfter(limit int64, check func(body io.Reader) error) (map[string]any, error) {
	ordered, err := c.readObject(false, limit, check)
	if err != nil {
		return nil, err
	}
	return ordered.Map(), nil
}

// readObject reads and decodes the body. The memory for it is taken until the end of the request.
func (c *Call) readObject(optional bool, limit int64, check func(io.Reader) error) (*flow.Object, error) {
	r := c.Request()
	if r.ContentLength == 0 && optional {
		return &flow.Object{}, nil
	}
	if err := checkJSONType(r.Header); err != nil {
		return nil, err
	}
	body, err := c.receive(limit)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	if body.Size == 0 && optional {
		return &flow.Object{}, nil
	}
	if check != nil {
		if err := check(body.Reader()); err != nil {
			return nil, err
		}
	}
	if err := web.TakeBody(r.Context(), c.memory, body); err != nil {
		return nil, err
	}
	object, err := decodeObject(body)
	c.memory.Decoded(body)
	return object, err
}

// ReleaseBody returns the memory of the body, to which the caller must not refer any longer. A
// request that waits for its run would otherwise keep the run from getting it.
func (c *Call) ReleaseBody() { c.memory.ReleaseBody() }

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

// receive receives the whole body, at most limit bytes. It allocates memory as data arrives, not by
// Content-Length, which an attacker chooses, and moves a large body to a file.
func (c *Call) receive(limit int64) (*inflight.Body, error) {
	r := c.Request()
	tooLarge := flow.Errorf(flow.CodeBodyTooLarge, "The body is larger than %d MiB.", limit>>20)
	if r.ContentLength > limit {
		return nil, tooLarge
	}
	body, err := c.s.Memory.Receive(http.MaxBytesReader(c.Response().Writer, r.Body, limit), true)
	if err == nil {
		web.ClearReadDeadline(c.Response()) // only now: an unread rest is drained after the response
		return body, nil
	}
	if body != nil {
		body.Close()
	}
	switch _, large := errors.AsType[*http.MaxBytesError](err); {
	case large:
		return nil, tooLarge
	case errors.Is(err, inflight.ErrTooManyValues):
		return nil, flow.Errorf(flow.CodeBodyTooLarge, "The body has more than 1,000,000 values.")
	case errors.Is(err, inflight.ErrTooLarge):
		return nil, web.ErrTakesTooMuch(c.s.Memory.EachBody())
	case errors.Is(err, inflight.ErrNoSpace):
		return nil, fmt.Errorf("receive a body: %w", err)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, flow.Errorf(flow.CodeInvalidJSON, "The body was sent too slowly. Send it again.")
	}
	return nil, flow.Errorf(flow.CodeInvalidJSON, "The body is incomplete. Send it again.")
}

// decodeObject decodes a body, with an error that locates the first problem.
func decodeObject(body *inflight.Body) (*flow.Object, error) {
	invalid := flow.Errorf(flow.CodeInvalidJSON, "The body is not one JSON object.")
	if body.Size == 0 {
		invalid.Fields = []flow.Problem{{Code: "required", Detail: "the body is empty; send at least {}"}}
		return nil, invalid
	}
	v, err := body.Decode()
	if errors.Is(err, inflight.ErrNoSpace) {
		return nil, err
	}
	if p, ok := errors.AsType[*flow.ProblemError](flow.JSONProblem(err)); ok {
		invalid.Fields = []flow.Problem{p.Problem}
		return nil, invalid
	}
	if err != nil {
		return nil, invalid
	}
	object, ok := flow.AsObject(v)
	if !ok {
		invalid.Fields = []flow.Problem{{Code: "wrong_type", Detail: "wanted an object, got " + flow.TypeOf(v)}}
		return nil, invalid
	}
	return object, nil
}
