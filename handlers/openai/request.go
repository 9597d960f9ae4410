package openai

import (
	"sluice/flow"
	"sluice/handlers/api"
)

// maxBody bounds a request in bytes: a conversation may be long.
const maxBody = 32 << 20

// request is a request for a completion, as far as it counts for a run. Parameters of
// models, such as temperature, are the flow's own; they are ignored.
type request struct {
	flow    *flow.Flow
	outline *api.Outline
	model   string // as the client wrote it
	given   map[string]any
	stream  bool
	usage   bool // a last piece of the stream has the usage
}

// invalid is the error for a request that this API cannot take.
func invalid(format string, args ...any) *flow.Error {
	return flow.Errorf(flow.CodeInputInvalid, format, args...)
}

// read reads a request. Parameters such as temperature are ignored, because clients send them by
// default. Only tools and several choices are refused: the client could not do without them.
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
		return nil, invalid("n is %v; a flow gives one answer.", body["n"])
	}
	if tools, _ := body["tools"].([]any); len(tools) > 0 {
		return nil, invalid("tools are not supported. A flow calls its tools itself.")
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
	r.given, err = inputsFor(r.outline.Inputs, messages, body["metadata"])
	return r, err
}
