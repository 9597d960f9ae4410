package jobs_test

import (
	"context"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/db"
	"sluice/db/dbtest"
	"sluice/flow"
	"sluice/flow/value"
	"sluice/jobs"
)

// holdsCounter counts comparisons of the tables with the work in progress, once it is
// enabled. Before that it reports no holds.
type holdsCounter struct {
	*db.Store
	enabled atomic.Bool
	n       atomic.Int32
}

func (s *holdsCounter) ListHolds(ctx context.Context, instance string) ([]flow.Hold, error) {
	if !s.enabled.Load() {
		return nil, nil
	}
	list, err := s.Store.ListHolds(ctx, instance)
	s.n.Add(1)
	return list, err
}

func reconcileOften(cfg *jobs.Config) { cfg.ReconcileInterval = 30 * time.Millisecond }

// behindProxy makes a started fixture whose database connections go through a proxy, and
// a connection that does not.
func behindProxy(t *testing.T, document string) (*fixture, *dbtest.Proxy, *pgx.Conn) {
	t.Helper()
	cfg := dbtest.PostgresConfig(t)
	direct, err := pgx.Connect(t.Context(), strings.ReplaceAll(cfg.DatabaseURL, "&pool_max_conns=12", ""))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { direct.Close(context.Background()) })
	u, err := url.Parse(cfg.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := dbtest.NewProxy(t, "unix", u.Query().Get("host")+"/.s.PGSQL.5432")
	cfg.DatabaseURL = proxy.URL(strings.TrimPrefix(u.Path, "/")) + "&pool_max_conns=12"
	fx := newFixture(t, cfg, document)
	fx.newRunnerWith(fx.store, reconcileOften)
	return fx.start(), proxy, direct
}

const fetchSQL = "SET state = 'running'"

// awaitLostFetch loses the answers to fetches until one of them has fetched a job of the
// kind.
func awaitLostFetch(t *testing.T, fx *fixture, proxy *dbtest.Proxy, direct *pgx.Conn, kind string) {
	t.Helper()
	fx.waitUntil("a job was fetched by this instance, which did not get the answer", func() bool {
		var taken bool
		err := direct.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM river_job WHERE state = 'running' AND kind = $1)`, kind).Scan(&taken)
		return err == nil && taken && proxy.Lost() > 0
	})
	proxy.LoseAnswers(nil)
}

func TestReconcile_returns_run_after_lost_fetch(t *testing.T) {
	t.Parallel()
	fx, proxy, direct := behindProxy(t, gatedFlow)
	run := fx.startRun()
	<-fx.gate.started
	proxy.LoseAnswers(dbtest.LosesAnswersTo(fetchSQL))
	// Handed back, the run waits in the queue's table for any instance.
	fx.waitUntil("the run is handed back", func() bool {
		return fx.store.RequeueRuns(t.Context(), map[flow.RunID]int64{run.ID: 1}) == nil
	})
	awaitLostFetch(t, fx, proxy, direct, flow.JobRun)
	for range 5 { // the first attempt is fenced
		fx.gate.release <- nil
	}
	if got := fx.awaitEnd(run); got.State != flow.RunSucceeded || got.Crashes != 0 {
		t.Errorf("the run is %s with %d crashes", got.State, got.Crashes)
	}
}

func TestReconcile_returns_delivery_after_lost_fetch(t *testing.T) {
	t.Parallel()
	r := newHangingReceiver(t)
	r.release()
	fx, proxy, direct := behindProxy(t, passThroughFlow)
	proxy.LoseAnswers(dbtest.LosesAnswersTo(fetchSQL))
	fx.queueWebhooks("ws_send", r.URL, 1)
	awaitLostFetch(t, fx, proxy, direct, flow.JobDelivery)
	fx.waitUntil("the delivery is delivered", func() bool {
		var state string
		err := direct.QueryRow(t.Context(), `SELECT state FROM deliveries`).Scan(&state)
		return err == nil && state == string(flow.DeliveryDelivered)
	})
	var tries int
	if err := direct.QueryRow(t.Context(), `SELECT count(*) FROM delivery_attempts`).Scan(&tries); err != nil || tries != 1 {
		t.Errorf("%d attempts are recorded, %v", tries, err)
	}
}

// The answer to the commit that accepts a run is lost.
func TestReconcile_returns_run_after_lost_commit(t *testing.T) {
	t.Parallel()
	fx, proxy, direct := behindProxy(t, passThroughFlow)
	var accepts atomic.Bool
	proxy.LoseAnswers(func(sql string) bool {
		if strings.Contains(sql, "INTO runs") {
			accepts.Store(true)
		}
		return accepts.Load() && strings.HasPrefix(strings.ToLower(sql), "commit")
	})
	_, err := fx.runner.StartRun(t.Context(), flow.Start{WorkspaceID: flow.DefaultWorkspace, FlowID: fx.flowID, Trigger: flow.TriggerAPI, Given: value.FromMap(map[string]any{"x": "hello"})})
	proxy.LoseAnswers(nil)
	if err == nil || proxy.Lost() == 0 {
		t.Fatalf("the start returned %v with %d lost answers", err, proxy.Lost())
	}
	fx.waitUntil("the run has succeeded", func() bool {
		var n int
		err := direct.QueryRow(t.Context(), `SELECT count(*) FROM runs WHERE state = 'succeeded'`).Scan(&n)
		return err == nil && n == 1
	})
}

// TestReconcile_returns_run_that_nobody_works_on sets rows to what a lost hand-over
// leaves.
func TestReconcile_returns_run_that_nobody_works_on(t *testing.T) {
	t.Parallel()
	for name, statement := range map[string]string{
		"held in memory by this instance":      `UPDATE runs SET place = 2, attempt = 1, instance_id = (SELECT id FROM instances WHERE workers > 0)`,
		"held by nobody":                       `UPDATE runs SET place = 2, attempt = 1, instance_id = ''`,
		"held by nobody, with a stale job":     `WITH j AS (INSERT INTO river_job (kind, args, queue, max_attempts, state, attempted_by) SELECT 'run', json_build_object('id', id, 'attempt', 1), 'other', 1, 'running', ARRAY['dead'] FROM runs) UPDATE runs SET place = 2, attempt = 2, instance_id = ''`,
		"fetched by an instance without a row": `WITH j AS (INSERT INTO river_job (kind, args, queue, max_attempts, state, attempted_by) SELECT 'run', json_build_object('id', id, 'attempt', 1), 'runs', 1, 'running', ARRAY['dead'] FROM runs) UPDATE runs SET place = 2, attempt = 1, instance_id = ''`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fx := newFixture(t, dbtest.PostgresConfig(t), passThroughFlow)
			run := fx.startRun() // without workers
			fx.exec(`DELETE FROM river_job`)
			fx.exec(`UPDATE queue_lengths SET queued = 0`)
			if err := fx.store.Heartbeat(t.Context(), "other", 0); err != nil {
				t.Fatal(err)
			}
			fx.newRunnerWith(fx.store, reconcileOften)
			fx.start()
			fx.exec(statement)
			if got := fx.awaitEnd(run); got.State != flow.RunSucceeded || got.Crashes != 0 {
				t.Errorf("the run is %s with %d crashes", got.State, got.Crashes)
			}
		})
	}
}

// TestReconcile_keeps_work_in_progress compares many times while a run and a delivery are
// at work.
func TestReconcile_keeps_work_in_progress(t *testing.T) {
	t.Parallel()
	r := newHangingReceiver(t)
	fx := newFixture(t, dbtest.PostgresConfig(t), gatedFlow)
	s := &holdsCounter{Store: fx.store}
	fx.newRunnerWith(s, reconcileOften)
	fx.start()
	run := fx.startRun()
	<-fx.gate.started
	fx.queueWebhooks("ws_send", r.URL, 1)
	fx.waitUntil("a delivery is at work", func() bool { return r.mostHeld() == 1 })
	s.enabled.Store(true)
	fx.waitUntil("the tables were compared often", func() bool { return s.n.Load() >= 12 })
	if now := fx.findRun(run); now.Attempt != 1 {
		t.Errorf("the run was released: attempt %d", now.Attempt)
	}
	var fence int
	if err := db.Pool(fx.store).QueryRow(t.Context(), `SELECT fence FROM deliveries`).Scan(&fence); err != nil || fence != 1 {
		t.Errorf("the delivery was released: fence %d, %v", fence, err)
	}
	r.release()
	fx.gate.release <- nil
	fx.awaitEnd(run)
}

// TestReconcile_ends_overdue_run has a live instance hold runs that it never learned of:
// one is past its deadline, the other is canceled.
func TestReconcile_ends_overdue_run(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		late func(fx *fixture, run *flow.Run)
		want flow.RunState
	}{
		"past its deadline": {func(fx *fixture, run *flow.Run) { fx.clock.advance(time.Hour) }, flow.RunFailed},
		"canceled": {func(fx *fixture, run *flow.Run) {
			if _, err := fx.store.RequestCancel(context.Background(), run.WorkspaceID, run.FlowID, run.ID); err != nil {
				fx.t.Fatal(err)
			}
		}, flow.RunCanceled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fx := newFixture(t, dbtest.PostgresConfig(t), gatedFlow)
			fx.newRunnerWith(fx.store, func(cfg *jobs.Config) { cfg.ReconcileInterval = time.Hour })
			fx.start()
			run := fx.startRun(func(s *flow.Start) { s.Options.Timeout = time.Minute })
			<-fx.gate.started
			fx.awaitRun(run, func(r *flow.Run) bool { return r.State == flow.RunRunning && !r.DeadlineAt.IsZero() })
			holder := fx.runner
			fx.exec(`UPDATE runs SET instance_id = 'unaware'`)
			fx.exec(`INSERT INTO instances (id, workers, started_at, heartbeat_at) VALUES ('unaware', 1, 1, 9000000000000000)`)
			fx.newRunnerWith(fx.store, reconcileOften)
			fx.start()
			c.late(fx, run)
			if got := fx.awaitEnd(run); got.State != c.want {
				t.Errorf("the run is %s: %v", got.State, got.Error)
			}
			if err := drain(holder, 100*time.Millisecond); err != nil && fx.findRun(run).State != c.want {
				t.Error("the late result of the first holder was recorded")
			}
		})
	}
}
