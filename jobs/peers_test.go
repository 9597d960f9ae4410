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

// instance is one of several on a database, with an address for the others.
type peerInstance struct {
	*fixture
	peers *peers.Peers
}

// fleet makes instances that are wired to each other; the first one is alone in
// working on runs until others are started.
func newInstances(t *testing.T, n int) []*peerInstance {
	t.Helper()
	cfg := dbtest.PostgresConfig(t)
	var list []*peerInstance
	for i := range n {
		w := &peerInstance{}
		if i == 0 {
			w.fixture = newFixture(t, cfg, gatedFlow)
		} else {
			w.fixture = list[0].secondProcess(cfg)
		}
		w.newPeerRunner()
		list = append(list, w)
	}
	return list
}

// connect wires a Runner that has connections to other instances.
func (w *peerInstance) newPeerRunner() {
	w.t.Helper()
	key, err := w.store.PeerKey()
	if err != nil {
		w.t.Fatal(err)
	}
	name := "test-" + rand.Text()
	if w.peers, err = peers.New(peers.Config{Instance: name, Key: key, Now: w.store.Now, Log: slog.New(slog.DiscardHandler)}); err != nil {
		w.t.Fatal(err)
	}
	l, err := peers.Listen("127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(w.peers.Close)
	w.store.PeerAddr = l.Addr().String()
	w.newRunnerWith(w.store, func(cfg *jobs.Config) { cfg.Instance, cfg.Follow = name, w.peers.Follow })
	w.peers.Serve(l, w.runner.StreamText, func(err error) { w.t.Error(err) })
}

// hearing lets a Runner hear of others' writes without working on runs.
func (w *peerInstance) listen() *peerInstance {
	ctx, stop := context.WithCancel(context.Background())
	var over sync.WaitGroup
	over.Go(func() { w.runner.ListenForTest(ctx) })
	w.t.Cleanup(func() { stop(); over.Wait() })
	return w
}

// transcript puts together what a reader is told of the node g.
type transcript struct {
	watch flow.Watch
	text  strings.Builder
	last  flow.Delta
}

// until reads on until the text is want.
func (r *transcript) awaitText(t *testing.T, want string) {
	t.Helper()
	late := time.After(20 * time.Second)
	for {
		r.read()
		if r.text.String() == want {
			return
		}
		select {
		case <-r.watch.Texts:
		case <-late:
			t.Fatalf("after 20 s the text is %q, wanted %q", &r.text, want)
		}
	}
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

func (w *peerInstance) reader(run *flow.Run) *transcript {
	r := &transcript{watch: w.runner.WatchText(run.ID)}
	w.t.Cleanup(r.watch.Stop)
	return r
}

func TestMirror_reaches_all_instances(t *testing.T) {
	t.Parallel()
	f := newInstances(t, 3)
	a, b, c := f[0], f[1].listen(), f[2].listen()
	a.start()
	run := a.startRun()
	early := b.reader(run)
	<-a.gate.started
	a.gate.emit <- "one "
	early.awaitText(t, "one ")
	late := b.reader(run)
	late.awaitText(t, "one ")
	if !late.last.Reset {
		t.Errorf("who comes late hears %+v", late.last)
	}
	third := c.reader(run)
	third.awaitText(t, "one ")
	a.gate.emit <- "two"
	for _, r := range []*transcript{early, late, third} {
		r.awaitText(t, "one two")
	}
	if n := a.runner.RelayCount(run.ID); n != 2 {
		t.Errorf("%d connections carry the text, wanted one for each instance", n)
	}
	a.gate.release <- nil
	a.awaitEnd(run)
	for _, r := range []*transcript{early, late, third} {
		r.awaitText(t, "one two")
		r.watch.Stop()
	}
	b.awaitForgotten(run)
	a.awaitForgotten(run)
}

// forgets waits until an instance has no state of a run any more.
func (w *peerInstance) awaitForgotten(run *flow.Run) {
	w.t.Helper()
	for late := time.Now().Add(20 * time.Second); w.runner.HasLiveRun(run.ID); time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			w.t.Fatal("an instance remembers the text of a run that is over")
		}
	}
}

// Whoever reads the store and then the text has all text of the steps that the
// store says are over, as on the instance that works on the run.
func TestSync_waits_for_text_of_ended_steps(t *testing.T) {
	t.Parallel()
	f := newInstances(t, 2)
	a, b := f[0], f[1].listen()
	a.start()
	for range 20 {
		run := a.startRun()
		r := b.reader(run)
		<-a.gate.started
		a.gate.emit <- "almost "
		r.awaitText(t, "almost ")
		a.gate.emit <- "all of it"
		a.gate.release <- nil
		for ended := false; !ended; {
			<-r.watch.Changes
			now, err := b.store.FindRun(t.Context(), run.WorkspaceID, run.FlowID, run.ID)
			if err != nil {
				t.Fatal(err)
			}
			steps, err := b.store.FindSteps(t.Context(), run.WorkspaceID, run.ID)
			if err != nil {
				t.Fatal(err)
			}
			r.watch.Sync(t.Context(), now, steps)
			r.read()
			ended = now.State.Ended()
		}
		if r.text.String() != "almost all of it" {
			t.Fatalf("with the end of the run the text is %q", &r.text)
		}
		r.watch.Stop()
	}
}

// A run that is handed on in mid-stream goes from another instance to the
// reader's own, and from one to another.
func TestMirror_follows_run_to_other_instance(t *testing.T) {
	t.Parallel()
	f := newInstances(t, 3)
	a, b, c := f[0], f[1], f[2].listen()
	a.start()
	run := a.startRun()
	here, there := b.listen().reader(run), c.reader(run)
	<-a.gate.started
	a.gate.emit <- "cut off"
	here.awaitText(t, "cut off")
	there.awaitText(t, "cut off")
	if err := drain(a.runner, 50*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	b.start()
	<-b.gate.started
	b.gate.emit <- "again"
	here.awaitText(t, "again")
	there.awaitText(t, "again")
	if here.last.Attempt != 2 || there.last.Attempt != 2 {
		t.Errorf("the new attempt says %+v here, %+v there", here.last, there.last)
	}
	b.gate.release <- nil
	b.awaitEnd(run)
	here.awaitText(t, "again")
	there.awaitText(t, "again")
}

// A connection that breaks is made again, and readers go on where they were.
func TestMirror_reconnects(t *testing.T) {
	t.Parallel()
	f := newInstances(t, 2)
	a, b := f[0], f[1].listen()
	a.start()
	run := a.startRun()
	r := b.reader(run)
	<-a.gate.started
	a.gate.emit <- "one "
	r.awaitText(t, "one ")
	r.last = flow.Delta{}
	b.runner.DisconnectMirror(run.ID)
	a.gate.emit <- "two "
	r.awaitText(t, "one two ")
	if r.last.Reset {
		t.Error("text was told twice after a break")
	}
	late := b.reader(run)
	late.awaitText(t, "one two ")
	a.gate.release <- nil
	a.awaitEnd(run)
}

// A holder that neither answers nor closes its connections holds up the events
// of readers elsewhere for a moment only.
func TestSync_times_out(t *testing.T) {
	t.Parallel()
	f := newInstances(t, 2)
	a, b := f[0], f[1].listen()
	a.start()
	run := a.startRun()
	r := b.reader(run)
	<-a.gate.started
	a.gate.emit <- "some"
	r.awaitText(t, "some")
	now, err := b.store.FindRun(t.Context(), run.WorkspaceID, run.FlowID, run.ID)
	if err != nil {
		t.Fatal(err)
	}
	now.Seq += 100 // recorded by somebody of whom a does not know
	r.watch.Sync(t.Context(), now, nil)
	r.watch.Sync(t.Context(), now, nil)
	a.gate.emit <- " more"
	r.awaitText(t, "some more")
	a.gate.release <- nil
	a.awaitEnd(run)
}
