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

// maxBody is how large a JSON body may be.
const MaxBody = 1 << 20

// readObject reads the body as one strict JSON object and returns the raw
// bytes too. With optional, no body at all is an empty object.
func (c *Call) ReadObject(optional bool) (object map[string]any, raw []byte, err error) {
	r := c.Request()
	if r.ContentLength == 0 && optional {
		return map[string]any{}, nil, nil
	}
	if err := checkMediaType(r.Header); err != nil {
		return nil, nil, err
	}
	if raw, err = c.readBody(); err != nil {
		return nil, nil, err
	}
	if len(raw) == 0 && optional {
		return map[string]any{}, nil, nil
	}
	object, err = decodeObject(raw)
	return object, raw, err
}

func checkMediaType(h http.Header) error {
	refuse := flow.Errorf(flow.CodeUnsupportedMediaType, "The body must be application/json in UTF-8, without compression.")
	if e := h.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return refuse
	}
	values := h.Values("Content-Type")
	if len(values) != 1 {
		return refuse
	}
	if values[0] == TypeJSON { // nearly every caller; spares the parser
		return nil
	}
	media, params, err := mime.ParseMediaType(values[0])
	if err != nil || media != TypeJSON {
		return refuse
	}
	for name, value := range params {
		if name != "charset" || !strings.EqualFold(value, "utf-8") {
			return refuse
		}
	}
	return nil
}

// readBody reads at most maxBody bytes. Memory is taken as bytes arrive, not
// as Content-Length promises them.
func (c *Call) readBody() ([]byte, error) {
	r := c.Request()
	tooLarge := flow.Errorf(flow.CodeBodyTooLarge, "The body is larger than 1 MiB.")
	if r.ContentLength > MaxBody {
		return nil, tooLarge
	}
	var b bytes.Buffer
	b.Grow(int(min(max(r.ContentLength, 0), 16<<10)) + bytes.MinRead)
	_, err := b.ReadFrom(http.MaxBytesReader(c.Response().Writer, r.Body, MaxBody))
	if err == nil {
		web.ClearReadDeadline(c.Response()) // not before: what is left of a body is read to its end after the answer
	}
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, tooLarge
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, flow.Errorf(flow.CodeInvalidJSON, "The body did not arrive in time.")
	}
	if err != nil {
		return nil, flow.Errorf(flow.CodeInvalidJSON, "The body could not be read to its end.")
	}
	return b.Bytes(), nil
}

func decodeObject(raw []byte) (map[string]any, error) {
	refuse := flow.Errorf(flow.CodeInvalidJSON, "The body is not one JSON object.")
	if len(raw) == 0 {
		refuse.Fields = []flow.Problem{{Code: "required", Detail: "the body is empty; send at least {}"}}
		return nil, refuse
	}
	v, err := flow.DecodeJSON(raw)
	if p, ok := errors.AsType[*flow.ProblemError](err); ok {
		refuse.Fields = []flow.Problem{p.Problem}
		return nil, refuse
	}
	if err != nil {
		return nil, refuse
	}
	object, ok := v.(map[string]any)
	if !ok {
		refuse.Fields = []flow.Problem{{Code: "wrong_type", Detail: "wanted an object, got " + flow.TypeOf(v)}}
		return nil, refuse
	}
	return object, nil
}
