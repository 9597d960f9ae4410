package jobs

import (
	"context"
	"time"

	"sluice/flow"
)

// textBatchInterval is the shortest time between two batches that hold only text.
// Events are sent immediately.
const textBatchInterval = 20 * time.Millisecond

// errRunNotHere means that no worker of this process has the run.
var errRunNotHere = flow.Errorf(flow.CodeNotFound, "This instance does not work on the run.")

// relay is the state of a watcher that streams text to another instance. The run's
// lock guards it.
type relay struct {
	endedSteps []string // paths of steps that have ended since the last batch
	sentSeq    int64    // newest event that was sent; -1 before the first batch
}

// relayStepEnd adds the end of a step to the next batch of all relays.
func (l *liveRun) relayStepEnd(path string) {
	for _, w := range l.watchers {
		if w.relay != nil {
			w.relay.endedSteps = append(w.relay.endedSteps, path)
		}
	}
}

// notifyRelays wakes the watchers that stream text of the run to other instances. The
// caller holds the lock of the run.
func (l *liveRun) notifyRelays() {
	for _, w := range l.watchers {
		if w.relay != nil {
			notify(w.changes)
		}
	}
}

// runLoaded records the newest event of a run that a worker of this process has
// read, and passes it on to relays: the text before it came from earlier workers.
func (b *broker) runLoaded(run *flow.Run) {
	l := b.find(run.ID)
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seq = max(l.seq, run.Seq)
	l.notifyRelays()
}

// StreamText streams the text of a run to another instance: first the text so far
// of the steps at work, then what follows, until no worker of this process has the
// run. It returns an error with CodeNotFound if none has it, and the errors of send.
func (r *Runner) StreamText(ctx context.Context, runID flow.RunID, send func(flow.PeerText) error) error {
	w := r.broker.addWatcher(runID, &watcher{changes: make(chan struct{}, 1), textReader: newTextReader(), relay: &relay{sentSeq: -1}})
	defer r.broker.removeWatcher(runID, w)
	if !w.hasWorker() {
		return errRunNotHere
	}
	batch := time.NewTimer(textBatchInterval)
	defer batch.Stop()
	for texts := w.notifications; ; {
		p, pending, more := w.nextPeerText()
		if pending {
			if err := send(p); err != nil {
				return err
			}
		}
		if !more {
			return nil
		}
		if len(p.Deltas) > 0 { // ignore text until the interval has passed
			texts = nil
			batch.Reset(textBatchInterval)
		}
		select {
		case <-texts:
		case <-w.changes:
		case <-batch.C:
			texts = w.notifications
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// hasWorker reports whether a worker of this process has the run.
func (w *watcher) hasWorker() bool {
	w.run.mu.Lock()
	defer w.run.mu.Unlock()
	return w.run.workers > 0
}

// nextPeerText returns the next batch of a relay. pending is false if there is
// nothing to send, and more is false once no worker of this process has the run.
func (w *watcher) nextPeerText() (p flow.PeerText, pending, more bool) {
	l := w.run
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.texts {
		if w.hasUnread(t) {
			p.Deltas = append(p.Deltas, w.next(t))
		}
	}
	p.Over, w.relay.endedSteps, p.Seq = w.relay.endedSteps, nil, l.seq
	pending = len(p.Deltas) > 0 || len(p.Over) > 0 || w.relay.sentSeq != p.Seq
	w.relay.sentSeq = p.Seq
	if pending {
		l.evict()
	}
	return p, pending, l.workers > 0
}
