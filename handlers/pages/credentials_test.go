package pages

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"sluice/db"
	"sluice/flow"
	"sluice/views"
)

// fakeProviders knows one provider, which accepts one secret.
type fakeProviders struct{ store *db.Store }

func (fakeProviders) List() []Provider {
	return []Provider{
		{Name: "openai", Title: "OpenAI", KeysURL: "https://platform.openai.com/api-keys", Can: []string{"chat"}},
		{Name: "vllm", Title: "vLLM", Can: []string{"chat"}, Local: true, OwnAddress: true},
	}
}

func (f fakeProviders) Credential(c flow.Credential, secret string) (flow.Credential, error) {
	if c.Name == "" {
		return c, &flow.Error{Code: flow.CodeInputInvalid, Message: "no", Fields: []flow.Problem{{Pointer: "name", Detail: "Give it a name."}}}
	}
	if why := f.CheckSecret(secret); why != "" {
		return c, &flow.Error{Code: flow.CodeInputInvalid, Message: "no", Fields: []flow.Problem{{Pointer: "secret", Detail: why}}}
	}
	if c.Provider != "" {
		c.Hosts = []string{"api.openai.com"}
	}
	return c, nil
}

func (fakeProviders) CheckSecret(secret string) string {
	if secret == "" {
		return "Paste the secret here."
	}
	return ""
}

func (f fakeProviders) Test(ctx context.Context, ws, name string) (string, error) {
	if _, secret, err := f.store.OpenCredential(ctx, ws, name); err != nil || secret != "sk-right" {
		return "", flow.Errorf(flow.CodeProviderAuth, "OpenAI refuses the credential.")
	}
	return "OpenAI accepts it.", nil
}

func (fakeProviders) Environment(ws string) []flow.Credential {
	return []flow.Credential{{Name: "REPLICATE_API_TOKEN", Provider: "replicate"}}
}

func (f fakeProviders) ProposeHosts(ctx context.Context, ws string) (map[string][]string, error) {
	return flow.ProposeHosts(ctx, f.store, ws, kinds())
}

func (f fakeProviders) CredentialUses(ctx context.Context, ws string) (map[string][]flow.CredentialUse, error) {
	return flow.CredentialUses(ctx, f.store, ws, func(*flow.Node) string { return "" })
}

func setupCredentials(t *testing.T) *house {
	h := setup(t)
	return h
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	h := setupCredentials(t)
	b := h.as(flow.MemberEditor)
	b.get("/credentials").is(http.StatusOK).has("REPLICATE_API_TOKEN", "from the environment")
	b.get("/credentials?add=").is(http.StatusOK).has("OpenAI", "vLLM", "Something else")
	b.get("/credentials?add=openai").is(http.StatusOK).has("platform.openai.com/api-keys", `value="openai"`)

	t.Run("keeps what was typed, but never a secret", func(t *testing.T) {
		b.post("/credentials", url.Values{"provider": {"openai"}, "name": {"mine"}, "secret": {""}}).is(http.StatusUnprocessableEntity).has(`value="mine"`, "Paste the secret here.")
		b.post("/credentials", url.Values{"provider": {"openai"}, "name": {""}, "secret": {"sk-typed"}}).is(http.StatusUnprocessableEntity).has("Give it a name.").lacks("sk-typed")
		b.post("/credentials", url.Values{"provider": {"nobody"}}).is(http.StatusUnprocessableEntity)
	})
	t.Run("asks the provider at once", func(t *testing.T) {
		b.post("/credentials", url.Values{"provider": {"openai"}, "name": {"good"}, "secret": {" sk-right "}}).see("/credentials")
		b.get("/credentials").is(http.StatusOK).has("OpenAI accepts it.", "api.openai.com", `href="/credentials/good"`).lacks("sk-right")
		b.post("/credentials", url.Values{"provider": {"openai"}, "name": {"bad"}, "secret": {"sk-wrong"}}).see("/credentials")
		b.get("/credentials").is(http.StatusOK).has("is kept. OpenAI refuses").lacks("sk-wrong")
		b.post("/credentials/good/test", nil).see("/credentials/good")
		b.get("/credentials/good").is(http.StatusOK).has("OpenAI accepts it.", "No flow uses it.").lacks("sk-right")
	})
	t.Run("does not replace by adding", func(t *testing.T) {
		b.post("/credentials", url.Values{"provider": {"openai"}, "name": {"good"}, "secret": {"x"}}).is(http.StatusUnprocessableEntity).has("There is a credential of this name.")
	})
	t.Run("replaces the secret alone", func(t *testing.T) {
		b.post("/credentials/bad/secret", url.Values{"secret": {""}}).is(http.StatusUnprocessableEntity).has("Paste the secret here.")
		b.post("/credentials/bad/secret", url.Values{"secret": {"sk-right"}}).see("/credentials/bad")
		b.get("/credentials/bad").is(http.StatusOK).has("The secret is replaced. OpenAI accepts it.", "api.openai.com")
	})
	t.Run("keeps a plain secret to its hosts", func(t *testing.T) {
		b.post("/credentials", url.Values{"provider": {"plain"}, "name": {"crm"}, "secret": {"s"}, "hosts": {"a.example.com, b.example.com"}}).see("/credentials")
		k, err := h.store.FindCredential(context.Background(), flow.DefaultWorkspace, "crm")
		if err != nil || strings.Join(k.Hosts, " ") != "a.example.com b.example.com" || k.Provider != "" || k.Trusted {
			t.Errorf("kept %+v, %v", k, err)
		}
		b.get("/credentials/crm").is(http.StatusOK).has("plain secret").lacks("/test\"")
	})
	t.Run("warns before removing what is used", func(t *testing.T) {
		h.flow(`{"schema": "sluice.flow/v1", "name": "Caller", "nodes": [{"id": "call", "kind": "http_request", "config": {"url": "https://a.example.com", "headers": {"Authorization": {"credential": "crm"}}}}]}`)
		b.get("/credentials/crm").is(http.StatusOK).has("Caller", "Flows use it.")
		b.post("/credentials/crm/remove", nil).is(http.StatusUnprocessableEntity).has("Tick this to remove it all the same.")
		b.post("/credentials/crm/remove", url.Values{"sure": {"on"}}).see("/credentials")
		b.get("/credentials/crm").is(http.StatusNotFound)
		b.post("/credentials/bad/remove", nil).see("/credentials")
	})
}

func TestCredentialHosts(t *testing.T) {
	t.Parallel()
	h := setupCredentials(t)
	b := h.as(flow.MemberEditor)
	hosts := func(name string) string {
		t.Helper()
		k, err := h.store.FindCredential(context.Background(), flow.DefaultWorkspace, name)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(k.Hosts, " ")
	}
	t.Run("asks for the hosts of a new secret", func(t *testing.T) {
		form := url.Values{"provider": {"plain"}, "name": {"crm"}, "secret": {"s3cret"}}
		b.post("/credentials", form).is(http.StatusUnprocessableEntity).has("Enter the hosts").lacks("s3cret")
		form.Set("any_host", "on")
		b.post("/credentials", form).see("/credentials")
		b.get("/credentials").is(http.StatusOK).has("credential can be sent anywhere")
	})
	t.Run("proposes the hosts that flows use", func(t *testing.T) {
		h.flow(`{"schema": "sluice.flow/v1", "name": "Caller", "nodes": [{"id": "call", "kind": "http_request", "config": {"url": "https://api.example.com:8443/x", "headers": {"Authorization": {"credential": "crm"}}}}]}`)
		b.get("/credentials/crm").is(http.StatusOK).has("Credential can be sent anywhere.", `value="api.example.com:8443"`, "Save them to bind it.")
		if got := hosts("crm"); got != "" {
			t.Errorf("bound to %q without being asked", got)
		}
	})
	t.Run("refuses what is no host, and keeps what was typed", func(t *testing.T) {
		b.post("/credentials/crm/hosts", url.Values{"hosts": {"*.com"}}).is(http.StatusUnprocessableEntity).has("hosts of strangers", `value="*.com"`)
		b.post("/credentials/crm/hosts", url.Values{"hosts": {"https://api.example.com"}}).is(http.StatusUnprocessableEntity).has("without a scheme")
		b.post("/credentials/crm/hosts", url.Values{"hosts": {""}}).is(http.StatusUnprocessableEntity).has("Enter the hosts")
		b.post("/credentials/crm/hosts", url.Values{"hosts": {"a.example.com"}, "any_host": {"on"}}).is(http.StatusUnprocessableEntity).has("Remove the hosts")
	})
	t.Run("saves hosts", func(t *testing.T) {
		b.post("/credentials/crm/hosts", url.Values{"hosts": {"API.example.com:8443, *.example.org"}}).see("/credentials/crm")
		if got := hosts("crm"); got != "api.example.com:8443 *.example.org" {
			t.Errorf("bound to %q", got)
		}
		b.get("/credentials/crm").is(http.StatusOK).has("Hosts saved.", "api.example.com:8443, *.example.org").lacks("sent anywhere")
		b.get("/credentials").is(http.StatusOK).lacks("sent anywhere")
	})
	t.Run("refuses any host while a published flow leaves the host to its callers", func(t *testing.T) {
		f := h.flow(`{"schema": "sluice.flow/v1", "name": "Anywhere", "nodes": [{"id": "where", "kind": "input", "config": {"name": "where", "type": "text", "default": "x"}},
			{"id": "call", "kind": "http_request", "config": {"url": "https://api.example.com", "headers": {"Authorization": {"credential": "crm"}, "X-Token": {"credential": "later"}}}}, {"id": "got", "kind": "output", "config": {"name": "got"}}],
			"edges": [{"from": "where.value", "to": "call.url"}, {"from": "call.status", "to": "got.value"}]}`)
		h.publish(f)
		b.post("/credentials/crm/hosts", url.Values{"hosts": {""}, "any_host": {"on"}}).is(http.StatusUnprocessableEntity).has("Anywhere", "anyone who starts a run")
		b.post("/credentials", url.Values{"provider": {"plain"}, "name": {"later"}, "secret": {"s3cret"}, "any_host": {"on"}}).is(http.StatusUnprocessableEntity).has("Anywhere").lacks("s3cret")
		b.post("/credentials", url.Values{"provider": {"plain"}, "name": {"later"}, "secret": {"s3cret"}, "hosts": {"api.example.com"}}).see("/credentials")
	})
	t.Run("leaves a provider's hosts alone", func(t *testing.T) {
		b.post("/credentials", url.Values{"provider": {"openai"}, "name": {"mine"}, "secret": {"sk-right"}}).see("/credentials")
		b.post("/credentials/mine/hosts", url.Values{"hosts": {"evil.example"}}).is(http.StatusUnprocessableEntity)
		if got := hosts("mine"); got != "api.openai.com" {
			t.Errorf("bound to %q", got)
		}
	})
	t.Run("is for editors", func(t *testing.T) {
		h.as(flow.MemberViewer).post("/credentials/crm/hosts", url.Values{"hosts": {"evil.example"}}).is(http.StatusForbidden)
	})
}

// TestCredentialThatDoesNotOpen: it is named, and entering the secret again fixes it.
func TestCredentialThatDoesNotOpen(t *testing.T) {
	t.Parallel()
	h := setupCredentials(t)
	ctx := context.Background()
	for _, name := range []string{"whole", "broken"} {
		if err := h.store.SaveCredential(ctx, flow.Credential{WorkspaceID: flow.DefaultWorkspace, Name: name, Hosts: []string{"a.example"}}, "secret of "+name); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.store.SQLite().ExecContext(ctx, "UPDATE credentials SET value = (SELECT value FROM credentials WHERE name = 'whole') WHERE name = 'broken'"); err != nil {
		t.Fatal(err)
	}
	b := h.as(flow.MemberEditor)
	b.get("/credentials").is(http.StatusOK).has("can’t be opened")
	b.get("/credentials/broken").is(http.StatusOK).has("This credential can’t be opened.", "SLUICE_MASTER_KEY", "enter the secret again")
	b.get("/credentials/whole").is(http.StatusOK).lacks("can’t be opened")
	b.post("/credentials/broken/secret", url.Values{"secret": {"entered again"}}).see("/credentials/broken")
	if _, secret, err := h.store.OpenCredential(ctx, flow.DefaultWorkspace, "broken"); err != nil || secret != "entered again" {
		t.Errorf("it opens as %q, %v", secret, err)
	}
	b.get("/credentials/broken").is(http.StatusOK).lacks("can’t be opened")
}

func TestCredentials_trust(t *testing.T) {
	t.Parallel()
	h := setupCredentials(t)
	for role, trusted := range map[flow.MemberRole]bool{flow.MemberOwner: true, flow.MemberEditor: false} {
		name := "at-" + string(role)
		h.as(role).post("/credentials", url.Values{"provider": {"vllm"}, "name": {name}, "base_url": {"http://gpu-1:8000/v1"}, "secret": {"s"}}).see("/credentials")
		if k, err := h.store.FindCredential(context.Background(), flow.DefaultWorkspace, name); err != nil || k.Trusted != trusted {
			t.Errorf("%s: %+v, %v", role, k, err)
		}
	}
}

func TestCredentials_access(t *testing.T) {
	t.Parallel()
	h := setupCredentials(t)
	if err := h.store.SaveCredential(context.Background(), flow.Credential{WorkspaceID: flow.DefaultWorkspace, Name: "openai", Provider: "openai", Hosts: []string{"api.openai.com"}}, "sk-1"); err != nil {
		t.Fatal(err)
	}
	if err := h.store.SaveCredential(context.Background(), flow.Credential{WorkspaceID: "elsewhere", Name: "foreign", Provider: "openai"}, "sk-2"); err != nil {
		t.Fatal(err)
	}
	viewer, editor := h.as(flow.MemberViewer), h.as(flow.MemberEditor)
	viewer.get("/credentials").is(http.StatusOK).has("openai").lacks("api.openai.com", "REPLICATE", "?add=")
	viewer.get("/credentials?add=openai").is(http.StatusOK).lacks("platform.openai.com")
	viewer.get("/credentials/openai").is(http.StatusForbidden)
	for _, path := range []string{"/credentials", "/credentials/openai/test", "/credentials/openai/secret", "/credentials/openai/hosts", "/credentials/openai/remove"} {
		viewer.post(path, nil).is(http.StatusForbidden)
		h.stranger().post(path, nil).is(http.StatusUnauthorized)
	}
	for _, what := range []string{"/test", "/secret", "/remove"} {
		other, unknown := editor.post("/credentials/foreign"+what, nil), editor.post("/credentials/unknown"+what, nil)
		if other.is(http.StatusNotFound).body != unknown.is(http.StatusNotFound).body {
			t.Errorf("%s tells a foreign credential from none", what)
		}
	}
}

// shelvedModels are fakeModels with a catalogue.
type shelvedModels struct{ fakeModels }

func (s shelvedModels) ListModels(ctx context.Context, ws, task, query string) []views.ModelGroup {
	if task != hostedTask {
		return s.fakeModels.ListModels(ctx, ws, task, query)
	}
	pictures := views.ModelGroup{Title: "Pictures", Models: []views.ModelChoice{{ID: "acme/paint", Title: "Paint", Text: "Paints."}}}
	speech := views.ModelGroup{Title: "Speech", Models: []views.ModelChoice{{ID: "acme/locked", Title: "Say", Text: "Speaks."}}}
	if query != "" {
		return []views.ModelGroup{{Title: "Replicate", Models: append(pictures.Models, speech.Models...)}}
	}
	return []views.ModelGroup{pictures, speech}
}

func TestModelShelves(t *testing.T) {
	t.Parallel()
	h := setup(t, func(c *Config) { c.Models = shelvedModels{} })
	b, viewer := h.as(flow.MemberEditor), h.as(flow.MemberViewer)
	b.get("/models").is(http.StatusOK).has("Paint", "Say", "Pictures", `href="/models/acme/paint"`)
	b.get("/models?category=Speech").is(http.StatusOK).has("Say").lacks("Paints.")
	b.get("/models?category=Pictures&q=any").is(http.StatusOK).has("Paints.").lacks("Speaks.")
	b.get("/models?category=nonsense").is(http.StatusOK).has("Paints.", "Speaks.")
	b.get("/models?shelf=providers").is(http.StatusOK).has("ollama/llama3.2", "The credential is refused.")
	viewer.get("/models?shelf=built-in").is(http.StatusOK).has("Classify", "no key, no network")
	b.get("/models/acme/paint").is(http.StatusOK).has("steps", "integer, 1 to 50", "Use in a new flow")
	viewer.get("/models/acme/paint").is(http.StatusOK).lacks("Use in a new flow")
	b.get("/models/acme/locked").is(http.StatusOK).has("That needs a credential.").lacks("Use in a new flow")
	b.get("/models/acme/none").is(http.StatusNotFound)
	h.stranger().get("/models").see("/sign-in?next=%2Fmodels")

	id := b.post("/flows", url.Values{"model": {"acme/paint"}}).made()
	f, err := h.store.FindFlow(context.Background(), flow.DefaultWorkspace, id)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.library.Check(f.Draft); err != nil {
		t.Errorf("the flow around a model: %v", err)
	}
	b.post("/flows", url.Values{"model": {"acme/none"}}).is(http.StatusUnprocessableEntity).has("There is no model acme/none.")
}
