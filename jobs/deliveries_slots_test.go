package jobs_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"sluice/db"
	"sluice/db/dbtest"
	"sluice/flow"
	"sluice/flow/fairness"
	"sluice/jobs"
)

// hangingReceiver does not respond until it is released. It records the largest number
// of requests it held concurrently.
type hangingReceiver struct {
	*httptest.Server
	mu          sync.Mutex
	held        int
	most        int
	requests    map[string]int // by webhook-id
	arrived     chan struct{}
	released    chan struct{}
	releaseOnce sync.Once
}

func newHangingReceiver(t *testing.T) *hangingReceiver {
	r := &hangingReceiver{requests: map[string]int{}, arrived: make(chan struct{}, 1000), released: make(chan struct{})}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		r.mu.Lock()
		r.held++
		r.most = max(r.most, r.held)
		r.requests[req.Header.Get("Webhook-Id")]++
		r.mu.Unlock()
		r.arrived <- struct{}{}
		select {
		case <-r.released:
		case <-req.Context().Done():
		}
		r.mu.Lock()
		r.held--
		r.mu.Unlock()
	}))
	t.Cleanup(func() {
		r.release()
		r.Close()
	})
	return r
}

func (r *hangingReceiver) release() { r.releaseOnce.Do(func() { close(r.released) }) }

func (r *hangingReceiver) mostHeld() (most int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.most
}

// queueWebhooks queues n webhooks of a workspace without a run. Each call creates a
// flow, and so an endpoint of its own.
func (fx *fixture) queueWebhooks(ws flow.WorkspaceID, url string, n int) {
	fx.t.Helper()
	f := fx.newFlow(ws)
	for range n {
		fx.queue(f, url)
	}
}

// newFlow creates a flow in a workspace, which it creates if necessary.
func (fx *fixture) newFlow(ws flow.WorkspaceID) *flow.Flow {
	fx.t.Helper()
	ctx := context.Background()
	f := &flow.Flow{WorkspaceID: ws, Name: "Send", Draft: []byte(`{"schema":"sluice.flow/v1"}`)}
	err := fx.store.CreateWorkspace(ctx, flow.Workspace{ID: ws, Name: string(ws)})
	if err == nil {
		err = fx.store.CreateFlow(ctx, f)
	}
	if err != nil {
		fx.t.Fatal(err)
	}
	return f
}

// queue queues a webhook without a run.
func (fx *fixture) queue(f *flow.Flow, url string) {
	fx.t.Helper()
	if _, err := fx.store.AddTest(context.Background(), f.WorkspaceID, f.ID, &flow.NewDelivery{Node: "hook", URL: url, Body: []byte(`{}`)}); err != nil {
		fx.t.Fatal(err)
	}
}

// TestDelivery_slots_per_endpoint queues 400 webhooks to a receiver that does not
// respond: meanwhile all webhooks of another workspace arrive.
func TestDelivery_slots_per_endpoint(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		hanging := newHangingReceiver(t)
		url, got := receiver(t, status(204))
		fx := newFixture(t, cfg, passThroughFlow).start()
		fx.queueWebhooks("ws_hanging", hanging.URL, 400)
		for range fairness.EndpointSlots {
			<-hanging.arrived
		}
		fx.queueWebhooks("ws_healthy", url, 50)
		for range 50 {
			<-got
		}
		if most := hanging.mostHeld(); most != fairness.EndpointSlots {
			t.Errorf("%d attempts at once, wanted %d", most, fairness.EndpointSlots)
		}
		hanging.mu.Lock()
		defer hanging.mu.Unlock()
		if hanging.held != fairness.EndpointSlots {
			t.Errorf("%d requests are held, so the others did not arrive meanwhile", hanging.held)
		}
	})
}

// TestDelivery_slots_per_workspace has 100 endpoints that do not respond: together they
// get only a part of the slots.
func TestDelivery_slots_per_workspace(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		const unproven = fairness.DeliverySlots / 16
		hanging := newHangingReceiver(t)
		url, got := receiver(t, status(204))
		fx := newFixture(t, cfg, passThroughFlow).start()
		for range 100 { // each with its own flow, so its own endpoint
			fx.queueWebhooks("ws_hanging", hanging.URL, 1)
		}
		for range unproven {
			<-hanging.arrived
		}
		fx.queueWebhooks("ws_healthy", url, 50)
		for range 50 {
			<-got
		}
		if most := hanging.mostHeld(); most != unproven {
			t.Errorf("%d attempts at once, wanted %d", most, unproven)
		}
		hanging.release() // then all are sent
		for range 100 - unproven {
			<-hanging.arrived
		}
		hanging.mu.Lock()
		defer hanging.mu.Unlock()
		if len(hanging.requests) != 100 {
			t.Errorf("%d of 100 messages arrived", len(hanging.requests))
		}
	})
}

// TestDelivery_slots_across_instances wants the limit to count the attempts of all
// instances on a database.
func TestDelivery_slots_across_instances(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		cfg := dbtest.PostgresConfig(t)
		hanging := newHangingReceiver(t)
		fx := newFixture(t, cfg, passThroughFlow).start()
		for range 2 {
			other := fx.secondProcess(cfg)
			other.newRunner()
			other.start()
		}
		fx.queueWebhooks("ws_hanging", hanging.URL, 50)
		for range fairness.EndpointSlots {
			<-hanging.arrived
		}
		url, got := receiver(t, status(204))
		fx.queueWebhooks("ws_healthy", url, 50)
		for range 50 {
			<-got
		}
		if most := hanging.mostHeld(); most != fairness.EndpointSlots {
			t.Errorf("%d attempts at once, wanted %d", most, fairness.EndpointSlots)
		}
	})
}

// TestDelivery_pauses_failing_endpoint wants the pause to depend on the number of
// consecutive failures.
func TestDelivery_pauses_failing_endpoint(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		url, got := receiver(t, status(500), status(500), status(500), status(204), status(500), status(204))
		fx := newFixture(t, cfg, sendFlow(url))
		pauses := make(chan int64, 10)
		fx.newRunnerWith(fx.store, func(c *jobs.Config) {
			c.Backoff = func(int64, float64) (time.Duration, bool) { return 0, true }
			c.EndpointBackoff = func(failures int64) time.Duration {
				pauses <- failures
				return 0
			}
		})
		fx.start()
		for _, tries := range []int{4, 2} { // until it works
			fx.awaitEnd(fx.startRun())
			for range tries {
				<-got
			}
			fx.awaitDeliveriesEnded() // the receiver gets an attempt before it is recorded
		}
		for _, want := range []int64{1, 2, 3, 1} {
			if failures := <-pauses; failures != want {
				t.Errorf("paused after %d failures, wanted %d", failures, want)
			}
		}
	})
}

// TestDelivery_slots_per_URL sends 10 messages to two paths that do not respond, and then
// 40 to a path of the same host that does: these all arrive meanwhile.
func TestDelivery_slots_per_URL(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		hanging := newHangingReceiver(t)
		got := make(chan struct{}, 40)
		hang := hanging.Config.Handler
		hanging.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/ok" {
				got <- struct{}{}
				return
			}
			hang.ServeHTTP(w, r)
		})
		fx := newFixture(t, cfg, passThroughFlow).start()
		f := fx.newFlow("ws_one")
		for range 5 {
			fx.queue(f, hanging.URL+"/dead1")
			fx.queue(f, hanging.URL+"/dead2")
		}
		<-hanging.arrived
		for range 40 {
			fx.queue(f, hanging.URL+"/ok")
		}
		for range 40 {
			<-got
		}
		hanging.mu.Lock()
		defer hanging.mu.Unlock()
		if hanging.held == 0 {
			t.Error("no request is held, so the messages did not arrive meanwhile")
		}
	})
}
