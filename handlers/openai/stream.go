package openai

import (
	"errors"
	"strings"

	"sluice/flow"
	"sluice/handlers/api"
	"sluice/handlers/web"
	"sluice/handlers/web/conns"
)

// stream sends the answer as it comes: the text of the node that feeds the reply, and
// what is missing once the run has ended.
func (a *answer) stream() error {
	watch := a.api.Runner.WatchText(a.run.ID)
	defer watch.Stop()
	ping, stop := conns.NewTicker(a.Request().Context(), a.api.PingInterval)
	defer stop()
	out := &pieces{answer: a, out: web.StartStream(a.Response())}
	out.add(&message{Role: "assistant"}, nil, nil)
	err := out.out.Flush()
	if err == nil {
		err = out.look(watch) // it may have ended before it was watched
	}
	for err == nil && !a.run.State.Ended() {
		select {
		case <-watch.Texts:
			err = out.pass(watch)
		case <-watch.Changes:
			err = out.look(watch)
		case <-ping:
			out.out.AddComment("ping")
			if err = out.look(watch); err == nil && !a.run.State.Ended() {
				err = a.mayWait()
			}
		case <-a.Request().Context().Done():
			err = web.ErrStreamDone
		}
	}
	if errors.Is(err, web.ErrStreamDone) {
		a.cancel()
		return nil
	}
	return out.end(err)
}

// pieces are the answer as far as it was sent.
type pieces struct {
	*answer
	out    *web.Stream
	sent   strings.Builder
	broken bool // the node began again with another text, which cannot be taken back
}

// add adds one chunk to the stream, which the next flush sends. Without a delta it has no
// choice, only usage.
func (p *pieces) add(delta *message, finish *string, u *usage) {
	c := completion{ID: p.id(), Object: "chat.completion.chunk", Created: p.run.CreatedAt.Unix(), Model: p.model, Usage: u, Choices: []choice{}}
	if delta != nil {
		c.Choices = append(c.Choices, choice{Delta: delta, Finish: finish})
	}
	p.out.AddData(flow.EncodeJSON(c))
}

// pass sends text that has come.
func (p *pieces) pass(watch flow.Watch) error {
	source := p.outline.Sources[p.outline.Reply]
	for _, d := range watch.Read(func(path string, _ int) bool { return path == source }) {
		p.say(d.Text, d.Reset)
	}
	if !p.out.Pending() {
		return nil
	}
	return p.out.Flush()
}

// say adds text. After a reset, text is all that there is: only what is new to the client
// is sent.
func (p *pieces) say(text string, reset bool) {
	if reset {
		rest, same := strings.CutPrefix(text, p.sent.String())
		p.broken = !same
		text = rest
	}
	if text != "" && !p.broken {
		p.sent.WriteString(text)
		p.add(&message{Content: text}, nil, nil)
	}
}

// look reads the run, and sends its text before its end.
func (p *pieces) look(watch flow.Watch) error {
	run, err := p.api.Store.FindRun(p.Request().Context(), p.run.WorkspaceID, p.run.FlowID, p.run.ID)
	if flow.IsUnavailable(err) {
		return nil // the next ping looks again
	}
	if err != nil {
		return err
	}
	if p.run = run; run.State == flow.RunWaiting {
		if err := p.mayWait(); err != nil {
			return err
		}
	}
	return p.pass(watch)
}

// end sends what is missing, or the error.
func (p *pieces) end(err error) error {
	text, finish := "", ""
	if err == nil {
		text, err = p.text()
	}
	if err == nil {
		finish, err = p.finish()
	}
	if err != nil {
		e := p.api.PublicError(err, p.Call)
		_, body := formatError(api.StatusOf(e.Code), e)
		p.out.AddData(flow.EncodeJSON(body))
		return ended(p.out.Flush())
	}
	p.say(text, true)
	p.add(&message{}, &finish, nil)
	if p.usage {
		used, err := p.used()
		if err != nil {
			return err
		}
		p.add(nil, nil, used)
	}
	p.out.AddData([]byte("[DONE]"))
	return ended(p.out.Flush())
}

// ended hides that the client is gone.
func ended(err error) error {
	if errors.Is(err, web.ErrStreamDone) {
		return nil
	}
	return err
}
