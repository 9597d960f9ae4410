package hooks

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/forms"
	"sluice/flow/hooks"
	"sluice/flow/inflight"
	"sluice/flow/signature"
	"sluice/flow/triggers"
	"sluice/flow/value"
	"sluice/handlers/web"
)

// call is a request to the URL of a trigger.
type call struct {
	*web.Call
	s       *Server
	trigger *triggers.Trigger
	config  *hooks.Config
	live    *outline // of the flow
	body    []byte   // as it was received
	content []byte   // the body without its compression; nil before that is removed
	secrets []signature.Secret
	key     string   // of the event
	once    bool     // the key is that of the sender, so that the event starts only one run
	files   []string // IDs of uploaded files
	arrived time.Time
}

// hiddenFor is how long after its request a response comes that there is nothing, so that the time does not reveal whether the URL is
// unknown, its flow was archived or has no live version.
const hiddenFor = 50 * time.Millisecond

// Errors whose cause a sender does not learn.
var (
	errUnknown = flow.Errorf(flow.CodeNotFound, "Not found.")
	errPaused  = &flow.Error{Code: flow.CodeTriggerPaused, Message: "The trigger is paused.", After: time.Minute}
)

// serve answers a request. It returns no error, because the site's pages of errors and its log would show the URL.
func (c *call) serve() error {
	c.Response().Header().Set("Cache-Control", "no-store")
	if c.Request().Method == http.MethodDelete {
		c.Response().Header().Set("Allow", "GET, PATCH, POST, PUT")
		return c.JSONBlob(http.StatusMethodNotAllowed, []byte(`{"code":"method_not_allowed"}`))
	}
	c.arrived = time.Now()
	err := c.find()
	if err == nil {
		err = c.receive()
	}
	if err != nil {
		return c.refuse(err)
	}
	return nil
}

// find reads the trigger of the URL with its flow. An unknown one, an archived flow and one without a live version are the same.
func (c *call) find() error {
	token := c.Param("token")
	if !triggers.ValidToken(token) {
		return errUnknown
	}
	t, liveHash, err := c.s.lookups.of(c.Ctx(), token)
	if err != nil {
		return err
	}
	if c.trigger, c.config = t, &t.Hook; t.Kind != triggers.Hook || t.Unreadable != nil || liveHash == "" {
		return errUnknown
	}
	c.live, err = c.s.findOutline(c.Ctx(), t, liveHash)
	return err
}

// receive answers a request to a trigger.
func (c *call) receive() error {
	if most := c.config.Minute(); most > 0 {
		wait, err := c.TakeRate(c.s.rates, "hook", c.trigger.ID, most, c.s.Now())
		if err != nil {
			return err
		}
		if wait > 0 {
			return &flow.Error{Code: flow.CodeRateLimited, After: wait}
		}
	}
	if greeted, err := c.greet(); greeted || err != nil {
		return err
	}
	if method := c.Request().Method; method != http.MethodPost && method != http.MethodPut && method != http.MethodPatch {
		return errUnknown
	}
	if !c.trigger.On {
		return errPaused
	}
	var err error
	if c.body, err = c.ReadBody(c.config.Body()); err != nil {
		return c.bodyError(err)
	}
	web.ClearReadDeadline(c.Response())
	return c.check()
}

// greet answers a handshake that is not signed.
func (c *call) greet() (greeted bool, err error) {
	var tokens []signature.Secret
	if name := c.config.Verify.Challenge; name != "" && c.Request().Method == http.MethodGet {
		if tokens, err = c.open(name); err != nil {
			return false, err
		}
	}
	reply := c.config.Verify.Greet(c.Request().Method, c.QueryParams(), tokens)
	if reply == nil {
		return false, nil
	}
	return true, c.Blob(reply.Status, reply.Type, []byte(reply.Body))
}

// open returns the secrets of credentials. One that was deleted is left out: the others may do.
func (c *call) open(names ...string) (list []signature.Secret, err error) {
	for _, name := range names {
		_, text, err := c.s.Store.OpenCredential(c.Ctx(), c.trigger.WorkspaceID, name)
		if flow.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, signature.Secret{Name: name, Text: text})
	}
	return list, nil
}

// bodyError records a body that could not be received.
func (c *call) bodyError(err error) error {
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return c.reject(flow.CodeBodyTooLarge, fmt.Sprintf("The body has more than %s.", flow.Size(c.config.Body())))
	}
	if errors.Is(err, inflight.ErrTooManyValues) {
		return c.reject(flow.CodeBodyTooLarge, "The body has too many values.")
	}
	return err
}

// check verifies the sender and answers handshakes, before anything is decoded.
func (c *call) check() (err error) {
	if c.secrets, err = c.open(c.config.Verify.Secrets...); err != nil {
		return err
	}
	r := &signature.Request{Method: c.Request().Method, URL: c.s.PublicURL + c.Request().URL.RequestURI(), Header: c.Request().Header, Body: c.body}
	if err := c.config.Verify.Verify(r, c.secrets, c.s.Now()); err != nil {
		refusal, _ := errors.AsType[*signature.Refusal](err)
		code := flow.CodeSignatureInvalid
		if refusal.Old {
			code = flow.CodeEventTooOld
		}
		return c.reject(code, refusal.Reason)
	}
	if reply := c.config.Verify.Answer(r, c.secrets); reply != nil {
		return c.Blob(reply.Status, reply.Type, []byte(reply.Body))
	}
	err = c.start()
	c.eraseFiles(err)
	return err
}

// start maps the request to inputs and starts a run.
func (c *call) start() error {
	m := &hooks.Message{Method: c.Request().Method, Header: c.Request().Header, Query: c.QueryParams(), Raw: c.body}
	err := c.decompress()
	if err == nil {
		m.Body, err = hooks.Decode(m.Header.Get("Content-Type"), c.content, c.saveFile)
	}
	if err != nil {
		return c.failed(err)
	}
	mapping := c.config.Map(m, c.s.Scope)
	if c.key, err = mapping.EventID(c.Ctx()); err != nil {
		return c.failed(err)
	}
	c.once = c.key != ""
	if replayed, err := c.repeated(); replayed || err != nil {
		return err
	}
	accepted, err := mapping.Accepts(c.Ctx())
	if err != nil {
		return c.failed(err)
	}
	if !accepted {
		c.record(triggers.Ignored, "", "The filter is false.")
		return c.JSONBlob(http.StatusOK, []byte(`{"ignored":true}`))
	}
	inputs := c.live.inputs
	given, texts, err := mapping.Inputs(c.Ctx(), inputs)
	if err == nil {
		err = c.checkFiles(inputs, given)
	}
	if err != nil {
		return c.failed(err)
	}
	return c.startRun(given, texts)
}

// decompress removes the compression of the body, which signatures cover. What comes out is limited like the body itself.
func (c *call) decompress() error {
	coding := strings.ToLower(strings.TrimSpace(c.Request().Header.Get("Content-Encoding")))
	var r io.Reader
	var err error
	switch coding {
	case "", "identity":
		c.content = c.body
		return nil
	case "gzip", "x-gzip":
		r, err = gzip.NewReader(bytes.NewReader(c.body))
	case "deflate":
		r, err = zlib.NewReader(bytes.NewReader(c.body))
	default:
		return flow.Errorf(flow.CodeUnsupportedMediaType, "The body is compressed with %.40s. Senders may use gzip, deflate or none.", coding)
	}
	limit := c.config.Body()
	if err == nil {
		c.content, err = c.ReadPart(r, limit+1)
	}
	switch {
	case errors.Is(err, inflight.ErrTooManyValues) || err == nil && int64(len(c.content)) > limit:
		c.content = nil
		return flow.Errorf(flow.CodeBodyTooLarge, "The body has more than %s without its compression, or too many values.", flow.Size(limit))
	case isCorrupt(err):
		return flow.Errorf(flow.CodeInputInvalid, "The body is not valid %s, which its Content-Encoding says.", coding)
	}
	return err
}

// isCorrupt reports whether compressed data cannot be read because of what it has.
func isCorrupt(err error) bool {
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	return corrupt || errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, zlib.ErrHeader) || errors.Is(err, zlib.ErrChecksum) ||
		errors.Is(err, zlib.ErrDictionary) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
}

// saveFile stores the file of a form.
func (c *call) saveFile(part *multipart.Part) (any, error) {
	f, err := c.SavePart(c.trigger.WorkspaceID, part, c.s.MaxFile)
	if err != nil {
		return nil, err
	}
	c.files = append(c.files, f.ID)
	return f.Value(), nil
}

// checkFiles refuses files of the workspace that did not come with the request: anyone who knows the URL could read them.
func (c *call) checkFiles(inputs []contract.Input, given *flow.Object) error {
	allowed := slices.Concat(c.files, flow.FileIDs(any(c.config.Inputs)))
	for i := range inputs {
		name := inputs[i].Name
		own := slices.Concat(allowed, flow.FileIDs(inputs[i].Default))
		if slices.ContainsFunc(flow.FileIDs(given.Get(name)), func(id string) bool { return !slices.Contains(own, id) }) {
			return &flow.Error{Code: flow.CodeInputInvalid, Message: "The input " + name + " has a file that did not come with the request."}
		}
	}
	return nil
}

// eraseFiles deletes uploaded files of a request that did not start a run.
func (c *call) eraseFiles(err error) {
	if err == nil {
		return
	}
	for _, id := range c.files {
		if err := c.s.Store.EraseFile(context.WithoutCancel(c.Ctx()), c.trigger.WorkspaceID, id); err != nil {
			c.s.Log.Warn("file of a refused request not erased", "trigger", c.trigger.ID, "file_id", id, "error", err)
		}
	}
}

// claim returns the idempotency key of the event, or "" if it always starts.
func (c *call) claim() string {
	if !c.once {
		return ""
	}
	return triggers.Claim(c.trigger.ID, c.key)
}

// repeated answers an event that has started a run before.
func (c *call) repeated() (bool, error) {
	if !c.once {
		return false, nil
	}
	run, err := c.s.Store.FindStarted(c.Ctx(), c.trigger.WorkspaceID, c.claim(), c.claim())
	if errors.Is(err, &flow.Error{Code: flow.CodeIdempotencyMismatch}) { // a run with secret inputs; StartRun finds it
		return false, nil
	}
	if err != nil || run == nil {
		return false, err
	}
	return true, c.repeat(run)
}

// repeat answers an event again as the first time.
func (c *call) repeat(run *flow.Run) error {
	if err := c.s.Store.CountRepeat(c.Ctx(), c.trigger.ID, c.key); err != nil {
		return err
	}
	defer c.eraseFiles(errUnknown)
	return c.reply(run)
}

// startRun starts a run, unless the runs of the day are used up.
func (c *call) startRun(given *flow.Object, texts bool) error {
	now := c.s.Now()
	day, most := forms.Day(now), c.config.Day()
	if most > 0 {
		taken, err := c.s.Store.TakeTriggerRun(c.Ctx(), c.trigger.ID, day, most)
		if err != nil {
			return err
		}
		if !taken {
			return c.failed(&flow.Error{Code: flow.CodeQuotaExceeded, Message: fmt.Sprintf("The trigger has started its %d runs of the day.", most), After: time.Unix((day+1)*24*60*60, 0).Sub(now)})
		}
	}
	if !c.once {
		c.key = c.s.IDs.New(flow.PrefixEvent)
	}
	started, err := c.accept(given, texts)
	if most > 0 && (err != nil || started.Replayed) {
		if back := c.s.Store.ReturnTriggerRun(context.WithoutCancel(c.Ctx()), c.trigger.ID, day); err == nil {
			err = back
		}
	}
	switch {
	case err != nil:
		return c.failed(err)
	case started.Replayed:
		return c.repeat(started.Run)
	}
	return c.reply(started.Run)
}

// accept stores the run and its event in one transaction.
func (c *call) accept(given *flow.Object, texts bool) (flow.Started, error) {
	t := c.trigger
	request := ""
	if c.s.Now().Before(t.CaptureUntil) {
		request = c.received()
	}
	return c.s.Runner.StartRun(c.Ctx(), flow.Start{
		WorkspaceID: t.WorkspaceID, FlowID: t.FlowID, Trigger: flow.TriggerHook, Given: given, Coerce: texts, IdempotencyKey: c.claim(), Fingerprint: c.claim(),
		Occurrence: &flow.Occurrence{TriggerID: t.ID, TriggerName: t.Name, Key: c.key, Position: c.s.IDs.New(flow.PrefixEvent), Overlap: true, Request: request, Fresh: !c.once},
	})
}

// failed records a request that was not accepted and returns the error. Nothing is recorded while the database is away, nor of an
// internal error, which the log has.
func (c *call) failed(err error) error {
	e, ok := errors.AsType[*flow.Error](err)
	if !ok || e.Code == flow.CodeInternal || flow.IsUnavailable(err) || c.Ctx().Err() != nil {
		return err
	}
	detail := e.Message
	for _, p := range e.Fields {
		if strings.Contains(detail, p.Detail) { // the message of a single problem has it
			continue
		}
		detail += " " + strings.TrimPrefix(p.Pointer, "/") + " " + p.Detail + "."
	}
	c.record(triggers.Rejected, e.Code, strings.TrimSpace(detail))
	return err
}

// reject records a request that was not accepted and returns the error for its sender.
func (c *call) reject(code flow.Code, detail string) error {
	return c.failed(&flow.Error{Code: code, Message: detail})
}

// record adds an event of a request that starts nothing.
func (c *call) record(state triggers.State, code flow.Code, detail string) {
	t := c.trigger
	e := &triggers.Event{TriggerID: t.ID, Key: c.key, WorkspaceID: t.WorkspaceID, FlowID: t.FlowID, State: state, Code: code, Detail: detail}
	if e.Key == "" {
		e.Key = c.s.IDs.New(flow.PrefixEvent)
	}
	if state == triggers.Rejected || c.s.Now().Before(t.CaptureUntil) {
		e.Request = c.received()
	}
	err := c.s.Store.SaveHookEvent(context.WithoutCancel(c.Ctx()), e)
	if errors.Is(err, &flow.Error{Code: flow.CodeQuotaExceeded}) && e.Request != "" { // the reason matters more than the body
		e.Request, e.Detail = "", strings.TrimSpace(e.Detail+" The workspace has no space left, so the request was not kept.")
		err = c.s.Store.SaveHookEvent(context.WithoutCancel(c.Ctx()), e)
	}
	if err != nil {
		c.s.Log.Warn("event of a request not recorded", "trigger", t.ID, "error", err)
	}
}

// received returns the request as the log of events keeps it: without headers that may hold a secret, and without its body if the
// log has enough of them.
func (c *call) received() string {
	r := triggers.Received{Method: c.Request().Method, Query: c.Request().URL.RawQuery, Headers: map[string]string{}, Size: int64(len(c.body))}
	for name, list := range hooks.Shown(c.Request().Header, c.config.Verify.Private()) {
		if !flow.IsSecretName(name) {
			r.Headers[strings.ToLower(name)] = strings.ToValidUTF8(strings.Join(list, ", "), "\uFFFD")
		}
	}
	body := c.content
	if body == nil { // refused before it was decompressed, or because of that
		body = c.body
	}
	kept, err := c.s.Store.RequestBytes(c.Ctx(), c.trigger.ID)
	if r.Left = err != nil || kept+max(r.Size, int64(len(body))) > triggers.MaxRequests; !r.Left {
		r.Body = hooks.Readable(c.Request().Header.Get("Content-Type"), body)
	}
	return string(value.Encode(map[string]any{"method": r.Method, "query": r.Query, "headers": r.Headers, "size": r.Size, "body": r.Body, "left": r.Left}))
}
