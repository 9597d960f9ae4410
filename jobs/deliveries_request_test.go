package jobs_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"sluice/db"
	"sluice/flow"
	"sluice/flow/library"
	"sluice/flow/value"
)

// signer identifies the secret that signs the webhooks of a node with a typed URL, or,
// without a URL, those whose URL comes with the run.
func (fx *fixture) signer(node, url string) flow.WebhookOwner {
	return flow.WebhookOwner{WorkspaceID: flow.DefaultWorkspace, FlowID: fx.flowID, Node: node, Host: flow.HostOf(url)}
}

func (fx *fixture) secretOf(node, url string) string {
	fx.t.Helper()
	s, err := fx.store.WebhookSecret(context.Background(), fx.signer(node, url))
	if err != nil {
		fx.t.Fatal(err)
	}
	return s.Secrets[0].Secret
}

// TestDelivery_secret_depends_on_source_of_URL wants a webhook to a URL of the caller to
// be signed with neither the flow's secret nor that of another receiver.
func TestDelivery_secret_depends_on_source_of_URL(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		url, got := receiver(t, status(204))
		fx := newFixture(t, cfg, fmt.Sprintf(`{"schema":"sluice.flow/v1","name":"Send","nodes":[
		 {"id":"a","kind":"input","config":{"name":"x"}},{"id":"s","kind":"send","config":{"url":%q}}],
		 "edges":[{"from":"a.value","to":"s.value"},{"from":"a.value","to":"s.url"}]}`, url)).start()
		ctx := context.Background()
		flowSecret, err := fx.store.SigningSecret(ctx, flow.DefaultWorkspace, fx.flowID)
		if err != nil {
			t.Fatal(err)
		}
		fx.awaitEnd(fx.startRun(func(s *flow.Start) { s.Given = value.FromMap(map[string]any{"x": url}) }))
		m := <-got
		if !verifies(t, fx.secretOf("s", ""), m) || verifies(t, fx.secretOf("s", url), m) || verifies(t, flowSecret, m) {
			t.Error("a message to a URL of the caller is not signed with the node's secret for such URLs")
		}

		k := &flow.Key{WorkspaceID: flow.DefaultWorkspace, Name: "k", Scopes: []flow.Scope{flow.ScopeRun}}
		ring := &library.Keyring{Store: fx.store, IDs: flow.NewIDs(), Now: fx.clock.now}
		if _, err := ring.Create(ctx, flow.Actor{ID: "cli"}, k); err != nil {
			t.Fatal(err)
		}
		keySecret, err := fx.store.KeyWebhookSecret(ctx, flow.DefaultWorkspace, k.ID)
		if err != nil {
			t.Fatal(err)
		}
		hook := func(s *flow.Start) {
			s.Key, s.Options.Webhook, s.Given = k, &flow.RunWebhook{URL: url}, value.FromMap(map[string]any{"x": url})
		}
		run := fx.awaitEnd(fx.startRun(hook))
		for m = <-got; m.header.Get("Webhook-Id") != flow.DeliveryID(run.ID, "", 0); m = <-got { // the node's may come first
			if id := m.header.Get("Webhook-Id"); id != flow.DeliveryID(run.ID, "s", 0) {
				t.Fatalf("an unknown message %s", id)
			}
		}
		if !verifies(t, keySecret, m) || verifies(t, flowSecret, m) {
			t.Error("the webhook of a run is not signed with the secret of its key")
		}
	})
}

// verifies reports whether the reference library accepts a message with a secret.
func verifies(t *testing.T, secret string, m message) bool {
	t.Helper()
	wh, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	return wh.VerifyIgnoringTimestamp(m.body, m.header) == nil
}

// TestDelivery_is_signed_with_old_and_new_secret wants both to verify during the grace
// period of a rotation, and only the new one afterwards.
func TestDelivery_is_signed_with_old_and_new_secret(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		url, got := receiver(t, status(204))
		fx := newFixture(t, cfg, sendFlow(url)).start()
		ctx := context.Background()
		old := fx.secretOf("s", url)
		fresh, err := fx.store.RotateWebhookSecret(ctx, fx.signer("s", url), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		fx.awaitEnd(fx.startRun())
		m := <-got
		if n := len(strings.Fields(m.header.Get("Webhook-Signature"))); n != 2 || !verifies(t, old, m) || !verifies(t, fresh, m) {
			t.Errorf("%d signatures; old %v, new %v", n, verifies(t, old, m), verifies(t, fresh, m))
		}
		if m.header.Get("X-Signature") != "custom" {
			t.Errorf("the custom signature is %q", m.header.Get("X-Signature"))
		}
		fx.clock.advance(time.Hour)
		fx.awaitEnd(fx.startRun())
		m = <-got
		if verifies(t, old, m) || !verifies(t, fresh, m) {
			t.Error("the old secret signs after its grace period, or the new one does not")
		}
	})
}

// signedSendFlow is sendFlow with a signing secret that is a credential.
func signedSendFlow(url string) string {
	return strings.Replace(sendFlow(url), `"config":{"url"`, `"config":{"secret":{"credential":"hook"},"url"`, 1)
}

// TestDelivery_is_signed_with_replaced_credential wants the same of a credential.
func TestDelivery_is_signed_with_replaced_credential(t *testing.T) {
	t.Parallel()
	const old, fresh = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	url, got := receiver(t, status(204))
	fx := newFixture(t, sqliteConfig(t), signedSendFlow(url)).start()
	save := func(secret string, overlap time.Duration) {
		t.Helper()
		c := flow.Credential{WorkspaceID: flow.DefaultWorkspace, Name: "hook", Overlap: overlap}
		if err := fx.store.SaveCredential(context.Background(), c, secret); err != nil {
			t.Fatal(err)
		}
	}
	save(old, time.Hour)
	save(fresh, 2*time.Hour)
	fx.awaitEnd(fx.startRun())
	if m := <-got; !verifies(t, old, m) || !verifies(t, fresh, m) {
		t.Error("not both secrets sign")
	}
	save(old, 0) // back to the old one, without a grace period for the new one
	fx.awaitEnd(fx.startRun())
	if m := <-got; !verifies(t, old, m) || verifies(t, fresh, m) {
		t.Error("a secret without a grace period signs, or the current one does not")
	}
}

// TestDelivery_fills_credentials_into_URL wants the credential to be released in each
// attempt, and only for the host of the URL. The log shows its name and not its secret,
// even if the receiver repeats the secret.
func TestDelivery_fills_credentials_into_URL(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		const secret = "s3cret & more"
		arrived := make(chan string, 10)
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			arrived <- r.URL.RequestURI()
			w.Header().Set("Location", r.URL.Path)
			w.WriteHeader(http.StatusFound)
			io.WriteString(w, "You sent "+r.URL.Query().Get("token"))
		}))
		t.Cleanup(s.Close)
		address := s.URL + "/{{credential:hook}}/in?token={{credential:hook}}"
		fx := newFixture(t, cfg, sendFlow(address))
		save := func(hosts ...string) {
			if err := fx.store.SaveCredential(context.Background(), flow.Credential{WorkspaceID: flow.DefaultWorkspace, Name: "hook", Hosts: hosts}, secret); err != nil {
				t.Fatal(err)
			}
		}
		save("example.com")
		fx.start()
		fx.awaitEnd(fx.startRun())
		refused := fx.awaitDelivery(flow.DeliveryPending, 1)
		if a := refused.Attempts[0]; !strings.Contains(a.Error, `"hook"`) || !strings.Contains(a.Error, "127.0.0.1") || a.Cause != flow.CauseOwn {
			t.Errorf("to another host: %+v", a)
		}
		save("127.0.0.1")
		if _, err := fx.store.Redeliver(context.Background(), flow.DefaultWorkspace, refused.ID); err != nil {
			t.Fatal(err)
		}
		if got := <-arrived; got != "/s3cret%20&%20more/in?token=s3cret%20%26%20more" {
			t.Errorf("sent to %s", got)
		}
		var d *flow.DeliveryRecord
		fx.waitUntil("a second attempt is recorded", func() bool {
			var err error
			if d, err = fx.store.ReadDelivery(context.Background(), flow.DefaultWorkspace, refused.ID); err != nil {
				t.Fatal(err)
			}
			return len(d.Attempts) == 2
		})
		if log := string(flow.EncodeJSON(d)); d.URL != address || strings.Contains(log, "s3cret") || !strings.Contains(d.Attempts[1].Response, "You sent "+flow.Redacted) {
			t.Errorf("the log has %s", log)
		}
		if len(arrived) != 0 {
			t.Error("more than one message arrived")
		}
	})
}

// A URL that comes with the run is data: nothing in it is a reference to a credential.
func TestDelivery_ignores_credentials_in_callers_URL(t *testing.T) {
	t.Parallel()
	arrived := make(chan string, 10)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { arrived <- r.URL.Query().Get("token") }))
	t.Cleanup(s.Close)
	fx := newFixture(t, sqliteConfig(t), passThroughFlow)
	if err := fx.store.SaveCredential(context.Background(), flow.Credential{WorkspaceID: flow.DefaultWorkspace, Name: "hook"}, "s3cret"); err != nil {
		t.Fatal(err)
	}
	fx.start()
	fx.awaitEnd(fx.startRun(func(n *flow.Start) { n.Options.Webhook = &flow.RunWebhook{URL: s.URL + "/?token={{credential:hook}}"} }))
	if got := <-arrived; got != "{{credential:hook}}" {
		t.Errorf("it got %q", got)
	}
}

// TestDelivery_encodes_URL_of_run sends the webhook of a run to a URL that a caller wrote by hand.
func TestDelivery_encodes_URL_of_run(t *testing.T) {
	t.Parallel()
	lines := make(chan string, 10)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { lines <- r.RequestURI }))
	t.Cleanup(s.Close)
	fx := newFixture(t, sqliteConfig(t), `{"schema":"sluice.flow/v1","name":"Echo","nodes":[
	 {"id":"a","kind":"input","config":{"name":"x"}},{"id":"o","kind":"output","config":{"name":"y"}}],"edges":[{"from":"a.value","to":"o.value"}]}`).start()
	fx.awaitEnd(fx.startRun(func(o *flow.Start) {
		o.Given, o.Options.Webhook = value.FromMap(map[string]any{"x": "1"}), &flow.RunWebhook{URL: s.URL + `/100%/ü?q=ü&f={"a":1}|b^c&p=100%`}
	}))
	if got, want := <-lines, "/100%25/%C3%BC?q=%C3%BC&f=%7B%22a%22:1%7D%7Cb%5Ec&p=100%25"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
