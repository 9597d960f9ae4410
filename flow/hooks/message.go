package hooks

import (
	"bytes"
	"cmp"
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

	"sluice/documents/charset"
	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/media"
	"sluice/flow/sorting"
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
// a type that looks like JSON is JSON. Texts that are not UTF-8 are converted: from the charset that the sender states, and else from
// the one that the bytes suggest.
func Decode(contentType string, body []byte, save SaveFile) (any, error) {
	kind, params, _ := mime.ParseMediaType(contentType)
	switch {
	case isForm(kind):
		if kind == "multipart/form-data" {
			return decodeParts(body, params, save)
		}
		return decodeForm(string(body), params["charset"])
	case media.IsJSON(kind) || kind == "" && flow.LooksLikeJSON(string(body[:min(len(body), 100)])):
		v, err := flow.DecodeReceived([]byte(toUTF8(body, params["charset"])))
		if p, ok := errors.AsType[*flow.ProblemError](err); ok {
			return nil, flow.Errorf(flow.CodeInputInvalid, "The body is not valid JSON: %s.", p.Detail)
		}
		return v, err
	}
	if text, ok := Text(contentType, body); ok {
		return text, nil
	}
	return nil, nil
}

func isForm(kind string) bool {
	return kind == "application/x-www-form-urlencoded" || kind == "multipart/form-data"
}

// Text returns a body in UTF-8. ok reports whether it is a text: its type says so, or all of it is UTF-8.
func Text(contentType string, body []byte) (text string, ok bool) {
	kind, params, _ := mime.ParseMediaType(contentType)
	if params["charset"] == "" && !media.IsJSON(kind) && !strings.HasPrefix(kind, "text/") && !strings.HasSuffix(kind, "xml") && !isUTF8(body) {
		return "", false
	}
	return toUTF8(body, params["charset"]), true
}

// Readable returns a body for people and for Decode with its type without a charset: as a text in UTF-8, and else with U+FFFD for
// bytes that no text has. Forms stay as they are, because their fields have the bytes in ASCII.
func Readable(contentType string, body []byte) string {
	if kind, _, _ := mime.ParseMediaType(contentType); !isForm(kind) {
		if text, ok := Text(contentType, body); ok {
			return text
		}
	}
	return clean(string(body))
}

// Kept returns the type of a body that Readable returned.
func Kept(contentType string) string {
	if kind, _, err := mime.ParseMediaType(contentType); err == nil && !isForm(kind) {
		return kind
	}
	return contentType
}

// isUTF8 reports whether all of a body is UTF-8 without NUL, which no text has.
func isUTF8(body []byte) bool { return utf8.Valid(body) && !bytes.ContainsRune(body, 0) }

// toUTF8 converts a text. label is the charset that the sender states, or "". What is invalid becomes U+FFFD.
func toUTF8(text []byte, label string) string {
	if (label == "" || strings.EqualFold(label, "utf-8")) && isUTF8(text) { // nothing to guess
		return strings.TrimPrefix(string(text), "\uFEFF")
	}
	return clean(charset.Read(text, typeWith(label), false, "").Text)
}

// typeWith returns the media type of a text with a charset.
func typeWith(label string) string {
	return mime.FormatMediaType("text/plain", map[string]string{"charset": label})
}

// decodeForm decodes the fields of a form in their order. Senders that do not write UTF-8 state their charset in the type, in the field
// _charset_ as browsers do, or in the field charset as payment services do.
func decodeForm(body, label string) (any, error) {
	var fields []string // names and texts in turn
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
		if label == "" && (name == "_charset_" || name == "charset") {
			label = text
		}
		if fields = append(fields, name, text); len(fields) > 2*maxParts {
			return nil, errTooManyFields
		}
	}
	convert := clean
	if all := []byte(strings.Join(fields, "\n")); !utf8.Valid(all) && !bytes.ContainsRune(all, 0) { // one charset for all: a single field suggests too little
		encoding := charset.Read(all, typeWith(label), false, "").Encoding
		convert = func(text string) string { return clean(charset.Read([]byte(text), "", false, encoding).Text) }
	}
	form := &flow.Object{}
	for i := 0; i < len(fields); i += 2 {
		add(form, convert(fields[i]), convert(fields[i+1]))
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
func decodeParts(body []byte, params map[string]string, save SaveFile) (any, error) {
	form, r := &flow.Object{}, multipart.NewReader(bytes.NewReader(body), params["boundary"])
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
			_, own, _ := mime.ParseMediaType(part.Header.Get("Content-Type"))
			v = toUTF8(text, cmp.Or(own["charset"], params["charset"]))
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
	shown := Shown(m.Header, c.Verify.Private())
	for _, name := range sorting.Keys(shown) { // the same request gives the same values, whatever the order of maps
		headers.Set(strings.ToLower(name), clean(strings.Join(shown[name], ", ")))
	}
	for _, name := range sorting.Keys(m.Query) {
		if list := m.Query[name]; len(list) > 0 {
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
	return isForm(kind)
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
