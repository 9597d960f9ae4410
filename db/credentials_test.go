package db_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"sluice/db/core"
	"sluice/flow"
	"sluice/flow/library"
)

// requests are the least node kinds that binding needs.
var requests = flow.NewRegistry(flow.Kind{
	Name: "request", Title: "Request", Group: "Test", Summary: "Calls a host.",
	Fields: []flow.Field{
		{Name: "url", Type: flow.FieldText, Template: true}, {Name: "headers", Type: flow.FieldMap, Secrets: flow.SecretsByName},
		{Name: "signing", Type: flow.FieldSecret, Signs: true},
	},
	Sends: &flow.Destination{Field: "url", Hosts: flow.URLHost("url")},
	Run:   func(context.Context, *flow.In) (flow.Out, error) { return flow.Out{}, nil },
})

func request(url, credential string) string {
	return `{"schema":"sluice.flow/v1","name":"F","nodes":[{"id":"x","kind":"other"},{"id":"r","kind":"request","config":{"url":"` + url + `","headers":{"Authorization":{"credential":"` + credential + `"}}}}]`
}

// TestBindCredentials binds credentials that were saved before hosts were required.
func TestBindCredentials(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		const edges = `,"edges":[{"from":"x.value","to":"r.url"}]}`
		for name, documents := range map[string][2]string{ // draft, and live version if it differs
			"one-host":    {request("https://api.example.com/{{x}}", "one-host") + "}", ""},
			"two-hosts":   {request("https://a.example.com:8443/", "two-hosts") + "}", request("https://b.example.com/", "two-hosts") + "}"},
			"open-live":   {request("https://a.example.com/", "open-live") + "}", request("https://a.example.com/", "open-live") + edges},
			"open-draft":  {request("https://{{x}}.example.com/", "open-draft") + "}", request("https://a.example.com/", "open-draft") + "}"},
			"signs":       {strings.Replace(request("https://hooks.example.com/", "none"), `"headers":{"Authorization":{"credential":"none"}}`, `"signing":{"credential":"signs"}`, 1) + "}", ""},
			"signs-open":  {strings.Replace(request("https://hooks.example.com/", "none"), `"headers":{"Authorization":{"credential":"none"}}`, `"signing":{"credential":"signs-open"}`, 1) + edges, ""},
			"bound":       {request("https://other.example.com/", "bound") + "}", ""},
			"for-openai":  {request("https://other.example.com/", "for-openai") + "}", ""},
			"decided-any": {request("https://other.example.com/", "decided-any") + "}", ""},
			"lost-live":   {request("https://api.example.com/", "one-host") + "}", request("https://lost.example.com/", "one-host") + "}"},
		} {
			f := &flow.Flow{WorkspaceID: ws, Name: name, Draft: []byte(documents[0])}
			w.must(w.CreateFlow(w.ctx, f))
			if documents[1] != "" {
				_, _, err := w.PublishFlow(w.ctx, ws, f.ID, []byte(documents[1]), "", "me")
				w.must(err)
			}
		}
		given := map[string]flow.Credential{"bound": {Hosts: []string{"api.example.com"}}, "for-openai": {Provider: "openai", Hosts: []string{"api.openai.com"}}, "unused": {}, "decided-any": {}}
		for _, name := range []string{"one-host", "two-hosts", "open-live", "open-draft", "signs", "signs-open", "bound", "for-openai", "unused", "decided-any"} {
			c := given[name]
			c.WorkspaceID, c.Name = ws, name
			w.must(w.SaveCredential(w.ctx, c, "secret of "+name))
		}
		w.must(w.SaveCredential(w.ctx, flow.Credential{WorkspaceID: "ws_other", Name: "one-host"}, "of others"))
		w.must(w.Write(w.ctx, true, func(tx *core.Tx) error { // as the migration leaves them
			_, err := tx.DBTX.ExecContext(w.ctx, "UPDATE credentials SET bound_at = 0 WHERE name <> 'decided-any'")
			if err == nil { // a damaged database must not keep the server from starting
				_, err = tx.DBTX.ExecContext(w.ctx, "DELETE FROM documents WHERE body LIKE '%lost.example.com%'")
			}
			return err
		}))

		left, err := library.BindCredentials(w.ctx, w, requests)
		w.must(err)
		var names []string
		for _, c := range left {
			names = append(names, string(c.WorkspaceID+"/")+c.Name)
		}
		wantEqual(t, "left open", strings.Join(names, " "), "default/open-draft default/open-live default/signs-open default/unused ws_other/one-host")
		for name, want := range map[string]string{
			"one-host": "api.example.com", "open-live": "", "open-draft": "", "signs": "hooks.example.com", "signs-open": "hooks.example.com",
			"bound": "api.example.com", "for-openai": "api.openai.com", "unused": "", "decided-any": "",
		} {
			if name == "signs-open" {
				want = "" // its URL comes by an edge
			}
			c, secret, err := w.OpenCredential(w.ctx, ws, name)
			w.must(err)
			wantEqual(t, "hosts of "+name, strings.Join(c.Hosts, " "), want)
			wantEqual(t, "secret of "+name, secret, "secret of "+name)
		}
		two, err := w.FindCredential(w.ctx, ws, "two-hosts")
		w.must(err)
		if got := strings.Join(two.Hosts, " "); got != "a.example.com:8443 b.example.com" {
			t.Errorf("two-hosts is bound to %q", got)
		}

		// Hosts that a user sets afterwards are kept.
		w.must(w.SetCredentialHosts(w.ctx, ws, "one-host", nil))
		left, err = library.BindCredentials(w.ctx, w, requests)
		w.must(err)
		wantEqual(t, "left open the second time", len(left), 0)
		one, err := w.FindCredential(w.ctx, ws, "one-host")
		w.must(err)
		wantEqual(t, "hosts after the second time", len(one.Hosts), 0)
		wantCode(t, w.SetCredentialHosts(w.ctx, ws, "gone", nil), flow.CodeNotFound)
	})
}

// TestExamineCredentials_reports_another_master_key checks that a credential that was encrypted with another key is
// reported and can be saved again.
func TestExamineCredentials_reports_another_master_key(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		w.must(w.SaveCredential(w.ctx, flow.Credential{WorkspaceID: ws, Name: "a", Hosts: []string{"a.example"}}, "secret of a"))
		w.must(w.SaveCredential(w.ctx, flow.Credential{WorkspaceID: ws, Name: "b", Overlap: flow.SigningOverlap}, "secret of b"))
		w.must(w.Write(w.ctx, true, func(tx *core.Tx) error {
			_, err := tx.DBTX.ExecContext(w.ctx, "UPDATE credentials SET value = (SELECT value FROM credentials WHERE name = 'a'), signing_before = (SELECT value FROM credentials WHERE name = 'a') WHERE name = 'b'")
			return err
		}))
		_, _, err := w.OpenCredential(w.ctx, ws, "b")
		wantCode(t, err, flow.CodeProviderAuth)
		_, previous := w.PreviousSecrets(w.ctx, ws, "b")
		for _, err := range []error{err, previous} {
			for _, text := range []string{`"b"`, "SLUICE_MASTER_KEY", "enter the secret again"} {
				if err == nil || !strings.Contains(err.Error(), text) {
					t.Errorf("%q is not in %v", text, err)
				}
			}
		}
		sealed, unbound, err := w.ExamineCredentials(w.ctx)
		w.must(err)
		if len(sealed) != 1 || sealed[0].Name != "b" || len(unbound) != 1 || unbound[0].Name != "b" {
			t.Errorf("sealed %v, unbound %v", sealed, unbound)
		}
		w.must(w.SaveCredential(w.ctx, flow.Credential{WorkspaceID: ws, Name: "b", Hosts: []string{"b.example"}, Overlap: flow.SigningOverlap}, "entered again"))
		_, secret, err := w.OpenCredential(w.ctx, ws, "b")
		w.must(err)
		wantEqual(t, "secret", secret, "entered again")
		sealed, unbound, err = w.ExamineCredentials(w.ctx)
		w.must(err)
		wantEqual(t, "need somebody", len(sealed)+len(unbound), 0)
	})
}

// TestUpdateSecret_loses_no_change changes a secret by what is stored: of two instances that do so at the same time, each sees the other's change.
func TestUpdateSecret_loses_no_change(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		w.must(w.SaveCredential(w.ctx, flow.Credential{WorkspaceID: ws, Name: "c"}, "s"))
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if err := w.UpdateSecret(w.ctx, ws, "c", func(secret string) (string, error) { return secret + "+", nil }); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		stop := errors.New("stop")
		if err := w.UpdateSecret(w.ctx, ws, "c", func(string) (string, error) { return "x", stop }); !errors.Is(err, stop) {
			t.Errorf("got %v", err)
		}
		if _, secret, err := w.OpenCredential(w.ctx, ws, "c"); err != nil || secret != "s++++++++++" {
			t.Errorf("%q %v", secret, err)
		}
		if err := w.UpdateSecret(w.ctx, ws, "gone", func(s string) (string, error) { return s, nil }); !flow.IsNotFound(err) {
			t.Errorf("got %v", err)
		}
	})
}
