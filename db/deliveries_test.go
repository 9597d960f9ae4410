package db_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"sluice/db/dbconn"
	"sluice/flow"
)

// deliver records one attempt with the newest job.
func (w *fixture) deliver(id string, state flow.DeliveryState) *flow.Delivery {
	w.t.Helper()
	w.handDue()
	j, _ := w.queue.last(id)
	d, err := w.FindDelivery(w.ctx, id, j.Attempt)
	w.must(err)
	next := flow.DeliveryOutcome{Attempt: j.Attempt, State: state}
	if state == flow.DeliveryPending {
		next.NextAt = w.clock.Now().Add(time.Minute)
	}
	w.must(w.RecordAttempt(w.ctx, flow.DeliveryAttempt{
		DeliveryID: id, StartedAt: w.clock.Now(), Latency: time.Second, Status: 500, Response: "no\x00thing", Error: "It answered 500.",
	}, next))
	return d
}

func (w *fixture) withDelivery() (*flow.Run, string) {
	w.t.Helper()
	r := w.take(w.start().ID)
	w.must(w.WriteRun(w.ctx, flow.RunWrite{Run: r, Durable: true, Deliveries: []flow.NewDelivery{{
		Node: "hook", URL: "https://example.com", Body: []byte(`{"answer":"42"}`),
		Secret: map[string]any{"credential": "c"}, Header: "X-Signature", Signature: "let me in",
	}}}))
	return r, w.handed()[0]
}

func TestDeliveries(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		r, id := w.withDelivery()
		d := w.deliver(id, flow.DeliveryPending)
		wantEqual(t, "attempt", d.Attempt, 1)
		wantEqual(t, "body", string(d.Body), `{"answer":"42"}`)
		wantEqual(t, "signature", d.Signature, "let me in")
		if !flow.EqualValues(d.Secret, map[string]any{"credential": "c"}) {
			t.Fatalf("secret: %v", d.Secret)
		}

		n, next, err := w.DueDeliveries(w.ctx, w.clock.Now(), 10)
		w.must(err)
		wantEqual(t, "due", n, 0)
		wantEqual(t, "next", next, w.clock.Now().Add(time.Minute))
		n, next, err = w.DueDeliveries(w.ctx, w.clock.move(time.Minute), 10)
		w.must(err)
		wantEqual(t, "due later", n, 1)
		wantEqual(t, "next after", next, time.Time{})
		wantEqual(t, "second attempt", w.deliver(id, flow.DeliveryDelivered).Attempt, 2)

		list, err := w.ListDeliveries(w.ctx, ws, r.FlowID, "", 10)
		w.must(err)
		wantEqual(t, "state", list[0].State, flow.DeliveryDelivered)
		wantEqual(t, "attempts", len(list[0].Attempts), 2)
		wantEqual(t, "numbered", list[0].Attempts[1].Number, 2)
		wantEqual(t, "response", list[0].Attempts[1].Response, "no\uFFFDthing")
		flowID, err := w.DeliveryFlow(w.ctx, ws, id)
		w.must(err)
		wantEqual(t, "flow", flowID, r.FlowID)
	})
}

func TestDeliveries_are_fenced(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		_, id := w.withDelivery()
		stale, _ := w.queue.last(id)
		w.deliver(id, flow.DeliveryFailed)
		_, err := w.Redeliver(w.ctx, ws, id)
		w.must(err)
		if _, err := w.FindDelivery(w.ctx, id, stale.Attempt); !errors.Is(err, dbconn.ErrFenced) {
			t.Fatalf("a stale job found it: %v", err)
		}
		err = w.RecordAttempt(w.ctx, flow.DeliveryAttempt{DeliveryID: id}, flow.DeliveryOutcome{Attempt: stale.Attempt, State: flow.DeliveryFailed})
		if !errors.Is(err, dbconn.ErrFenced) {
			t.Fatalf("a stale job recorded: %v", err)
		}
		w.deliver(id, flow.DeliveryFailed)
	})
}

func TestRedeliver(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		_, id := w.withDelivery()
		w.deliver(id, flow.DeliveryFailed)
		d, err := w.Redeliver(w.ctx, ws, id)
		w.must(err)
		wantEqual(t, "state", d.State, flow.DeliveryPending)
		wantEqual(t, "attempt of the new series", w.deliver(id, flow.DeliveryDelivered).Attempt, 1)
		_, err = w.Redeliver(w.ctx, "ws_other", id)
		wantCode(t, err, flow.CodeNotFound)
	})
}

// TestRedeliver_twice checks that redelivering during an attempt starts no second
// attempt, and that a waiting delivery is sent immediately.
func TestRedeliver_twice(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		_, id := w.withDelivery()
		w.deliver(id, flow.DeliveryDelivered)
		for range 3 {
			d, err := w.Redeliver(w.ctx, ws, id)
			w.must(err)
			wantEqual(t, "state", d.State, flow.DeliveryPending)
			w.handDue()
		}
		wantEqual(t, "jobs", len(w.handed()), 2)
		w.deliver(id, flow.DeliveryPending)
		_, err := w.Redeliver(w.ctx, ws, id)
		w.must(err)
		wantEqual(t, "attempt of the new series", w.deliver(id, flow.DeliveryDelivered).Attempt, 1)
		list, err := w.ListDeliveries(w.ctx, ws, w.flow.ID, "", 10)
		w.must(err)
		wantEqual(t, "recorded", len(list[0].Attempts), 3)
	})
}

func TestDeliveries_without_a_queue(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		r := w.take(w.start().ID)
		w.UseQueue(nil)
		w.must(w.WriteRun(w.ctx, flow.RunWrite{Run: r, Deliveries: []flow.NewDelivery{{URL: "https://example.com"}}}))
		w.UseQueue(w.queue)
		n, _, err := w.DueDeliveries(w.ctx, w.clock.Now(), 10)
		w.must(err)
		wantEqual(t, "due", n, 1)
	})
}

func TestRunWebhook(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		w.RunEnded = func(r *flow.Run) (string, []byte) {
			return "run." + string(r.State), []byte(`{"run_id":"` + string(r.ID) + `"}`)
		}
		r := w.startAndFinish(withWebhook)
		ids := w.handed()
		wantEqual(t, "deliveries", len(ids), 1)
		d := w.deliver(ids[0], flow.DeliveryDelivered)
		wantEqual(t, "node", d.Node, "")
		wantEqual(t, "url", d.URL, "https://example.com/hook")
		wantEqual(t, "secret", d.Secret, "whsec_plain")
		var body struct {
			Type      string
			Timestamp time.Time
			Data      struct {
				RunID flow.RunID `json:"run_id"`
			}
		}
		w.must(json.Unmarshal(d.Body, &body))
		wantEqual(t, "type", body.Type, "run.succeeded")
		wantEqual(t, "data", body.Data.RunID, r.ID)
		wantEqual(t, "timestamp", body.Timestamp, r.EndedAt.Truncate(time.Millisecond))
	})
}

// TestEndpoint_that_fails_is_paused checks that a failing endpoint gets no attempt
// until its pause is over or a user sends a delivery again.
func TestEndpoint_that_fails_is_paused(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		_, id := w.withDelivery()
		fail := func() {
			w.handDue()
			j, _ := w.queue.last(id)
			_, err := w.FindDelivery(w.ctx, id, j.Attempt)
			w.must(err)
			now := w.clock.Now()
			w.must(w.RecordAttempt(w.ctx, flow.DeliveryAttempt{DeliveryID: id, StartedAt: now, Error: "It answered 500."},
				flow.DeliveryOutcome{Attempt: j.Attempt, State: flow.DeliveryPending, NextAt: now, PausedUntil: now.Add(time.Minute)}))
		}
		fail()
		wantEqual(t, "attempts while it is paused", len(w.handed()), 1)
		w.clock.move(time.Minute)
		wantEqual(t, "attempts after the pause", len(w.handed()), 2)
		fail()
		wantEqual(t, "attempts in the next pause", len(w.handed()), 2)
		_, err := w.Redeliver(w.ctx, ws, id)
		w.must(err)
		wantEqual(t, "attempts when somebody sends again", len(w.handed()), 3)
	})
}
