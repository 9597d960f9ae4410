package db_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	"sluice/db/dbconn"
	"sluice/flow"
	"sluice/flow/value"
)

func TestStartRun(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		r := w.start()
		wantEqual(t, "state", r.State, flow.RunQueued)
		wantEqual(t, "attempt", r.Attempt, 1)
		wantEqual(t, "jobs", w.queue.count(r.ID), 1)
		got := w.find(r.ID)
		if !reflect.DeepEqual(got, r) {
			t.Fatalf("found %+v\nstarted %+v", got, r)
		}
	})
}

func TestStartRun_keeps_the_trace(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		const header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
		r := w.start(func(n *flow.NewRun) { n.Run.Traceparent = header })
		wantEqual(t, "traceparent of the accepted run", r.Traceparent, header)
		wantEqual(t, "traceparent", w.find(r.ID).Traceparent, header)
	})
}

func TestStartRun_of_a_flow_of_another_workspace(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		_, err := w.tryStart(func(n *flow.NewRun) { n.Run.WorkspaceID = "ws_other" })
		wantCode(t, err, flow.CodeNotFound)
	})
}

func TestStartRun_pins_the_draft(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		doc := []byte(`{"schema":"sluice.flow/v1","name":"draft"}`)
		for range 2 {
			w.start(func(n *flow.NewRun) { n.Document, n.Run.DocumentHash, n.Run.Draft = doc, flow.DocumentHash(doc), true })
		}
		got, err := w.FindDocument(w.ctx, ws, flow.DocumentHash(doc))
		w.must(err)
		wantEqual(t, "document", string(got), string(doc))
	})
}

func TestWriteRun(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		r := w.take(w.start().ID)
		r.Seq, r.RunSeq, r.Progress.Done = 2, 1, 1
		r.Usage = flow.Usage{InputTokens: 3, OutputTokens: 4, CostNanoUSD: 5}
		st := step("write")
		st.Input = map[string]any{"model": "m", "deep": []any{json.Number("1"), nil, true}}
		st.Usage, st.Seq, st.Error, st.Saved = r.Usage, 2, flow.Errorf(flow.CodeHTTPFailed, "no"), value.FromMap(map[string]any{"id": "p1"})
		st.StartedAt, st.EndedAt = w.clock.Now(), w.clock.Now()
		w.must(w.WriteRun(w.ctx, flow.RunWrite{Run: r, Steps: []flow.Step{st, step("map[0]/a")}}))

		got, steps, err := w.LoadRun(w.ctx, r.ID, 1)
		w.must(err)
		if !reflect.DeepEqual(got, r) {
			t.Fatalf("loaded %+v\nwrote %+v", got, r)
		}
		wantEqual(t, "steps", len(steps), 2)
		if !reflect.DeepEqual(steps[1], st) {
			t.Fatalf("loaded step %+v\nwrote %+v", steps[1], st)
		}

		st.State, st.Failures = flow.StepFailed, 1
		w.must(w.finish(r, flow.RunFailed, st))
		got = w.find(r.ID)
		wantEqual(t, "state", got.State, flow.RunFailed)
		wantEqual(t, "code", got.Error.Code, flow.CodeHTTPFailed)
		wantEqual(t, "expires", got.ExpiresAt, r.EndedAt.Add(30*24*time.Hour))
		wantEqual(t, "told expiry", r.ExpiresAt, got.ExpiresAt)
		steps, err = w.FindSteps(w.ctx, ws, r.ID)
		w.must(err)
		wantEqual(t, "upserted step", steps[1].State, flow.StepFailed)
	})
}

func TestWriteRun_many_steps(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		r := w.take(w.start().ID)
		var steps []flow.Step
		for i := range 150 {
			steps = append(steps, step(string(rune('a'+i%26))+string(rune('a'+i/26))))
		}
		w.must(w.WriteRun(w.ctx, flow.RunWrite{Run: r, Steps: steps}))
		got, err := w.FindSteps(w.ctx, ws, r.ID)
		w.must(err)
		wantEqual(t, "steps", len(got), 150)
	})
}

func TestWriteRun_is_fenced(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		stale := w.take(w.start().ID)
		w.must(w.RequeueRuns(w.ctx, map[flow.RunID]int64{stale.ID: stale.Attempt}))
		err := w.WriteRun(w.ctx, flow.RunWrite{Run: stale, Steps: []flow.Step{step("a")}})
		if !errors.Is(err, dbconn.ErrFenced) {
			t.Fatalf("a stale attempt wrote: %v", err)
		}
		if _, _, err := w.LoadRun(w.ctx, stale.ID, stale.Attempt); !errors.Is(err, dbconn.ErrFenced) {
			t.Fatalf("a stale attempt loaded: %v", err)
		}
		steps, err := w.FindSteps(w.ctx, ws, stale.ID)
		w.must(err)
		wantEqual(t, "steps written", len(steps), 0)

		r := w.take(stale.ID)
		wantEqual(t, "attempt", r.Attempt, 2)
		w.must(w.finish(r, flow.RunSucceeded))
		if err := w.finish(r, flow.RunFailed); !errors.Is(err, dbconn.ErrFenced) {
			t.Fatalf("an ended run was written: %v", err)
		}
		wantEqual(t, "state", w.find(r.ID).State, flow.RunSucceeded)
	})
}

func TestListRuns(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		var ids []flow.RunID
		for i := range 5 {
			r := w.start(func(n *flow.NewRun) { n.Run.KeyID = []string{"key_a", "key_b"}[i%2] })
			ids = append(ids, r.ID)
		}
		w.must(w.finish(w.take(ids[4]), flow.RunSucceeded))
		list := func(f flow.RunFilter) (got []flow.RunID) {
			f.WorkspaceID = ws
			runs, err := w.ListRuns(w.ctx, f)
			w.must(err)
			for _, r := range runs {
				got = append(got, r.ID)
			}
			return got
		}
		created := func(i int) time.Time { return w.find(ids[i]).CreatedAt }
		cases := map[string]struct {
			filter flow.RunFilter
			want   []flow.RunID
		}{
			"newest first": {flow.RunFilter{FlowID: w.flow.ID, Limit: 9}, []flow.RunID{ids[4], ids[3], ids[2], ids[1], ids[0]}},
			"all flows":    {flow.RunFilter{Limit: 2}, []flow.RunID{ids[4], ids[3]}},
			"next page":    {flow.RunFilter{FlowID: w.flow.ID, BeforeID: string(ids[3]), Limit: 2}, []flow.RunID{ids[2], ids[1]}},
			"of a key":     {flow.RunFilter{FlowID: w.flow.ID, KeyID: "key_b", Limit: 9}, []flow.RunID{ids[3], ids[1]}},
			"by state":     {flow.RunFilter{States: []flow.RunState{flow.RunSucceeded, flow.RunFailed}, Limit: 9}, []flow.RunID{ids[4]}},
			"by time":      {flow.RunFilter{CreatedAfter: created(1), CreatedBefore: created(3), Limit: 9}, []flow.RunID{ids[2], ids[1]}},
		}
		for name, c := range cases {
			if got := list(c.filter); !reflect.DeepEqual(got, c.want) {
				t.Errorf("%s: got %v, want %v", name, got, c.want)
			}
		}
	})
}

func TestFindRun_of_another_workspace_is_not_found(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		r := w.start()
		_, foreign := w.FindRun(w.ctx, "ws_other", r.FlowID, r.ID)
		_, none := w.FindRun(w.ctx, ws, r.FlowID, "run_none")
		wantCode(t, foreign, flow.CodeNotFound)
		wantEqual(t, "words", foreign.Error(), none.Error())
	})
}

// A write is repeated if the answer to its commit was lost.
func TestWriteRun_repeated(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		r := w.take(w.start().ID)
		r.Writes = 1
		write := flow.RunWrite{Run: r, Durable: true, Deliveries: []flow.NewDelivery{{Node: "hook", URL: "https://example.com", Body: []byte("{}")}}}
		w.must(w.WriteRun(w.ctx, write))
		w.must(w.WriteRun(w.ctx, write))
		list, err := w.ListDeliveries(w.ctx, r.WorkspaceID, r.FlowID, "", 10)
		w.must(err)
		wantEqual(t, "deliveries", len(list), 1)

		r.Writes = 3
		if err := w.WriteRun(w.ctx, write); !errors.Is(err, dbconn.ErrFenced) {
			t.Errorf("a write out of order gave %v", err)
		}
	})
}
