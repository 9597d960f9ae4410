package web

import (
	"context"
	"errors"
	"maps"
	"time"

	"sluice/flow"
	"sluice/handlers/web/conns"
)

// Follower sends a run to one client while it executes. Its functions return ErrStreamDone to end
// the stream without an error.
type Follower struct {
	Watch flow.Watch
	// Read sends everything new in the store. Notifications may be repeated and coalesced, so each
	// call must find out what that is. It is repeated after RetryPause while the store is busy.
	Read func() error
	// SendText sends the text of running steps without reading the store. unread reports whether there
	// is text of a step whose start Read has not sent. Without SendText, text is ignored.
	SendText func() (unread bool, err error)
	// Beat keeps the connection alive and checks access. Read follows, because the notification of a
	// change by another instance may have been lost. It may be nil.
	Beat func() error
	// Due fires when OnDue is to be called. Both may be nil.
	Due   <-chan time.Time
	OnDue func() error

	// The first change and the first text after a pause are sent immediately. A busy run changes more
	// often than a person can see, so what comes within the interval is sent together.
	ReadInterval, TextInterval time.Duration
	BeatInterval               time.Duration
	Drained                    <-chan struct{} // closed when the server ends its streams; may be nil
}

// Follow calls the functions of the follower until one of them returns an error, the client has
// disconnected or the server drains. It returns nil in these cases and after ErrStreamDone.
func (f *Follower) Follow(ctx context.Context) error {
	var beats <-chan time.Time
	if f.Beat != nil {
		ticks, stop := conns.NewTicker(ctx, f.BeatInterval)
		defer stop()
		beats = ticks
	}
	reads := newPacer(f.Watch.Changes)
	defer reads.resumed.Stop()
	texts := newPacer(nil)
	if f.SendText != nil {
		texts = newPacer(f.Watch.Texts)
	}
	defer texts.resumed.Stop()

	retry := false // the last read failed and is to be repeated
	read := func() error {
		err := f.Read()
		if retry = flow.IsBusy(err); retry {
			reads.pause(max(f.ReadInterval, RetryPause))
			return nil
		}
		reads.pause(f.ReadInterval)
		return err
	}
	err := read()
	for err == nil {
		select {
		case <-reads.ready:
			err = read()
		case <-reads.resumed.C:
			if reads.resume(); retry {
				err = read()
			}
		case <-texts.ready:
			var unread bool
			unread, err = f.SendText()
			if texts.pause(f.TextInterval); err == nil && unread {
				err = read()
			}
		case <-texts.resumed.C:
			texts.resume()
		case <-f.Due:
			err = f.OnDue()
		case <-beats:
			if err = f.Beat(); err == nil {
				err = read()
			}
		case <-f.Drained:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
	if errors.Is(err, ErrStreamDone) {
		return nil
	}
	return err
}

// pacer throttles notifications: during a pause it delivers none, and one that comes meanwhile is
// delivered after it.
type pacer struct {
	ready   <-chan struct{} // notifications; nil during a pause, so that a select never receives
	all     <-chan struct{}
	resumed *time.Timer // fires at the end of a pause; the receiver then calls resume
}

func newPacer(notifications <-chan struct{}) *pacer {
	return &pacer{ready: notifications, all: notifications, resumed: StoppedTimer()}
}

func (p *pacer) pause(d time.Duration) {
	p.ready = nil
	p.resumed.Reset(d)
}

func (p *pacer) resume() { p.ready = p.all }

// StoppedTimer returns a timer that fires only after Reset.
func StoppedTimer() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

// SentSteps knows the attempts of steps whose start a stream has sent. The text of a later attempt is
// held back until the event of its start is sent.
type SentSteps map[string]sentStep // by path

type sentStep struct {
	attempt int
	running bool
}

// Track records steps that have changed or are running.
func (s SentSteps) Track(changed []flow.Step) {
	for i := range changed {
		c := &changed[i]
		s[c.Path] = sentStep{c.Attempt, c.State == flow.StepRunning}
	}
}

// Read returns the text that may be sent now. unread reports whether there is more text, of attempts
// that were not tracked yet.
func (s SentSteps) Read(w flow.Watch) (deltas []flow.Delta, unread bool) {
	deltas = w.Read(func(path string, attempt int) bool {
		sent := s[path].attempt == attempt
		unread = unread || !sent
		return sent
	})
	return deltas, unread
}

// Running reports whether a step was running when it was tracked.
func (s SentSteps) Running(path string) bool { return s[path].running }

// DropEnded forgets steps that have ended. All their text was sent.
func (s SentSteps) DropEnded() {
	maps.DeleteFunc(s, func(_ string, k sentStep) bool { return !k.running })
}
