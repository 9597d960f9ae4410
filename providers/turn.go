package providers

import (
	"context"
	"encoding/json"
	"strings"

	"sluice/flow/value"
)

// Types of an Item.
const (
	ItemText    = "text"
	ItemPicture = "picture" // of the user
	ItemCall    = "call"    // the model asks for a tool
	ItemResult  = "result"  // what a tool returned
	ItemOpaque  = "opaque"  // what only the provider understands
)

// Item is one entry of a conversation with tools. It is recorded as JSON; content of a picture
// is not part of that, so a picture without a URL must be opened again by the caller.
type Item struct {
	Type   string      `json:"type"`
	Role   string      `json:"role,omitempty"` // of texts and pictures: user or assistant
	Text   string      `json:"text,omitempty"`
	Image  *Media      `json:"image,omitempty"`
	Call   *ToolCall   `json:"call,omitempty"`
	Result *ToolResult `json:"result,omitempty"`
	Opaque *Opaque     `json:"opaque,omitempty"`
	// Source is what the caller opens the picture from; see Image.
	Source any `json:"source,omitempty"`
	// Untrusted means that the text has content from outside, enclosed. It is neither recorded nor sent.
	Untrusted bool `json:"-"`
}

// ToolCall is a request of the model to call a tool.
type ToolCall struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Arguments is JSON as the model wrote it, which may be invalid or empty; see
	// Tool.ReadArguments.
	Arguments string `json:"arguments,omitempty"`
}

// ToolResult is the answer to a call.
type ToolResult struct {
	CallID string `json:"call_id"`
	Name   string `json:"name,omitempty"` // of the tool
	Text   string `json:"text,omitempty"`
	Error  bool   `json:"error,omitempty"`
	// Untrusted means that the text has content from outside. It is neither recorded nor sent.
	Untrusted bool `json:"-"`
}

// Opaque is a part of an answer that must be sent back unchanged: encrypted reasoning, signed
// thinking, signatures of calls, and types of items that this package does not know. It is sent
// only to the provider and model that it came from, and left out for others.
type Opaque struct {
	Wire  string `json:"wire"`  // wire format and provider, such as responses:openai
	Model string `json:"model"` // as in the request
	// Of is what the members of Raw belong to: "next" is the item that follows, "message" the
	// whole message of the model. Empty: Raw is an item itself.
	Of  string          `json:"of,omitempty"`
	Raw json.RawMessage `json:"raw"`
}

// What the members of an Opaque belong to.
const (
	ofNext    = "next"
	ofMessage = "message"
)

// Tool is a function that the model may ask to call.
type Tool struct {
	Name        string // at most 64 of a-z, A-Z, 0-9, _ and -, unique in a request
	Description string
	// Parameters is the JSON Schema of the arguments, an object of package value. Nil: no
	// arguments.
	Parameters any
	// Strict asks the provider to guarantee arguments that match the schema, if the schema
	// can be written in its strict form.
	Strict bool

	form *form // of Parameters; see ReadArguments
}

// Values of TurnRequest.ToolChoice beside the name of a tool.
const (
	ChoiceNone     = "none"     // tools are sent, but must not be called
	ChoiceRequired = "required" // some tool must be called
)

// TurnRequest is one turn of a conversation with tools. Its messages are those of the
// ChatRequest and then Items.
type TurnRequest struct {
	ChatRequest
	Items      []Item
	Tools      []Tool // in an order that stays the same from turn to turn, for the provider's cache
	ToolChoice string // empty: the model decides
	// Parallel allows several calls in one answer. Not every provider can be told otherwise, so
	// an answer may have several without it.
	Parallel bool
	// CacheKey is the same for all turns of a conversation, so that a provider which asks for it
	// finds its cache; see prompt_cache_key of OpenAI.
	CacheKey string
}

// TurnResult is a complete answer.
type TurnResult struct {
	Items []Item // the whole answer in order
	Text  string // all texts of the answer
	JSON  any    // the decoded, validated answer if there was a Schema and there are no calls
	Model string // the model that answered, as the provider reports it
	Stop  string // finish reason: calls, stop, length …
	Usage Usage
}

// Calls returns the calls of the answer in order.
func (r *TurnResult) Calls() []*ToolCall { return callsOf(r.Items) }

// callsOf returns the calls among items.
func callsOf(items []Item) (list []*ToolCall) {
	for i := range items {
		if items[i].Type == ItemCall {
			list = append(list, items[i].Call)
		}
	}
	return list
}

// Turn sends a conversation with tools and returns the model's next answer, which may have calls.
// It is like Chat in everything else: streaming, retries, the schema, usage, and errors with
// usage. An answer with calls is never checked by the schema, whatever its finish reason is. A
// call that the limit of tokens cut off is an error.
//
// The ID of a call that a server sends without one is made from its position in the conversation,
// so it is the same for the same request and answer.
func (c *Client) Turn(ctx context.Context, ep Endpoint, req TurnRequest, emit func(text string)) (*TurnResult, error) {
	r, err := c.converse(ctx, ep, req, true, emit)
	recordCall(ctx, r)
	if r == nil {
		return nil, err
	}
	return &TurnResult{Items: r.items, Text: r.text, JSON: r.value, Model: r.model, Stop: r.stop, Usage: r.usage}, err
}

// ReadArguments decodes and validates the arguments of a call. Empty arguments and null are an
// empty object. Arguments that are incomplete or name a member twice are invalid: a call must not be
// made with a part of what the model wrote. Nulls of optional parameters are dropped, because strict mode makes models write
// them. wrong describes for the model what is invalid; it is "" for valid arguments. err is the
// context's, or the reason why the schema cannot be used. The schema is compiled once, so ReadArguments is not safe for
// concurrent use.
func (t *Tool) ReadArguments(ctx context.Context, arguments string) (args *value.Object, wrong string, err error) {
	if s := strings.TrimSpace(arguments); s == "" || s == "null" {
		arguments = "{}"
	}
	if t.form == nil {
		if t.form, err = newForm(t.Parameters); err == nil && t.form == nil {
			t.form, err = newForm(map[string]any{"type": "object"})
		}
		if err != nil {
			return nil, "", err
		}
	}
	v, err := parseArguments(arguments)
	if err != nil {
		return nil, err.Error(), nil
	}
	v, wrong, err = t.form.accept(ctx, v)
	if err != nil || wrong != "" {
		return nil, wrong, err
	}
	args, ok := v.(*value.Object)
	if !ok {
		return nil, "the arguments must be an object", nil
	}
	return args, "", nil
}
