package nodes

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"sluice/documents"
	"sluice/flow"
	"sluice/flow/media"
	"sluice/flow/value"
	"sluice/flow/wording"
	"sluice/outbound"
)

// maxAnswerShown is the maximum number of characters of a response that an error quotes.
const maxAnswerShown = 500

// requestError converts an error of the HTTP client to an error of the run.
func requestError(err error) error {
	e, ok := errors.AsType[*outbound.Error](err)
	if !ok {
		return err
	}
	failure := flow.Errorf(flow.CodeHTTPFailed, "%s", e.Message)
	switch e.Class {
	case outbound.ClassBlocked:
		failure.Code = flow.CodeDestinationBlocked
	case outbound.ClassBadURL, outbound.ClassBadRequest:
		failure.Code = flow.CodeInputInvalid
	}
	failure.Retryable = e.Retryable()
	return failure
}

// read checks the status and returns the outputs.
func (c *httpCall) read(in *flow.In, answer *outbound.Response) (flow.Out, error) {
	if !isExpected(in, answer.Status) {
		return flow.Out{}, c.refused(answer.Status, answer.Header, bodyText(answer.Body, answer.Header, "").text)
	}
	text := bodyText(answer.Body, answer.Header, in.Text("encoding"))
	body, err := c.readBody(in.Text("response"), text.text, answer)
	if err != nil {
		return flow.Out{}, err
	}
	return answerOutputs(body, text, answer.Status, answer.Header), nil
}

// keep checks the status and stores the body as a file, without loading it into
// memory. An empty body is null, as in readBody.
func (c *httpCall) keep(ctx context.Context, in *flow.In, answer *outbound.Stream) (flow.Out, error) {
	defer answer.Body.Close() //nolint:errcheck // read to its end or not needed
	if !isExpected(in, answer.Status) {
		data, _ := io.ReadAll(io.LimitReader(answer.Body, maxRefusalRead)) // an incomplete text is still useful
		return flow.Out{}, c.refused(answer.Status, answer.Header, bodyText(data, answer.Header, "").text)
	}
	content := bufio.NewReaderSize(answer.Body, sniffed)
	if _, err := content.Peek(1); err == io.EOF {
		return answerOutputs(nil, decodedBody{}, answer.Status, answer.Header), nil
	}
	file, err := keep(ctx, in, answerName(answer.Header, answer.URL), mediaTypeOf(answer.Header.Get("Content-Type")), content)
	if err != nil {
		return flow.Out{}, err
	}
	return answerOutputs(file, decodedBody{}, answer.Status, answer.Header), nil
}

// answerOutputs returns the outputs for a response. Header names are lowercase as in HTTP/2,
// so that a flow does not depend on the protocol version.
func answerOutputs(body any, text decodedBody, status int, header http.Header) flow.Out {
	headers := make(map[string]any, len(header))
	for name, values := range header {
		if name == "Set-Cookie" {
			headers["set-cookie"] = cookieLines(values)
			continue
		}
		headers[strings.ToLower(name)] = strings.ToValidUTF8(strings.Join(values, ", "), "\uFFFD")
	}
	return flow.Out{Outputs: map[string]any{"body": body, "status": flow.Number(status), "headers": headers, "warnings": textsValue(text.warnings), "encoding": text.encoding}}
}

// cookieLines returns the lines of Set-Cookie as a list.
func cookieLines(lines []string) []any {
	list := make([]any, len(lines))
	for i, line := range lines {
		list[i] = strings.ToValidUTF8(line, "\uFFFD")
	}
	return list
}

// readBody converts the body to a value, depending on the field "response" and
// the content type. An empty body is null, whatever the status is.
func (c *httpCall) readBody(as, text string, answer *outbound.Response) (any, error) {
	if text == "" {
		return nil, nil
	}
	mediaType, params, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	isJSON := media.IsJSON(mediaType)
	if as == "json" || as == "auto" && isJSON {
		v, err := value.DecodeReceived([]byte(text))
		if err == nil {
			return v, nil
		}
		if as == "json" {
			return nil, flow.Errorf(flow.CodeHTTPFailed, "The response of %s is not JSON (%v). Set Response to text or auto to read it as text. It begins: %s", c.host, err, excerpt(c.secrets.Text(text)))
		}
	}
	isText := isJSON || strings.HasPrefix(mediaType, "text/") || mediaType == "" || params["charset"] != "" || as == "text" && !isBinary(answer.Body)
	if !isText && !utf8.Valid(answer.Body) {
		return nil, flow.Errorf(flow.CodeHTTPFailed, "The response of %s is %s, which is neither text nor JSON. Set Response to file to store it as a file.", c.host, mediaType)
	}
	return text, nil
}

// decodedBody is a body as text without a byte order mark.
type decodedBody struct {
	text, encoding string
	warnings       []string
}

// bodyText decodes a body. JSON is UTF-8 unless the response declares something else (RFC 8259,
// section 8.1), so other bytes in it are damaged and become U+FFFD; the encoding of other text is
// detected. known is the encoding that the flow sets, or "".
func bodyText(body []byte, header http.Header, known string) (d decodedBody) {
	if len(body) == 0 {
		return d
	}
	contentType := header.Get("Content-Type")
	mediaType, params, _ := mime.ParseMediaType(contentType)
	if known == "" && media.IsJSON(mediaType) && params["charset"] == "" && !isUTF16(body) {
		known = "utf-8"
	}
	d.text, d.encoding, d.warnings = documents.DecodeText(body, contentType, "text/html", known)
	return d
}

// isUTF16 reports whether a body has a byte order mark of UTF-16.
func isUTF16(body []byte) bool {
	return bytes.HasPrefix(body, []byte("\xff\xfe")) || bytes.HasPrefix(body, []byte("\xfe\xff"))
}

// isBinary reports whether a body is hardly text: it has a NUL, or more than one byte in ten is
// not UTF-8.
func isBinary(body []byte) bool {
	invalid := 0
	for rest := body; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		if r == utf8.RuneError && size == 1 {
			invalid++
		}
		rest = rest[size:]
	}
	return bytes.IndexByte(body, 0) >= 0 || invalid*10 > len(body)
}

// refused returns the error for an unexpected status. Secrets are removed
// before the text is truncated: half of a secret would not be recognized.
func (c *httpCall) refused(status int, header http.Header, text string) error {
	return statusError(c.host, status, header, c.secrets.Text(text))
}

// statusError returns the error for an unexpected status. 429 and 5xx are retryable, after
// the delay in Retry-After if there is one.
func statusError(host string, status int, header http.Header, text string) error {
	e := flow.Errorf(flow.CodeHTTPFailed, "%s answered %s", host, strings.TrimSpace(fmt.Sprintf("%d %s", status, http.StatusText(status))))
	if s := excerpt(text); s != "" {
		e.Message += ": " + s
	} else {
		e.Message += " and no text."
	}
	e.Retryable = status == http.StatusTooManyRequests || status >= 500
	e.After = outbound.RetryAfter(header, time.Now())
	return e
}

// excerpt returns the beginning of a response as one line.
func excerpt(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	return wording.Truncate(strings.Join(strings.Fields(text[:min(len(text), 16*maxAnswerShown)]), " "), maxAnswerShown)
}

// isExpected reports whether a status counts as success; the default is 2xx.
func isExpected(in *flow.In, status int) bool {
	list, _ := in.Config["expect"].([]any)
	for _, item := range list {
		if low, high, ok := statusRange(item); ok && status >= low && status <= high {
			return true
		}
	}
	return len(list) == 0 && status/100 == 2
}

// expectsRedirect reports whether the node expects a 3xx status, so redirects
// must not be followed.
func expectsRedirect(in *flow.In) bool {
	list, _ := in.Config["expect"].([]any)
	for _, item := range list {
		if low, high, ok := statusRange(item); ok && low < 400 && high >= 300 {
			return true
		}
	}
	return false
}

// statusRange parses 404, "404", "2xx" or "200-299".
func statusRange(item any) (low, high int, ok bool) {
	s := strings.ToLower(strings.ReplaceAll(flow.Text(item), " ", ""))
	if class, isClass := strings.CutSuffix(s, "xx"); isClass {
		n, err := strconv.Atoi(class)
		return n * 100, n*100 + 99, err == nil && n >= 1 && n <= 5
	}
	from, to, isRange := strings.Cut(s, "-")
	if !isRange {
		to = from
	}
	low, errLow := strconv.Atoi(from)
	high, errHigh := strconv.Atoi(to)
	return low, high, errLow == nil && errHigh == nil && low >= 100 && low <= high && high <= 599
}
