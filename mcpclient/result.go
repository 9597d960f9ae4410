package mcpclient

import (
	"encoding/base64"
	"fmt"
	"strings"

	"sluice/flow"
	"sluice/flow/value"
	"sluice/flow/wording"
)

// Tool is a tool as a server lists it.
type Tool struct {
	flow.ServerTool
	Output *flow.Object // JSON Schema of structured results; or nil
}

// newTool reads an item of a list of tools. Its name is empty if it cannot be called.
func newTool(v any) Tool {
	o, _ := flow.AsObject(v)
	var t Tool
	t.Name, _ = o.Get("name").(string)
	t.Description, _ = o.Get("description").(string)
	t.Effect = flow.EffectWrite
	if hints, _ := flow.AsObject(o.Get("annotations")); hints.Get("readOnlyHint") == true {
		t.Effect = flow.EffectRead
	}
	var ok bool
	if t.Schema, ok = flow.AsObject(o.Get("inputSchema")); !ok {
		t.Schema = value.FromMap(map[string]any{"type": "object"})
	}
	t.Output, _ = flow.AsObject(o.Get("outputSchema"))
	t.SHA256 = t.Hash()
	return t
}

// Blob is a picture, a recording or another file in a result.
type Blob struct {
	Name, MIME string
	Content    []byte
}

// Result is the result of a call.
type Result struct {
	Text       string // all texts, with a blank line between them
	Structured any    // or nil
	Blobs      []Blob
	Failed     bool // the tool reports an error, with its message as Text
}

// newResult reads the result of a call.
func newResult(s Server, o *flow.Object) (*Result, error) {
	if o.Get("resultType") == "input_required" || o.Has("inputRequests") {
		return nil, &Error{Class: ClassRefused, Sent: false, Message: s.Name + " asks a question before it continues, which is not supported."}
	}
	r := &Result{Structured: o.Get("structuredContent"), Failed: o.Get("isError") == true}
	var texts []string
	items, _ := o.Get("content").([]any)
	for i, item := range items {
		text, blob, err := content(i, item)
		if err != nil {
			return nil, &Error{Class: ClassInvalid, Sent: true, Message: s.Name + " gave an invalid result: " + wording.Period(err.Error())}
		}
		if text != "" {
			texts = append(texts, text)
		}
		if blob != nil {
			r.Blobs = append(r.Blobs, *blob)
		}
	}
	r.Text = strings.Join(texts, "\n\n")
	return r, nil
}

// content reads a part of a result: a text or a file. Kinds that are not known are named.
func content(i int, item any) (text string, blob *Blob, err error) {
	kind, _ := value.Get(item, "type").(string)
	switch kind {
	case "text":
		text, _ = value.Get(item, "text").(string)
	case "image", "audio":
		blob, err = newBlob(i, kind, value.Get(item, "mimeType"), value.Get(item, "data"))
	case "resource":
		if text, isText := value.Get(item, "resource", "text").(string); isText {
			return text, nil, nil
		}
		blob, err = newBlob(i, "resource", value.Get(item, "resource", "mimeType"), value.Get(item, "resource", "blob"))
	case "resource_link":
		name, _ := value.Get(item, "name").(string)
		uri, _ := value.Get(item, "uri").(string)
		text = strings.TrimSpace(name + " " + uri)
	default:
		text = fmt.Sprintf("[A part of the kind %q, which is not supported.]", wording.Truncate(kind, 40))
	}
	return text, blob, err
}

// newBlob decodes a file.
func newBlob(i int, kind string, mime, data any) (*Blob, error) {
	encoded, isText := data.(string)
	if !isText {
		return nil, fmt.Errorf("part %d has no content", i+1)
	}
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, fmt.Errorf("the content of part %d is not base64", i+1)
	}
	return &Blob{Name: fmt.Sprintf("%s-%d", kind, i+1), MIME: flow.Text(mime), Content: decoded}, nil
}
