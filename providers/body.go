package providers

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
)

// Limits of what is read, in bytes. They are ours: the HTTP client below may
// allow more.
const (
	maxText   = 16 << 20  // the text of one answer, as of a value in a flow
	maxEvent  = 4 << 20   // one event of a stream; the longest answers come in many
	maxStream = 512 << 20 // a whole answer: a stream repeats its frame for every word
	maxJSON   = 16 << 20  // an answer that is read whole
	maxError  = 64 << 10  // what a refusal may say
)

// answerBody reads an answer within its limits and words what goes wrong.
type answerBody struct {
	io.ReadCloser
	ctx         context.Context
	session     *session
	limit, left int64
	err         error
}

// Read fails with an *Error or the context's error, and again with the same.
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

// limit lowers the limit of an answer.
func limit(resp *http.Response, bytes int64) {
	if b, ok := resp.Body.(*answerBody); ok {
		b.limit, b.left = bytes, bytes
	}
}

// tooLarge is the error for an answer beyond a limit in bytes.
func (s *session) tooLarge(limit int64) *Error {
	return &Error{Class: ClassTooLarge, RequestID: s.requestID,
		Message: fmt.Sprintf("The answer of %s is larger than %d MiB, which is more than is read.", s.name, limit>>20)}
}

// decode reads a JSON answer whole and closes it.
func (s *session) decode(resp *http.Response, into any) error {
	defer resp.Body.Close() //nolint:errcheck // read to its end or given up
	limit(resp, maxJSON)
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		if ctx := resp.Request.Context(); ctx.Err() != nil { // cut off by us, so its form says nothing
			return s.failed(ctx, ctx.Err())
		}
		return s.notUnderstood()
	}
	return nil
}

// notUnderstood is for an answer with a good status and a wrong form.
func (s *session) notUnderstood() *Error {
	return &Error{Class: ClassBadAnswer, RequestID: s.requestID,
		Message: s.name + " sent something that is not an answer in its format. Check the base URL."}
}

// mediaType returns the type of a body without parameters, or "".
func mediaType(resp *http.Response) string {
	t, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return t
}
