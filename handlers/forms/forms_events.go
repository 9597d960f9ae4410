package forms

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/flow/sorting"
	"sluice/handlers/web"
	formsview "sluice/views/forms"
)

// maxResultStream bounds one event stream of a result. If the run takes longer,
// the page opens another stream.
const maxResultStream = 10 * time.Minute

// resultStream sends the progress of a run to its result page.
type resultStream struct {
	*resultCall
	out     *web.Stream
	watch   flow.Watch
	lastSeq int64                    // flow.Run.Seq of the newest change that was sent
	outputs map[string]string        // output by node; see streamedOutputs
	agents  map[string]bool          // see document.SpeakingAgents
	turns   map[string]*web.TurnText // by agent
}

// followResult is GET events: an event stream with the content of the result
// page after each change of the run, and the text of outputs while models
// produce it. Visitors get no text of other nodes.
func (v *formCall) followResult() error {
	t, err := v.findResult()
	if err != nil {
		return err
	}
	watch := v.s.Runner.WatchText(t.run.ID) // before the first read, so that no change is missed
	defer watch.Stop()
	s := &resultStream{resultCall: t, watch: watch, lastSeq: -1, outputs: t.streamedOutputs(), agents: document.SpeakingAgents(t.doc, t.s.Kinds), turns: map[string]*web.TurnText{}}
	s.out = web.StartStream(v.Response())
	ctx, cancel := context.WithTimeout(v.Ctx(), maxResultStream)
	defer cancel()
	f := web.Follower{
		Watch: watch, Read: s.sendNew, SendText: func() (bool, error) { return false, s.sendTexts() }, Beat: s.heartbeat,
		ReadInterval: web.RunReadInterval, TextInterval: web.RunReadInterval, BeatInterval: web.Heartbeat, Drained: v.s.Drained,
	}
	return f.Follow(ctx)
}

// streamedOutputs maps nodes to the outputs that are the unchanged text of the node.
// Their text can be shown while the node is still running.
func (t *resultCall) streamedOutputs() map[string]string {
	names := map[string]string{}
	sources := document.TextSources(t.doc, contract.Outputs(t.doc, t.s.Kinds))
	for output, node := range sources {
		names[node] = output
	}
	if reply, _ := document.Reply(t.doc, t.s.Kinds); sources[reply.Name] != "" { // preferred over other outputs with the same text
		names[sources[reply.Name]] = reply.Name
	}
	return names
}

// heartbeat keeps the connection alive and checks that the visitor may still see the form.
func (s *resultStream) heartbeat() error {
	v, err := s.findFormCall(s.flow.ID)
	if flow.IsNotFound(err) || err == nil && (v.form.PasswordHash != "" && !v.hasPass() || !s.s.Now().Before(s.expires)) {
		return web.ErrStreamDone
	}
	if err == nil || flow.IsUnavailable(err) {
		s.out.AddComment("")
		return s.out.Flush()
	}
	return err
}

// sendNew sends the content of the page if the run has changed since the last
// event. It returns web.ErrStreamDone after the end of the run.
func (s *resultStream) sendNew() error {
	if err := s.find(s.run.ID); err != nil {
		return err
	}
	s.watch.Sync(s.Ctx(), s.run, nil)
	if err := s.sendTexts(); err != nil { // the text of a step must precede its end
		return err
	}
	if s.run.Seq == s.lastSeq {
		return nil
	}
	s.lastSeq = s.run.Seq
	var page bytes.Buffer
	if err := formsview.FormRunBody(s.result()).Render(s.Ctx(), &page); err != nil {
		return err
	}
	if err := s.write("run", map[string]any{"html": page.String(), "state": string(s.run.State)}); err != nil {
		return err
	}
	if in := conversation(s.doc, s.s.Kinds); in != nil && s.run.State.Ended() {
		reply, err := s.reply(s.Ctx(), in)
		if err == nil {
			err = s.write("reply", reply)
		}
		if err != nil {
			return err
		}
	}
	if s.run.State.Ended() {
		return errors.Join(s.write("over", map[string]any{}), web.ErrStreamDone)
	}
	return nil
}

// sendTexts sends the new text of steps that become outputs.
func (s *resultStream) sendTexts() error {
	list := s.watch.Read(func(string, int) bool { return true })
	sorting.By(list, func(a, b flow.Delta) int { return flow.CompareSubSteps(a.Path, b.Path) })
	for _, d := range list {
		node, _, _ := strings.Cut(d.Path, flow.SubSeparator)
		name, isOutput := s.outputs[node]
		switch {
		case !isOutput || d.Path != node && !(s.agents[node] && web.IsTurn(node, d.Path)):
			continue
		case s.agents[node]:
			if s.turns[node] == nil {
				s.turns[node] = &web.TurnText{}
			}
			d.Text, d.Reset = s.turns[node].Add(d.Path, d.Text, d.Reset)
		}
		if err := s.write("text", map[string]any{"output": name, "text": d.Text, "reset": d.Reset}); err != nil {
			return err
		}
	}
	return nil
}

// write sends and flushes one event.
func (s *resultStream) write(event string, data any) error {
	s.out.Add("", event, data)
	return s.out.Flush()
}
