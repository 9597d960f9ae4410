package web

import (
	"bytes"
	"encoding/json"
	"strings"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/views/components"
)

// NodeTitle returns the name of a node in texts for users, or its ID if the document does not
// have it.
func NodeTitle(d *flow.Document, kinds *flow.Registry, id string) string {
	if n := d.Node(id); n != nil {
		return document.NodeTitle(n, kinds.For(n))
	}
	return id
}

// maxShownBody bounds the part of a body that a page shows, in bytes.
const maxShownBody = 64 << 10

// ShownBody returns a body for display, with JSON indented, and reports whether it was
// cut to maxShownBody.
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

// maxName bounds the names that users give, in characters.
const maxName = 80

// CheckName returns a sentence about the problem of a name, or "". what is the named thing
// with an article, as in "the key".
func CheckName(name, what string) string {
	if name == "" {
		return "Give " + what + " a name."
	}
	return flow.CheckName(name, maxName)
}

// Trimmed returns a form field without surrounding white space.
func (c *Call) Trimmed(name string) string { return strings.TrimSpace(c.FormValue(name)) }

// FieldErrors returns the messages that are not empty, by field.
func FieldErrors(sentences map[string]string) components.Errors {
	errors := components.Errors{}
	for field, sentence := range sentences {
		if sentence != "" {
			errors[field] = sentence
		}
	}
	return errors
}
