package jobs_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"sluice/db"
	"sluice/db/dbtest"
	"sluice/flow"
)

func sqliteConfig(t *testing.T) db.Config { t.Helper(); return dbtest.SQLiteConfig(t) }

// message is what a receiver got.
type message struct {
	header http.Header
	body   []byte
}

// receiver answers with the given statuses in turn, the last one for ever.
func receiver(t *testing.T, answers ...func(http.ResponseWriter)) (url string, got chan message) {
	t.Helper()
	got = make(chan message, 100)
	n := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		answer := answers[min(n, len(answers)-1)]
		n++
		answer(w)
		got <- message{r.Header, body}
	}))
	t.Cleanup(s.Close)
	return s.URL, got
}

func status(code int) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) { w.WriteHeader(code) }
}

// echoing answers with a text and the custom signature that sending sends.
func echoing(text string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) { io.WriteString(w, text+"custom") }
}

func sending(url string) string {
	return fmt.Sprintf(`{"schema":"sluice.flow/v1","name":"Send","nodes":[
	 {"id":"a","kind":"input","config":{"name":"x"}},{"id":"s","kind":"send","config":{"url":%q}}],
	 "edges":[{"from":"a.value","to":"s.value"}]}`, url)
}

// delivered waits until the log shows the delivery in a state.
func (w *world) delivered(state flow.DeliveryState, attempts int) flow.DeliveryRecord {
	w.t.Helper()
	for late := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		list, err := w.store.ListDeliveries(context.Background(), flow.DefaultWorkspace, w.flowID, "", 10)
		if err != nil {
			w.t.Fatal(err)
		}
		// The attempts are read after the row, which must be as new as they are.
		if len(list) == 1 && list[0].State == state && len(list[0].Attempts) == attempts && list[0].Attempt == int64(attempts) {
			return list[0]
		}
		if time.Now().After(late) {
			w.t.Fatalf("wanted one delivery %s after %d attempts, got %+v", state, attempts, list)
		}
	}
}

func TestDeliveryIsSignedAndLogged(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		url, got := receiver(t, status(204))
		w := open(t, cfg, sending(url)).start()
		w.ended(w.begin())
		m := <-got
		secret, err := w.store.SigningSecret(context.Background(), flow.DefaultWorkspace, w.flowID)
		if err != nil {
			t.Fatal(err)
		}
		wh, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			t.Fatal(err)
		}
		if err := wh.VerifyIgnoringTimestamp(m.body, m.header); err != nil {
			t.Error(err)
		}
		if string(m.body) != `"hello"` || m.header.Get("X-Signature") != "custom" {
			t.Errorf("got %s with %v", m.body, m.header)
		}
		d := w.delivered(flow.DeliveryDelivered, 1)
		if d.Attempts[0].Status != 204 || d.ID != m.header.Get("Webhook-Id") {
			t.Errorf("logged %+v", d)
		}
	})
}

func TestDeliveryIsTriedAgain(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		url, got := receiver(t, status(500), status(200))
		w := open(t, cfg, sending(url)).start()
		w.ended(w.begin())
		first := <-got
		w.delivered(flow.DeliveryPending, 1)
		w.clock.advance(5 * time.Second)
		second := <-got
		if a, b := first.header.Get("Webhook-Id"), second.header.Get("Webhook-Id"); a != b {
			t.Errorf("the second attempt has another ID: %s, %s", a, b)
		}
		if d := w.delivered(flow.DeliveryDelivered, 2); d.Attempts[0].Error == "" {
			t.Errorf("the failed attempt says nothing: %+v", d.Attempts)
		}
	})
}

func TestDeliveryRespectsRetryAfter(t *testing.T) {
	t.Parallel()
	url, got := receiver(t, func(w http.ResponseWriter) {
		w.Header().Set("Retry-After", "120")
		w.WriteHeader(503)
	})
	w := open(t, sqliteConfig(t), sending(url)).start()
	w.ended(w.begin())
	<-got
	d := w.delivered(flow.DeliveryPending, 1)
	if pause := d.NextAt.Sub(d.Attempts[0].StartedAt); pause < 2*time.Minute {
		t.Errorf("the next attempt comes after %s", pause)
	}
}

func TestDeliveryStops(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(http.ResponseWriter){"at 410": status(410)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, got := receiver(t, answer)
			w := open(t, sqliteConfig(t), sending(url)).start()
			w.ended(w.begin())
			<-got
			w.delivered(flow.DeliveryFailed, 1)
		})
	}
}

func TestDeliveryFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	elsewhere, hit := receiver(t, status(200))
	url, got := receiver(t, func(w http.ResponseWriter) {
		w.Header().Set("Location", elsewhere)
		w.WriteHeader(302)
	})
	w := open(t, sqliteConfig(t), sending(url)).start()
	w.ended(w.begin())
	<-got
	if d := w.delivered(flow.DeliveryPending, 1); d.Attempts[0].Status != 302 {
		t.Errorf("logged %+v", d.Attempts)
	}
	if len(hit) != 0 {
		t.Error("the redirect was followed")
	}
}

func TestDeliverySchedule(t *testing.T) {
	t.Parallel()
	url, got := receiver(t, status(500))
	w := open(t, sqliteConfig(t), sending(url)).start()
	w.ended(w.begin())
	want := []time.Duration{5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour}
	for i, pause := range want {
		<-got
		w.delivered(flow.DeliveryPending, i+1)
		w.clock.advance(pause)
	}
	<-got
	w.delivered(flow.DeliveryFailed, len(want)+1)
}
