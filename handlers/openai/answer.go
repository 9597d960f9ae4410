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

// maxHold bounds how long a request waits for its run.
const maxHold = 10 * time.Minute

// completion is a response in OpenAI's format: a complete one, or a chunk of a stream.
type completion struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage,omitempty"`
}

// choice is the reply: a Message in a complete response, a Delta in a chunk. Each response and
// chunk has one choice, except the last chunk, which has the usage instead.
type choice struct {
	Index   int      `json:"index"`
	Message *message `json:"message,omitempty"`
	Delta   *message `json:"delta,omitempty"`
	Finish  *string  `json:"finish_reason"`
}

// message is the reply, or a part of it in a chunk. Only the first chunk has the role, and only the last one annotations.
type message struct {
	Role        string       `json:"role,omitempty"`
	Content     string       `json:"content"`
	Annotations []annotation `json:"annotations,omitempty"`
}

// usage counts the tokens of all steps of the run and its child runs.
type usage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Total      int64 `json:"total_tokens"`
}

// newUsage returns usage in OpenAI's format, whose total is the sum of input and output tokens.
func newUsage(u flow.Usage) *usage {
	return &usage{u.InputTokens, u.OutputTokens, u.InputTokens + u.OutputTokens}
}

// complete is POST chat/completions: it starts a run and responds with its reply. If the client
// disconnects, the run is canceled, because the client has no way to read the reply later.
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
			WorkspaceID: r.flow.WorkspaceID, FlowID: r.flow.ID, Key: c.Key, Trigger: flow.TriggerAPI, Given: r.given, Coerce: true, Options: flow.RunOptions{Continue: r.earlier},
		})
	}
	if err != nil {
		s.eraseFiles(c, files)
		return c.LimitRuns(err)
	}
	run := *started.Run
	run.Inputs, r.given = nil, nil // they may be large, and the worker has them
	c.ReleaseBody()
	h := c.Response().Header()
	h.Set("X-Sluice-Run", string(run.ID))
	h.Set("X-Should-Retry", "false") // a retry would start, and charge for, another run
	a := &answer{Server: s, Call: c, request: r, run: &run, begun: time.Now()}
	if r.stream {
		return a.stream()
	}
	return a.respond()
}

// answer is a request whose run was accepted. run is its last known state.
type answer struct {
	*Server
	*api.Call
	*request
	run   *flow.Run
	begun time.Time
}

// respond waits for the end of the run and sends the complete response.
func (a *answer) respond() error {
	ping, stop := conns.NewTicker(a.Request().Context(), a.api.PingInterval)
	defer stop()
	delays := []time.Duration{200 * time.Millisecond, time.Second, 5 * time.Second} // before the first checks for a long wait; further ones follow at each ping
	for !a.run.State.Ended() {
		tick := ping
		if len(delays) > 0 {
			tick, delays = time.After(delays[0]), delays[1:]
		}
		now, err := a.AwaitHeld(a.run, maxHold, tick)
		if err := a.checkClient(); err != nil {
			a.cancel()
			return fmt.Errorf("%w: %w", web.ErrClientGone, err)
		}
		if flow.IsBusy(err) && time.Since(a.begun) < maxHold {
			continue // the run continues, and was paid for
		}
		if err != nil {
			return err
		}
		if a.run = now; !now.State.Ended() {
			if err := a.checkWait(); err != nil {
				return err
			}
		}
	}
	text, err := a.text()
	if err != nil {
		return err
	}
	list, annotations := a.footnotes(text)
	used, err := a.totalUsage()
	if err != nil {
		return err
	}
	finish, err := a.finishReason()
	if err != nil {
		return err
	}
	return a.WriteJSON(http.StatusOK, completion{
		ID: a.id(), Object: "chat.completion", Created: a.run.CreatedAt.Unix(), Model: a.model, Usage: used,
		Choices: []choice{{Message: &message{"assistant", text + list, annotations}, Finish: &finish}},
	})
}

// totalUsage returns the usage of the run including its child runs.
func (a *answer) totalUsage() (*usage, error) {
	children, err := a.api.Runner.ChildUsage(a.Request().Context(), a.run)
	return newUsage(a.run.Usage.Add(children)), err
}

// finishReason returns "length" if the chat node that directly provides the reply reached its
// max tokens, otherwise "stop".
func (a *answer) finishReason() (string, error) {
	source := a.outline.Sources[a.outline.Reply]
	if source == "" {
		return "stop", nil
	}
	outputs, err := a.api.Store.FindStepOutputs(a.Request().Context(), a.run.WorkspaceID, a.run.ID, source)
	if err != nil {
		return "", fmt.Errorf("read the steps of %s: %w", a.run.ID, err)
	}
	if outputs["finish"] == "length" {
		return "length", nil
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

// checkClient returns an error if the client has disconnected. A half-closed connection counts as
// disconnected: telling the two apart takes a write, which is impossible before the response, and
// clients of this API never half-close.
func (a *answer) checkClient() error {
	select {
	case <-conns.Finished(a.Request().Context()):
		return web.ErrClientGone
	default:
		return a.Request().Context().Err()
	}
}

// id returns the ID of the response, which contains that of the run.
func (a *answer) id() string { return "chatcmpl-" + string(a.run.ID) }

// checkWait returns an error if the request should not wait for the end of the run: the run waits
// for an approval or a delay, maxHold is over, or the server shuts down. The run continues.
func (a *answer) checkWait() error {
	const continues = "It continues, and its result can be read under its ID, %s."
	switch {
	case a.api.ShuttingDown():
		return flow.Errorf(flow.CodeDraining, "This server is shutting down. The run continues; its ID is %s.", a.run.ID)
	case time.Since(a.begun) > maxHold:
		return flow.Errorf(flow.CodeRunNotEnded, "The run has not ended within ten minutes. "+continues, a.run.ID)
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
		if k != nil && k.StartsRuns() { // it waits for child runs, which usually end soon
			continue
		}
		if steps[i].State != flow.StepWaiting {
			continue
		}
		if k != nil && (k.WaitsFor == flow.WaitsForApproval || k.WaitsFor == flow.WaitsForDelay) || steps[i].WaitUntil.After(end) {
			return flow.Errorf(flow.CodeRunNotEnded, "The run waits at %q, so it has no answer yet. "+continues, steps[i].Node, a.run.ID)
		}
	}
	return nil
}

// text returns the reply of a run that has ended. If the reply was skipped, it is the first output
// that was not.
func (a *answer) text() (string, error) {
	if a.run.State != flow.RunSucceeded {
		return "", a.failure()
	}
	if value, given := a.run.Outputs.Lookup(a.outline.Reply); given {
		if source := a.outline.Sources[a.outline.Reply]; a.outline.Agents[source] {
			text, err := web.TurnTexts(a.Request().Context(), a.api.Store, a.run, source)
			if err != nil || text != "" {
				return text, err
			}
		}
		return flow.Text(value), nil
	}
	for _, o := range a.outline.Outputs {
		if value, given := a.run.Outputs.Lookup(o.Name); given {
			return flow.Text(value), nil
		}
	}
	return "", flow.Errorf(flow.CodeRunFailed, "The run produced no output.")
}

// failure returns the error of a run that did not succeed. A rate limit of a provider keeps its
// status 429, to which clients react by slowing down.
func (a *answer) failure() error {
	if e := a.run.Error; a.run.State == flow.RunFailed && e != nil && e.Code == flow.CodeProviderRateLimited {
		return flow.Errorf(e.Code, "%s", e.Message)
	}
	return api.ErrNotSucceeded(a.run)
}
