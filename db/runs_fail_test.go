package db_test

import (
	"testing"
	"time"

	"sluice/flow"
)

func TestFailRun_keeps_the_storage_exact(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		r := w.take(w.start().ID)
		open := step("a")
		open.State, open.Saved = flow.StepRunning, map[string]any{"id": "prediction"}
		hook := flow.NewDelivery{Node: "hook", URL: "https://example.com", Body: []byte(`{"a":1}`)}
		w.must(w.WriteRun(w.ctx, flow.RunWrite{Run: r, Steps: []flow.Step{open, step("b")}, Deliveries: []flow.NewDelivery{hook}, Durable: true}))
		if _, err := w.FailRun(w.ctx, r.ID, r.Attempt, flow.Errorf(flow.CodeInternal, "It cannot be read.")); err != nil {
			t.Fatal(err)
		}
		w.wantStorage()
		w.must(w.EraseRun(w.ctx, ws, r.FlowID, r.ID, flow.CodeRunExpired))
		w.wantStorage()
	})
}

// A delivery that already exists, as after a restore, counts once.
func TestStorage_counts_a_repeated_delivery_once(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		r := w.take(w.start().ID)
		hook := flow.NewDelivery{ID: flow.DeliveryID(r.ID, "hook", 0), Node: "hook", URL: "https://example.com", Body: []byte(`{"a":1}`)}
		for range 2 {
			w.must(w.WriteRun(w.ctx, flow.RunWrite{Run: r, Deliveries: []flow.NewDelivery{hook}, Durable: true}))
		}
		w.wantStorage()
	})
}

// WriteRun cannot end a run whose webhook cannot be decrypted. FailRun ends it, so that
// it is not retried forever.
func TestFailRun_skips_an_unreadable_webhook(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		r := w.take(w.start(func(n *flow.NewRun) {
			n.Webhook = &flow.NewDelivery{URL: "https://example.com/in"}
		}).ID)
		w.tamper("UPDATE runs SET webhook = $1 WHERE id = $2", []byte("damaged"), r.ID)
		if err := w.finish(r, flow.RunSucceeded); !flow.IsPermanent(err) {
			t.Errorf("the end of the run said %v", err)
		}
		if _, err := w.FailRun(w.ctx, r.ID, r.Attempt, flow.Errorf(flow.CodeInternal, "It cannot be read.")); err != nil {
			t.Fatal(err)
		}
		wantEqual(t, "state", w.find(r.ID).State, flow.RunFailed)
		list, err := w.ListDeliveriesOfRun(w.ctx, ws, r.ID)
		w.must(err)
		wantEqual(t, "deliveries", len(list), 0)
		w.clock.move(time.Second)
		w.wantStorage()
	})
}
