package console_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"sluice/e2e/chrome"
	"sluice/flow"
	"sluice/handlers"
	"sluice/handlers/web"
	"sluice/handlers/webtest"
	"sluice/views/components"
)

func setupCredentials(t *testing.T) *webtest.Env {
	h := webtest.Setup(t)
	return h
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	h := setupCredentials(t)
	b := h.As(flow.MemberEditor)
	b.Get("/credentials").Is(http.StatusOK).Has("REPLICATE_API_TOKEN", "From the environment")
	b.Get("/credentials?add=").Is(http.StatusOK).Has("OpenAI", "vLLM", "Something else")
	b.Get("/credentials?add=openai").Is(http.StatusOK).Has("platform.openai.com/api-keys", `value="openai"`)

	t.Run("keeps submitted values except the secret", func(t *testing.T) {
		b.Post("/credentials", url.Values{"provider": {"openai"}, "name": {"mine"}, "secret": {""}}).Is(http.StatusUnprocessableEntity).Has(`value="mine"`, "Paste the secret here.")
		b.Post("/credentials", url.Values{"provider": {"openai"}, "name": {""}, "secret": {"sk-typed"}}).Is(http.StatusUnprocessableEntity).Has("Give it a name.").Lacks("sk-typed")
		b.Post("/credentials", url.Values{"provider": {"nobody"}}).Is(http.StatusUnprocessableEntity)
	})
	t.Run("tests the secret with the provider", func(t *testing.T) {
		b.Post("/credentials", url.Values{"provider": {"openai"}, "name": {"good"}, "secret": {" sk-right "}}).RedirectsTo("/credentials")
		b.Get("/credentials").Is(http.StatusOK).Has("OpenAI is connected.", "api.openai.com", `href="/credentials/good"`).Lacks("sk-right")
		b.Post("/credentials", url.Values{"provider": {"openai"}, "name": {"bad"}, "secret": {"sk-wrong"}}).RedirectsTo("/credentials")
		b.Get("/credentials").Is(http.StatusOK).Has("was saved. OpenAI refuses").Lacks("sk-wrong")
		b.Post("/credentials/good/test", nil).RedirectsTo("/credentials/good")
		b.Get("/credentials/good").Is(http.StatusOK).Has("OpenAI is connected.", "No flow uses it.").Lacks("sk-right")
	})
	t.Run("refuses an existing name", func(t *testing.T) {
		b.Post("/credentials", url.Values{"provider": {"openai"}, "name": {"good"}, "secret": {"x"}}).Is(http.StatusUnprocessableEntity).Has("A credential with this name exists.")
	})
	t.Run("saves limits", func(t *testing.T) {
		b.Post("/credentials/good/limits", url.Values{"max_calls": {"many"}}).Is(http.StatusUnprocessableEntity).Has("Enter a number up to", `value="many"`)
		b.Post("/credentials/good/limits", url.Values{"max_calls": {"4"}, "calls_per_minute": {"1,000"}}).RedirectsTo("/credentials/good")
		b.Get("/credentials/good").Has("Limits saved.", `value="4"`, `value="1000"`)
	})
	t.Run("replaces only the secret", func(t *testing.T) {
		b.Post("/credentials/bad/secret", url.Values{"secret": {""}}).Is(http.StatusUnprocessableEntity).Has("Paste the secret here.")
		b.Post("/credentials/bad/secret", url.Values{"secret": {"sk-right"}}).RedirectsTo("/credentials/bad")
		b.Get("/credentials/bad").Is(http.StatusOK).Has("The secret was replaced. OpenAI is connected.", "api.openai.com")
	})
	t.Run("binds a plain secret to its hosts", func(t *testing.T) {
		b.Post("/credentials", url.Values{"provider": {"plain"}, "name": {"crm"}, "secret": {"s"}, "hosts": {"a.example.com, b.example.com"}}).RedirectsTo("/credentials")
		k, err := h.Store.FindCredential(context.Background(), flow.DefaultWorkspace, "crm")
		if err != nil || strings.Join(k.Hosts, " ") != "a.example.com b.example.com" || k.Provider != "" || k.Trusted {
			t.Errorf("kept %+v, %v", k, err)
		}
		b.Get("/credentials/crm").Is(http.StatusOK).Has("plain secret").Lacks("/test\"")
	})
	t.Run("warns before removing a credential in use", func(t *testing.T) {
		h.Flow(`{"schema": "sluice.flow/v1", "name": "Caller", "nodes": [{"id": "call", "kind": "http_request", "config": {"url": "https://a.example.com", "headers": {"Authorization": {"credential": "crm"}}}}]}`)
		b.Get("/credentials/crm").Is(http.StatusOK).Has("Caller", "Used by ")
		b.Post("/credentials/crm/remove", nil).Is(http.StatusUnprocessableEntity).Has("Tick the box to remove it anyway.")
		b.Post("/credentials/crm/remove", url.Values{"sure": {"on"}}).RedirectsTo("/credentials")
		b.Get("/credentials/crm").Is(http.StatusNotFound)
		b.Post("/credentials/bad/remove", nil).RedirectsTo("/credentials")
	})
}

func TestCredentialHosts(t *testing.T) {
	t.Parallel()
	h := setupCredentials(t)
	b := h.As(flow.MemberEditor)
	hosts := func(name string) string {
		t.Helper()
		k, err := h.Store.FindCredential(context.Background(), flow.DefaultWorkspace, name)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(k.Hosts, " ")
	}
	t.Run("asks for the hosts of a new secret", func(t *testing.T) {
		form := url.Values{"provider": {"plain"}, "name": {"crm"}, "secret": {"s3cret"}}
		b.Post("/credentials", form).Is(http.StatusUnprocessableEntity).Has("Enter the hosts").Lacks("s3cret")
		form.Set("any_host", "on")
		b.Post("/credentials", form).RedirectsTo("/credentials")
		b.Get("/credentials").Is(http.StatusOK).Has("Can be sent anywhere")
	})
	t.Run("proposes the hosts that flows use", func(t *testing.T) {
		h.Flow(`{"schema": "sluice.flow/v1", "name": "Caller", "nodes": [{"id": "call", "kind": "http_request", "config": {"url": "https://api.example.com:8443/x", "headers": {"Authorization": {"credential": "crm"}}}}]}`)
		b.Get("/credentials/crm").Is(http.StatusOK).Has("Credential can be sent anywhere.", `value="api.example.com:8443"`, "Save them to bind it.")
		if got := hosts("crm"); got != "" {
			t.Errorf("bound to %q without being asked", got)
		}
	})
	t.Run("refuses an invalid host and keeps it in the form", func(t *testing.T) {
		b.Post("/credentials/crm/hosts", url.Values{"hosts": {"*.com"}}).Is(http.StatusUnprocessableEntity).Has("hosts of strangers", `value="*.com"`)
		b.Post("/credentials/crm/hosts", url.Values{"hosts": {"https://api.example.com"}}).Is(http.StatusUnprocessableEntity).Has("without a scheme")
		b.Post("/credentials/crm/hosts", url.Values{"hosts": {""}}).Is(http.StatusUnprocessableEntity).Has("Enter the hosts")
		b.Post("/credentials/crm/hosts", url.Values{"hosts": {"a.example.com"}, "any_host": {"on"}}).Is(http.StatusUnprocessableEntity).Has("Remove the hosts")
	})
	t.Run("saves hosts", func(t *testing.T) {
		b.Post("/credentials/crm/hosts", url.Values{"hosts": {"API.example.com:8443, *.example.org"}}).RedirectsTo("/credentials/crm")
		if got := hosts("crm"); got != "api.example.com:8443 *.example.org" {
			t.Errorf("bound to %q", got)
		}
		b.Get("/credentials/crm").Is(http.StatusOK).Has("Hosts saved.", "api.example.com:8443, *.example.org").Lacks("be sent anywhere")
		b.Get("/credentials").Is(http.StatusOK).Lacks("be sent anywhere")
	})
	t.Run("refuses any host while callers of a published flow choose the host", func(t *testing.T) {
		f := h.Flow(`{"schema": "sluice.flow/v1", "name": "Anywhere", "nodes": [{"id": "where", "kind": "input", "config": {"name": "where", "type": "text", "default": "x"}},
			{"id": "call", "kind": "http_request", "config": {"url": "https://api.example.com", "headers": {"Authorization": {"credential": "crm"}, "X-Token": {"credential": "later"}}}}, {"id": "got", "kind": "output", "config": {"name": "got"}}],
			"edges": [{"from": "where.value", "to": "call.url"}, {"from": "call.status", "to": "got.value"}]}`)
		h.Publish(f)
		b.Post("/credentials/crm/hosts", url.Values{"hosts": {""}, "any_host": {"on"}}).Is(http.StatusUnprocessableEntity).Has("Anywhere", "anyone who starts a run")
		b.Post("/credentials", url.Values{"provider": {"plain"}, "name": {"later"}, "secret": {"s3cret"}, "any_host": {"on"}}).Is(http.StatusUnprocessableEntity).Has("Anywhere").Lacks("s3cret")
		b.Post("/credentials", url.Values{"provider": {"plain"}, "name": {"later"}, "secret": {"s3cret"}, "hosts": {"api.example.com"}}).RedirectsTo("/credentials")
	})
	t.Run("does not change the hosts of a provider", func(t *testing.T) {
		b.Post("/credentials", url.Values{"provider": {"openai"}, "name": {"mine"}, "secret": {"sk-right"}}).RedirectsTo("/credentials")
		b.Post("/credentials/mine/hosts", url.Values{"hosts": {"evil.example"}}).Is(http.StatusUnprocessableEntity)
		if got := hosts("mine"); got != "api.openai.com" {
			t.Errorf("bound to %q", got)
		}
	})
	t.Run("requires an editor", func(t *testing.T) {
		h.As(flow.MemberViewer).Post("/credentials/crm/hosts", url.Values{"hosts": {"evil.example"}}).Is(http.StatusForbidden)
	})
}

// TestCredential_sealed_needs_new_secret has a credential that cannot be decrypted. Pages mark it,
// and entering the secret again fixes it.
func TestCredential_sealed_needs_new_secret(t *testing.T) {
	t.Parallel()
	h := setupCredentials(t)
	ctx := context.Background()
	for _, name := range []string{"whole", "broken"} {
		if err := h.Store.SaveCredential(ctx, flow.Credential{WorkspaceID: flow.DefaultWorkspace, Name: name, Hosts: []string{"a.example"}}, "secret of "+name); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.Store.SQLite().ExecContext(ctx, "UPDATE credentials SET value = (SELECT value FROM credentials WHERE name = 'whole') WHERE name = 'broken'"); err != nil {
		t.Fatal(err)
	}
	b := h.As(flow.MemberEditor)
	b.Get("/credentials").Is(http.StatusOK).Has("Can’t be decrypted")
	b.Get("/credentials/broken").Is(http.StatusOK).Has("This credential can’t be decrypted.", "SLUICE_MASTER_KEY", "enter the secret again")
	b.Get("/credentials/whole").Is(http.StatusOK).Lacks("can’t be opened")
	b.Post("/credentials/broken/secret", url.Values{"secret": {"entered again"}}).RedirectsTo("/credentials/broken")
	if _, secret, err := h.Store.OpenCredential(ctx, flow.DefaultWorkspace, "broken"); err != nil || secret != "entered again" {
		t.Errorf("it opens as %q, %v", secret, err)
	}
	b.Get("/credentials/broken").Is(http.StatusOK).Lacks("can’t be opened")
}

func TestCredentials_trust(t *testing.T) {
	t.Parallel()
	h := setupCredentials(t)
	for role, trusted := range map[flow.MemberRole]bool{flow.MemberOwner: true, flow.MemberEditor: false} {
		name := "at-" + string(role)
		h.As(role).Post("/credentials", url.Values{"provider": {"vllm"}, "name": {name}, "base_url": {"http://gpu-1:8000/v1"}, "secret": {"s"}}).RedirectsTo("/credentials")
		if k, err := h.Store.FindCredential(context.Background(), flow.DefaultWorkspace, name); err != nil || k.Trusted != trusted {
			t.Errorf("%s: %+v, %v", role, k, err)
		}
	}
}

func TestCredentials_access(t *testing.T) {
	t.Parallel()
	h := setupCredentials(t)
	if err := h.Store.SaveCredential(context.Background(), flow.Credential{WorkspaceID: flow.DefaultWorkspace, Name: "openai", Provider: "openai", Hosts: []string{"api.openai.com"}}, "sk-1"); err != nil {
		t.Fatal(err)
	}
	if err := h.Store.SaveCredential(context.Background(), flow.Credential{WorkspaceID: "elsewhere", Name: "foreign", Provider: "openai"}, "sk-2"); err != nil {
		t.Fatal(err)
	}
	viewer, editor := h.As(flow.MemberViewer), h.As(flow.MemberEditor)
	viewer.Get("/credentials").Is(http.StatusOK).Has("openai").Lacks("api.openai.com", "REPLICATE", "?add=")
	viewer.Get("/credentials?add=openai").Is(http.StatusOK).Lacks("platform.openai.com")
	viewer.Get("/credentials/openai").Is(http.StatusForbidden)
	for _, path := range []string{"/credentials", "/credentials/openai/test", "/credentials/openai/secret", "/credentials/openai/hosts", "/credentials/openai/remove"} {
		viewer.Post(path, nil).Is(http.StatusForbidden)
		h.Anonymous().Post(path, nil).Is(http.StatusUnauthorized)
	}
	for _, what := range []string{"/test", "/secret", "/remove"} {
		other, unknown := editor.Post("/credentials/foreign"+what, nil), editor.Post("/credentials/unknown"+what, nil)
		if other.Is(http.StatusNotFound).Body != unknown.Is(http.StatusNotFound).Body {
			t.Errorf("%s tells a foreign credential from none", what)
		}
	}
}

// shelvedModels are FakeModels with a catalog.
type shelvedModels struct{ webtest.FakeModels }

func (s shelvedModels) ListModels(ctx context.Context, ws flow.WorkspaceID, task, query string) []components.ModelGroup {
	if task != web.HostedTask {
		return s.FakeModels.ListModels(ctx, ws, task, query)
	}
	images := components.ModelGroup{Name: "image-generation", Title: "Make images", Models: []components.ModelChoice{{ID: "acme/paint", Title: "Paint", Text: "Paints.", Category: "image-generation", Runs: "12M runs", Tags: []string{"text to image"}}}}
	speech := components.ModelGroup{Name: "text-to-speech", Title: "Speak text", Models: []components.ModelChoice{{ID: "acme/locked", Title: "Say", Text: "Speaks.", Category: "text-to-speech"}}}
	if query != "" {
		return []components.ModelGroup{{Title: "Replicate", Models: append(images.Models, speech.Models...)}}
	}
	return []components.ModelGroup{images, speech}
}

func TestModelShelves(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t, func(c *handlers.Config) { c.Models = shelvedModels{} })
	b, viewer := h.As(flow.MemberEditor), h.As(flow.MemberViewer)
	b.Get("/models").Is(http.StatusOK).Has("Paints.", "Speaks.", "12M runs", "ollama/llama3.2", "Classify", "The credential is refused.", `href="/models/acme/paint"`, "/credentials?add=mistral")
	b.Get("/models?category=text-to-speech").Is(http.StatusOK).Has("Speaks.").Lacks("Paints.", "ollama/llama3.2")
	b.Get("/models?category=image-generation&q=any").Is(http.StatusOK).Has("Paints.").Lacks("Speaks.")
	b.Get("/models?category=nonsense").Is(http.StatusOK).Has("Paints.", "Speaks.")
	b.Get("/models?shelf=machine").Is(http.StatusOK).Has("ollama/llama3.2", "Free").Lacks("Paints.")
	b.Get("/models?shelf=hosted").Is(http.StatusOK).Has("Paints.").Lacks(">Classify<", ">Free</b>")
	b.Get("/models?price=free").Is(http.StatusOK).Has("ollama/llama3.2", "Classify", `value="free" selected`, `/models?category=analyze&amp;price=free`).Lacks("Paints.")
	b.Get("/models?price=nonsense&sort=nonsense").Is(http.StatusOK).Has("Paints.", "Classify")
	viewer.Get("/models?shelf=built-in").Is(http.StatusOK).Has("Classify", "Offline").Lacks("Use in a flow", "ollama")
	b.Get("/models/acme/paint").Is(http.StatusOK).Has("steps", "whole number, 1 to 50", "Use in a flow").Lacks("Default</th>")
	viewer.Get("/models/acme/paint").Is(http.StatusOK).Lacks("Use in a flow")
	b.Get("/models/acme/locked").Is(http.StatusOK).Has("That needs a credential.").Lacks("Use in a flow")
	b.Get("/models/acme/none").Is(http.StatusNotFound)
	h.Anonymous().Get("/models").RedirectsTo("/sign-in?next=%2Fmodels")

	id := flow.FlowID(b.Post("/flows", url.Values{"model": {"acme/paint"}}).CreatedFlow())
	f, err := h.Store.FindFlow(context.Background(), flow.DefaultWorkspace, id)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Library.Check(f.Draft); err != nil {
		t.Errorf("the flow around a model: %v", err)
	}
	b.Post("/flows", url.Values{"model": {"acme/none"}}).Is(http.StatusUnprocessableEntity).Has("There is no model acme/none.")
}

// TestModelPage_fits_a_phone shows all columns of the inputs of a model on a narrow screen.
func TestModelPage_fits_a_phone(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t, func(c *handlers.Config) { c.Models = shelvedModels{} })
	p := h.Open(chrome.Start(t), flow.MemberEditor, "/models/acme/paint")
	p.Size(375, 812)
	p.There(".model-inputs td code")
	p.Until(`document.documentElement.scrollWidth === 375 && document.querySelector(".model-inputs .scroll").scrollWidth <= document.querySelector(".model-inputs .scroll").clientWidth`)
	p.Until(`[...document.querySelectorAll(".model-inputs td")].every((d) => d.getBoundingClientRect().right <= 375 && d.scrollWidth <= d.clientWidth + 1)`)
	p.Shot("model-phone")
}

// TestNewFlow_kind creates flows around built-in kinds and provider models.
func TestNewFlow_kind(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b := h.As(flow.MemberEditor)
	for _, c := range []struct {
		form  url.Values
		ports int
	}{{url.Values{"kind": {"classify"}}, 1}, {url.Values{"kind": {"chat"}, "model": {"ollama/llama3.2"}}, 2}} {
		id := b.Post("/flows", c.form).CreatedFlow()
		d := h.Draft(id)
		kind, model := c.form.Get("kind"), c.form.Get("model")
		if n := d.Node(kind); n == nil || len(d.Nodes) != c.ports+2 || model != "" && n.Config["model"] != model {
			t.Errorf("%v made %s", c.form, d.Compact())
		}
		if _, err := h.Library.Check(d.Compact()); err != nil {
			t.Errorf("the flow around %s: %v", kind, err)
		}
	}
	b.Post("/flows", url.Values{"kind": {"input"}}).Is(http.StatusUnprocessableEntity)
	b.Post("/flows", url.Values{"kind": {"none"}}).Is(http.StatusUnprocessableEntity)
}

func TestCredentials_search(t *testing.T) {
	t.Parallel()
	h := setupCredentials(t)
	b := h.As(flow.MemberEditor)
	b.Get("/credentials").Is(http.StatusOK).Has("Connect: OpenAI", "Connect: vLLM", "REPLICATE_API_TOKEN")
	b.Get("/credentials?q=vllm").Is(http.StatusOK).Has("Connect: vLLM").Lacks("Connect: OpenAI", "REPLICATE_API_TOKEN")
	b.Get("/credentials?q=replicate").Is(http.StatusOK).Has("REPLICATE_API_TOKEN").Lacks("vLLM")
	b.Get("/credentials?q=zzz").Is(http.StatusOK).Has("Nothing found")
	b.Post("/credentials", url.Values{"provider": {"openai"}, "name": {"good"}, "secret": {"sk-right"}}).RedirectsTo("/credentials")
	b.Get("/credentials").Is(http.StatusOK).Has("Add another: OpenAI")
}

// TestConnectProvider saves a key from the list of models only if the provider accepts it.
func TestConnectProvider(t *testing.T) {
	t.Parallel()
	h := setupCredentials(t)
	f := h.Flow(`{"schema": "sluice.flow/v1", "name": "Ask", "nodes": [{"id": "note", "kind": "template", "config": {"template": "x"}}]}`)
	b := h.As(flow.MemberEditor)
	path := "/flows/" + f + "/credentials/connect"
	saved := func() int {
		t.Helper()
		list, err := h.Store.ListCredentials(t.Context(), flow.DefaultWorkspace)
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	b.Post(path, url.Values{"provider": {"openai"}, "secret": {""}}).Is(http.StatusUnprocessableEntity).Has("Paste the secret here.")
	b.Post(path, url.Values{"provider": {"openai"}, "secret": {"sk-wrong"}}).Is(http.StatusUnprocessableEntity).Has("OpenAI refuses").Lacks("sk-wrong")
	if n := saved(); n != 0 {
		t.Fatalf("%d credentials were saved although they were refused", n)
	}
	h.As(flow.MemberViewer).Post(path, url.Values{"provider": {"openai"}, "secret": {"sk-right"}}).Is(http.StatusForbidden)
	b.Post("/flows/flow_none/credentials/connect", url.Values{"provider": {"openai"}, "secret": {"sk-right"}}).Is(http.StatusNotFound)
	b.Post(path, url.Values{"provider": {"openai"}, "secret": {" sk-right "}}).Is(http.StatusCreated).Has("OpenAI is connected.").Lacks("sk-right")
	if _, secret, err := h.Store.OpenCredential(t.Context(), flow.DefaultWorkspace, "openai"); err != nil || secret != "sk-right" {
		t.Errorf("saved %q, %v", secret, err)
	}
	b.Post(path, url.Values{"provider": {"openai"}, "secret": {"sk-right"}}).Is(http.StatusUnprocessableEntity).Has("exists")
	own := url.Values{"provider": {"vllm"}, "name": {"lab"}, "base_url": {"http://gone/v1"}, "secret": {""}}
	b.Post(path, own).Is(http.StatusUnprocessableEntity).Has(`"field":"base_url"`)
	own.Set("base_url", "https://models.example.com/v1")
	b.Post(path, own).Is(http.StatusCreated).Has(`"name":"lab"`, "2 models found")
	b.Post(path, own).Is(http.StatusUnprocessableEntity).Has(`"field":"name"`)
	if k, _, err := h.Store.OpenCredential(t.Context(), flow.DefaultWorkspace, "lab"); err != nil || k.BaseURL != "https://models.example.com/v1" || k.Provider != "vllm" {
		t.Errorf("saved %+v, %v", k, err)
	}
}
