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

// manyDeliveries is the number of webhooks that the tests of failing receivers send. The
// number in the documentation is reached with
//
//	go test ./jobs -run 'TestDelivery_(retries_until|survives)_' -deliveries 10000
var manyDeliveries = flag.Int("deliveries", 100, "number of webhooks to send to a failing receiver")

// badReceiver is a server that fails on demand and verifies requests with the reference
// library of Standard Webhooks.
type badReceiver struct {
	*httptest.Server
	verify     *standardwebhooks.Webhook
	shouldFail func(id string, attempt int) bool

	mu            sync.Mutex
	attempts      map[string]int
	delivered     map[string]int // by webhook-id: requests answered 2xx
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

// respondBadly answers 500, resets the connection or, rarely because it takes the whole
// timeout, does not answer.
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

// recover ends all failures.
func (r *badReceiver) recover() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shouldFail = nil
}

// receiverTimeout is how long an attempt may take in these tests instead of 15 s, and
// webhooksPerRun how many webhooks one run sends.
const (
	receiverTimeout = 500 * time.Millisecond
	webhooksPerRun  = 50
)

// sendMany sends n webhooks to a receiver and waits until all have ended. The retry
// schedule has its usual number of attempts, without pauses between them.
func sendMany(t *testing.T, cfg db.Config, r *badReceiver, n int) *fixture {
	t.Helper()
	fx := newFixture(t, cfg, sendManyFlow(r.URL))
	fx.newRunnerWith(fx.store, func(c *jobs.Config) {
		c.HTTP = &http.Client{Timeout: receiverTimeout, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
		c.Backoff = func(failed int64, jitter float64) (time.Duration, bool) {
			_, more := flow.DeliveryPause(failed, jitter)
			return 0, more
		}
		c.EndpointBackoff = func(int64) time.Duration { return 0 }
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

// awaitDeliveriesEnded waits until no delivery is pending.
func (fx *fixture) awaitDeliveriesEnded() {
	fx.t.Helper()
	pending := flow.DeliveryQuery{WorkspaceID: flow.DefaultWorkspace, States: []flow.DeliveryState{flow.DeliveryPending}, Limit: 1}
	timeout := time.Duration(*manyDeliveries)*100*time.Millisecond + time.Minute
	for deadline := time.Now().Add(timeout); ; time.Sleep(20 * time.Millisecond) {
		p, err := fx.store.ListDeliveryRows(context.Background(), pending)
		if err != nil {
			fx.t.Fatal(err)
		}
		if len(p.Rows) == 0 {
			return
		}
		if time.Now().After(deadline) {
			fx.t.Fatalf("a delivery is still pending: %+v", p.Rows[0])
		}
	}
}

func (fx *fixture) countFailed() int {
	fx.t.Helper()
	n, err := fx.store.CountFailed(context.Background(), flow.FailedQuery{WorkspaceID: flow.DefaultWorkspace, FlowID: fx.flowID, Asked: fx.clock.now()}, 1_000_000)
	if err != nil {
		fx.t.Fatal(err)
	}
	return n
}

// check wants every message that did not fail to have arrived, and every signature to
// be valid.
func (r *badReceiver) check(t *testing.T, n, failed int) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	attempts := slices.Sorted(func(yield func(int) bool) {
		for _, a := range r.attempts {
			if !yield(a) {
				return
			}
		}
	})
	duplicates := 0 // answered too late to count; the receiver recognizes them by their ID
	for _, times := range r.delivered {
		duplicates += times - 1
	}
	t.Logf("%d webhooks, %d requests, up to %d attempts each: %d failed, %d invalid signatures, %d duplicates", n, r.requests, attempts[len(attempts)-1], failed, r.badSignatures, duplicates)
	if r.badSignatures > 0 {
		t.Errorf("the reference library rejected %d requests", r.badSignatures)
	}
	if len(r.delivered) != n-failed {
		t.Errorf("%d messages were answered, and %d of %d failed", len(r.delivered), failed, n)
	}
}

// TestDelivery_retries_until_receiver_recovers fails the first k attempts at each
// message, k from 0 to 8: all messages arrive. The tenth attempt is left for a message
// whose good response came too late, as on a busy machine.
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

// TestDelivery_survives_random_failures fails half of all attempts: at least 99.8 % of
// the messages arrive, and the rest when they are resent to a healthy receiver.
func TestDelivery_survives_random_failures(t *testing.T) {
	t.Parallel()
	r := newBadReceiver(t, func(string, int) bool { return rand.IntN(2) == 0 })
	fx := sendMany(t, dbtest.SQLiteConfig(t), r, *manyDeliveries)
	failed := fx.countFailed()
	r.check(t, *manyDeliveries, failed)
	// With few messages more may fail by chance: of 200, three or more in one test of a thousand.
	if most := max(4, *manyDeliveries*2/1000); failed > most {
		t.Errorf("%d of %d failed, wanted at most %d", failed, *manyDeliveries, most)
	}
	r.recover()
	resent, err := fx.store.RedeliverFailed(context.Background(), flow.FailedQuery{WorkspaceID: flow.DefaultWorkspace, FlowID: fx.flowID, Asked: fx.clock.now()}, 1_000_000)
	if err != nil || resent != failed {
		t.Fatalf("%d of %d were resent, %v", resent, failed, err)
	}
	fx.awaitDeliveriesEnded()
	r.check(t, *manyDeliveries, fx.countFailed())
	if left := fx.countFailed(); left > 0 {
		t.Errorf("%d are left", left)
	}
}
