package editor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"sluice/flow"
	"sluice/handlers/web"
	"sluice/snippets"
	"sluice/views/components"
	editorview "sluice/views/editor"
)

// tryWait is how long a request that is tried out waits for its result; the
// snippets that wait say the same.
const tryWait = 30 * time.Second

// apiTry is the form of the inputs that calls reach, with the values that the
// snippets show.
func (c *call) apiTry(a *callable) editorview.APITry {
	t := editorview.APITry{FlowID: a.flow.ID, Live: a.flow.LiveVersion, MayTry: c.MayEdit()}
	doc := a.called()
	inputs := doc.Inputs(c.s.Kinds)
	shown := map[string]any{}
	for _, in := range snippets.CallOf(c.s.PublicURL, a.flow, inputs, nil).Inputs {
		if !in.File {
			shown[in.Name] = in.Value
		}
	}
	for i := range inputs {
		t.Fields = append(t.Fields, tryField(&inputs[i], shown, nil))
	}
	return t
}

// tryField is a field of the run form, under an ID of its own: both forms are on
// the builder's page.
func tryField(in *flow.Input, shown map[string]any, typed *web.Inputs) components.RunField {
	f := web.InputField(in, shown, typed)
	f.ID = "try-" + in.Name
	return f
}

// tryAPI is POST /flows/{id}/api/try: a real request to the API, and what went
// over the wire. Whatever the API says is an answer here.
func (c *call) tryAPI() error {
	typed, err := c.readInputs()
	e, refused := errors.AsType[*flow.Error](err)
	if err != nil && !refused {
		return err
	}
	a, err := c.readCallable()
	if err != nil {
		return err
	}
	if refused {
		return c.answerTry(http.StatusUnprocessableEntity, a, nil, func(t *editorview.APITry) { t.Error = e.Message })
	}
	told := c.foretelling(a.flow.ID, typed.Tab)
	x := c.exchange(a, typed)
	told()
	if x.Run != "" {
		c.s.Announce(a.flow.ID, "flow:run", map[string]string{"run": x.Run})
	}
	return c.answerTry(http.StatusOK, a, x, func(t *editorview.APITry) { c.keepTyped(a, t, typed) })
}

// tryLook is how often a run that was just asked for is looked for.
const tryLook = 50 * time.Millisecond

// foretelling tells the page that sent the form of its run as soon as there is
// one, so that it can follow it: the answer waits for the run's end. It goes on
// until stop is called. Of several forms sent in the same moment it may tell of
// another's run; the answer names the right one.
func (c *call) foretelling(flowID, tab string) (stop func()) {
	if tab == "" {
		return func() {}
	}
	ctx, cancel := context.WithCancel(c.Ctx())
	over := make(chan struct{})
	choice := flow.RunChoice{WorkspaceID: c.WorkspaceID(), FlowID: flowID, Trigger: flow.TriggerBuilder, From: c.s.Now(), Limit: shownCalls}
	go func() {
		defer close(over)
		if run := c.s.firstTried(ctx, choice); run != "" {
			c.s.Announce(flowID, "flow:tried", map[string]string{"run": run, "tab": tab})
		}
	}()
	return func() { cancel(); <-over }
}

// firstTried waits for a run that began by a request of ours: those that a
// person starts bear their ID. Empty means that there was none in time.
func (s *Server) firstTried(ctx context.Context, choice flow.RunChoice) (id string) {
	for {
		select {
		case <-ctx.Done():
			return ""
		case <-time.After(tryLook):
		}
		found, err := s.Store.ListRunRows(ctx, choice)
		if err != nil {
			return "" // the answer tells it in the end
		}
		for i := range found.Rows {
			if r := &found.Rows[i]; r.UserID == "" && !r.Draft {
				return r.ID
			}
		}
	}
}

// answerTry shows the exchange alone, or without a script on its page.
func (c *call) answerTry(status int, a *callable, x *editorview.APIExchange, change func(*editorview.APITry)) error {
	if c.IsFragment() && x != nil {
		if x.Run != "" {
			c.Trigger("api:tried", map[string]string{"run": x.Run})
		}
		return c.Render(status, editorview.Exchange(x))
	}
	if c.IsFragment() {
		t := c.apiTry(a)
		change(&t)
		return c.Render(status, editorview.TryRefused(t.Error))
	}
	return c.answerAPI(status, a, func(p *editorview.APIPane) {
		p.Try.Open, p.Try.Exchange = true, x
		change(&p.Try)
	})
}

// keepTyped fills the form with what was sent.
func (c *call) keepTyped(a *callable, t *editorview.APITry, typed *web.Inputs) {
	inputs := a.called().Inputs(c.s.Kinds)
	for i := range inputs {
		t.Fields[i] = tryField(&inputs[i], nil, typed)
	}
}

// exchange performs the request as a person's key of this flow would.
func (c *call) exchange(a *callable, typed *web.Inputs) *editorview.APIExchange {
	body := web.Indented(requestInputs(typed, a.called().Inputs(c.s.Kinds)))
	r := c.tryRequest(a.flow.ID, body)
	w := &recorder{header: http.Header{}}
	began := time.Now()
	c.s.API(c.tryKey(a.flow.ID, typed), w, r)
	took := time.Since(began)
	x := &editorview.APIExchange{FlowID: a.flow.ID, Status: w.status, Reason: http.StatusText(w.status), Took: took, Run: w.run()}
	x.Request = snippets.Highlight("http", requestText(r, body))
	text, cut := w.text()
	x.Response, x.Cut = snippets.Highlight("http", text), cut
	return x
}

// tryKey lets the person call this flow and read its runs. Files that were just
// chosen belong to no run of the flow yet, so with some of them the key is one of
// the whole workspace, as the person is.
func (c *call) tryKey(flowID string, typed *web.Inputs) *flow.Key {
	key := &flow.Key{WorkspaceID: c.WorkspaceID(), Name: c.Member.Name, Scopes: []flow.Scope{flow.ScopeRun, flow.ScopeRead}, Trigger: flow.TriggerBuilder}
	if len(typed.Files)+len(typed.Last) == 0 {
		key.Flows = []string{flowID}
	}
	return key
}

// tryRequest is what a program would send.
func (c *call) tryRequest(flowID, body string) *http.Request {
	r, err := http.NewRequestWithContext(c.Ctx(), http.MethodPost, c.startURL(flowID), bytes.NewReader([]byte(body)))
	if err != nil {
		panic(fmt.Sprintf("pages: the public URL makes no request: %v", err)) // it was read at start
	}
	r.RemoteAddr, r.RequestURI = c.Request().RemoteAddr, r.URL.RequestURI()
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Prefer", fmt.Sprintf("wait=%d", int(tryWait.Seconds())))
	return r
}

// requestInputs is what was typed as the body of a request: the API takes no text for a
// number. What cannot be read is sent as it is, and refused there.
func requestInputs(t *web.Inputs, inputs []flow.Input) map[string]any {
	sent := t.Values(inputs)
	for i := range inputs {
		in := &inputs[i]
		text, ok := sent[in.Name].(string)
		if !ok || in.Type == flow.TypeText {
			continue
		}
		if v, err := in.Type.Parse(text); err == nil {
			sent[in.Name] = v
		}
	}
	return sent
}

// recorder keeps an answer.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header is the answer's.
func (w *recorder) Header() http.Header { return w.header }

// WriteHeader keeps the first status, as a connection does.
func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

// Write keeps the body.
func (w *recorder) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

// run is the run that the answer tells of; empty if it tells of none.
func (w *recorder) run() string {
	var object struct {
		Run string `json:"run_id"`
	}
	if w.status >= http.StatusBadRequest || json.Unmarshal(w.body.Bytes(), &object) != nil || !flow.ValidID(flow.PrefixRun, object.Run) {
		return ""
	}
	return object.Run
}

// text writes the answer as HTTP/1.1 has it, its JSON spread over lines.
func (w *recorder) text() (text string, cut bool) {
	body, cut := web.ShownBody(w.body.Bytes())
	line := fmt.Sprintf("HTTP/1.1 %d %s\n", w.status, http.StatusText(w.status))
	return line + headerText(w.header) + "\n" + body, cut
}

// requestText writes a request as HTTP/1.1 has it. The key is one that the
// reader puts in.
func requestText(r *http.Request, body string) string {
	h := r.Header.Clone()
	h.Set("Authorization", "Bearer "+snippets.Placeholder)
	u := url.URL{Path: r.URL.Path, RawPath: r.URL.RawPath}
	return fmt.Sprintf("%s %s HTTP/1.1\nHost: %s\n", r.Method, u.EscapedPath(), r.URL.Host) + headerText(h) + "\n" + body
}

// headerText writes a header a line, by name.
func headerText(h http.Header) string {
	var b bytes.Buffer
	_ = h.Write(&b) // a buffer takes everything
	return string(bytes.ReplaceAll(b.Bytes(), []byte("\r\n"), []byte("\n")))
}
