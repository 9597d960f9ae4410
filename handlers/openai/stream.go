package openai

import (
	"errors"
	"strings"

	"sluice/flow"
	"sluice/flow/codes"
	"sluice/flow/sorting"
	"sluice/handlers/web"
)

// stream sends the text of the node that provides the reply as it is produced, and the rest of
// the reply once the run has ended. The run of a client that disconnects is canceled.
func (a *answer) stream() error {
	watch := a.api.Runner.WatchText(a.run.ID)
	defer watch.Stop()
	w := &chunkWriter{answer: a, watch: watch, out: web.StartStream(a.Response())}
	w.add(&message{Role: "assistant"}, nil, nil)
	err := w.out.Flush()
	if err == nil {
		f := web.Follower{Watch: watch, Read: w.readRun, SendText: func() (bool, error) { return false, w.sendText() }, Beat: w.beat, BeatInterval: a.api.PingInterval}
		err = f.Follow(a.Request().Context())
	}
	if errors.Is(err, web.ErrStreamDone) || err == nil && !a.run.State.Ended() {
		a.cancel()
		return nil
	}
	return w.finish(err)
}

// beat keeps the connection alive, and returns an error if the request should not wait any longer.
func (w *chunkWriter) beat() error {
	w.out.AddComment("ping")
	return w.checkWait()
}

// chunkWriter sends the reply in chunks. sent is the text that was sent so far.
type chunkWriter struct {
	*answer
	watch    flow.Watch
	out      *web.Stream
	sent     strings.Builder
	turns    web.TurnText
	diverged bool // a retry of the node produced another text; sent text cannot be revoked
}

// add adds a chunk to the stream; Flush sends it. A chunk without a delta has only the usage.
func (w *chunkWriter) add(delta *message, finish *string, u *usage) {
	c := completion{ID: w.id(), Object: "chat.completion.chunk", Created: w.run.CreatedAt.Unix(), Model: w.model, Usage: u, Choices: []choice{}}
	if delta != nil {
		c.Choices = append(c.Choices, choice{Delta: delta, Finish: finish})
	}
	w.out.AddData(flow.EncodeJSON(c))
}

// sendText sends the text that the node has produced since the last call.
func (w *chunkWriter) sendText() error {
	source := w.outline.Sources[w.outline.Reply]
	agent := w.outline.Agents[source]
	list := w.watch.Read(func(path string, _ int) bool { return path == source || agent && web.IsTurn(source, path) })
	sorting.By(list, func(a, b flow.Delta) int { return flow.CompareSubSteps(a.Path, b.Path) })
	for _, d := range list {
		if agent {
			d.Text, d.Reset = w.turns.Add(d.Path, d.Text, d.Reset)
		}
		w.appendText(d.Text, d.Reset)
	}
	if !w.out.Pending() {
		return nil
	}
	return w.out.Flush()
}

// appendText adds a chunk with text. With reset, text is the complete text so far, so only the
// part that follows the sent text is added.
func (w *chunkWriter) appendText(text string, reset bool) {
	if reset {
		rest, extends := strings.CutPrefix(text, w.sent.String())
		w.diverged = !extends
		text = rest
	}
	if text != "" && !w.diverged {
		w.sent.WriteString(text)
		w.add(&message{Content: text}, nil, nil)
	}
}

// readRun reads the state of the run, then sends its text: the text of an ended run is complete.
func (w *chunkWriter) readRun() error {
	run, err := w.api.Store.FindRun(w.Request().Context(), w.run.WorkspaceID, w.run.FlowID, w.run.ID)
	if err != nil {
		return err
	}
	if w.run = run; run.State == flow.RunWaiting {
		if err := w.checkWait(); err != nil {
			return err
		}
	}
	if err := w.sendText(); err != nil || !run.State.Ended() {
		return err
	}
	return web.ErrStreamDone
}

// finish sends the rest of the reply and the end of the stream, or the error.
func (w *chunkWriter) finish(err error) error {
	text, finish := "", ""
	if err == nil {
		text, err = w.text()
	}
	if err == nil {
		finish, err = w.finishReason()
	}
	if err != nil {
		e := w.api.PublicError(err, w.Call)
		_, body := formatError(codes.Of(e.Code).Status, e)
		w.out.AddData(flow.EncodeJSON(body))
		return ignoreClientGone(w.out.Flush())
	}
	list, annotations := w.footnotes(text)
	w.appendText(text+list, true)
	w.add(&message{Annotations: annotations}, &finish, nil)
	if w.usage {
		used, err := w.totalUsage()
		if err != nil {
			return err
		}
		w.add(nil, nil, used)
	}
	w.out.AddData([]byte("[DONE]"))
	return ignoreClientGone(w.out.Flush())
}

// ignoreClientGone returns nil if err reports that the client has disconnected.
func ignoreClientGone(err error) error {
	if errors.Is(err, web.ErrStreamDone) {
		return nil
	}
	return err
}
