package db_test

import (
	"testing"
	"time"

	"sluice/flow"
)

func withWebhook(n *flow.NewRun) {
	n.Webhook = &flow.NewDelivery{URL: "https://example.com/hook", Secret: "whsec_plain"}
}

func (w *fixture) wantTombstone(runID flow.RunID, code flow.Code) {
	w.t.Helper()
	r := w.find(runID)
	wantEqual(w.t, "erased", r.Erased, code)
	if r.Inputs != nil || r.Outputs != nil || r.Metadata != nil {
		w.t.Fatalf("content is left: %+v", r)
	}
	steps, err := w.FindSteps(w.ctx, ws, runID)
	w.must(err)
	wantEqual(w.t, "steps", len(steps), 0)
}

func TestEraseRun(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		r := w.take(w.start(withWebhook).ID)
		r.Usage, r.Progress.Done = flow.Usage{InputTokens: 7, CostNanoUSD: 9}, 1
		wantCode(t, w.EraseRun(w.ctx, ws, r.FlowID, r.ID, flow.CodeResultNotSaved), flow.CodeRunNotEnded)
		w.must(w.finish(r, flow.RunFailed, step("a")))
		for range 2 {
			w.must(w.EraseRun(w.ctx, ws, r.FlowID, r.ID, flow.CodeResultNotSaved))
		}
		w.wantTombstone(r.ID, flow.CodeResultNotSaved)
		got := w.find(r.ID)
		wantEqual(t, "code", got.Error.Code, flow.CodeHTTPFailed)
		wantEqual(t, "message", got.Error.Message, "")
		wantEqual(t, "usage", got.Usage, r.Usage)
		wantEqual(t, "ended", got.EndedAt, r.EndedAt)
		list, err := w.ListDeliveries(w.ctx, ws, r.FlowID, "", 10)
		w.must(err)
		wantEqual(t, "pending deliveries", len(list), 0)
	})
}

func TestEraseRun_keeps_the_log_of_deliveries(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		r := w.startAndFinish(withWebhook)
		d := w.deliver(w.handed()[0], flow.DeliveryDelivered)
		w.must(w.EraseRun(w.ctx, ws, r.FlowID, r.ID, flow.CodeResultNotSaved))
		list, err := w.ListDeliveries(w.ctx, ws, r.FlowID, "", 10)
		w.must(err)
		wantEqual(t, "deliveries", len(list), 1)
		wantEqual(t, "body", len(list[0].Body), 0)
		wantEqual(t, "attempts", len(list[0].Attempts), 1)
		wantEqual(t, "response", list[0].Attempts[0].Response, "")
		_, err = w.Redeliver(w.ctx, ws, d.ID)
		wantCode(t, err, flow.CodeResultNotSaved)
	})
}

func TestEraseRun_of_another_workspace_is_not_found(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		r := w.startAndFinish()
		wantCode(t, w.EraseRun(w.ctx, "ws_other", r.FlowID, r.ID, flow.CodeResultNotSaved), flow.CodeNotFound)
		wantEqual(t, "erased", w.find(r.ID).Erased, "")
	})
}

func TestExpireRuns_in_batches(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		var ids []flow.RunID
		for range 5 {
			ids = append(ids, w.startAndFinish().ID)
		}
		open := w.start()
		n, err := w.ExpireRuns(w.ctx, w.clock.Now(), 3)
		w.must(err)
		wantEqual(t, "before its time", n, 0)
		later := w.clock.move(30 * 24 * time.Hour)
		fresh := w.startAndFinish()
		for _, want := range []int{3, 2, 0} {
			n, err := w.ExpireRuns(w.ctx, later, 3)
			w.must(err)
			wantEqual(t, "batch", n, want)
		}
		for _, id := range ids {
			w.wantTombstone(id, flow.CodeRunExpired)
		}
		wantEqual(t, "a newer one", w.find(fresh.ID).Erased, "")
		wantEqual(t, "an open one", w.find(open.ID).Erased, "")
	})
}

func TestEraseUnsaved_waits_for_deliveries(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		r := w.startAndFinish(withWebhook, func(n *flow.NewRun) { n.Run.Save = false })
		w.startAndFinish()
		n, err := w.EraseUnsaved(w.ctx, time.Time{}, 10)
		w.must(err)
		wantEqual(t, "while it is sent", n, 0)
		w.deliver(w.handed()[0], flow.DeliveryDelivered)
		n, err = w.EraseUnsaved(w.ctx, time.Time{}, 10)
		w.must(err)
		wantEqual(t, "erased", n, 1)
		w.wantTombstone(r.ID, flow.CodeResultNotSaved)
	})
}

func TestEraseUnsaved_keeps_runs_of_forms_for_a_while(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		form := w.startAndFinish(func(n *flow.NewRun) { n.Run.Save, n.Run.Trigger = false, flow.TriggerForm })
		call := w.startAndFinish(func(n *flow.NewRun) { n.Run.Save = false })
		n, err := w.EraseUnsaved(w.ctx, form.EndedAt.Add(-time.Second), 10)
		w.must(err)
		wantEqual(t, "at first", n, 1)
		w.wantTombstone(call.ID, flow.CodeResultNotSaved)
		wantEqual(t, "the form's run", w.find(form.ID).Erased, "")
		n, err = w.EraseUnsaved(w.ctx, form.EndedAt, 10)
		w.must(err)
		wantEqual(t, "later", n, 1)
		w.wantTombstone(form.ID, flow.CodeResultNotSaved)
	})
}

func TestDropTombstones(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		erased, kept := w.startAndFinish(withWebhook), w.startAndFinish()
		w.deliver(w.handed()[0], flow.DeliveryDelivered)
		w.must(w.EraseRun(w.ctx, ws, erased.FlowID, erased.ID, flow.CodeResultNotSaved))
		n, err := w.DropTombstones(w.ctx, erased.EndedAt, 10)
		w.must(err)
		wantEqual(t, "too young", n, 0)
		n, err = w.DropTombstones(w.ctx, w.clock.move(time.Hour), 10)
		w.must(err)
		wantEqual(t, "dropped", n, 1)
		_, err = w.FindRun(w.ctx, ws, "", erased.ID)
		wantCode(t, err, flow.CodeNotFound)
		w.find(kept.ID)
		days, err := w.Usage(w.ctx, ws, erased.EndedAt, erased.EndedAt)
		w.must(err)
		wantEqual(t, "usage survives", days[0].Runs, 2)
	})
}

func TestDropStale(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		w.start(keyed("old", "f"))
		w.clock.move(24 * time.Hour)
		w.start(keyed("new", "f"))
		n, err := w.DropStale(w.ctx, w.clock.Now(), 10)
		w.must(err)
		wantEqual(t, "dropped", n, 1)
	})
}
