package db_test

import (
	"testing"

	"sluice/flow"
	"sluice/flow/fairness"
)

// sent creates queued deliveries of one run to one receiver.
func (w *fixture) sent(n int) (ids []string) {
	w.t.Helper()
	r := w.take(w.start().ID)
	var list []flow.NewDelivery
	for i := range n {
		list = append(list, flow.NewDelivery{ID: flow.DeliveryID(r.ID, "hook", i), Node: "hook", URL: "https://example.com", Body: []byte("{}")})
		ids = append(ids, list[i].ID)
	}
	w.must(w.WriteRun(w.ctx, flow.RunWrite{Run: r, Deliveries: list, Durable: true}))
	return ids
}

// An instance of 0.1.0 that keeps running during an upgrade hands deliveries to the
// queue without writing their place; any instance may get the job.
func TestDelivery_of_an_older_instance_is_sent(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		for place, id := range w.sent(4) {
			if place == 1 {
				continue // in line: no worker has it
			}
			w.tamper("UPDATE deliveries SET place = $1, fence = 7, due_at = 0 WHERE id = $2", place, id)
			if _, err := w.FindDelivery(w.ctx, id, 7); err != nil {
				t.Fatalf("place %d: %v", place, err)
			}
			next := flow.DeliveryOutcome{Attempt: 7, State: flow.DeliveryDelivered}
			w.must(w.RecordAttempt(w.ctx, flow.DeliveryAttempt{DeliveryID: id, StartedAt: w.clock.Now()}, next))
			if _, err := w.FindDelivery(w.ctx, id, 7); err == nil {
				t.Errorf("place %d: made again", place)
			}
		}
	})
}

// It does not write the place of finished deliveries either, which must take no slot.
func TestDelivery_ended_by_an_older_instance_holds_no_slot(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		ids := w.sent(2 * fairness.EndpointSlots)
		n, _, err := w.DueDeliveries(w.ctx, w.clock.Now(), 100)
		w.must(err)
		wantEqual(t, "handed over", n, fairness.EndpointSlots)
		w.tamper("UPDATE deliveries SET state = 'delivered', ended_at = 1 WHERE place = 2")
		n, _, err = w.DueDeliveries(w.ctx, w.clock.Now(), 100)
		w.must(err)
		wantEqual(t, "handed over then", n, fairness.EndpointSlots)

		w.tamper("UPDATE deliveries SET state = 'delivered', ended_at = 1 WHERE place = 2")
		d, err := w.Redeliver(w.ctx, ws, ids[0])
		w.must(err)
		n, _, err = w.DueDeliveries(w.ctx, w.clock.Now(), 100)
		w.must(err)
		wantEqual(t, "handed over of what a person sends again", n, 1)
		wantEqual(t, "state", d.State, flow.DeliveryPending)
	})
}
