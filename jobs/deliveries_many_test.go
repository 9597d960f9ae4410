package jobs_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"sluice/db"
	"sluice/db/dbtest"
	"sluice/flow"
	"sluice/jobs"
)

// manyDeliveries is how many webhooks the tests of bad receivers send. The
// figure that is promised is reached with
//
//	go test ./jobs -run TestBadReceiver -deliveries 10000
var manyDeliveries = flag.Int("deliveries", 100, "webhooks that are sent to a receiver that fails")

// badReceiver is a server that fails as it is told, and checks what it gets
// with the reference library.
type badReceiver struct {
	*httptest.Server
	verify     *standardwebhooks.Webhook
	shouldFail func(id string, attempt int) bool

	mu            sync.Mutex
	attempts      map[string]int
	delivered     map[string]int // messages that were answered 2xx
	badSignatures int
	requests      int
}

func newBadReceiver(t *testing.T, fails func(id string, attempt int) bool) *badReceiver {
	r := &badReceiver{shouldFail: fails, attempts: map[string]int{}, delivered: map[string]int{}}
	r.Server = httptest.NewUnstartedServer(http.HandlerFunc(r.receive))
	r.Start()
	t.Cleanup(r.Close)
	return r
}

func (r *badReceiver) receive(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	id := req.Header.Get("Webhook-Id")
	r.mu.Lock()
	r.requests++
	r.attempts[id]++
	if err != nil || r.verify.VerifyIgnoringTimestamp(body, req.Header) != nil {
		r.badSignatures++
	}
	bad := r.shouldFail != nil && r.shouldFail(id, r.attempts[id])
	if !bad {
		r.delivered[id]++
	}
	r.mu.Unlock()
	if bad {
		respondBadly(w, req)
	}
}

// fault is a 500, a connection that is reset or, seldom because it takes the
// whole patience, no answer at all.
func respondBadly(w http.ResponseWriter, req *http.Request) {
	switch n := rand.IntN(8); {
	case n < 4:
		w.WriteHeader(http.StatusInternalServerError)
	case n == 4:
		<-req.Context().Done()
	default:
		if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
			conn.(*net.TCPConn).SetLinger(0)
			conn.Close()
		}
	}
}

// heal ends all faults.
func (r *badReceiver) recover() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shouldFail = nil
}

// patience is how long an answer may take in these tests instead of 15 s, and
// perRun how many webhooks one run sends.
const (
	receiverTimeout = 500 * time.Millisecond
	webhooksPerRun  = 50
)

// flood sends n webhooks to a receiver and waits until all have ended. The
// schedule has as many attempts as ever, with no pauses between them.
func sendMany(t *testing.T, cfg db.Config, r *badReceiver, n int) *fixture {
	t.Helper()
	fx := newFixture(t, cfg, sendManyFlow(r.URL))
	fx.newRunnerWith(fx.store, func(c *jobs.Config) {
		c.HTTP = &http.Client{Timeout: receiverTimeout, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
		c.Pause = func(failed int64, jitter float64) (time.Duration, bool) {
			_, more := flow.DeliveryPause(failed, jitter)
			return 0, more
		}
		c.EndpointPause = func(int64) time.Duration { return 0 }
	})
	var err error
	if r.verify, err = standardwebhooks.NewWebhook(fx.secretOf("s", r.URL)); err != nil {
		t.Fatal(err)
	}
	fx.start()
	for range n / webhooksPerRun {
		fx.awaitEnd(fx.startRun())
	}
	fx.awaitDeliveriesEnded()
	return fx
}

func sendManyFlow(url string) string {
	return fmt.Sprintf(`{"schema":"sluice.flow/v1","name":"Send","nodes":[
	 {"id":"a","kind":"input","config":{"name":"x"}},{"id":"s","kind":"send","config":{"url":%q,"times":%d}}],
	 "edges":[{"from":"a.value","to":"s.value"}]}`, url, webhooksPerRun)
}

// settled waits until no delivery is pending.
func (fx *fixture) awaitDeliveriesEnded() {
	fx.t.Helper()
	pending := flow.DeliveryChoice{WorkspaceID: flow.DefaultWorkspace, States: []flow.DeliveryState{flow.DeliveryPending}, Limit: 1}
	for late := time.Now().Add(time.Duration(*manyDeliveries)*100*time.Millisecond + time.Minute); ; time.Sleep(20 * time.Millisecond) {
		p, err := fx.store.ListDeliveryRows(context.Background(), pending)
		if err != nil {
			fx.t.Fatal(err)
		}
		if len(p.Rows) == 0 {
			return
		}
		if time.Now().After(late) {
			fx.t.Fatalf("a delivery is still pending: %+v", p.Rows[0])
		}
	}
}

func (fx *fixture) countFailed() int {
	fx.t.Helper()
	n, err := fx.store.CountFailed(context.Background(), flow.FailedChoice{WorkspaceID: flow.DefaultWorkspace, FlowID: fx.flowID, Asked: fx.clock.now()}, 1_000_000)
	if err != nil {
		fx.t.Fatal(err)
	}
	return n
}

// report wants every message that did not fail to have arrived, and every
// signature to verify.
func (r *badReceiver) check(t *testing.T, n, failed int) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	tries := slices.Sorted(func(yield func(int) bool) {
		for _, a := range r.attempts {
			if !yield(a) {
				return
			}
		}
	})
	twice := 0 // answered, but too late to count: the receiver knows such a message by its ID
	for _, times := range r.delivered {
		twice += times - 1
	}
	t.Logf("%d webhooks, %d requests, up to %d attempts each: %d failed, %d forged, %d came twice", n, r.requests, tries[len(tries)-1], failed, r.badSignatures, twice)
	if r.badSignatures > 0 {
		t.Errorf("the reference library refused %d requests", r.badSignatures)
	}
	if len(r.delivered) != n-failed {
		t.Errorf("%d messages were answered, and %d of %d failed", len(r.delivered), failed, n)
	}
}

// TestBadReceiver_fails_at_first fails the first k attempts at each message, k
// from 0 to 8: all of them arrive. The tenth attempt is left for a message whose
// good answer came too late, as on a busy machine.
func TestDelivery_retries_until_receiver_recovers(t *testing.T) {
	t.Parallel()
	k := map[string]int{}
	r := newBadReceiver(t, func(id string, attempt int) bool {
		if _, known := k[id]; !known {
			k[id] = rand.IntN(9)
		}
		return attempt <= k[id]
	})
	fx := sendMany(t, dbtest.SQLiteConfig(t), r, *manyDeliveries)
	failed := fx.countFailed()
	r.check(t, *manyDeliveries, failed)
	if failed > 0 {
		t.Errorf("%d of %d failed for good", failed, *manyDeliveries)
	}
}

// TestBadReceiver_fails_at_random fails half of all attempts: at least 99.8 %
// arrive, and the rest once they are sent again to a receiver that is well.
func TestDelivery_survives_random_failures(t *testing.T) {
	t.Parallel()
	r := newBadReceiver(t, func(string, int) bool { return rand.IntN(2) == 0 })
	fx := sendMany(t, dbtest.SQLiteConfig(t), r, *manyDeliveries)
	failed := fx.countFailed()
	r.check(t, *manyDeliveries, failed)
	// Of few messages, chance may take more: of 200, three or more once in a thousand times.
	if most := max(4, *manyDeliveries*2/1000); failed > most {
		t.Errorf("%d of %d failed, wanted at most %d", failed, *manyDeliveries, most)
	}
	r.recover()
	again, err := fx.store.RedeliverFailed(context.Background(), flow.FailedChoice{WorkspaceID: flow.DefaultWorkspace, FlowID: fx.flowID, Asked: fx.clock.now()}, 1_000_000)
	if err != nil || again != failed {
		t.Fatalf("%d of %d were sent again, %v", again, failed, err)
	}
	fx.awaitDeliveriesEnded()
	r.check(t, *manyDeliveries, fx.countFailed())
	if left := fx.countFailed(); left > 0 {
		t.Errorf("%d are left", left)
	}
}
