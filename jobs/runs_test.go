package jobs_test

import (
	"context"
	"testing"
	"time"

	"sluice/db"
	"sluice/flow"
)

func TestRun_releases_worker_during_long_back_off(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		fx := newFixture(t, cfg, `{"schema":"sluice.flow/v1","name":"Retry","nodes":[
			{"id":"a","kind":"input","config":{"name":"x"}},
			{"id":"g","kind":"gate","retry":{"attempts":2,"backoff_s":60},"config":{}},
			{"id":"o","kind":"output","config":{"name":"y"}}],
			"edges":[{"from":"a.value","to":"g.value"},{"from":"g.value","to":"o.value"}]}`).start()
		fx.gate.release <- &flow.Error{Code: flow.CodeHTTPFailed, Message: "Not now.", Retryable: true}
		run := fx.startRun()
		fx.awaitRun(run, func(r *flow.Run) bool { return r.State == flow.RunWaiting })
		fx.gate.release <- nil
		fx.clock.advance(61 * time.Second)
		end := fx.awaitEnd(run)
		if end.State != flow.RunSucceeded || end.Outputs.Get("y") != "hello" {
			t.Errorf("continued, the run is %s with %v", end.State, end.Outputs)
		}
	})
}

func (fx *fixture) findRun(run *flow.Run) *flow.Run {
	fx.t.Helper()
	r, err := fx.store.FindRun(context.Background(), run.WorkspaceID, "", run.ID)
	if err != nil {
		fx.t.Fatal(err)
	}
	return r
}
