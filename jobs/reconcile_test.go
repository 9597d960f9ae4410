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
	"sluice/jobs"
)

// looks is a store that counts comparisons of the tables with what is in hand,
// once it is let.
type looks struct {
	*db.Store
	on atomic.Bool
	n  atomic.Int32
}

func (s *looks) ListHolds(ctx context.Context, instance string) ([]flow.Hold, error) {
	if !s.on.Load() {
		return nil, nil
	}
	list, err := s.Store.ListHolds(ctx, instance)
	s.n.Add(1)
	return list, err
}

// often makes a Runner compare often.
func often(cfg *jobs.Config) { cfg.Reconcile = 30 * time.Millisecond }

// behindProxy opens a started world whose connections go through a proxy, and a
// connection that does not.
func behindProxy(t *testing.T, document string) (*world, *dbtest.Proxy, *pgx.Conn) {
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
	w := open(t, cfg, document)
	w.wireAs(w.store, often)
	return w.start(), proxy, direct
}

const fetch = "SET state = 'running'"

// loseFetch loses the answers to fetches until one took a job of the kind.
func loseFetch(t *testing.T, w *world, proxy *dbtest.Proxy, direct *pgx.Conn, kind string) {
	t.Helper()
	w.eventually("a job was taken by this instance, which was not told", func() bool {
		var taken bool
		err := direct.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM river_job WHERE state = 'running' AND kind = $1)`, kind).Scan(&taken)
		return err == nil && taken && proxy.Lost() > 0
	})
	proxy.LoseAnswers(nil)
}

func TestLostFetchOfRun(t *testing.T) {
	t.Parallel()
	w, proxy, direct := behindProxy(t, gated)
	run := w.begin()
	<-w.gate.begun
	proxy.LoseAnswers(dbtest.LosesAnswersTo(fetch))
	// Handed back, the run waits in the queue's table for any instance.
	w.eventually("the run is handed back", func() bool {
		return w.store.HandBack(t.Context(), map[string]int64{run.ID: 1}) == nil
	})
	loseFetch(t, w, proxy, direct, flow.JobRun)
	for range 5 { // the first attempt is fenced
		w.gate.let <- nil
	}
	if got := w.ended(run); got.State != flow.RunSucceeded || got.Crashes != 0 {
		t.Errorf("the run is %s with %d crashes", got.State, got.Crashes)
	}
}

func TestLostFetchOfDelivery(t *testing.T) {
	t.Parallel()
	r := newHangingReceiver(t)
	r.release()
	w, proxy, direct := behindProxy(t, passing)
	proxy.LoseAnswers(dbtest.LosesAnswersTo(fetch))
	w.send("ws_send", r.URL, 1)
	loseFetch(t, w, proxy, direct, flow.JobDelivery)
	w.eventually("the delivery is delivered", func() bool {
		var state string
		err := direct.QueryRow(t.Context(), `SELECT state FROM deliveries`).Scan(&state)
		return err == nil && state == string(flow.DeliveryDelivered)
	})
	var tries int
	if err := direct.QueryRow(t.Context(), `SELECT count(*) FROM delivery_attempts`).Scan(&tries); err != nil || tries != 1 {
		t.Errorf("%d attempts are recorded, %v", tries, err)
	}
}

// TestLostHandOver loses the answer to the commit that accepts a run.
func TestLostHandOver(t *testing.T) {
	t.Parallel()
	w, proxy, direct := behindProxy(t, passing)
	var accepts atomic.Bool
	proxy.LoseAnswers(func(sql string) bool {
		if strings.Contains(sql, "INTO runs") {
			accepts.Store(true)
		}
		return accepts.Load() && strings.HasPrefix(strings.ToLower(sql), "commit")
	})
	_, err := w.runner.StartRun(t.Context(), flow.Start{WorkspaceID: flow.DefaultWorkspace, FlowID: w.flowID, Trigger: flow.TriggerAPI, Given: map[string]any{"x": "hello"}})
	proxy.LoseAnswers(nil)
	if err == nil || proxy.Lost() == 0 {
		t.Fatalf("the start returned %v with %d lost answers", err, proxy.Lost())
	}
	w.eventually("the run has succeeded", func() bool {
		var n int
		err := direct.QueryRow(t.Context(), `SELECT count(*) FROM runs WHERE state = 'succeeded'`).Scan(&n)
		return err == nil && n == 1
	})
}

// TestWorkThatNobodyHas sets rows as a lost hand-over leaves them.
func TestWorkThatNobodyHas(t *testing.T) {
	t.Parallel()
	for name, statement := range map[string]string{
		"held in memory by this instance":          `UPDATE runs SET place = 2, attempt = 1, instance_id = (SELECT id FROM instances WHERE workers > 0)`,
		"held by nobody":                           `UPDATE runs SET place = 2, attempt = 1, instance_id = ''`,
		"held by nobody, with a stale job":         `WITH j AS (INSERT INTO river_job (kind, args, queue, max_attempts, state, attempted_by) SELECT 'run', json_build_object('id', id, 'attempt', 1), 'other', 1, 'running', ARRAY['dead'] FROM runs) UPDATE runs SET place = 2, attempt = 2, instance_id = ''`,
		"fetched by an instance that is forgotten": `WITH j AS (INSERT INTO river_job (kind, args, queue, max_attempts, state, attempted_by) SELECT 'run', json_build_object('id', id, 'attempt', 1), 'runs', 1, 'running', ARRAY['dead'] FROM runs) UPDATE runs SET place = 2, attempt = 1, instance_id = ''`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t, dbtest.PostgresConfig(t), passing)
			run := w.begin() // without workers
			w.exec(`DELETE FROM river_job`)
			w.exec(`UPDATE queue_lengths SET queued = 0`)
			if err := w.store.Heartbeat(t.Context(), "other", 0); err != nil {
				t.Fatal(err)
			}
			w.wireAs(w.store, often)
			w.start()
			w.exec(statement)
			if got := w.ended(run); got.State != flow.RunSucceeded || got.Crashes != 0 {
				t.Errorf("the run is %s with %d crashes", got.State, got.Crashes)
			}
		})
	}
}

// TestWorkInHandStays compares many times while a run and a delivery are at work.
func TestWorkInHandStays(t *testing.T) {
	t.Parallel()
	r := newHangingReceiver(t)
	w := open(t, dbtest.PostgresConfig(t), gated)
	s := &looks{Store: w.store}
	w.wireAs(s, often)
	w.start()
	run := w.begin()
	<-w.gate.begun
	w.send("ws_send", r.URL, 1)
	w.eventually("a delivery is at work", func() bool { return r.atMost() == 1 })
	s.on.Store(true)
	w.eventually("the tables were compared often", func() bool { return s.n.Load() >= 12 })
	if now := w.find(run); now.Attempt != 1 {
		t.Errorf("the run was released: attempt %d", now.Attempt)
	}
	var fence int
	if err := w.store.Pool().QueryRow(t.Context(), `SELECT fence FROM deliveries`).Scan(&fence); err != nil || fence != 1 {
		t.Errorf("the delivery was released: fence %d, %v", fence, err)
	}
	r.release()
	w.gate.let <- nil
	w.ended(run)
}

// TestRunThatShouldHaveEnded has a living instance hold runs that it never
// heard of: the first is past its deadline, and the second is canceled.
func TestRunThatShouldHaveEnded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		late func(w *world, run *flow.Run)
		want flow.RunState
	}{
		"past its deadline": {func(w *world, run *flow.Run) { w.clock.advance(time.Hour) }, flow.RunFailed},
		"canceled": {func(w *world, run *flow.Run) {
			if _, err := w.store.RequestCancel(context.Background(), run.WorkspaceID, run.FlowID, run.ID); err != nil {
				w.t.Fatal(err)
			}
		}, flow.RunCanceled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t, dbtest.PostgresConfig(t), gated)
			w.wireAs(w.store, func(cfg *jobs.Config) { cfg.Reconcile = time.Hour })
			w.start()
			run := w.begin(func(s *flow.Start) { s.Options.Timeout = time.Minute })
			<-w.gate.begun
			w.until(run, func(r *flow.Run) bool { return r.State == flow.RunRunning && !r.DeadlineAt.IsZero() })
			holder := w.runner
			w.exec(`UPDATE runs SET instance_id = 'deaf'`)
			w.exec(`INSERT INTO instances (id, workers, started_at, heartbeat_at) VALUES ('deaf', 1, 1, 9000000000000000)`)
			w.wireAs(w.store, often)
			w.start()
			c.late(w, run)
			if got := w.ended(run); got.State != c.want {
				t.Errorf("the run is %s: %v", got.State, got.Error)
			}
			if err := drain(holder, 100*time.Millisecond); err != nil && w.find(run).State != c.want {
				t.Error("the late answer of the first holder was recorded")
			}
		})
	}
}
