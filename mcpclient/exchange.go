package mcpclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"sluice/flow"
	"sluice/flow/value"
	"sluice/flow/wording"
	"sluice/outbound"
	"sluice/providers/eventstream"
)

// The SDK reports every failure of a request as not sent, and decodes numbers inexactly. So an exchange
// records what really happened to the first request of a call, and keeps its answer.

// exchange is one request and its answer.
type exchange struct {
	keep bool // the answer

	mu      sync.Mutex
	begun   bool
	sent    bool // the request was written
	status  int  // 0: no answer
	failed  error
	stream  bool // the answer is a stream of events
	answer  bytes.Buffer
	session bool // the request belonged to a session
}

type exchangeKey struct{}

// watch returns a context whose first request is recorded.
func watch(ctx context.Context) (context.Context, *exchange) {
	x := &exchange{}
	return context.WithValue(ctx, exchangeKey{}, x), x
}

// transport sends the requests of a session.
type transport struct {
	base   http.RoundTripper
	server Server
	grant  *Grant // nil: the secret is sent as it is
	// connected means that a person has signed in; see Connection.
	connected bool
	client    *Client
}

// RoundTrip adds the secret and records the exchange. Redirects are not followed: the client of package
// outbound refuses them.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	if r.Method == http.MethodDelete {
		ctx = valueless{ctx} // the run that it was begun for may have ended
	}
	if x != nil && !x.begin(r) {
		x = nil
	}
	if x != nil {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err == nil {
				x.mu.Lock()
				defer x.mu.Unlock()
				x.sent = true
			}
		}})
	}
	resp, err := t.send(ctx, r)
	if x != nil {
		x.arrived(resp, err)
	}
	return resp, err
}

// send sends a request with the secret. If the server refuses an access token, the request was not executed: it is sent
// once more with another one.
func (t *transport) send(ctx context.Context, r *http.Request) (*http.Response, error) {
	for refused := ""; ; {
		sent := r.Clone(ctx)
		text, err := t.authorize(sent, refused)
		if err != nil {
			return nil, err
		}
		resp, err := t.base.RoundTrip(sent)
		if err != nil || t.grant == nil && !t.connected || resp.StatusCode != http.StatusUnauthorized || refused != "" || r.GetBody == nil {
			return resp, err
		}
		_ = resp.Body.Close() // which is of no use
		if r.Body, err = r.GetBody(); err != nil {
			return nil, err
		}
		refused = text
	}
}

// authorize sets the header with the secret, and returns it.
func (t *transport) authorize(r *http.Request, refused string) (text string, err error) {
	name, text := "Authorization", ""
	switch {
	case t.server.Secret == "":
		return "", nil
	case t.connected:
		if text, err = t.client.connectionToken(r.Context(), t.server, refused); err != nil {
			return "", err
		}
		r.Header.Set(name, "Bearer "+text)
	case t.grant != nil:
		if text, err = t.client.token(r.Context(), t.server, t.grant, refused); err != nil {
			return "", err
		}
		r.Header.Set(name, "Bearer "+text)
	default:
		name, text = t.server.header()
		r.Header.Set(name, text)
		_, after, found := strings.Cut(text, " ")
		if found {
			text = after
		}
	}
	if t.server.Sends != nil {
		t.server.Sends(text)
	}
	return text, nil
}

// valueless is a context without values.
type valueless struct{ context.Context }

// Value returns nil.
func (valueless) Value(any) any { return nil }

// begin reports whether a request is the first of the exchange.
func (x *exchange) begin(r *http.Request) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.begun && x.keep {
		return false
	}
	// A session begins with several requests. The last one counts.
	x.begun, x.sent, x.status, x.failed = true, false, 0, nil
	x.session = r.Header.Get("Mcp-Session-Id") != ""
	return true
}

// arrived records the head of an answer.
func (x *exchange) arrived(resp *http.Response, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err != nil {
		x.failed = err
		return
	}
	x.status = resp.StatusCode
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	x.stream = kind == "text/event-stream"
	resp.Body = &recorded{resp.Body, x}
}

// recorded is the body of an answer.
type recorded struct {
	io.ReadCloser
	x *exchange
}

// Read records what is read, and errors.
func (b *recorded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.x.mu.Lock()
	defer b.x.mu.Unlock()
	if b.x.keep && b.x.answer.Len()+n <= maxStream {
		b.x.answer.Write(p[:n])
	}
	if !b.x.stream && b.x.keep && b.x.answer.Len() > MaxAnswer {
		err = tooLarge()
	}
	if err != nil && err != io.EOF && b.x.failed == nil {
		b.x.failed = err
	}
	return n, err
}

// tooLarge returns the error for an answer that is larger than MaxAnswer.
func tooLarge() error {
	return &outbound.Error{Class: outbound.ClassTooLarge, Message: "The answer is larger than " + flow.Size(MaxAnswer) + "."}
}

// Class is the kind of an Error.
type Class string

// The classes of errors.
const (
	ClassUnreachable Class = "unreachable" // no answer
	ClassRefused     Class = "refused"     // the server, or a rule for all servers, refuses the request
	ClassAuth        Class = "auth"        // the server refuses the credential
	ClassBlocked     Class = "blocked"     // its address is private
	ClassSession     Class = "session"     // the session has ended; the request was not executed
	ClassInvalid     Class = "invalid"     // the answer cannot be understood
	ClassBusy        Class = "busy"        // the server asks to try later
)

// Error is an error of a request to a server. Message is for people.
type Error struct {
	Class   Class
	Message string
	// Sent means that the request was sent and may have been executed although no result came.
	Sent  bool
	Cause error
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Retryable reports whether the same request may succeed later.
func (e *Error) Retryable() bool { return e.Class == ClassUnreachable || e.Class == ClassBusy }

// codes are the codes of errors for the classes that do not mean that the server is unavailable.
var codes = map[Class]flow.Code{
	ClassRefused: flow.CodeProviderRejected,
	ClassAuth:    flow.CodeProviderAuth,
	ClassBlocked: flow.CodeDestinationBlocked,
	ClassInvalid: flow.CodeOutputInvalid,
	ClassBusy:    flow.CodeProviderRateLimited,
}

// AsFlowError returns an error of this package as one for users. Other errors stay.
func AsFlowError(err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	code, known := codes[e.Class]
	if !known {
		code = flow.CodeProviderUnavailable
	}
	return &flow.Error{Code: code, Retryable: e.Retryable(), Message: e.Message}
}

// refused returns an error for what a server does against a limit.
func refused(s Server, format string, args ...any) *Error {
	return &Error{Class: ClassRefused, Message: s.Name + " " + fmt.Sprintf(format, args...) + ", which is not supported."}
}

// failure converts an error of the SDK by what was recorded.
func (x *exchange) failure(ctx context.Context, s Server, err error) *Error {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := &Error{Class: ClassUnreachable, Cause: err, Sent: x.sent}
	answered, isAnswer := errors.AsType[*jsonrpc.Error](err)
	if own, isOwn := errors.AsType[*Error](errors.Join(x.failed, err)); isOwn { // of a token: nothing was sent
		return own
	}
	failed, isOutbound := errors.AsType[*outbound.Error](errors.Join(x.failed, err))
	switch {
	case !x.begun && ctx.Err() == nil:
		e.Class, e.Message = ClassSession, "The session with "+s.Name+" has ended."
	case x.status == http.StatusNotFound && x.session:
		e.Class, e.Sent, e.Message = ClassSession, false, s.Name+" has ended the session."
	case x.status == http.StatusUnauthorized || x.status == http.StatusForbidden:
		e.Class, e.Sent, e.Message = ClassAuth, false, s.statusSentence(x.status)
	case x.status == http.StatusTooManyRequests:
		e.Class, e.Sent, e.Message = ClassBusy, false, s.statusSentence(x.status)
	case isAnswer && x.status != 0 && x.status < 500:
		e.Class, e.Sent, e.Message = ClassRefused, false, s.Name+" refuses the request: "+wording.Period(wording.Truncate(answered.Message, 1000))
	case x.status >= 500:
		e.Message = s.statusSentence(x.status)
	case x.status >= 300:
		e.Class, e.Sent, e.Message = ClassRefused, false, s.statusSentence(x.status)
	case ctx.Err() != nil:
		e.Message, e.Cause = s.Name+" did not answer in time.", ctx.Err()
	case isOutbound && failed.Class == outbound.ClassBlocked:
		e.Class, e.Message = ClassBlocked, failed.Message
	case isOutbound && failed.Class == outbound.ClassTooLarge:
		e.Class, e.Message = ClassInvalid, "The answer of "+s.Name+" is larger than "+flow.Size(MaxAnswer)+"."
	case isOutbound && (failed.Class == outbound.ClassRedirect || failed.Class == outbound.ClassBadURL || failed.Class == outbound.ClassBadRequest):
		e.Class, e.Sent, e.Message = ClassRefused, false, failed.Message
	case isOutbound:
		e.Message = failed.Message
	case x.stream:
		e.Message = s.Name + " ended the connection before it answered."
	case x.status != 0:
		e.Class, e.Message = ClassInvalid, s.Name+" gave no answer that an MCP server gives."
	default:
		e.Message = "The connection to " + s.Name + " failed."
	}
	return e
}

// statusText returns a status with its name.
func statusText(status int) string {
	if name := http.StatusText(status); name != "" {
		return strconv.Itoa(status) + " " + name
	}
	return strconv.Itoa(status)
}

// result returns the result of the answer, and its size in bytes. The SDK's error counts only if there is no
// result: it refuses results with parts that it does not know.
func (x *exchange) result(ctx context.Context, s Server, failed error) (*flow.Object, int, *Error) {
	if o, size, ok := x.read(); ok {
		return o, size, nil
	}
	return nil, 0, x.failure(ctx, s, failed)
}

// read looks for a result in the answer.
func (x *exchange) read() (o *flow.Object, size int, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.status != http.StatusOK:
		return nil, 0, false
	case !x.stream:
		if x.answer.Len() > MaxAnswer {
			return nil, 0, false
		}
		o, ok = resultOf(x.answer.Bytes())
		return o, x.answer.Len(), ok
	}
	for r := eventstream.NewReader(bytes.NewReader(x.answer.Bytes()), MaxAnswer); ; {
		event, err := r.Next()
		if err != nil || event.Cut {
			return nil, 0, false
		}
		if o, ok := resultOf(event.Data); ok {
			return o, len(event.Data), true
		}
	}
}

// resultOf returns the result of a response of JSON-RPC. Other messages have none.
func resultOf(data []byte) (*flow.Object, bool) {
	v, err := value.DecodeReceived(data)
	if err != nil {
		return nil, false
	}
	message, _ := flow.AsObject(v)
	if message == nil || message.Has("method") {
		return nil, false
	}
	return flow.AsObject(message.Get("result"))
}
