package nodes

import (
	"context"
	"mime"
	"strings"

	"sluice/flow"
	"sluice/flow/position"
	"sluice/flow/value"
	"sluice/flow/wording"
	"sluice/nodes/errtext"
)

// Content types of request bodies.
const (
	typeJSON = "application/json"
	typeForm = "application/x-www-form-urlencoded"
	typeText = "text/plain; charset=utf-8"
)

// bodyFormat returns how the body of a node is sent: the field body_type, or "form" if that
// leaves it to the header Content-Type, which says so.
func bodyFormat(config map[string]any) string {
	format := flow.Text(config["body_type"])
	if format != "" && format != "auto" && format != "text" {
		return format
	}
	for name, item := range value.Members(config["headers"]) {
		if mediaType, _, _ := mime.ParseMediaType(flow.Text(item)); strings.EqualFold(name, "Content-Type") && mediaType == typeForm {
			return "form"
		}
	}
	return format
}

// bodyEscape returns how values in the text of a body are escaped.
func bodyEscape(n *flow.Node) flow.Escape {
	if bodyFormat(n.Config) == "form" {
		return flow.EscapeForm
	}
	return flow.EscapeJSON
}

// setBody encodes the body as body_type says. A Content-Type in the node's
// headers takes precedence.
func (c *httpCall) setBody(ctx context.Context, in *flow.In) error {
	c.filler.used = false
	value, err := c.filler.fill(ctx, in.Config["body"], c.filler.originOf("body", typedTemplate))
	if err != nil || value == nil || value == "" {
		return err
	}
	c.request.SecretBody = c.filler.used
	body, contentType, err := encodeBody(bodyFormat(in.Config), value)
	if err != nil || contentType == "" {
		return err
	}
	c.request.Body = body
	if c.request.Header.Get("Content-Type") == "" {
		c.request.Header.Set("Content-Type", contentType)
	}
	return nil
}

// encodeBody encodes a body in a format of bodyFormat. The content type is "" if there is
// nothing to send.
func encodeBody(format string, value any) (body []byte, contentType string, err error) {
	text, isText := value.(string)
	switch format {
	case "none":
		return nil, "", nil
	case "text":
		return []byte(flow.Text(value)), typeText, nil
	case "form":
		if isText {
			return []byte(position.TypedForm(text)), typeForm, nil
		}
		form, err := pairs("body", value, position.Form)
		return []byte(form), typeForm, err
	case "json":
		if isText && !isJSON(text) {
			return nil, "", flow.Errorf(flow.CodeInputInvalid, "The body is not JSON, but Body type is json: %s. Send it as text, or put the text in quotes.", wording.Truncate(text, 60))
		}
	default:
		if isText && !looksLikeJSON(text) {
			return []byte(text), typeText, nil
		}
	}
	if isText {
		return []byte(text), typeJSON, nil
	}
	return flow.EncodeJSON(value), typeJSON, nil
}

// isJSON reports whether a text is one JSON value that flow.DecodeJSON accepts, which limits
// the depth and rejects duplicate names.
func isJSON(s string) bool {
	_, err := flow.DecodeJSON([]byte(s))
	return err == nil
}

// looksLikeJSON reports whether a text is a JSON object or list. A JSON number
// or string is more likely meant as plain text.
func looksLikeJSON(s string) bool {
	v, err := flow.DecodeJSON([]byte(s))
	if err != nil {
		return false
	}
	switch v.(type) {
	case *flow.Object, []any:
		return true
	}
	return false
}

// pairs encodes an object as the names and values of a query or a form, in the order of its
// members and each for its position; a list repeats its name and null omits it.
func pairs(field string, v any, at position.Position) (string, error) {
	if !value.IsObject(v) && v != nil {
		return "", flow.Errorf(flow.CodeInputInvalid, "%q must be an object of names and values, got %s.", field, errtext.Type(v))
	}
	var list []string
	for name, member := range value.Members(v) {
		for _, item := range itemsOf(member) {
			pair, err := encodePair(name, flow.Text(item), at)
			if err != nil {
				return "", flow.Errorf(flow.CodeInputInvalid, "%q cannot have %q: %v.", field, wording.Truncate(name, 80), err)
			}
			list = append(list, pair)
		}
	}
	return strings.Join(list, "&"), nil
}

// encodePair returns name=value.
func encodePair(name, value string, at position.Position) (string, error) {
	encodedName, err := at.Encode(name)
	if err != nil {
		return "", err
	}
	encodedValue, err := at.Encode(value)
	return encodedName + "=" + encodedValue, err
}

// itemsOf returns the items of a list, or a single value, without null.
func itemsOf(v any) (items []any) {
	list, isList := v.([]any)
	if !isList {
		list = []any{v}
	}
	for _, item := range list {
		if item != nil {
			items = append(items, item)
		}
	}
	return items
}
