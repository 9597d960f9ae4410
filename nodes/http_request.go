package nodes

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/position"
	"sluice/flow/redaction"
	"sluice/flow/wording"
	"sluice/nodes/errtext"
	"sluice/outbound"
)

// headersField is the field for headers. Values of secret headers move to
// credentials.
var headersField = flow.Field{
	Name: "headers", Title: "Headers", Type: flow.FieldMap, More: true, Template: true, Secrets: flow.SecretsByName,
	Help: "Headers to send. A list sends its name several times, null omits it. A {{name}} in a value becomes a port. Values of Authorization, X-API-Key and the like move to credentials and are sent as stored, so include a scheme such as Bearer. {{credential:name}} in a value is replaced by that credential.",
}

// httpMethods are the methods that a node may send, in the order of the
// editor's menu.
var httpMethods = []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"}

// The http_request kind calls another service. http_body.go encodes the request
// body; http_response.go checks and converts the response.
var _ = register(func(d Deps) flow.Kind {
	return flow.Kind{
		Name: "http_request", Title: "HTTP request", Group: groupSources, Icon: "globe", Class: flow.Outside,
		Summary: "Calls another service over HTTP.",
		Doc: "Sends a request and outputs the response: its body (parsed if it is JSON), its status and its headers. " +
			"A status outside of `expect` fails the step with the status and the beginning of the response; 429, 5xx, timeouts and broken " +
			"connections can be retried, after the server's Retry-After if there is one. Up to three redirects are followed, unless a 3xx status is expected. " +
			"They keep the method and the body, except that 303, and 301 or 302 after a POST, are followed with a GET.\n\n" +
			"A value in the URL is percent-encoded, and cannot leave a part of the path empty or make it \".\" or \"..\". Connect an edge to `url` to set the whole URL.\n\n" +
			"A text in another encoding becomes UTF-8. An encoding that the response does not state is detected by its letters; `warnings` then names the guess. Set `encoding` if you know it.\n\n" +
			"Private and reserved addresses are refused. A response can be up to 10 MiB, or 512 MiB if it is stored as a file, after decoding; gzip, deflate, br and zstd are decoded, and other encodings fail the step. Every request but GET carries an " +
			"`Idempotency-Key` that stays the same in all attempts of a step, so that a service that supports it acts only once.\n\n" +
			"The URL, the query, the headers and the body can use credentials: `{\"credential\": \"name\"}` as a value, or `{{credential:name}}` inside a text. " +
			"Secrets typed under names such as `Authorization`, `api_key` or `password` move to credentials automatically. A credential is only sent to the hosts it is bound to. " +
			"It is removed when a redirect leaves the host; a redirect that would send a body with a credential to another host fails the step.",
		Fields: []flow.Field{
			{Name: "method", Title: "Method", Type: flow.FieldSelect, Options: httpMethods, Default: "GET",
				Help: "The HTTP method."},
			{Name: "url", Title: "URL", Type: flow.FieldText, Required: true, Template: true, Escape: flow.EscapeURL, Secrets: flow.SecretsInURL,
				Help: "Where to send the request. Type {{ to insert a value; it is percent-encoded."},
			{Name: "query", Title: "Query", Type: flow.FieldMap, More: true, Secrets: flow.SecretsByName,
				Help: "Query parameters to add to the URL. A list repeats its name, null omits it."},
			headersField,
			{Name: "body", Title: "Body", Type: flow.FieldArea, Value: flow.TypeAny, Template: true, Escape: flow.EscapeJSON, EscapeOf: bodyEscape, Secrets: flow.SecretsByName,
				Help: "A text or any JSON value. Type {{ to insert a value; in JSON and forms it is escaped."},
			{Name: "body_type", Title: "Body type", Type: flow.FieldSelect, Typed: true, More: true, Default: "auto",
				Options: []string{"auto", "json", "form", "text", "none"},
				Help:    "How the body is sent. auto sends text that is JSON, and everything that is not text, as JSON; other text as plain text; and everything as a form if the header Content-Type says so."},
			{Name: "response", Title: "Response", Type: flow.FieldSelect, Typed: true, More: true, Default: "auto",
				Options: []string{"auto", "json", "text", "file"},
				Help:    "How to read the response. auto parses it if its content type is JSON; json fails if it is not JSON; text never parses, and replaces bytes that are not text; file stores it as a file. An empty response is null."},
			encodingField,
			{Name: "expect", Title: "Expected status", Type: flow.FieldList, Typed: true, More: true, Default: []any{"2xx"},
				Help: "The status codes that count as success: codes such as 404, classes such as 2xx, or ranges such as 200-299."},
		},
		Outputs: []flow.Port{
			{Name: "body", Title: "Body", Type: flow.TypeAny, Help: "The response: a JSON value if it is JSON, a file if response is file, otherwise text; null if it is empty."},
			{Name: "status", Title: "Status", Type: flow.TypeNumber, Help: "The status code, such as 200."},
			{Name: "headers", Title: "Headers", Type: flow.TypeJSON, Schema: responseHeaders, Help: "The response headers, with lowercase names. set-cookie is a list."},
			{Name: "warnings", Title: "Warnings", Type: flow.TypeList, Items: flow.TypeText, Help: "What may be wrong with a text, such as a guessed encoding; usually empty."},
			{Name: "encoding", Title: "Encoding", Type: flow.TypeText, Help: "The encoding of a text or JSON response, such as utf-8 or gb18030; empty for a file or an empty response."},
		},
		Example: flow.Example{
			Config: map[string]any{"method": "POST", "url": "https://example.com/tickets/{{id}}/reply", "body": map[string]any{"text": "{{answer}}"}},
			Ports:  map[string]any{"id": "T 17", "answer": "It arrives on \"Tuesday\"."},
		},
		Sends:     &flow.Destination{Field: "url", Hosts: flow.URLHost("url")},
		Untrusted: fromOutside,
		Tool:      &flow.ToolUse{Effect: requestEffect, Result: []string{"status", "body"}},
		Check:     checkRequest,
		Run:       func(ctx context.Context, in *flow.In) (flow.Out, error) { return callService(ctx, d.HTTP, in) },
	}
})

// responseHeaders is the schema of the output headers. Cookies contain commas, so Set-Cookie is
// the one header whose lines cannot be joined (RFC 9110, section 5.3).
var responseHeaders = map[string]any{
	"type": "object", "additionalProperties": textSchema,
	"properties": map[string]any{"set-cookie": map[string]any{"type": "array", "items": textSchema}},
}

// checkRequest checks the URL, the encoding, the names of headers and the expected statuses.
func checkRequest(n *flow.Node) []flow.Problem {
	problems := append(checkEncoding(n), checkURL(n, "url")...)
	headers, _ := flow.AsMap(n.Config["headers"])
	for name := range headers {
		if !headerName.MatchString(name) {
			problems = append(problems, flow.Problem{Pointer: flow.Pointer("headers", name), Code: "invalid",
				Detail: "not a valid header name; use letters, digits and -"})
		}
	}
	list, _ := n.Config["expect"].([]any)
	for i, item := range list {
		if _, _, ok := statusRange(item); !ok {
			problems = append(problems, flow.Problem{Pointer: flow.Pointer("expect", i), Code: "invalid",
				Detail: "wanted a status code such as 404, a class such as 2xx or a range such as 200-299"})
		}
	}
	return problems
}

// httpCall is a request and the data for checking its response.
type httpCall struct {
	request outbound.Request
	host    string
	filler  *credentialFiller
	secrets redaction.Redactor // removes credentials that a response echoes
}

// callService runs a step. Responses are read into memory, unless they are
// stored as a file.
func callService(ctx context.Context, client HTTPClient, in *flow.In) (flow.Out, error) {
	call, err := newCall(ctx, in)
	if err != nil {
		return flow.Out{}, err
	}
	traced, sent := outbound.TraceSent(ctx)
	if in.Text("response") == "file" {
		call.request.MaxBody = maxFile
		answer, err := client.Stream(traced, call.request)
		if err != nil {
			return flow.Out{Unanswered: sent() && isUnanswered(err)}, callError(ctx, err)
		}
		return call.keep(ctx, in, answer)
	}
	answer, err := client.Do(traced, call.request)
	if err != nil {
		return flow.Out{Unanswered: sent() && isUnanswered(err)}, callError(ctx, err)
	}
	return call.read(in, answer)
}

// isUnanswered reports whether no whole response came.
func isUnanswered(err error) bool {
	e, ok := errors.AsType[*outbound.Error](err)
	return !ok || e.Class == outbound.ClassTimeout || e.Class == outbound.ClassConnection || e.Class == outbound.ClassCanceled
}

// requestEffect returns the effect of a request by its method.
func requestEffect(n *flow.Node) flow.Effect {
	if method := strings.ToUpper(flow.Text(n.Config["method"])); method == "" || method == http.MethodGet || method == http.MethodHead {
		return flow.EffectRead
	}
	return flow.EffectWrite
}

// callError converts an error of the client. If the step itself has ended, the
// context's error is returned, which the engine reports as a timeout or
// cancellation.
func callError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return requestError(err)
}

// newCall builds the request.
func newCall(ctx context.Context, in *flow.In) (*httpCall, error) {
	method := strings.ToUpper(in.Text("method"))
	if !slices.Contains(httpMethods, method) {
		return nil, flow.Errorf(flow.CodeInputInvalid, "The method %q is not supported. Choose one of %s.", wording.Truncate(method, 20), strings.Join(httpMethods, ", "))
	}
	call := &httpCall{request: outbound.Request{Method: method, MaxRedirects: outbound.MaxRedirects}}
	if err := call.setURL(ctx, in); err != nil {
		return nil, err
	}
	if expectsRedirect(in) {
		call.request.MaxRedirects = 0
	}
	if err := call.setHeaders(ctx, in); err != nil {
		return nil, err
	}
	return call, call.setBody(ctx, in)
}

// setURL sets the URL and appends the query parameters.
func (c *httpCall) setURL(ctx context.Context, in *flow.In) error {
	u, filler, err := targetURL(ctx, in, "url", c.secrets.Add)
	if err != nil {
		return err
	}
	c.host, c.filler = u.Hostname(), filler
	value, err := filler.fill(ctx, in.Config["query"], filler.originOf("query", typedMap))
	if err != nil {
		return err
	}
	query, err := pairs("query", value, position.Query)
	if err != nil {
		return err
	}
	if query != "" && u.RawQuery != "" {
		u.RawQuery += "&" + query
	} else if query != "" {
		u.RawQuery = query
	}
	c.request.URL = u.String()
	return nil
}

// setHeaders opens credentials for the target host and marks their headers, so
// that redirects to other hosts drop them. The Idempotency-Key stays the same
// over all attempts of a step.
func (c *httpCall) setHeaders(ctx context.Context, in *flow.In) error {
	headers, ok := flow.AsMap(in.Config["headers"])
	if !ok && in.Config["headers"] != nil {
		return flow.Errorf(flow.CodeInputInvalid, "Headers must be an object of names and texts, got %s.", errtext.Type(in.Config["headers"]))
	}
	c.request.Header = http.Header{}
	for name, value := range headers {
		for i, item := range itemsOf(value) {
			text, secret, err := c.header(ctx, in, name, item)
			if err != nil {
				return err
			}
			if secret {
				c.secrets.Add(text)
				c.request.SecretHeaders = append(c.request.SecretHeaders, name)
			}
			if i == 0 {
				c.request.Header.Del(name) // another spelling of the name
			}
			c.request.Header.Add(name, text)
		}
	}
	if c.request.Method != http.MethodGet && c.request.Header.Get("Idempotency-Key") == "" {
		c.request.Header.Set("Idempotency-Key", in.Key)
	}
	return nil
}

// header returns a value of a header and whether it is a secret.
func (c *httpCall) header(ctx context.Context, in *flow.In, name string, value any) (text string, secret bool, err error) {
	c.filler.used = false
	filled, err := c.filler.fill(ctx, value, c.filler.originOf("headers", typedTemplate))
	if err != nil {
		return "", false, err
	}
	text, err = position.Header.Encode(flow.Text(filled))
	if err != nil {
		return "", false, flow.Errorf(flow.CodeInputInvalid, "The header %s cannot be sent: %v.", wording.Truncate(name, 80), err)
	}
	if !c.filler.used && headersField.IsSecretName(name) {
		text, err = in.Secret(ctx, text, c.filler.host) // redacted if echoed
		return text, true, err
	}
	return text, c.filler.used, nil
}
