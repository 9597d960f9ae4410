package db_test

import (
	"testing"
	"time"

	"sluice/db/core"
	"sluice/flow"
)

func (w *fixture) changes() int64 {
	w.t.Helper()
	n, err := w.Changes(w.ctx)
	w.must(err)
	return n
}

func TestChanges(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		before := w.changes()
		w.find(w.start().ID)
		after := w.changes()
		if after == before {
			t.Error("a run was started, but nothing has changed")
		}
		w.find(w.start().ID)
		if w.changes() == after {
			t.Error("another run was started, but nothing has changed")
		}
	})
}

// TestChanges_ignores_idle_background_work checks that background work that finds nothing to do does not
// count as a change, which would cause more of it.
func TestChanges_ignores_idle_background_work(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		before := w.changes()
		_, _, err := w.DueWakes(w.ctx, w.clock.Now(), 10)
		w.must(err)
		_, err = w.AdmitRuns(w.ctx, 10)
		w.must(err)
		_, _, err = w.DueDeliveries(w.ctx, w.clock.Now(), 10)
		w.must(err)
		_, err = w.ExpireRuns(w.ctx, w.clock.Now(), 10)
		w.must(err)
		wantEqual(t, "changes", w.changes(), before)
	})
}

// TestChanges_counts_writes_of_commands checks that a server notices what a process without
// workers writes beside it.
func TestChanges_counts_writes_of_commands(t *testing.T) {
	t.Parallel()
	for name, open := range openers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var cfg core.Config
			server := newFixture(t, open(t, func(c *core.Config) { cfg = *c }), &clock{now: time.Now()})
			listening := make(chan struct{}, 1)
			go server.Listen(t.Context(), func(flow.RunID) {
				select {
				case listening <- struct{}{}:
				default:
				}
			})
			if server.IsPostgres() {
				<-listening
			}
			command := &fixture{Store: open(t, func(c *core.Config) { *c = cfg }), t: t, ctx: t.Context()}
			before := server.changes()
			command.newFlow(ws)
			for deadline := time.Now().Add(time.Minute); server.changes() == before; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("the server has not noticed the flow that a command made")
				}
			}
		})
	}
}
