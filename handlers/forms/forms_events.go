package forms

import (
	"bytes"
	"errors"
	"strings"
	"time"

	"sluice/flow"
	"sluice/handlers/web"
	"sluice/handlers/web/conns"
	formsview "sluice/views/forms"
)

// resultHold is how long one stream of a result lasts; the page opens another
// where the run goes on for longer.
const resultHold = 10 * time.Minute

// resultStream is what the page of a result hears.
type resultStream struct {
	*ticketed
	out     *web.Stream
	watch   flow.Watch
	told    int64             // number of the newest change that was sent
	outputs map[string]string // by the node whose text becomes the output unchanged
	missed  <-chan time.Time  // set after a look that failed
}

// followResult is GET events: the result page's content at every change, and
// text of the outputs as it comes. What other nodes say is not for visitors.
func (v *visit) followResult() error {
	t, err := v.findTicketed()
	if err != nil {
		return err
	}
	watch := v.s.Runner.WatchText(t.run.ID) // before the first look, so that no change falls between
	defer watch.Stop()
	s := &resultStream{ticketed: t, watch: watch, told: -1, outputs: t.spoken()}
	s.out = web.StartStream(v.Response())
	if err := s.follow(); !errors.Is(err, web.ErrStreamDone) {
		return err
	}
	return nil
}

// spoken finds the outputs that are the text of a node, as it is.
func (t *ticketed) spoken() map[string]string {
	names := map[string]string{}
	for _, o := range t.doc.Outputs(t.s.Kinds) {
		for _, e := range t.doc.Edges {
			if node, isText := strings.CutSuffix(e.From, ".text"); isText && e.ToNode() == o.Node {
				names[node] = o.Name
			}
		}
	}
	return names
}

func (s *resultStream) follow() error {
	beat, stop := conns.NewTicker(s.Ctx(), web.Heartbeat)
	defer stop()
	over := time.NewTimer(resultHold)
	defer over.Stop()
	pause := time.NewTimer(web.RunReadInterval)
	defer pause.Stop()
	err := s.look()
	for err == nil {
		pause.Reset(web.RunReadInterval)
		select {
		case <-pause.C:
		case <-s.Ctx().Done():
			return web.ErrStreamDone
		}
		select {
		case <-s.watch.Changes:
			err = s.look()
		case <-s.missed:
			err = s.look()
		case <-s.watch.Texts:
			err = s.speak()
		case <-beat:
			err = s.beat()
		case <-over.C:
			err = web.ErrStreamDone
		case <-s.s.Drained:
			err = web.ErrStreamDone
		case <-s.Ctx().Done():
			err = web.ErrStreamDone
		}
	}
	return err
}

// beat keeps the connection and looks whether the form is still there for this
// visitor, and at the run: another process may work on it.
func (s *resultStream) beat() error {
	v, err := s.findVisit(s.flow.ID)
	if web.IsNotFound(err) || err == nil && (v.form.PasswordHash != "" && !v.passes() || !s.s.Now().Before(s.expires)) {
		return web.ErrStreamDone
	}
	if err == nil || flow.IsUnavailable(err) {
		s.out.AddComment("")
		err = s.out.Flush()
	}
	if err != nil {
		return err
	}
	return s.look()
}

// look sends what is new. While the database is away that is nothing.
func (s *resultStream) look() error {
	err := s.sendNew()
	if s.missed = nil; flow.IsUnavailable(err) {
		s.missed = time.After(web.RetryPause)
		return nil
	}
	return err
}

// sendNew sends the page's content if the run has changed, and ends with the run.
func (s *resultStream) sendNew() error {
	if err := s.find(s.run.ID); err != nil {
		return err
	}
	s.watch.Sync(s.Ctx(), s.run, nil)
	if err := s.speak(); err != nil { // what a step said comes before its end
		return err
	}
	if s.run.Seq == s.told {
		return nil
	}
	s.told = s.run.Seq
	var page bytes.Buffer
	if err := formsview.FormRunBody(s.result()).Render(s.Ctx(), &page); err != nil {
		return err
	}
	if err := s.write("run", map[string]any{"html": page.String(), "state": string(s.run.State)}); err != nil {
		return err
	}
	if s.run.State.Ended() {
		return errors.Join(s.write("over", map[string]any{}), web.ErrStreamDone)
	}
	return nil
}

// speak sends what is new of the texts that become outputs.
func (s *resultStream) speak() error {
	for _, d := range s.watch.Read(func(string, int) bool { return true }) {
		name, open := s.outputs[d.Path]
		if !open {
			continue
		}
		if err := s.write("text", map[string]any{"output": name, "text": d.Text, "reset": d.Reset}); err != nil {
			return err
		}
	}
	return nil
}

func (s *resultStream) write(event string, data any) error {
	s.out.Add("", event, data)
	return s.out.Flush()
}
