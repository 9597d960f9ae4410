package snippets

import (
	"cmp"
	"strings"
	"unicode"
)

// program describes a snippet independently of the language: the requests that it sends, the
// response that it expects, and the webhook messages that it verifies.
type program struct {
	Flow      string // its name, for a comment
	Base, Key string
	Start     request
	Poll      string // query for long polling until the run ends
	Done      string // status of a run that succeeded
	Uploads   bool   // files are uploaded before the start
	Receiver  receiver
	Outputs   string // type of the outputs, in TypeScript
	GoOutputs string // fields of a struct for the outputs, in Go
}

// request is a request of a program. Every request is authenticated with the key.
type request struct {
	Method, Path string
	Headers      []header
	Body         []field
}

// header is a header of a request other than Authorization, which all requests have.
type header struct{ Name, Value string }

// field is a member of a request body.
type field struct {
	Name  string
	Value any // a JSON value, or an attachment, which stands for the response to its upload
}

// attachment is the name of a file that is uploaded before the request.
type attachment string

// receiver describes a program that receives webhooks.
type receiver struct {
	Secret    string
	Port      int
	Tolerance int // maximum clock difference of a message in seconds, as Standard Webhooks suggests
}

// pollQuery makes a request wait up to 30 s for the end of a run. The API allows 60 s, but many
// proxies allow less.
const pollQuery = "wait=30"

// programOf returns the data for the templates of all languages. The mode only determines
// the header of the start; each template has a part for every mode.
func programOf(m Mode, c Call) program {
	p := program{
		Flow: flowOf(c), Base: strings.TrimRight(c.BaseURL, "/"), Key: cmp.Or(c.Key, Placeholder),
		Start: request{Method: "POST", Path: "/v1/flow/" + c.FlowID + "/run", Headers: []header{{"Content-Type", "application/json"}}},
		Poll:  "?" + pollQuery, Done: "succeeded", Outputs: scriptOutputs(c.Outputs), GoOutputs: goOutputs(c.Outputs),
		Receiver: receiver{Secret: cmp.Or(c.Webhook.Secret, PlaceholderSecret), Port: 8000, Tolerance: 300},
	}
	switch m {
	case ModeWait:
		p.Start.Headers = append(p.Start.Headers, header{"Prefer", pollQuery})
	case ModeStream:
		p.Start.Headers = append(p.Start.Headers, header{"Accept", "text/event-stream"})
	}
	for _, in := range c.Inputs {
		p.Start.Body = append(p.Start.Body, fieldOf(in))
		p.Uploads = p.Uploads || in.File
	}
	return p
}

// fieldOf returns the body member for an input: an attachment for a local file, which is
// uploaded first, otherwise the value.
func fieldOf(in Input) field {
	if name, ok := in.Value.(string); in.File && ok {
		return field{in.Name, attachment(name)}
	}
	return field{in.Name, plain(in.Value)}
}

// flowOf returns the name of the flow for a comment.
func flowOf(c Call) string {
	if name := comment(c.FlowName); name != "" {
		return `"` + name + `"`
	}
	return "the flow"
}

// comment makes a name safe for a comment in any language: one line, without Java's Unicode
// escapes and PHP's end tag.
func comment(s string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s)
	s = strings.NewReplacer(`\`, "/", "?>", "? >").Replace(s)
	return strings.Join(strings.Fields(s), " ")
}
