package hooks

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"sluice/flow"
	"sluice/flow/contract"
)

// Message is a request whose sender was verified, decoded.
type Message struct {
	Method string
	Header http.Header
	Query  url.Values
	Body   any    // JSON value, object of form fields, or text
	Raw    []byte // as it was received
}

// SaveFile stores the file of a form and returns its value.
type SaveFile func(part *multipart.Part) (any, error)

// maxParts bounds the fields of a form.
const maxParts = 1000

// Decode decodes a body by its media type: JSON, a form, a form with files, or a text. Anything else is null. A body without
// a type that looks like JSON is JSON.
func Decode(contentType string, body []byte, save SaveFile) (any, error) {
	kind, params, _ := mime.ParseMediaType(contentType)
	switch {
	case kind == "application/json" || strings.HasSuffix(kind, "+json") || kind == "" && flow.LooksLikeJSON(string(body[:min(len(body), 100)])):
		v, err := flow.DecodeReceived(body)
		if p, ok := errors.AsType[*flow.ProblemError](err); ok {
			return nil, flow.Errorf(flow.CodeInputInvalid, "The body is not valid JSON: %s.", p.Detail)
		}
		return v, err
	case kind == "application/x-www-form-urlencoded":
		return decodeForm(string(body))
	case kind == "multipart/form-data":
		return decodeParts(body, params["boundary"], save)
	case utf8.Valid(body) && !bytes.ContainsRune(body, 0):
		return string(body), nil
	}
	return nil, nil
}

// decodeForm decodes the fields of a form in their order.
func decodeForm(body string) (any, error) {
	form := &flow.Object{}
	for pair := range strings.SplitSeq(body, "&") {
		name, text, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(name)
		if err == nil {
			text, err = url.QueryUnescape(text)
		}
		if err != nil {
			return nil, flow.Errorf(flow.CodeInputInvalid, "The body is not a valid form.")
		}
		if pair == "" {
			continue
		}
		if add(form, clean(name), clean(text)); form.Len() > maxParts {
			return nil, errTooManyFields
		}
	}
	return form, nil
}

var errTooManyFields = flow.Errorf(flow.CodeInputInvalid, "The form has more than %d fields.", maxParts)

// clean replaces what JSON cannot hold.
func clean(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// add sets a field. A second value makes it a list.
func add(form *flow.Object, name string, v any) {
	switch before := form.Get(name).(type) {
	case nil:
		form.Set(name, v)
	case []any:
		form.Set(name, append(before, v))
	default:
		form.Set(name, []any{before, v})
	}
}

// decodeParts decodes a form with files.
func decodeParts(body []byte, boundary string, save SaveFile) (any, error) {
	form, r := &flow.Object{}, multipart.NewReader(bytes.NewReader(body), boundary)
	for range maxParts {
		part, err := r.NextPart()
		if errors.Is(err, io.EOF) {
			return form, nil
		}
		if err != nil {
			return nil, flow.Errorf(flow.CodeInputInvalid, "The body is not a valid form.")
		}
		var v any
		if part.FileName() != "" {
			v, err = save(part)
		} else {
			var text []byte
			text, err = io.ReadAll(part)
			v = clean(string(text))
		}
		if err != nil {
			return nil, err
		}
		add(form, clean(part.FormName()), v)
	}
	return nil, errTooManyFields
}

// Scope returns the evaluation of expressions over variables.
type Scope func(variables map[string]any) Eval

// Eval evaluates an expression.
type Eval func(ctx context.Context, source string) (any, error)

// Mapping applies a configuration to a message.
type Mapping struct {
	config *Config
	m      *Message
	eval   Eval
}

// Map returns the mapping of a message. Expressions see no header that may hold a secret.
func (c *Config) Map(m *Message, scope Scope) *Mapping {
	headers, query := &flow.Object{}, &flow.Object{}
	for name, list := range Shown(m.Header, c.Verify.Private()) {
		headers.Set(strings.ToLower(name), clean(strings.Join(list, ", ")))
	}
	for name, list := range m.Query {
		if len(list) > 0 {
			query.Set(clean(name), clean(list[0]))
		}
	}
	return &Mapping{c, m, scope(map[string]any{"body": m.Body, "headers": headers, "query": query, "method": m.Method})}
}

// Shown returns the headers without those that may hold a secret or a signature.
func Shown(header http.Header, private []string) http.Header {
	shown := http.Header{}
	for name, list := range header {
		if !slices.ContainsFunc(private, func(p string) bool { return strings.EqualFold(p, name) }) {
			shown[name] = list
		}
	}
	return shown
}

// Accepts reports whether the message passes the filter.
func (p *Mapping) Accepts(ctx context.Context) (bool, error) {
	if p.config.When == "" {
		return true, nil
	}
	v, err := p.eval(ctx, p.config.When)
	if err != nil {
		return false, failed("The filter", err)
	}
	accepted, ok := v.(bool)
	if !ok {
		return false, flow.Errorf(flow.CodeExpressionFailed, "The filter must give true or false, but it gives %s.", flow.TypeOf(v))
	}
	return accepted, nil
}

// failed names the expression that failed. An error of the context stays what it is.
func failed(what string, err error) error {
	if e, ok := errors.AsType[*flow.Error](err); ok {
		return flow.Errorf(e.Code, "%s: %s", what, e.Message)
	}
	return err
}

// Inputs returns the values for the inputs of a flow: those of the configuration or, without any, the members of the body that
// have their names. texts reports whether the values are texts of a form, which are parsed as the types of the inputs.
func (p *Mapping) Inputs(ctx context.Context, inputs []contract.Input) (values *flow.Object, texts bool, err error) {
	values = &flow.Object{}
	if p.config.Inputs.Len() == 0 {
		body, _ := flow.AsObject(p.m.Body)
		for i := range inputs {
			if v, ok := body.Lookup(inputs[i].Name); ok {
				values.Set(inputs[i].Name, v)
			}
		}
		return values, p.isForm(), nil
	}
	for name, v := range p.config.Inputs.All() {
		source, computed := expressionOf(v)
		if computed {
			if v, err = p.eval(ctx, source); err != nil {
				return nil, false, failed("The input "+name, err)
			}
		}
		values.Set(name, v)
	}
	return values, p.isForm(), nil
}

// isForm reports whether the body is a form, whose values are texts.
func (p *Mapping) isForm() bool {
	kind, _, _ := mime.ParseMediaType(p.m.Header.Get("Content-Type"))
	return kind == "application/x-www-form-urlencoded" || kind == "multipart/form-data"
}

// maxKey bounds the ID of an event. Longer ones are replaced by their hash.
const maxKey = 200

// EventID returns the ID of the event, by which a repeated one is recognized, or "" if it has none and always starts.
func (p *Mapping) EventID(ctx context.Context) (string, error) {
	id := ""
	switch p.config.Once {
	case OnceNever:
		return "", nil
	case "":
		id = p.config.Verify.EventID(p.m.Header, p.m.Body)
		if id != OnceBody {
			break
		}
		fallthrough
	case OnceBody:
		return "sha256:" + flow.Hash(p.m.Raw), nil
	default:
		v, err := p.eval(ctx, p.config.Once)
		if err != nil {
			return "", failed("The event ID", err)
		}
		if v == nil || v == "" {
			return "", flow.Errorf(flow.CodeExpressionFailed, "The event ID is empty.")
		}
		id = flow.Text(v)
	}
	if id = clean(id); len(id) > maxKey || strings.HasPrefix(id, "sha256:") {
		id = "sha256:" + flow.Hash([]byte(id))
	}
	return id, nil
}
