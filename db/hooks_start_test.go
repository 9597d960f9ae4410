package db_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"sluice/flow"
	"sluice/flow/triggers"
)

// hook creates a trigger with a URL, and returns what makes a start one by its event. Without a key, the event is new.
func (w *fixture) hook() (t *triggers.Trigger, event func(key string) func(*flow.NewRun)) {
	w.t.Helper()
	ids := flow.NewIDs()
	t = &triggers.Trigger{ID: ids.New(flow.PrefixTrigger), WorkspaceID: ws, FlowID: w.flow.ID, Name: "orders", Kind: triggers.Hook, On: true, CreatedAt: w.Now()}
	w.must(w.CreateTrigger(w.ctx, t))
	return t, func(key string) func(*flow.NewRun) {
		return func(n *flow.NewRun) {
			o := &flow.Occurrence{TriggerID: t.ID, TriggerName: t.Name, Key: key, Position: ids.New(flow.PrefixEvent), Overlap: true}
			if key == "" {
				o.Key, o.Fresh = ids.New(flow.PrefixEvent), true
			} else {
				n.IdempotencyKey, n.Fingerprint = triggers.Claim(t.ID, key), key
			}
			n.Run.Trigger, n.Run.KeyID, n.Key, n.Occurrence = flow.TriggerHook, "", nil, o
			n.Run.TriggerID, n.Run.TriggerName, n.Run.EventKey = t.ID, t.Name, o.Key
		}
	}
}

func TestStartRun_records_the_events_of_webhooks_that_arrive_together(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		hook, event := w.hook()
		var changes []func(*flow.NewRun)
		for n := range 60 {
			changes = append(changes, event([]string{"", "", fmt.Sprintf("order-%d", n%9)}[n%3]))
		}
		runs := make([]flow.RunID, len(changes))
		replayed := make([]bool, len(changes))
		var all sync.WaitGroup
		for i, change := range changes {
			all.Go(func() {
				s, err := w.tryStart(change)
				if err != nil {
					t.Error(err)
					return
				}
				runs[i], replayed[i] = s.Run.ID, s.Replayed
			})
		}
		all.Wait()
		fresh := 0
		for _, again := range replayed {
			if !again {
				fresh++
			}
		}
		wantEqual(t, "runs", fresh, 43) // 40 new events, and three keys: n%3 is 2, so n%9 is 2, 5 or 8
		events, err := w.ListEvents(w.ctx, hook, "", "", 100)
		w.must(err)
		wantEqual(t, "events", len(events), 43)
		for _, e := range events {
			if e.State != triggers.Started || !slices.Contains(runs, e.RunID) {
				t.Errorf("the event %s is %s, with the run %s", e.Key, e.State, e.RunID)
			}
		}
		last, err := w.FindTrigger(w.ctx, ws, w.flow.ID, hook.ID)
		w.must(err)
		if !slices.Contains(runs, last.LastRunID) {
			t.Errorf("the last run is %s", last.LastRunID)
		}
	})
}

func TestStartRun_replaces_an_event_that_started_nothing_and_refuses_one_of_a_deleted_trigger(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		hook, event := w.hook()
		const request = "a request of thirty characters"
		w.must(w.SaveHookEvent(w.ctx, &triggers.Event{TriggerID: hook.ID, Key: "order-1", WorkspaceID: ws, FlowID: w.flow.ID, State: triggers.Rejected, Request: request}))
		grown := func(key string) int64 {
			before, err := w.FindStorage(w.ctx, ws)
			w.must(err)
			w.start(event(key))
			after, err := w.FindStorage(w.ctx, ws)
			w.must(err)
			return after.Used.Bytes - before.Used.Bytes
		}
		wantEqual(t, "growth by an event without and with an earlier request", grown("order-2")-grown("order-1"), int64(len(request)))
		e, err := w.FindEvent(w.ctx, hook, "order-1")
		w.must(err)
		if e.State != triggers.Started || e.RunID == "" || e.Request != "" {
			t.Errorf("the event is %s, with the run %q and the request %q", e.State, e.RunID, e.Request)
		}
		w.must(w.DeleteTrigger(w.ctx, ws, hook.ID))
		if _, err := w.tryStart(event("")); !flow.IsNotFound(err) {
			t.Errorf("an event of a deleted trigger gets %v", err)
		}
	})
}
