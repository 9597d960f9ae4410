package web

import (
	"bytes"
	"encoding/json"
	"sluice/flow"
	"sluice/views/components"
	"strings"
)

// Sentence makes a problem's detail stand alone.
func Sentence(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// NodeLabel is what people call a node of a document.
func NodeLabel(d *flow.Document, id string) string {
	if n := d.Node(id); n != nil && n.Label != "" {
		return n.Label
	}
	return id
}

// maxShownBody is how much of a body, in bytes, is put on a page.
const maxShownBody = 64 << 10

// ShownBody is a body as people read it: its JSON spread over lines, and cut
// where it is too long for a page.
func ShownBody(body []byte) (text string, cut bool) {
	var pretty bytes.Buffer
	if json.Indent(&pretty, body, "", "  ") == nil {
		body = pretty.Bytes()
	}
	if cut = len(body) > maxShownBody; cut {
		body = body[:maxShownBody]
	}
	return strings.ToValidUTF8(string(body), ""), cut
}

// Lengths of what people write about themselves. An e-mail address is at most
// 254 bytes (RFC 5321).
const (
	maxName = 80
)

// CheckName tells in a sentence what is wrong with a name of something.
func CheckName(name, what string) string {
	if name == "" {
		return "Give " + what + " a name."
	}
	return flow.CheckName(name, maxName)
}

// Trimmed is a field of the form without the spaces around it.
func (c *Call) Trimmed(name string) string { return strings.TrimSpace(c.FormValue(name)) }

// FieldErrors gathers what is wrong with a form, by field.
func FieldErrors(sentences map[string]string) components.Errors {
	errors := components.Errors{}
	for field, sentence := range sentences {
		if sentence != "" {
			errors[field] = sentence
		}
	}
	return errors
}
