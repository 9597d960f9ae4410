package db_test

import (
	"testing"
	"time"

	"sluice/e2e/need"
	"sluice/flow"
)

// failed creates a run whose webhook delivery to a host has failed.
func (w *fixture) failed(url string) string {
	w.t.Helper()
	r := w.take(w.start().ID)
	w.must(w.WriteRun(w.ctx, flow.RunWrite{Run: r, Durable: true, Deliveries: []flow.NewDelivery{{Node: "hook", URL: url, Body: []byte(`{}`)}}}))
	ids := w.handed()
	id := ids[len(ids)-1]
	w.deliver(id, flow.DeliveryFailed)
	return id
}

func (w *fixture) states() map[string]flow.DeliveryState {
	w.t.Helper()
	p, err := w.ListDeliveryRows(w.ctx, flow.DeliveryQuery{WorkspaceID: ws, Limit: 2000})
	w.must(err)
	m := map[string]flow.DeliveryState{}
	for _, r := range p.Rows {
		m[r.ID] = r.State
	}
	return m
}

func TestRedeliverFailed(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		early := w.failed("https://A.test:8443/y")
		w.clock.move(time.Hour)
		since := w.clock.Now()
		late := w.failed("https://A.test:8443/y")
		other := w.failed("https://b.test")
		choice := flow.FailedQuery{WorkspaceID: ws, FlowID: w.flow.ID, Since: since, Asked: w.clock.Now()}
		endpoints, err := w.ListEndpoints(w.ctx, ws, "", true, 10)
		w.must(err)
		wantEqual(t, "endpoints", len(endpoints), 2)
		wantEqual(t, "host", endpoints[1].Host, "a.test:8443")
		wantEqual(t, "attempts", len(endpoints[1].Attempts), 2)
		choice.EndpointID = endpoints[1].ID
		w.clock.move(time.Second)
		after := w.failed("https://A.test:8443/y") // failed after the person looked

		n, err := w.CountFailed(w.ctx, choice, 100)
		w.must(err)
		wantEqual(t, "counted", n, 1)
		n, err = w.RedeliverFailed(w.ctx, choice, 100)
		w.must(err)
		wantEqual(t, "restarted", n, 1)
		for id, want := range map[string]flow.DeliveryState{early: flow.DeliveryFailed, late: flow.DeliveryPending, other: flow.DeliveryFailed, after: flow.DeliveryFailed} {
			wantEqual(t, id, w.states()[id], want)
		}
		n, err = w.RedeliverFailed(w.ctx, choice, 100)
		w.must(err)
		wantEqual(t, "asked twice", n, 0)
		due, _, err := w.DueDeliveries(w.ctx, w.clock.Now(), 10)
		w.must(err)
		wantEqual(t, "due", due, 1)
		w.deliver(late, flow.DeliveryFailed)
		n, err = w.RedeliverFailed(w.ctx, choice, 100)
		w.must(err)
		wantEqual(t, "failed again after the person looked", n, 0)
		choice.WorkspaceID = "ws_other"
		n, err = w.CountFailed(w.ctx, choice, 100)
		w.must(err)
		wantEqual(t, "of another workspace", n, 0)
	})
}

func TestRedeliverFailed_in_batches(t *testing.T) {
	need.Time(t)
	setup(t, func(t *testing.T, w *fixture) {
		f := fillDeliveries(t, w.Store, 4_000)
		failed := 0
		for i := range f.rows {
			if f.rows[i].State == flow.DeliveryFailed && f.rows[i].EndpointID != "end_29" {
				failed++
			}
		}
		f.exec(t, w.Store, "UPDATE deliveries SET state = 'failed' WHERE state = 'delivered' AND endpoint_id = 'end_01'")
		all := flow.FailedQuery{WorkspaceID: ws, Asked: w.clock.Now()}
		before, err := w.CountFailed(w.ctx, all, 10_000)
		w.must(err)
		if before <= failed {
			t.Fatalf("%d failed", before)
		}
		few, err := w.CountFailed(w.ctx, all, 7)
		w.must(err)
		wantEqual(t, "counted up to", few, 7)
		first, err := w.RedeliverFailed(w.ctx, all, 10)
		w.must(err)
		wantEqual(t, "bounded", first, 10)
		rest, err := w.RedeliverFailed(w.ctx, all, 10_000)
		w.must(err)
		wantEqual(t, "the rest", rest, before-10)
	})
}

func TestDropStale_removes_webhook_tests(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		test := &flow.NewDelivery{Node: "hook", URL: "https://a.test", Body: []byte(`{}`)}
		_, err := w.AddTest(w.ctx, "ws_other", w.flow.ID, test)
		wantCode(t, err, flow.CodeNotFound)
		d, err := w.AddTest(w.ctx, ws, w.flow.ID, test)
		w.must(err)
		w.deliver(d.ID, flow.DeliveryFailed)
		n, err := w.CountFailed(w.ctx, flow.FailedQuery{WorkspaceID: ws, Asked: w.clock.Now()}, 10)
		w.must(err)
		wantEqual(t, "sent again with the others", n, 0)
		real := w.failed("https://a.test")
		_, err = w.DropStale(w.ctx, w.clock.move(29*24*time.Hour), 10)
		w.must(err)
		wantEqual(t, "kept", len(w.states()), 2)
		_, err = w.DropStale(w.ctx, w.clock.move(2*24*time.Hour), 10)
		w.must(err)
		_, kept := w.states()[real]
		wantEqual(t, "left", len(w.states()), 1)
		wantEqual(t, "of a run", kept, true)
		_, err = w.ReadDelivery(w.ctx, ws, d.ID)
		wantCode(t, err, flow.CodeNotFound)
	})
}

func TestEndpoint_fails_and_works(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		_, id := w.withDelivery()
		begin := w.clock.Now()
		w.deliver(id, flow.DeliveryPending)
		n, _, err := w.DueDeliveries(w.ctx, w.clock.move(time.Minute), 10)
		w.must(err)
		wantEqual(t, "due", n, 1)
		w.deliver(id, flow.DeliveryFailed)
		list, err := w.ListEndpoints(w.ctx, ws, w.flow.ID, true, 10)
		w.must(err)
		wantEqual(t, "failing", len(list), 1)
		wantEqual(t, "since", list[0].FailingSince, begin)
		failing, err := w.CountFailing(w.ctx, ws)
		w.must(err)
		wantEqual(t, "counted", failing, 1)
		_, err = w.Redeliver(w.ctx, ws, id)
		w.must(err)
		w.handDue()
		j, _ := w.queue.last(id)
		w.must(w.RecordAttempt(w.ctx, flow.DeliveryAttempt{DeliveryID: id, StartedAt: w.clock.Now(), Status: 204}, flow.DeliveryOutcome{Attempt: j.Attempt, State: flow.DeliveryDelivered}))
		e, err := w.FindEndpoint(w.ctx, ws, list[0].ID)
		w.must(err)
		wantEqual(t, "works", e.FailingSince, time.Time{})
		wantEqual(t, "attempts", len(e.Attempts), 3)
		wantEqual(t, "successes", e.Succeeded(), 1)
		hosts, err := w.ListHosts(w.ctx, ws, 10)
		w.must(err)
		wantTexts(t, "hosts", hosts, "example.com")
		_, err = w.FindEndpoint(w.ctx, "ws_other", list[0].ID)
		wantCode(t, err, flow.CodeNotFound)
	})
}
