package providers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
)

// Limits in bytes of what is read. The HTTP client below may allow more.
const (
	maxText   = 16 << 20  // text of one answer; the limit of a value in a flow
	maxEvent  = 4 << 20   // one event of a stream; long answers consist of many
	maxStream = 512 << 20 // a whole stream, which repeats its framing for every word
	maxJSON   = 16 << 20  // a response that is not streamed
	maxError  = 64 << 10  // an error response
)

// answerBody reads a response body within its limit and converts errors.
type answerBody struct {
	io.ReadCloser
	ctx         context.Context
	session     *session
	limit, left int64
	err         error
}

// Read returns an *Error or the context's error, and the same for all later calls.
func (b *answerBody) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	switch {
	case int64(n) > b.left:
		n, err = int(b.left), b.session.tooLarge(b.limit)
	case err != nil && err != io.EOF:
		err = b.session.failed(b.ctx, err)
	}
	b.left -= int64(n)
	b.err = err
	return n, err
}

// limit lowers the limit of a response body.
func limit(resp *http.Response, bytes int64) {
	if b, ok := resp.Body.(*answerBody); ok {
		b.limit, b.left = bytes, bytes
	}
}

// tooLarge returns the error for a response larger than limit, in bytes.
func (s *session) tooLarge(limit int64) *Error {
	return &Error{Class: ClassTooLarge, RequestID: s.requestID,
		Message: fmt.Sprintf("The answer of %s is larger than %d MiB, which is more than is read.", s.name, limit>>20)}
}

// decode decodes a JSON response and closes it. A body that is an error is returned as one; see
// session.errorIn.
func (s *session) decode(resp *http.Response, into any) error {
	defer resp.Body.Close() //nolint:errcheck // read to its end or discarded
	limit(resp, maxJSON)
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return s.bodyFailed(resp, err)
	}
	data = bytes.TrimPrefix(bytes.TrimSpace(data), []byte(bom))
	if err := s.errorIn("", data); err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		if ctx := resp.Request.Context(); ctx.Err() != nil { // canceled, so the JSON is incomplete
			return s.failed(ctx, ctx.Err())
		}
		return s.notAnAnswer(resp, data)
	}
	return nil
}

// bodyFailed converts the error of reading a response. That of a call is not retryable, since
// the provider has done the work; a list of models may be read again.
func (s *session) bodyFailed(resp *http.Response, err error) error {
	if e, ok := errors.AsType[*Error](err); ok && e.Retryable && !e.unbilled && resp.Request.Method != http.MethodGet {
		return s.cutOff(e.Message)
	}
	return err
}

// notAnAnswer is notUnderstood for a whole response. It quotes a short text, which proxies
// send instead of an answer.
func (s *session) notAnAnswer(resp *http.Response, data []byte) *Error {
	if len(data) > maxPlain || json.Valid(data) {
		return s.notUnderstood()
	}
	return s.plainText(clean(string(data)), isHTML(resp))
}

// plainText is notUnderstood with a quotation of a text that was sent instead, unless that is HTML.
func (s *session) plainText(text string, html bool) *Error {
	e := s.notUnderstood()
	if text != "" && !html && !strings.HasPrefix(text, "<") {
		e.Message = join(s.name+" sent something that is not an answer in its format", redact(text, s.secret)) + " Check the base URL."
	}
	return e
}

// notUnderstood returns the error for a successful response in an unexpected format.
func (s *session) notUnderstood() *Error {
	return &Error{Class: ClassBadAnswer, RequestID: s.requestID,
		Message: s.name + " sent something that is not an answer in its format. Check the base URL."}
}

// isHTML reports whether a body is declared as HTML.
func isHTML(resp *http.Response) bool { return strings.Contains(mediaType(resp), "html") }

// mediaType returns the type of a body without parameters, or "".
func mediaType(resp *http.Response) string {
	t, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return t
}
