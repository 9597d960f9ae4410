package db_test

import (
	"testing"
	"time"

	"sluice/db"
	"sluice/flow"
)

// TestAllCan_counts_every_live_instance pretends that instances of other releases share the database.
func TestAllCan_counts_every_live_instance(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		const future flow.Feature = "future"
		want := func(when string, feature flow.Feature, want bool) {
			t.Helper()
			can, err := w.AllCan(w.ctx, feature)
			w.must(err)
			wantEqual(t, when+" "+string(feature), can, want)
		}
		beat := func(instance string, features ...flow.Feature) {
			t.Helper()
			w.Config.Features = features
			w.must(w.Heartbeat(w.ctx, instance, 5))
			w.Config.Features = append(flow.Features[:len(flow.Features):len(flow.Features)], future)
		}
		want("an older program", future, false)
		for _, f := range flow.Features {
			want("before any heartbeat", f, true)
		}
		beat("new", "other", future)
		want("all are new", future, true)
		want("a part of a name", "fut", false)
		if !w.IsPostgres() {
			return // one process
		}
		beat("old")
		want("one is older", future, false)
		for _, f := range flow.Features {
			want("one is older", f, false)
		}
		beat("old", future)
		want("it was upgraded", future, true)
		beat("old", "future2")
		want("it knows only another one", future, false)
		w.clock.move(time.Minute)
		want("it is silent, as all are", future, true)
		beat("new", future)
		beat("old")
		w.must(w.LeaveInstance(w.ctx, "old"))
		want("it has left", future, true)
	})
}

// TestHeartbeat_by_an_older_release keeps what such a program writes: it names no column
// of a later release.
func TestHeartbeat_by_an_older_release(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		if !w.IsPostgres() {
			return
		}
		_, err := db.Pool(w.Store).Exec(w.ctx, "INSERT INTO instances (id, workers, started_at, heartbeat_at, peer_addr) VALUES ('old', 5, $1, $1, '')", w.NowMicros())
		w.must(err)
		can, err := w.AllCan(w.ctx, flow.FeatureURLEndpoints)
		w.must(err)
		wantEqual(t, "can", can, false)
	})
}
