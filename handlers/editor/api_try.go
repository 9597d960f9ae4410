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
	"sluice/flow/contract"
	"sluice/handlers/web"
	"sluice/snippets"
	"sluice/views/components"
	editorview "sluice/views/editor"
)

// tryWait is how long a request from the pane waits for the result. The code
// samples wait equally long.
const tryWait = 30 * time.Second

// apiTry returns the form for a test call, filled with the values that the code
// samples show.
func apiTry(c *call, a *liveAPI) editorview.APITry {
	t := editorview.APITry{FlowID: string(a.flow.ID), Live: a.flow.LiveVersion, MayTry: c.MayEdit()}
	t.Fields = sampleFields(c, a.flow, contract.Inputs(a.servedDocument(), c.s.Kinds))
	return t
}

// sampleFields returns a field for each input with the value that the code samples show.
func sampleFields(c *call, f *flow.Flow, inputs []contract.Input) (fields []components.RunField) {
	shown := &flow.Object{}
	for _, in := range snippets.CallOf(c.s.PublicURL, f, inputs, nil).Inputs {
		if !in.File {
			shown.Set(in.Name, in.Value)
		}
	}
	for i := range inputs {
		fields = append(fields, tryField(&inputs[i], shown, nil))
	}
	return fields
}

// tryField returns a field of the form. Its ID has a prefix, because the run
// dialog with the same fields is on the same page.
func tryField(in *contract.Input, shown *flow.Object, typed *web.Inputs) components.RunField {
	f := web.InputField(in, shown, typed)
	f.ID = "try-" + in.Name
	return f
}

// tryAPI is POST /flows/{id}/api/try: it sends a real request to the API and shows
// both messages as HTTP/1.1 text. An error response of the API is a result, not an
// error of this handler.
func tryAPI(c *call) error {
	typed, err := c.readInputs()
	e, refused := errors.AsType[*flow.Error](err)
	if err != nil && !refused {
		return err
	}
	a, err := findLiveAPI(c)
	if err != nil {
		return err
	}
	if refused {
		return answerTry(c, http.StatusUnprocessableEntity, a, nil, func(t *editorview.APITry) { t.Error = e.Message })
	}
	stopAnnouncing := announceTriedRun(c, a.flow.ID, typed.Tab)
	x := exchange(c, a, typed)
	stopAnnouncing()
	if x.Run != "" {
		c.s.Announce(a.flow.ID, "flow:run", map[string]string{"run": x.Run})
	}
	return answerTry(c, http.StatusOK, a, x, func(t *editorview.APITry) { fillTyped(c, a, t, typed) })
}

// tryPoll is the interval at which findTriedRun looks for the run.
const tryPoll = 50 * time.Millisecond

// announceTriedRun notifies the page that sent the form about its run as soon
// as the run exists, so that the page can follow it while the response waits for
// its end. The caller must call stop. If several forms are sent at the same moment,
// it may announce the run of another one; the response has the right run.
func announceTriedRun(c *call, flowID flow.FlowID, tab string) (stop func()) {
	if tab == "" {
		return func() {}
	}
	ctx, cancel := context.WithCancel(c.Ctx())
	done := make(chan struct{})
	choice := flow.RunQuery{WorkspaceID: c.WorkspaceID(), FlowID: flowID, Trigger: flow.TriggerBuilder, From: c.s.Now(), Limit: maxCalls}
	go func() {
		defer close(done)
		if run := c.s.findTriedRun(ctx, choice); run != "" {
			c.s.Announce(flowID, "flow:tried", map[string]string{"run": run, "tab": tab})
		}
	}()
	return func() { cancel(); <-done }
}

// findTriedRun waits for a run that a request from the pane started, and returns
// its ID, or "" if ctx is done first. Such runs have no user ID, unlike those of
// the run button.
func (s *Server) findTriedRun(ctx context.Context, choice flow.RunQuery) (id string) {
	for {
		select {
		case <-ctx.Done():
			return ""
		case <-time.After(tryPoll):
		}
		found, err := s.Store.ListRunRows(ctx, choice)
		if err != nil {
			return "" // not essential: the response names the run too
		}
		for i := range found.Rows {
			if r := &found.Rows[i]; r.UserID == "" && !r.Draft {
				return string(r.ID)
			}
		}
	}
}

// answerTry renders the exchange, or without scripts the whole page with it.
// change fills in the form that is rendered again.
func answerTry(c *call, status int, a *liveAPI, x *editorview.APIExchange, change func(*editorview.APITry)) error {
	if c.IsFragment() && x != nil {
		if x.Run != "" {
			c.Trigger("api:tried", map[string]string{"run": x.Run})
		}
		return c.Render(status, editorview.Exchange(x))
	}
	if c.IsFragment() {
		t := apiTry(c, a)
		change(&t)
		return c.Render(status, editorview.TryRefused(t.Error))
	}
	return renderAPI(c, status, a, func(p *editorview.APIPane) {
		p.Try.Open, p.Try.Exchange = true, x
		change(&p.Try)
	})
}

// fillTyped puts the submitted values back into the form.
func fillTyped(c *call, a *liveAPI, t *editorview.APITry, typed *web.Inputs) {
	inputs := contract.Inputs(a.servedDocument(), c.s.Kinds)
	for i := range inputs {
		t.Fields[i] = tryField(&inputs[i], nil, typed)
	}
}

// exchange calls the API with a temporary key and returns both messages as text.
func exchange(c *call, a *liveAPI, typed *web.Inputs) *editorview.APIExchange {
	inputs := contract.Inputs(a.servedDocument(), c.s.Kinds)
	sent := requestInputs(typed, inputs)
	body := web.Indented(sent)
	r := tryRequest(c, a.flow.ID, body)
	w := web.NewResponseRecorder()
	began := time.Now()
	c.s.API(tryKey(c, a.flow.ID, typed), w, r)
	took := time.Since(began)
	x := &editorview.APIExchange{FlowID: string(a.flow.ID), Status: w.Status, Reason: http.StatusText(w.Status), Duration: took, Run: startedRun(w)}
	x.Request = components.CodePieces(snippets.Highlight("http", requestText(r, web.Indented(withoutSecrets(sent, inputs)))))
	text, cut := responseText(w)
	x.Response, x.Cut = components.CodePieces(snippets.Highlight("http", text)), cut
	return x
}

// withoutSecrets returns a copy of the inputs in which secret values are redacted.
func withoutSecrets(sent *flow.Object, inputs []contract.Input) *flow.Object {
	shown := sent.Clone()
	for i := range inputs {
		if inputs[i].Secret && shown.Has(inputs[i].Name) {
			shown.Set(inputs[i].Name, flow.Redacted)
		}
	}
	return shown
}

// tryKey returns a temporary key that can call this flow and read its runs. With
// uploaded files, which belong to no run of the flow yet, the key may access the
// whole workspace, as the user may.
func tryKey(c *call, flowID flow.FlowID, typed *web.Inputs) *flow.Key {
	key := &flow.Key{WorkspaceID: c.WorkspaceID(), Name: c.Member.Name, Scopes: []flow.Scope{flow.ScopeRun, flow.ScopeRead}, Trigger: flow.TriggerBuilder}
	if len(typed.Files)+len(typed.Last) == 0 {
		key.Flows = []string{string(flowID)}
	}
	return key
}

// tryRequest returns the request that a program would send.
func tryRequest(c *call, flowID flow.FlowID, body string) *http.Request {
	r, err := http.NewRequestWithContext(c.Ctx(), http.MethodPost, c.startURL(flowID), bytes.NewReader([]byte(body)))
	if err != nil {
		panic(fmt.Sprintf("editor: invalid public URL: %v", err)) // it was checked at start
	}
	r.RemoteAddr, r.RequestURI = c.Request().RemoteAddr, r.URL.RequestURI()
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Prefer", fmt.Sprintf("wait=%d", int(tryWait.Seconds())))
	return r
}

// requestInputs converts the form to the body of a request. It parses each text as
// the type of its input, because the API does not coerce. A text that cannot be
// parsed is sent unchanged, and the API refuses it.
func requestInputs(t *web.Inputs, inputs []contract.Input) *flow.Object {
	sent := t.Values(inputs)
	for i := range inputs {
		in := &inputs[i]
		text, ok := sent.Get(in.Name).(string)
		if !ok || in.Type == flow.TypeText {
			continue
		}
		if v, err := in.Type.Parse(text); err == nil {
			sent.Set(in.Name, v)
		}
	}
	return sent
}

// startedRun returns the ID of the run in a response, or "".
func startedRun(w *web.ResponseRecorder) string {
	var object struct {
		Run string `json:"run_id"`
	}
	if w.Status >= http.StatusBadRequest || json.Unmarshal(w.Body.Bytes(), &object) != nil || !flow.ValidID(flow.PrefixRun, object.Run) {
		return ""
	}
	return object.Run
}

// responseText returns a response as HTTP/1.1 text, with indented JSON.
func responseText(w *web.ResponseRecorder) (text string, cut bool) {
	body, cut := web.ShownBody(w.Body.Bytes())
	line := fmt.Sprintf("HTTP/1.1 %d %s\n", w.Status, http.StatusText(w.Status))
	return line + headerText(w.Header()) + "\n" + body, cut
}

// requestText returns the request as HTTP/1.1 text, with a placeholder for the
// key.
func requestText(r *http.Request, body string) string {
	h := r.Header.Clone()
	h.Set("Authorization", "Bearer "+snippets.Placeholder)
	u := url.URL{Path: r.URL.Path, RawPath: r.URL.RawPath}
	return fmt.Sprintf("%s %s HTTP/1.1\nHost: %s\n", r.Method, u.EscapedPath(), r.URL.Host) + headerText(h) + "\n" + body
}

// headerText returns a header as text, sorted by name.
func headerText(h http.Header) string {
	var b bytes.Buffer
	_ = h.Write(&b) // a bytes.Buffer never fails
	return string(bytes.ReplaceAll(b.Bytes(), []byte("\r\n"), []byte("\n")))
}
