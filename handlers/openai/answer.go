package openai

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"sluice/flow"
	"sluice/handlers/api"
	"sluice/handlers/web"
	"sluice/handlers/web/conns"
)

// maxHold bounds how long an answer is held.
const maxHold = 10 * time.Minute

// completion is the answer, whole or a piece of a stream.
type completion struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage,omitempty"`
}

// choice is an answer in OpenAI's format: a whole Message, or a Delta in a stream. There is one
// in each response and chunk, except in the last chunk, which has the usage.
type choice struct {
	Index   int      `json:"index"`
	Message *message `json:"message,omitempty"`
	Delta   *message `json:"delta,omitempty"`
	Finish  *string  `json:"finish_reason"`
}

// message is the reply, or a piece of it. The role is only in the first piece.
type message struct {
	Role    string `json:"role,omitempty"`
	Content string `json:"content"`
}

// usage are the tokens of all steps of the run, and of its child runs.
type usage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Total      int64 `json:"total_tokens"`
}

// newUsage converts usage. Total is the sum of both, as clients expect.
func newUsage(u flow.Usage) *usage {
	return &usage{u.InputTokens, u.OutputTokens, u.InputTokens + u.OutputTokens}
}

// complete is POST chat completions: it starts a run and answers with its reply. A client
// that disconnects cancels the run, because it could not read the answer later.
func (s *Server) complete(c *api.Call) error {
	if !s.api.Runner.Accepts() {
		return api.ErrDraining()
	}
	r, err := s.read(c)
	if err != nil {
		return err
	}
	release, err := c.Hold()
	if err != nil {
		return err
	}
	defer release()
	files, err := s.storePictures(c, r.outline.Inputs, r.given)
	var started flow.Started
	if err == nil {
		started, err = s.api.Runner.StartRun(context.WithoutCancel(c.Request().Context()), flow.Start{
			WorkspaceID: r.flow.WorkspaceID, FlowID: r.flow.ID, Key: c.Key, Trigger: flow.TriggerAPI, Given: r.given, Coerce: true,
		})
	}
	if err != nil {
		s.eraseFiles(c, files)
		return c.LimitRuns(err)
	}
	h := c.Response().Header()
	h.Set("X-Sluice-Run", started.Run.ID)
	h.Set("X-Should-Retry", "false") // the client would start, and pay for, another run
	a := &answer{Server: s, Call: c, request: r, run: started.Run, begun: time.Now()}
	if r.stream {
		return a.stream()
	}
	return a.whole()
}

// answer is a request whose run has been accepted.
type answer struct {
	*Server
	*api.Call
	*request
	run   *flow.Run
	begun time.Time
}

// whole waits for the end and sends the answer at once.
func (a *answer) whole() error {
	ping, stop := conns.NewTicker(a.Request().Context(), a.api.PingInterval)
	defer stop()
	looks := []time.Duration{200 * time.Millisecond, time.Second, 5 * time.Second} // then at each ping, whether the run waits for long
	for !a.run.State.Ended() {
		tick := ping
		if len(looks) > 0 {
			tick, looks = time.After(looks[0]), looks[1:]
		}
		now, err := a.AwaitHeld(a.run, maxHold, tick)
		if gone := a.gone(); gone != nil {
			a.cancel()
			return fmt.Errorf("%w: %w", web.ErrClientGone, gone)
		}
		if err != nil {
			return err
		}
		if a.run = now; !now.State.Ended() {
			if err := a.mayWait(); err != nil {
				return err
			}
		}
	}
	text, err := a.text()
	if err != nil {
		return err
	}
	used, err := a.used()
	if err != nil {
		return err
	}
	finish, err := a.finish()
	if err != nil {
		return err
	}
	return a.WriteJSON(http.StatusOK, completion{
		ID: a.id(), Object: "chat.completion", Created: a.run.CreatedAt.Unix(), Model: a.model, Usage: used,
		Choices: []choice{{Message: &message{"assistant", text}, Finish: &finish}},
	})
}

// used is the usage of the run with its child runs.
func (a *answer) used() (*usage, error) {
	below, err := a.api.Runner.ChildUsage(a.Request().Context(), a.run)
	return newUsage(a.run.Usage.Add(below)), err
}

// finish returns why the reply ended: "length" if the chat node that feeds it directly was cut
// off at its max tokens, otherwise "stop".
func (a *answer) finish() (string, error) {
	source := a.outline.Sources[a.outline.Reply]
	if source == "" {
		return "stop", nil
	}
	steps, err := a.api.Store.FindSteps(a.Request().Context(), a.run.WorkspaceID, a.run.ID)
	if err != nil {
		return "", fmt.Errorf("read the steps of %s: %w", a.run.ID, err)
	}
	for i := range steps {
		if steps[i].Path == source && steps[i].Outputs["finish"] == "length" {
			return "length", nil
		}
	}
	return "stop", nil
}

// cancel cancels the run of a client that has disconnected, unless the server closed the
// connection itself.
func (a *answer) cancel() {
	if !a.api.ShuttingDown() {
		a.api.CancelAbandoned(a.Request().Context(), a.run)
	}
}

// gone returns an error if the client has disconnected. One that has only finished sending
// counts too: nothing can be written before the answer that would tell the two apart, and
// clients of this API never do that.
func (a *answer) gone() error {
	select {
	case <-conns.Finished(a.Request().Context()):
		return web.ErrClientGone
	default:
		return a.Request().Context().Err()
	}
}

// id names the answer after its run.
func (a *answer) id() string { return "chatcmpl-" + a.run.ID }

// mayWait returns an error if the answer cannot be held until the run ends: it waits for
// a person or for a later time, or ten minutes are over. The run continues.
func (a *answer) mayWait() error {
	const goesOn = "It continues, and its result can be read under its ID, %s."
	switch {
	case a.api.ShuttingDown():
		return flow.Errorf(flow.CodeDraining, "This server is shutting down. The run continues; its ID is %s.", a.run.ID)
	case time.Since(a.begun) > maxHold:
		return flow.Errorf(flow.CodeRunNotEnded, "The run has not ended within ten minutes. "+goesOn, a.run.ID)
	case a.run.State != flow.RunWaiting:
		return nil
	}
	steps, err := a.api.Store.FindSteps(a.Request().Context(), a.run.WorkspaceID, a.run.ID)
	if err != nil {
		return err
	}
	end := a.begun.Add(maxHold)
	for i := range steps {
		k := a.api.Kinds.Find(steps[i].Kind)
		if k != nil && k.StartsRuns() { // other flows wake it, usually soon
			continue
		}
		if steps[i].State != flow.StepWaiting {
			continue
		}
		if k != nil && (k.WaitsFor == flow.WaitsForApproval || k.WaitsFor == flow.WaitsForDelay) || steps[i].WaitUntil.After(end) {
			return flow.Errorf(flow.CodeRunNotEnded, "The run waits at %q, so it has no answer yet. "+goesOn, steps[i].Node, a.run.ID)
		}
	}
	return nil
}

// text is the answer of a run that has ended.
func (a *answer) text() (string, error) {
	if a.run.State != flow.RunSucceeded {
		return "", api.ErrNotSucceeded(a.run)
	}
	if value, given := a.run.Outputs[a.outline.Reply]; given {
		return flow.Text(value), nil
	}
	for _, o := range a.outline.Outputs { // the reply was skipped
		if value, given := a.run.Outputs[o.Name]; given {
			return flow.Text(value), nil
		}
	}
	return "", flow.Errorf(flow.CodeRunFailed, "The run gave no output.")
}
