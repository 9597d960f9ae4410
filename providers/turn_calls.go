package providers

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strings"

	"sluice/flow/value"
)

// openCall is a call whose arguments are arriving.
type openCall struct {
	id, name  string
	index     int // as sent; -1: none
	arguments []byte
	extra     json.RawMessage // members to send back with the call
}

// whole reports whether the arguments are a complete object.
func (c *openCall) whole() bool { return len(c.arguments) > 0 && json.Valid(c.arguments) }

// callJoiner joins the fragments of calls in a stream of chat completions. Servers differ: some
// send no index, or the same for all calls, or no ID, or a whole call at once.
type callJoiner struct {
	calls []*openCall
}

// openAICall is a call or a fragment of one.
type openAICall struct {
	Index    *count          `json:"index"`
	ID       word            `json:"id"`
	Function openAIFunction  `json:"function"`
	Extra    json.RawMessage `json:"extra_content"` // Gemini
}

// openAIFunction is the function of a call. Some servers send the arguments as an object.
type openAIFunction struct {
	Name      word            `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// UnmarshalJSON never fails, for the same reason as that of count.
func (f *openAIFunction) UnmarshalJSON(data []byte) error {
	members := value.Raw(data).Members()
	_ = f.Name.UnmarshalJSON(members["name"])
	f.Arguments = json.RawMessage(members["arguments"])
	return nil
}

// argumentsText returns arguments, which some servers send as an object, as text. Other values are
// returned as JSON too, so that they are refused and not taken for missing arguments, unless they are
// null or an empty list, which PHP makes of an empty object.
func argumentsText(v value.Raw) string {
	if v.IsText() {
		return unquote(v)
	} else if s := strings.TrimSpace(string(v)); s != "null" && s != "[]" {
		return s
	}
	return ""
}

// add adds a fragment and returns the number of new bytes.
func (j *callJoiner) add(f *openAICall) int {
	arguments := argumentsText(value.Raw(f.Function.Arguments))
	index := -1
	if f.Index != nil {
		index = int(*f.Index)
	}
	c := j.find(f, index, arguments)
	if c == nil {
		c = &openCall{index: index}
		j.calls = append(j.calls, c)
	}
	c.id = cmp.Or(c.id, string(f.ID))
	c.name = cmp.Or(c.name, string(f.Function.Name))
	if value.Raw(f.Extra).IsFilled() {
		c.extra = f.Extra
	}
	if string(c.arguments) == "{}" && strings.HasPrefix(arguments, "{") { // a placeholder
		c.arguments = nil
	}
	c.arguments = append(c.arguments, arguments...)
	return len(arguments)
}

// find returns the call that a fragment continues, or nil if it begins one.
func (j *callJoiner) find(f *openAICall, index int, arguments string) *openCall {
	var c *openCall
	for i := len(j.calls) - 1; i >= 0 && c == nil; i-- { // the latest
		switch one := j.calls[i]; {
		case f.ID != "" && one.id == string(f.ID):
			if c = one; c.whole() && f.Function.Name != "" && strings.TrimSpace(arguments) != "" && string(c.arguments) != "{}" {
				return nil // another call with the same ID
			}
			return c
		case f.ID != "" && one.id != "":
		case index < 0 || one.index == index:
			c = one
		}
	}
	switch {
	case c == nil || f.Function.Name == "": // a fragment without a name continues the latest
		return c
	case c.name == "":
		return c
	case c.name != string(f.Function.Name) || c.whole() || len(c.arguments) == 0:
		return nil
	}
	return c // the name is repeated with each fragment
}

// items returns the calls as items of the answer. Calls without an ID, or with that of another
// call, get one from their position. taken are the IDs that the conversation has.
func (j *callJoiner) items(talk *conversation) (list []Item) {
	name := newCallNamer(talk)
	for _, c := range j.calls {
		if c.name == "" && len(c.arguments) == 0 {
			continue // nothing but a signature or an ID
		}
		if len(c.extra) > 0 {
			list = append(list, talk.opaque(ofNext, map[string]any{"extra_content": c.extra}))
		}
		list = append(list, Item{Type: ItemCall, Call: &ToolCall{ID: name.unique(c.id), Name: wellFormed(c.name), Arguments: wellFormed(string(c.arguments))}})
	}
	return list
}

// opaque returns an item that goes back to the same provider and model.
func (c *conversation) opaque(of string, members map[string]any) Item {
	raw, _ := json.Marshal(members)
	return Item{Type: ItemOpaque, Opaque: &Opaque{Wire: c.origin, Model: c.Model, Of: of, Raw: raw}}
}

// callNamer makes IDs for calls that have none of their own.
type callNamer struct {
	taken map[string]bool
	n     int
}

// newCallNamer returns a namer that avoids the IDs in a conversation.
func newCallNamer(talk *conversation) *callNamer {
	n := &callNamer{taken: map[string]bool{}}
	for _, c := range callsOf(talk.Items) {
		n.taken[c.ID] = true
		n.n++
	}
	return n
}

// unique returns the ID, or one from the call's position if it is empty or taken.
func (n *callNamer) unique(id string) string {
	n.n++
	for at := n.n; id == "" || n.taken[id]; at++ {
		id = "call_" + itoa(at)
	}
	n.taken[id] = true
	return id
}

// finishCalls checks an answer with calls.
func (s *session) finishCalls(r *reply) (*reply, error) {
	if r.stop == stopLength {
		calls := callsOf(r.items)
		return r.paid(), &Error{Class: ClassBadAnswer, RequestID: s.requestID,
			Message: "The model's call of " + redact(clean(calls[len(calls)-1].Name), s.secret) + " was cut off after " + itoa(int(r.usage.OutputTokens)) + " tokens, so it is not made. Allow more tokens."}
	}
	for _, c := range callsOf(r.items) {
		if c.Name == "" {
			return r.paid(), &Error{Class: ClassBadAnswer, RequestID: s.requestID, Message: "The model called a tool without naming it."}
		}
	}
	r.stop = stopCalls
	return r, nil
}

// lostCalls reports whether an answer looks as if the server lost a call, or a part of one, while
// it streamed: it is empty, or its arguments are not JSON. Some versions of local servers do that.
func (c *conversation) lostCalls(r *reply) bool {
	preset := &c.session.preset
	if len(c.offered) == 0 || !preset.Local && (preset.BaseURL != "" || preset.Responses) || !c.can(featStream) && c.dialect.doubtful&featStream == 0 || r.stop == stopLength {
		return false
	}
	calls := callsOf(r.items)
	for _, call := range calls {
		if s := strings.TrimSpace(call.Arguments); s != "" && s != "null" && !isObjectText(s) {
			return true
		}
	}
	return len(calls) == 0 && strings.TrimSpace(r.text) == ""
}

// callText matches calls that a server left in the text, because it does not parse them for this
// model.
var callText = regexp.MustCompile(`^\s*(<tool_call>|\[TOOL_CALLS\]|<function=|<\|tool_call|<\|python_tag\|>)`)

// callInText returns an error if the text of an answer is a call.
func (c *conversation) callInText(r *reply) error {
	s := c.session
	if len(c.offered) == 0 || !callText.MatchString(r.text) {
		return nil
	}
	e := &Error{Class: ClassIncompatible, RequestID: s.requestID,
		Message: s.name + " sent the call of a tool as text: " + excerpt(r.text) + " Turn on tool calls for this model in the server."}
	switch s.preset.Name {
	case nameVLLM:
		e.Message += " vLLM needs --enable-auto-tool-choice and --tool-call-parser."
	case nameLlamaCpp:
		e.Message += " llama.cpp needs --jinja."
	}
	return e
}
