package openai

import (
	"bufio"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/handlers/api"
)

// maxBody bounds a request, in bytes. A conversation may contain pictures.
const maxBody = 32 << 20

// request is the part of a request for a completion that matters for a run.
type request struct {
	flow    *flow.Flow
	outline *api.Outline
	model   string // as the client wrote it
	given   *flow.Object
	earlier flow.RunID // that the run continues
	stream  bool
	usage   bool // send the usage in the last chunk of the stream
}

// typed are the members that mean nothing in another type: a client that sends one, such as "stream": "true", would get
// another response than it waits for. The null of a member is as if it were missing.
var typed = []struct{ name, want string }{
	{"messages", "list"}, {"stream", "boolean"}, {"stream_options", "object"}, {"metadata", "object"}, {"n", "number"}, {"tools", "list"},
}

// invalid returns the error for a request that cannot be converted to a run.
func invalid(format string, args ...any) *flow.Error {
	return flow.Errorf(flow.CodeInputInvalid, format, args...)
}

// read reads a request. Parameters of models, such as temperature, are ignored: clients send them
// by default, and the flow has its own. Tools and several choices are rejected, because the client
// could not work without them.
func (s *Server) read(c *api.Call) (*request, error) {
	r := &request{}
	body, err := c.ReadObjectAfter(maxBody, func(body io.Reader) error { return r.findFlow(c, body) })
	if err != nil {
		return nil, err
	}
	if r.flow == nil { // not an object with a model, so decoding it should have failed
		return nil, invalid("The body is not one JSON object.")
	}
	for _, m := range typed {
		got := flow.TypeOf(body[m.name])
		if _, isObject := flow.AsMap(body[m.name]); isObject { // also if it looks like a file
			got = "object"
		}
		if got != m.want && got != "null" {
			return nil, invalid("%s must be of the type %s, not %s.", m.name, m.want, got)
		}
	}
	if n, isNumber := flow.Float(body["n"]); isNumber && n != 1 {
		return nil, invalid("n is %v, but a flow gives one answer. Set n to 1.", body["n"])
	}
	if tools, _ := body["tools"].([]any); len(tools) > 0 {
		return nil, invalid("tools are not supported: a flow calls its own tools. Leave tools out.")
	}
	r.stream = body["stream"] == true
	options, _ := flow.AsMap(body["stream_options"])
	r.usage = options["include_usage"] == true
	if r.outline, err = s.api.Outlines.Find(c.Request().Context(), r.flow.WorkspaceID, r.flow.LiveHash); err != nil {
		return nil, err
	}
	if r.outline.Reply == "" {
		return nil, invalid("The flow %q has no output to answer with.", r.model)
	}
	messages, _ := body["messages"].([]any)
	if r.given, err = buildInputs(r.outline.Inputs, messages, body["metadata"]); err != nil {
		return nil, err
	}
	r.earlier, err = readContinue(body["metadata"], r.outline.Inputs)
	return r, err
}

// readContinue returns the run that metadata.continue names: agents go on with their conversations in it, and take from
// messages only what follows the last one of the assistant. A flow may have an input of that name, which then gets the value.
func readContinue(metadata any, inputs []contract.Input) (flow.RunID, error) {
	members, _ := flow.AsMap(metadata)
	v, given := members["continue"]
	if !given || slices.ContainsFunc(inputs, func(in contract.Input) bool { return in.Name == "continue" }) {
		return "", nil
	}
	id, isText := v.(string)
	if !isText || !flow.ValidID(flow.PrefixRun, id) {
		return "", invalid("metadata.continue must be the ID of a run, as in the header X-Sluice-Run.")
	}
	return flow.RunID(id), nil
}

// findFlow finds the flow that a body names as its model. It only looks for the name, so that a
// request for a flow that the key may not call costs little, whatever it contains. A body that is
// not JSON is accepted here, because decoding it finds the place of the error.
func (r *request) findFlow(c *api.Call, body io.Reader) (err error) {
	var valid bool
	if r.model, valid = modelName(body); !valid {
		return nil
	}
	if r.model == "" {
		return invalid("model is missing. It is the slug of a flow; GET /v1/models lists them.")
	}
	r.flow, err = c.FindCallable(r.model)
	return err
}

// modelName returns the member model of a JSON object, or "" if that is missing or not a text, and
// whether the body is an object.
func modelName(body io.Reader) (model string, valid bool) {
	d := jsontext.NewDecoder(newShortTexts(body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) // remembers no names
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return "", false
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return "", false
		}
		if name.String() != "model" || d.PeekKind() != '"' {
			if d.SkipValue() != nil {
				return "", false
			}
			continue
		}
		t, err := d.ReadToken()
		if err != nil {
			return "", false
		}
		return t.String(), true
	}
	return "", d.PeekKind() == '}'
}

// maxShortText is the size in bytes up to which shortTexts keeps a text.
const maxShortText = 4 << 10

// shortTexts reads JSON without what exceeds maxShortText in each text and number: a decoder needs
// memory for the longest one, even if it skips it.
type shortTexts struct {
	from            *bufio.Reader
	n               int // bytes of the current text or number
	quoted, escaped bool
}

func newShortTexts(body io.Reader) *shortTexts {
	return &shortTexts{from: bufio.NewReaderSize(body, 64<<10)}
}

// Read implements io.Reader.
func (s *shortTexts) Read(p []byte) (n int, err error) {
	for n < len(p) && (n == 0 || s.from.Buffered() > 0) {
		b, err := s.from.ReadByte()
		if err != nil {
			return n, err
		}
		if s.keeps(b) {
			p[n] = b
			n++
		}
	}
	return n, nil
}

// keeps reports whether the next byte is kept. An escape is kept or left out as a whole.
func (s *shortTexts) keeps(b byte) bool {
	switch {
	case s.escaped:
		s.escaped = false
		if b == 'u' && s.n <= maxShortText {
			s.n -= 4 // its digits
		}
	case b == '"', !s.quoted && strings.IndexByte("0123456789+-.eE", b) < 0:
		s.quoted, s.n = b == '"' && !s.quoted, 0
	default:
		s.escaped = s.quoted && b == '\\'
		s.n++
	}
	return s.n <= maxShortText
}
