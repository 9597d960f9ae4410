package openai

import (
	"strings"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/handlers/api"
)

// conversationInput is the name of the input that gets the earlier messages.
const conversationInput = "messages"

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
	if len(r.outline.Outputs) == 0 {
		return nil, invalid("The flow %q has no output to answer with.", name)
	}
	messages, _ := body["messages"].([]any)
	r.given, err = inputsFor(r.outline.Inputs, messages, body["metadata"])
	return r, err
}

// messageInput returns the input that gets the last message: the only required text
// input, or the only text input.
func messageInput(inputs []contract.Input) (*contract.Input, *flow.Error) {
	var required, texts []*contract.Input
	for i := range inputs {
		in := &inputs[i]
		if in.Type != flow.TypeText || in.Secret {
			continue
		}
		if texts = append(texts, in); in.Required {
			required = append(required, in)
		}
	}
	switch {
	case len(required) == 1:
		return required[0], nil
	case len(required) == 0 && len(texts) == 1:
		return texts[0], nil
	case len(texts) == 0:
		return nil, invalid("The flow has no text input that could take a message.")
	}
	return nil, invalid("The flow has several text inputs. One of them must be the only required one, so that it takes the message; send the others in metadata.")
}

// inputsFor makes the inputs of a run: the last user message, the messages before it if
// the flow has an input for them, and the members of metadata that are named like
// inputs. Metadata holds texts, which become the types of the inputs as on a form.
func inputsFor(inputs []contract.Input, messages []any, metadata any) (map[string]any, error) {
	target, fault := messageInput(inputs)
	if fault != nil {
		return nil, fault
	}
	if len(messages) == 0 {
		return nil, invalid("messages is empty. Send at least one message of the user.")
	}
	last, _ := messages[len(messages)-1].(map[string]any)
	if last["role"] != "user" {
		return nil, invalid("The last message must be one of the user.")
	}
	text, fault := contentText(last["content"])
	if fault != nil {
		return nil, fault
	}
	given := map[string]any{target.Name: text}
	extra, _ := metadata.(map[string]any)
	for i := range inputs {
		in := &inputs[i]
		value, sent := extra[in.Name]
		switch {
		case in.Name == conversationInput && in.Type == flow.TypeList:
			given[in.Name] = messages[:len(messages)-1]
		case sent && in != target:
			var err error
			if given[in.Name], err = flow.Coerce(value, in.Type); err != nil {
				return nil, invalid("metadata.%s: %s.", in.Name, strings.TrimSuffix(err.Error(), "."))
			}
		}
	}
	return given, nil
}

// contentText returns the text of a message, which is a text or a list of parts.
func contentText(content any) (string, *flow.Error) {
	switch content := content.(type) {
	case string:
		return content, nil
	case []any:
		var texts []string
		for _, item := range content {
			part, _ := item.(map[string]any)
			text, isText := part["text"].(string)
			if !isText {
				return "", invalid("A message has a part of type %q. Flows take text as messages; send files with POST /v1/flow/{flow}/run.", part["type"])
			}
			texts = append(texts, text)
		}
		return strings.Join(texts, "\n"), nil
	}
	return "", invalid("A message has no content.")
}

// reply is the name of the output that answers: the one called reply, answer or text, in
// this order, else the first.
func (r *request) reply() string {
	for _, name := range []string{"reply", "answer", "text"} {
		for _, o := range r.outline.Outputs {
			if o.Name == name {
				return name
			}
		}
	}
	return r.outline.Outputs[0].Name
}
