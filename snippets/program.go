package snippets

import (
	"cmp"
	"strings"
	"unicode"
)

// program is what a snippet does, said in no language: what it sends, what it
// does with the answer, and what it checks of a message that comes to it.
type program struct {
	Flow      string // its name, for a comment
	Base, Key string
	Start     request
	Poll      string // query that holds an answer until the run ends, for a while
	Done      string // status of a run that succeeded
	Uploads   bool   // whether a file is sent first
	Receiver  receiver
	Outputs   string // their type, in TypeScript
	GoOutputs string // the fields of their struct, in Go
}

// request is one request of a program; the key goes with each.
type request struct {
	Method, Path string
	Headers      []header
	Body         []field
}

// header is a header of a request. Authorization is not among them: all requests have it.
type header struct{ Name, Value string }

// field is one member of a body. A file's value is what the upload of that
// file is answered with.
type field struct {
	Name  string
	Value any // a JSON value, or attachment
}

// attachment is the name of a file that is uploaded before the request.
type attachment string

// receiver is the other direction: a program that is called back.
type receiver struct {
	Secret    string
	Port      int
	Tolerance int // seconds that a message's clock may differ, as Standard Webhooks suggests
}

// hold is how long one request waits for the end of a run; the API allows 60 s,
// proxies often less.
const hold = "wait=30"

// programOf returns what the templates of all languages render. The manner decides only which
// header asks to wait or to stream; each template has a part for every manner.
func programOf(m Manner, c Call) program {
	p := program{
		Flow: flowOf(c), Base: strings.TrimRight(c.BaseURL, "/"), Key: cmp.Or(c.Key, Placeholder),
		Start: request{Method: "POST", Path: "/v1/flow/" + c.FlowID + "/run", Headers: []header{{"Content-Type", "application/json"}}},
		Poll:  "?" + hold, Done: "succeeded", Outputs: scriptOutputs(c.Outputs), GoOutputs: goOutputs(c.Outputs),
		Receiver: receiver{Secret: cmp.Or(c.Webhook.Secret, PlaceholderSecret), Port: 8000, Tolerance: 300},
	}
	switch m {
	case MannerWait:
		p.Start.Headers = append(p.Start.Headers, header{"Prefer", hold})
	case MannerStream:
		p.Start.Headers = append(p.Start.Headers, header{"Accept", "text/event-stream"})
	}
	for _, in := range c.Inputs {
		p.Start.Body = append(p.Start.Body, fieldOf(in))
		p.Uploads = p.Uploads || in.File
	}
	return p
}

// fieldOf returns the member of the body for an input. A file that is given by name is uploaded
// first; its member is the value that the upload returns.
func fieldOf(in Input) field {
	if name, ok := in.Value.(string); in.File && ok {
		return field{in.Name, attachment(name)}
	}
	return field{in.Name, plain(in.Value)}
}

// flowOf is what a comment calls the flow.
func flowOf(c Call) string {
	if name := comment(c.FlowName); name != "" {
		return `"` + name + `"`
	}
	return "the flow"
}

// comment makes a name fit for a comment in any language: one line, nothing
// that Java reads as an escape or that ends PHP.
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
