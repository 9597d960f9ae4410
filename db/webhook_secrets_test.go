package db_test

import (
	"strings"
	"testing"
	"time"

	"sluice/db"
	"sluice/db/core"
	"sluice/db/dbtest"
	"sluice/flow"
	"sluice/flow/library"
)

func (w *fixture) exec(statement string) {
	w.t.Helper()
	w.must(w.Write(w.ctx, true, func(tx *core.Tx) error {
		_, err := tx.DBTX.ExecContext(w.ctx, statement)
		return err
	}))
}

func (w *fixture) owner(node, host string) flow.WebhookOwner {
	return flow.WebhookOwner{WorkspaceID: ws, FlowID: w.flow.ID, Node: node, Host: host}
}

func (w *fixture) webhookSecrets(o flow.WebhookOwner) (list []string) {
	w.t.Helper()
	s, err := w.WebhookSecret(w.ctx, o)
	w.must(err)
	for i := range s.Secrets {
		list = append(list, s.Secrets[i].Secret)
	}
	return list
}

// signedWith creates a delivery and returns the secret that signs it.
func (w *fixture) signedWith(set func(*flow.Run, *flow.NewDelivery)) string {
	w.t.Helper()
	r := w.take(w.start().ID)
	d := flow.NewDelivery{Node: "hook", URL: "https://a.test/x", Body: []byte(`{}`)}
	set(r, &d)
	w.must(w.WriteRun(w.ctx, flow.RunWrite{Run: r, Deliveries: []flow.NewDelivery{d}}))
	ids := w.handed()
	j, _ := w.queue.last(ids[len(ids)-1])
	made, err := w.FindDelivery(w.ctx, j.ID, j.Attempt)
	w.must(err)
	list, err := w.DeliverySecrets(w.ctx, made)
	w.must(err)
	return list[0].Secret
}

// TestWebhookSecret_before_the_first_delivery checks that a delivery is signed with the
// secret that was read before it.
func TestWebhookSecret_before_the_first_delivery(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		peek, err := w.PeekWebhookSecret(w.ctx, w.owner("hook", "a.test"))
		w.must(err)
		wantEqual(t, "made by looking", len(peek.Secrets), 0)
		fixed, free, other := w.webhookSecrets(w.owner("hook", "a.test"))[0], w.webhookSecrets(w.owner("hook", ""))[0], w.webhookSecrets(w.owner("hook2", "a.test"))[0]
		of := w.signing()[0]
		for _, s := range []string{fixed, free, other} {
			if !strings.HasPrefix(s, "whsec_") || s == of {
				t.Fatalf("%q is no secret of its own", s)
			}
		}
		if fixed == free || fixed == other {
			t.Fatal("two owners share a secret")
		}
		wantEqual(t, "read again", w.webhookSecrets(w.owner("hook", "a.test"))[0], fixed)
		wantEqual(t, "typed URL", w.signedWith(func(_ *flow.Run, d *flow.NewDelivery) { d.Host = "a.test" }), fixed)
		wantEqual(t, "URL of the run", w.signedWith(func(*flow.Run, *flow.NewDelivery) {}), free)
		_, err = w.WebhookSecret(w.ctx, flow.WebhookOwner{WorkspaceID: "ws_other", FlowID: w.flow.ID, Node: "hook"})
		wantCode(t, err, flow.CodeNotFound)
	})
}

func TestRotateWebhookSecret(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		o := w.owner("hook", "a.test")
		beside := w.webhookSecrets(w.owner("hook", ""))[0]
		first := w.webhookSecrets(o)[0]
		second, err := w.RotateWebhookSecret(w.ctx, o, time.Hour)
		w.must(err)
		wantTexts(t, "after the first", w.webhookSecrets(o), second, first)
		w.clock.move(time.Hour)
		wantTexts(t, "an hour later", w.webhookSecrets(o), second)
		third, err := w.RotateWebhookSecret(w.ctx, o, time.Hour)
		w.must(err)
		w.must(w.EndWebhookSecret(w.ctx, o))
		wantTexts(t, "ended early", w.webhookSecrets(o), third)
		wantTexts(t, "of another owner", w.webhookSecrets(w.owner("hook", "")), beside)
		_, err = w.RotateWebhookSecret(w.ctx, o, flow.LongestOverlap+1)
		wantCode(t, err, flow.CodeInputInvalid)
	})
}

// TestKeyWebhookSecret checks that the secret signs the webhooks of runs that the key
// starts, and that a rotation of the key keeps it.
func TestKeyWebhookSecret(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		ring := &library.Keyring{Store: w.Store, IDs: flow.NewIDs(), Now: w.clock.Now}
		k := &flow.Key{WorkspaceID: ws, Name: "k", Scopes: []flow.Scope{flow.ScopeRun}}
		_, err := ring.Create(w.ctx, flow.Actor{ID: "cli"}, k)
		w.must(err)
		secret, err := w.KeyWebhookSecret(w.ctx, ws, k.ID)
		w.must(err)
		_, _, err = ring.Rotate(w.ctx, flow.Actor{ID: "cli"}, ws, k.ID, k.Prefix, time.Hour)
		w.must(err)
		again, err := w.KeyWebhookSecret(w.ctx, ws, k.ID)
		w.must(err)
		if !strings.HasPrefix(secret, "whsec_") || again != secret {
			t.Fatalf("%q became %q", secret, again)
		}
		perRun := func(r *flow.Run, d *flow.NewDelivery) { r.KeyID, d.Node = k.ID, "" }
		wantEqual(t, "per-run webhook", w.signedWith(perRun), secret)
		wantEqual(t, "per-run webhook without a key", w.signedWith(func(r *flow.Run, d *flow.NewDelivery) { r.KeyID, d.Node = "", "" }), w.webhookSecrets(w.owner("", ""))[0])
		_, err = w.KeyWebhookSecret(w.ctx, "ws_other", k.ID)
		wantCode(t, err, flow.CodeNotFound)

		w.exec("UPDATE keys SET webhook_secret = ''") // as of a key from before they had one
		late, err := w.KeyWebhookSecret(w.ctx, ws, k.ID)
		w.must(err)
		wantEqual(t, "made when it is first needed", w.signedWith(perRun), late)
	})
}

const withWebhooks = `{"schema":"sluice.flow/v1","name":"W","nodes":[
 {"id":"a","kind":"input","config":{"name":"x"}},{"id":"o","kind":"output","config":{"name":"y"}},
 {"id":"typed","kind":"webhook","config":{"url":"https://A.test/x"}},
 {"id":"wired","kind":"webhook","config":{"url":"https://a.test/x"}},
 {"id":"filled","kind":"webhook","config":{"url":"https://a.test/{{x}}"}}],
 "edges":[{"from":"a.value","to":"o.value"},{"from":"a.value","to":"wired.url"},{"from":"a.value","to":"filled.x"}]}`

// TestMigration_keeps_secrets_of_typed_URLs opens a database from before nodes had
// secrets: deliveries to a typed URL are signed with the flow's secret until it is
// replaced, and those to other URLs with a new secret.
func TestMigration_keeps_secrets_of_typed_URLs(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]func(testing.TB, ...func(*core.Config)) core.Config{"sqlite": dbtest.SQLiteConfig, "postgres": dbtest.PostgresConfig} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, c := config(t), &clock{now: time.Now()}
			cfg.Now = c.Now
			s, err := db.Open(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			w := newFixture(t, s, c)
			f := &flow.Flow{WorkspaceID: ws, Name: "W", Draft: []byte(withWebhooks)}
			w.must(w.CreateFlow(w.ctx, f))
			w.exec("DELETE FROM meta WHERE name = 'webhook_secrets'")
			w.must(s.Close())
			if s, err = db.Open(t.Context(), cfg); err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			w.Store, w.flow = s, f
			of := w.signing()[0]
			wantEqual(t, "typed", w.webhookSecrets(w.owner("typed", "a.test"))[0], of)
			for _, o := range []flow.WebhookOwner{w.owner("typed", "b.test"), w.owner("typed", ""), w.owner("wired", ""), w.owner("wired", "a.test"), w.owner("filled", ""), w.owner("new", "a.test"), w.owner("", "")} {
				if got := w.webhookSecrets(o)[0]; got == of {
					t.Errorf("%v has the secret of the flow", o)
				}
			}
			replaced := w.rotate(time.Hour) // of the flow, which the node still uses
			wantTexts(t, "typed, after the flow's was replaced", w.webhookSecrets(w.owner("typed", "a.test")), replaced, of)
			own, err := w.RotateWebhookSecret(w.ctx, w.owner("typed", "a.test"), time.Hour)
			w.must(err)
			wantTexts(t, "typed, with its own", w.webhookSecrets(w.owner("typed", "a.test")), own, replaced, of)
			w.rotate(0)
			wantEqual(t, "typed, when the flow's is replaced again", w.webhookSecrets(w.owner("typed", "a.test"))[0], own)
		})
	}
}
