package jobs_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"sluice/db"
	"sluice/db/dbtest"
	"sluice/flow"
)

func sqliteConfig(t *testing.T) db.Config { t.Helper(); return dbtest.SQLiteConfig(t) }

// message is a request that a receiver got.
type message struct {
	header http.Header
	body   []byte
}

// receiver responds with the given answers in turn, and repeats the last one.
func receiver(t *testing.T, answers ...func(http.ResponseWriter)) (url string, got chan message) {
	t.Helper()
	got = make(chan message, 100)
	var requests atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		answer := answers[min(int(requests.Add(1)), len(answers))-1]
		answer(w)
		got <- message{r.Header, body}
	}))
	t.Cleanup(s.Close)
	return s.URL, got
}

func status(code int) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) { w.WriteHeader(code) }
}

// echo responds with text and the custom signature that sendFlow sends.
func echo(text string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) { io.WriteString(w, text+"custom") }
}

func sendFlow(url string) string {
	return fmt.Sprintf(`{"schema":"sluice.flow/v1","name":"Send","nodes":[
	 {"id":"a","kind":"input","config":{"name":"x"}},{"id":"s","kind":"send","config":{"url":%q}}],
	 "edges":[{"from":"a.value","to":"s.value"}]}`, url)
}

// awaitDelivery waits until the only delivery is in a state after a number of
// attempts.
func (fx *fixture) awaitDelivery(state flow.DeliveryState, attempts int) (d flow.DeliveryRecord) {
	fx.t.Helper()
	fx.waitUntil(fmt.Sprintf("a delivery is %s after %d attempts", state, attempts), func() bool {
		list, err := fx.store.ListDeliveries(context.Background(), flow.DefaultWorkspace, fx.flowID, "", 10)
		if err != nil {
			fx.t.Fatal(err)
		}
		if len(list) != 1 {
			return false
		}
		d = list[0]
		// The attempts are read after the row, so the row must be as new as they are.
		return d.State == state && len(d.Attempts) == attempts && (d.Test() || d.Attempt == int64(attempts))
	})
	return d
}

func TestDelivery_is_signed_and_logged(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		url, got := receiver(t, status(204))
		fx := newFixture(t, cfg, sendFlow(url)).start()
		fx.awaitEnd(fx.startRun())
		m := <-got
		wh, err := standardwebhooks.NewWebhook(fx.secretOf("s", url))
		if err != nil {
			t.Fatal(err)
		}
		if err := wh.VerifyIgnoringTimestamp(m.body, m.header); err != nil {
			t.Error(err)
		}
		if string(m.body) != `"hello"` || m.header.Get("X-Signature") != "custom" {
			t.Errorf("got %s with %v", m.body, m.header)
		}
		d := fx.awaitDelivery(flow.DeliveryDelivered, 1)
		if d.Attempts[0].Status != 204 || d.ID != m.header.Get("Webhook-Id") {
			t.Errorf("logged %+v", d)
		}
	})
}

func TestDelivery_is_retried_with_same_ID(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		url, got := receiver(t, status(500), status(200))
		fx := newFixture(t, cfg, sendFlow(url)).start()
		fx.awaitEnd(fx.startRun())
		first := <-got
		fx.awaitDelivery(flow.DeliveryPending, 1)
		fx.clock.advance(5 * time.Second)
		second := <-got
		if a, b := first.header.Get("Webhook-Id"), second.header.Get("Webhook-Id"); a != b {
			t.Errorf("the second attempt has another ID: %s, %s", a, b)
		}
		if d := fx.awaitDelivery(flow.DeliveryDelivered, 2); d.Attempts[0].Error == "" {
			t.Errorf("the failed attempt has no error: %+v", d.Attempts)
		}
	})
}

func TestDelivery_respects_Retry_After(t *testing.T) {
	t.Parallel()
	url, got := receiver(t, func(w http.ResponseWriter) {
		w.Header().Set("Retry-After", "120")
		w.WriteHeader(503)
	})
	fx := newFixture(t, sqliteConfig(t), sendFlow(url)).start()
	fx.awaitEnd(fx.startRun())
	<-got
	d := fx.awaitDelivery(flow.DeliveryPending, 1)
	if pause := d.NextAt.Sub(d.Attempts[0].StartedAt); pause < 2*time.Minute {
		t.Errorf("the next attempt comes after %s", pause)
	}
}

func TestDelivery_stops_at_410(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(http.ResponseWriter){"at 410": status(410)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, got := receiver(t, answer)
			fx := newFixture(t, sqliteConfig(t), sendFlow(url)).start()
			fx.awaitEnd(fx.startRun())
			<-got
			fx.awaitDelivery(flow.DeliveryFailed, 1)
		})
	}
}

func TestDelivery_follows_no_redirect(t *testing.T) {
	t.Parallel()
	elsewhere, hit := receiver(t, status(200))
	url, got := receiver(t, func(w http.ResponseWriter) {
		w.Header().Set("Location", elsewhere+"?for=us#alone")
		w.WriteHeader(302)
	})
	fx := newFixture(t, sqliteConfig(t), sendFlow(url)).start()
	fx.awaitEnd(fx.startRun())
	<-got
	a := fx.awaitDelivery(flow.DeliveryPending, 1).Attempts[0]
	if a.Status != 302 || a.Cause != flow.CauseRedirect || a.Error != "The receiver redirects to "+elsewhere+". Webhooks follow no redirect; enter the final address." {
		t.Errorf("logged %+v", a)
	}
	if len(hit) != 0 {
		t.Error("the redirect was followed")
	}
}

func TestDelivery_schedule(t *testing.T) {
	t.Parallel()
	url, got := receiver(t, status(500))
	fx := newFixture(t, sqliteConfig(t), sendFlow(url)).start()
	fx.awaitEnd(fx.startRun())
	want := []time.Duration{5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour}
	for i, pause := range want {
		<-got
		fx.awaitDelivery(flow.DeliveryPending, i+1)
		fx.clock.advance(pause)
	}
	<-got
	fx.awaitDelivery(flow.DeliveryFailed, len(want)+1)
}

func TestDelivery_logs_cause_of_failure(t *testing.T) {
	t.Parallel()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler()) // with a certificate of an unknown authority
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	broken := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	t.Cleanup(broken.Close)
	refusing, _ := receiver(t, status(401))
	gone, _ := receiver(t, status(410))
	for url, want := range map[string]flow.Cause{
		secure.URL: flow.CauseTLS, strings.Replace(broken.URL, "http:", "https:", 1): flow.CauseTLS, broken.URL: flow.CauseConnection,
		refusing: flow.CauseStatus, gone: flow.CauseGone,
	} {
		t.Run(string(want), func(t *testing.T) {
			t.Parallel()
			fx := newFixture(t, sqliteConfig(t), sendFlow(url)).start()
			fx.awaitEnd(fx.startRun())
			state := flow.DeliveryPending
			if want == flow.CauseGone {
				state = flow.DeliveryFailed
			}
			a := fx.awaitDelivery(state, 1).Attempts[0]
			if a.Cause != want || a.Error == "" || a.Signature == "" {
				t.Errorf("%s is logged as %+v, want %s", url, a, want)
			}
			list, err := fx.store.ListEndpoints(context.Background(), flow.DefaultWorkspace, fx.flowID, true, 5)
			if err != nil || len(list) != 1 || !list[0].FailingSince.Equal(a.StartedAt) || list[0].URL != url {
				t.Errorf("the endpoint is %+v, %v", list, err)
			}
		})
	}
}

// A test is sent once, and again only by a manual resend.
func TestDelivery_of_test_is_not_retried(t *testing.T) {
	t.Parallel()
	url, got := receiver(t, status(500), status(200))
	fx := newFixture(t, sqliteConfig(t), sendFlow(url)).start()
	d, err := fx.store.AddTest(context.Background(), flow.DefaultWorkspace, fx.flowID, &flow.NewDelivery{Node: "s", URL: url, Body: []byte(`{"type":"test"}`)})
	if err != nil {
		t.Fatal(err)
	}
	if m := <-got; m.header.Get("Webhook-Id") != d.ID {
		t.Errorf("sent %v", m.header)
	}
	fx.awaitDelivery(flow.DeliveryFailed, 1)
	if _, err := fx.store.Redeliver(context.Background(), flow.DefaultWorkspace, d.ID); err != nil {
		t.Fatal(err)
	}
	<-got
	fx.awaitDelivery(flow.DeliveryDelivered, 2)
}
