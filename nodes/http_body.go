package nodes

import (
	"context"
	"net/url"

	"sluice/flow"
	"sluice/nodes/errtext"
)

// Content types of request bodies.
const (
	typeJSON = "application/json"
	typeForm = "application/x-www-form-urlencoded"
	typeText = "text/plain; charset=utf-8"
)

// setBody encodes the body as body_type says. A Content-Type in the node's
// headers takes precedence.
func (c *httpCall) setBody(ctx context.Context, in *flow.In) error {
	var escape func(before, secret string) string
	if _, isText := in.Config["body"].(flow.SecretText); isText && in.Text("body_type") == "form" {
		escape = formSecret
	}
	c.filler.used = false
	value, err := c.filler.fill(ctx, in.Config["body"], c.filler.originOf("body", typedTemplate), escape)
	if err != nil || value == nil || value == "" {
		return err
	}
	c.request.SecretBody = c.filler.used
	body, contentType, err := encodeBody(in, value)
	if err != nil || contentType == "" {
		return err
	}
	c.request.Body = body
	if c.request.Header.Get("Content-Type") == "" {
		c.request.Header.Set("Content-Type", contentType)
	}
	return nil
}

// formSecret encodes a secret inside a form-encoded text.
func formSecret(_, secret string) string { return url.QueryEscape(secret) }

// encodeBody encodes the body as the field "body_type" says. The content type is "" if there
// is nothing to send.
func encodeBody(in *flow.In, value any) (body []byte, contentType string, err error) {
	text, isText := value.(string)
	switch in.Text("body_type") {
	case "none":
		return nil, "", nil
	case "text":
		return []byte(flow.Text(value)), typeText, nil
	case "form":
		if isText {
			return []byte(text), typeForm, nil
		}
		form, err := pairs("body", value)
		return []byte(form.Encode()), typeForm, err
	case "json":
		if isText && !isJSON(text) {
			return nil, "", flow.Errorf(flow.CodeInputInvalid, "The body is not JSON, but Body type is json: %s. Send it as text, or put the text in quotes.", errtext.Truncate(text, 60))
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

// pairs converts an object to the values of a query or form; a list repeats its
// name and null omits it.
func pairs(field string, value any) (url.Values, error) {
	named, ok := flow.AsMap(value)
	if !ok && value != nil {
		return nil, flow.Errorf(flow.CodeInputInvalid, "%q must be an object of names and values, got %s.", field, errtext.Type(value))
	}
	values := url.Values{}
	for name, item := range named {
		list, isList := item.([]any)
		if !isList {
			list = []any{item}
		}
		for _, v := range list {
			if v != nil {
				values.Add(name, flow.Text(v))
			}
		}
	}
	return values, nil
}
