package openai

import (
	"sluice/flow"
	"sluice/handlers/api"
)

// maxBody bounds a request, in bytes. A conversation may contain pictures.
const maxBody = 32 << 20

// request is the part of a request for a completion that matters for a run.
type request struct {
	flow    *flow.Flow
	outline *api.Outline
	model   string // as the client wrote it
	given   map[string]any
	stream  bool
	usage   bool // send the usage in the last chunk of the stream
}

// invalid returns the error for a request that cannot be converted to a run.
func invalid(format string, args ...any) *flow.Error {
	return flow.Errorf(flow.CodeInputInvalid, format, args...)
}

// read reads a request. Parameters of models, such as temperature, are ignored: clients send them
// by default, and the flow has its own. Tools and several choices are rejected, because the client
// could not work without them.
func (s *Server) read(c *api.Call) (*request, error) {
	body, _, err := c.ReadObjectUpTo(false, maxBody)
	if err != nil {
		return nil, err
	}
	name, _ := body["model"].(string)
	if name == "" {
		return nil, invalid("model is missing. It is the slug of a flow; GET /v1/models lists them.")
	}
	if n, isNumber := flow.Float(body["n"]); isNumber && n != 1 {
		return nil, invalid("n is %v, but a flow gives one answer. Set n to 1.", body["n"])
	}
	if tools, _ := body["tools"].([]any); len(tools) > 0 {
		return nil, invalid("tools are not supported: a flow calls its own tools. Leave tools out.")
	}
	r := &request{model: name, stream: body["stream"] == true}
	options, _ := body["stream_options"].(map[string]any)
	r.usage = options["include_usage"] == true
	if r.flow, err = c.FindCallable(name); err != nil {
		return nil, err
	}
	if r.outline, err = s.api.Outlines.Find(c.Request().Context(), r.flow.WorkspaceID, r.flow.LiveHash); err != nil {
		return nil, err
	}
	if r.outline.Reply == "" {
		return nil, invalid("The flow %q has no output to answer with.", name)
	}
	messages, _ := body["messages"].([]any)
	r.given, err = buildInputs(r.outline.Inputs, messages, body["metadata"])
	return r, err
}
