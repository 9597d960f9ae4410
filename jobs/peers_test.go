package jobs_test

import (
	"context"
	"crypto/rand"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/db/dbtest"
	"sluice/flow"
	"sluice/jobs"
	"sluice/jobs/peers"
)

// peerInstance is one of several instances on a database that have connections to each
// other.
type peerInstance struct {
	*fixture
	peers *peers.Peers
}

// newInstances makes n connected instances. The first is started and works on runs;
// the others only receive its notifications.
func newInstances(t *testing.T, n int) []*peerInstance {
	t.Helper()
	cfg := dbtest.PostgresConfig(t)
	first := &peerInstance{fixture: newFixture(t, cfg, gatedFlow)}
	first.newPeerRunner()
	list := []*peerInstance{first}
	for range n - 1 {
		in := &peerInstance{fixture: first.secondProcess(cfg)}
		in.newPeerRunner()
		list = append(list, in.listen())
	}
	first.start()
	return list
}

// newPeerRunner makes a Runner that has connections to other instances.
func (in *peerInstance) newPeerRunner() {
	in.t.Helper()
	key, err := in.store.PeerKey()
	if err != nil {
		in.t.Fatal(err)
	}
	id := "test-" + rand.Text()
	if in.peers, err = peers.New(peers.Config{Instance: id, Key: key, Now: in.store.Now, Log: slog.New(slog.DiscardHandler)}); err != nil {
		in.t.Fatal(err)
	}
	l, err := peers.Listen("127.0.0.1:0")
	if err != nil {
		in.t.Fatal(err)
	}
	in.t.Cleanup(in.peers.Close)
	in.store.PeerAddr = l.Addr().String()
	in.newRunnerWith(in.store, func(cfg *jobs.Config) { cfg.Instance, cfg.Follow = id, in.peers.Follow })
	in.peers.Serve(l, in.runner.StreamText, func(err error) { in.t.Error(err) })
}

// listen lets the Runner receive notifications without working on runs.
func (in *peerInstance) listen() *peerInstance {
	ctx, stop := context.WithCancel(context.Background())
	var listening sync.WaitGroup
	listening.Go(func() { in.runner.ListenForTest(ctx) })
	in.t.Cleanup(func() { stop(); listening.Wait() })
	return in
}

// transcript collects the text of the node g as a reader sees it.
type transcript struct {
	watch flow.Watch
	text  strings.Builder
	last  flow.Delta
}

// awaitText reads until the text is want.
func (r *transcript) awaitText(t *testing.T, want string) {
	t.Helper()
	deadline := time.After(waitTimeout)
	for {
		r.read()
		if r.text.String() == want {
			return
		}
		select {
		case <-r.watch.Texts:
		case <-deadline:
			t.Fatalf("timed out with the text %q, wanted %q", &r.text, want)
		}
	}
}

// sync reads what belongs to a run and steps that were read from the store.
func (r *transcript) sync(ctx context.Context, run *flow.Run, steps []flow.Step) {
	r.watch.Sync(ctx, run, steps)
	r.read()
}

func (r *transcript) read() {
	for _, d := range r.watch.Read(func(string, int) bool { return true }) {
		if d.Reset {
			r.text.Reset()
		}
		r.text.WriteString(d.Text)
		r.last = d
	}
}

func (in *peerInstance) reader(run *flow.Run) *transcript {
	r := &transcript{watch: in.runner.WatchText(run.ID)}
	in.t.Cleanup(r.watch.Stop)
	return r
}

// awaitForgotten waits until an instance has no state of a run any more.
func (in *peerInstance) awaitForgotten(run *flow.Run) {
	in.t.Helper()
	in.waitUntil("the instance forgets the run", func() bool { return !in.runner.HasLiveRun(run.ID) })
}

// emitFirst starts a run on the first instance and emits text that the readers on
// other instances get.
func emitFirst(t *testing.T, first *peerInstance, text string, others ...*peerInstance) (run *flow.Run, readers []*transcript) {
	t.Helper()
	run = first.startRun()
	for _, in := range others {
		readers = append(readers, in.reader(run))
	}
	<-first.gate.started
	first.gate.emit <- text
	for _, r := range readers {
		r.awaitText(t, text)
	}
	return run, readers
}

func TestMirror_reaches_all_instances(t *testing.T) {
	t.Parallel()
	list := newInstances(t, 3)
	a, b, c := list[0], list[1], list[2]
	run, readers := emitFirst(t, a, "one ", b)
	late := b.reader(run)
	late.awaitText(t, "one ")
	if !late.last.Reset {
		t.Errorf("a reader that joins late got %+v", late.last)
	}
	third := c.reader(run)
	third.awaitText(t, "one ")
	readers = append(readers, late, third)
	a.gate.emit <- "two"
	for _, r := range readers {
		r.awaitText(t, "one two")
	}
	if n := a.runner.RelayCount(run.ID); n != 2 {
		t.Errorf("%d streams carry the text, wanted one for each instance", n)
	}
	a.gate.release <- nil
	a.awaitEnd(run)
	for _, r := range readers {
		r.awaitText(t, "one two")
		r.watch.Stop()
	}
	b.awaitForgotten(run)
	a.awaitForgotten(run)
}

// A reader that reads the store and then the text has all text of the steps that
// the store says have ended, as on the instance that works on the run.
func TestSync_waits_for_text_of_ended_steps(t *testing.T) {
	t.Parallel()
	list := newInstances(t, 2)
	a, b := list[0], list[1]
	for range 20 {
		run, readers := emitFirst(t, a, "almost ", b)
		r := readers[0]
		a.gate.emit <- "all of it"
		a.gate.release <- nil
		for ended := false; !ended; {
			<-r.watch.Changes
			now := b.findRun(run)
			steps, err := b.store.FindSteps(t.Context(), run.WorkspaceID, run.ID)
			if err != nil {
				t.Fatal(err)
			}
			r.sync(t.Context(), now, steps)
			ended = now.State.Ended()
		}
		if r.text.String() != "almost all of it" {
			t.Fatalf("at the end of the run the text is %q", &r.text)
		}
		r.watch.Stop()
	}
}

// A run that is handed back in the middle of its text moves to one reader's own
// instance and, for the other reader, from one instance to another.
func TestMirror_follows_run_to_other_instance(t *testing.T) {
	t.Parallel()
	list := newInstances(t, 3)
	a, b, c := list[0], list[1], list[2]
	run, readers := emitFirst(t, a, "interrupted", b, c)
	if err := drain(a.runner, 50*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	b.start()
	<-b.gate.started
	b.gate.emit <- "again"
	for _, r := range readers {
		if r.awaitText(t, "again"); r.last.Attempt != 2 {
			t.Errorf("the text of the new attempt came as %+v", r.last)
		}
	}
	b.gate.release <- nil
	b.awaitEnd(run)
	for _, r := range readers {
		r.awaitText(t, "again")
	}
}

// A lost connection is replaced, and readers continue at their positions.
func TestMirror_reconnects(t *testing.T) {
	t.Parallel()
	list := newInstances(t, 2)
	a, b := list[0], list[1]
	run, readers := emitFirst(t, a, "one ", b)
	r := readers[0]
	r.last = flow.Delta{}
	b.runner.DisconnectMirror(run.ID)
	a.gate.emit <- "two "
	r.awaitText(t, "one two ")
	if r.last.Reset {
		t.Error("text was repeated after the connection was lost")
	}
	late := b.reader(run)
	late.awaitText(t, "one two ")
	a.gate.release <- nil
	a.awaitEnd(run)
}

// An instance that neither answers nor closes its connections delays the events of
// readers elsewhere only for a moment.
func TestSync_times_out(t *testing.T) {
	t.Parallel()
	list := newInstances(t, 2)
	a, b := list[0], list[1]
	run, readers := emitFirst(t, a, "some", b)
	r := readers[0]
	now := b.findRun(run)
	now.Seq += 100 // an event that a never learns of
	r.watch.Sync(t.Context(), now, nil)
	r.watch.Sync(t.Context(), now, nil)
	a.gate.emit <- " more"
	r.awaitText(t, "some more")
	a.gate.release <- nil
	a.awaitEnd(run)
}
