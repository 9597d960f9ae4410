package nodes

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/flow"
	"sluice/providers"
)

// memoryCredentials is a flow.CredentialStore with given credentials.
type memoryCredentials map[string]flow.Credential

func (s memoryCredentials) ListCredentials(context.Context, flow.WorkspaceID) ([]flow.Credential, error) {
	var list []flow.Credential
	for _, name := range slices.Sorted(maps.Keys(s)) {
		c := s[name]
		c.Name = name
		list = append(list, c)
	}
	return list, nil
}

func (s memoryCredentials) OpenCredential(_ context.Context, _ flow.WorkspaceID, name string) (flow.Credential, string, error) {
	c, ok := s[name]
	if !ok {
		return c, "", flow.Errorf(flow.CodeNotFound, "There is no such credential.")
	}
	c.Name = name
	return c, "secret-of-" + name, nil
}

// servers is a LocalServers with given servers.
type servers []providers.LocalServer

func (s servers) Found() []providers.LocalServer { return s }

func server(t *testing.T, preset string, models ...string) providers.LocalServer {
	t.Helper()
	p, ok := providers.FindPreset(preset)
	if !ok {
		t.Fatalf("no preset %s", preset)
	}
	s := providers.LocalServer{Preset: p, BaseURL: strings.Replace(p.BaseURL, "127.0.0.1", "localhost", 1)}
	for _, m := range models {
		s.Models = append(s.Models, providers.Model{ID: m})
	}
	return s
}

// ask returns a chat node with a prompt and further config.
func ask(config map[string]any) use {
	all := map[string]any{"prompt": "Hello there"}
	maps.Copy(all, config)
	return use{kind: "chat", config: all}
}

func TestProvider(t *testing.T) {
	t.Parallel()
	keys := memoryCredentials{
		"mine":     {Provider: "openai"},
		"gateway":  {Provider: "openai_compatible", BaseURL: "https://models.example.com/v1"},
		"box":      {Provider: "openai_compatible", BaseURL: "http://10.0.0.7:8000/v1", Trusted: true, Hosts: []string{"10.0.0.7"}},
		"ollama":   {Provider: "ollama", BaseURL: "http://gpu:11434", Trusted: true},
		"plain":    {BaseURL: "https://plain.example.com/v1"},
		"studio":   {Provider: "lmstudio"},
		"deepseek": {Provider: "openai_compatible", BaseURL: "https://proxy.example.com/v1"},
	}
	ref := func(name string) map[string]any { return map[string]any{"credential": name} }
	for _, c := range []struct {
		name, model string
		credential  any
		want        providers.Endpoint
		wantModel   string
	}{
		{"the workspace's credential of the provider", "openai/gpt-x", nil, providers.Endpoint{Provider: "openai", Secret: "secret-of-mine"}, "gpt-x"},
		{"the environment's", "groq/meta/llama", nil, providers.Endpoint{Provider: "groq", Secret: "secret-of-environment"}, "meta/llama"},
		{"a chosen credential", "openai/gpt-x", ref("mine"), providers.Endpoint{Provider: "openai", Secret: "secret-of-mine"}, "gpt-x"},
		{"a credential with an address of its own", "gateway/some/model", nil,
			providers.Endpoint{Provider: "openai_compatible", BaseURL: "https://models.example.com/v1", Secret: "secret-of-gateway"}, "some/model"},
		{"the same by both", "gateway/m", ref("gateway"), providers.Endpoint{Provider: "openai_compatible", BaseURL: "https://models.example.com/v1", Secret: "secret-of-gateway"}, "m"},
		{"an address that the operator entered", "box/m", nil, providers.Endpoint{Provider: "openai_compatible", BaseURL: "http://10.0.0.7:8000/v1", Secret: "secret-of-box", Trusted: true}, "m"},
		{"a gateway for a known provider's models", "openai/gpt-x", ref("gateway"),
			providers.Endpoint{Provider: "openai_compatible", BaseURL: "https://models.example.com/v1", Secret: "secret-of-gateway"}, "gpt-x"},
		{"a gateway by a known provider's name", "deepseek/chat", nil,
			providers.Endpoint{Provider: "openai_compatible", BaseURL: "https://proxy.example.com/v1", Secret: "secret-of-deepseek"}, "chat"},
		{"a local server at another address", "ollama/llama3", nil, providers.Endpoint{Provider: "ollama", BaseURL: "http://gpu:11434", Secret: "secret-of-ollama", Trusted: true}, "llama3"},
		{"a local server with a secret", "lmstudio/m", nil, providers.Endpoint{Provider: "lmstudio", BaseURL: "http://localhost:1234/v1", Secret: "secret-of-studio", Trusted: true}, "m"},
		{"a local server where it was found", "vllm/org/m:8b", nil, providers.Endpoint{Provider: "vllm", BaseURL: "http://localhost:8000/v1", Trusted: true}, "org/m:8b"},
		{"an address without a provider, chosen by name", "plain/m", ref("plain"), providers.Endpoint{Provider: "openai_compatible", BaseURL: "https://plain.example.com/v1", Secret: "secret-of-plain"}, "m"},
		{"nothing chosen takes a model of this machine", "", nil, providers.Endpoint{Provider: "lmstudio", BaseURL: "http://localhost:1234/v1", Trusted: true}, "qwen3-4b"},
		{"blanks around", " openai/gpt-x ", nil, providers.Endpoint{Provider: "openai", Secret: "secret-of-mine"}, "gpt-x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w, got := newFixture(), &calls{}
			w.credentials, w.environment = keys, map[string]flow.Access{"groq": {Provider: "groq", Secret: "secret-of-environment"}}
			d := Deps{Providers: fakeProviders{got}, Local: servers{server(t, "lmstudio", "text-embedding-nomic", "qwen3-4b", "z"), server(t, "vllm", "a")}}
			u := ask(map[string]any{"model": c.model})
			if c.credential != nil {
				u.config["credential"] = c.credential
			}
			if r := u.executeIn(t, w, d); r.State != flow.StepSucceeded {
				t.Fatal(r.Error)
			}
			if at, request := got.at[0], got.requests[0].(providers.ChatRequest); at != c.want || request.Model != c.wantModel {
				t.Errorf("got %+v and %q, want %+v and %q", at, request.Model, c.want, c.wantModel)
			}
		})
	}
	t.Run("accepts a secret from an edge", func(t *testing.T) {
		t.Parallel()
		got := &calls{}
		u := ask(map[string]any{"model": "openai/gpt-x"})
		u.ports = map[string]any{"credential": "sk-of-the-caller"}
		r := u.execute(t, Deps{Providers: fakeProviders{got}})
		if r.State != flow.StepSucceeded || got.at[0].Secret != "sk-of-the-caller" || got.at[0].BaseURL != "" {
			t.Errorf("%v, called %+v", r.Error, got.at)
		}
		if shown := r.Input["credential"]; shown != flow.Redacted {
			t.Errorf("the record tells it: %v", shown)
		}
	})
}

func TestProvider_explains_missing_access(t *testing.T) {
	t.Parallel()
	keys := memoryCredentials{
		"gateway":  {Provider: "openai_compatible"},
		"bound":    {Provider: "openai_compatible", BaseURL: "https://models.example.com/v1", Hosts: []string{"other.example.com"}},
		"router":   {Provider: "openrouter"},
		"webhooks": {},
		"old":      {Provider: "gone"},
		"plain":    {BaseURL: "https://plain.example.com/v1"},
	}
	ref := func(name string) map[string]any { return map[string]any{"credential": name} }
	for _, c := range []struct {
		name       string
		config     map[string]any
		local      servers
		code       flow.Code
		says       []string
		retryable  bool
		notMention string
	}{
		{"says which credential is missing", map[string]any{"model": "openai/gpt-x"}, nil, flow.CodeProviderAuth,
			[]string{"no credential for OpenAI", "sluice credential add --name openai --provider openai", "OPENAI_API_KEY", "platform.openai.com", "Ollama"}, false, ""},
		{"says what to do where nothing is set up", nil, nil, flow.CodeProviderAuth,
			[]string{"No model is chosen, and no model server was found", "openai/gpt-5-nano", "sluice credential add", "start Ollama", "ollama pull"}, false, ""},
		{"says what a server without models wants", nil, servers{server(t, "ollama", "nomic-embed-text")}, flow.CodeProviderAuth, []string{"Ollama on this machine has no chat model", "ollama pull"}, false, ""},
		{"says where a server was looked for", map[string]any{"model": "ollama/llama3"}, servers{server(t, "vllm", "a")}, flow.CodeProviderUnavailable,
			[]string{"Ollama was not found at 127.0.0.1:11434", "Start it"}, true, ""},
		{"wants provider/model", map[string]any{}, nil, flow.CodeInputInvalid, []string{`"gpt-x"`, "openai/gpt-5-nano"}, false, ""},
		{"knows its providers", map[string]any{"model": "opnai/gpt-x"}, nil, flow.CodeProviderAuth, []string{`no provider and no credential named "opnai"`, "openai, anthropic", "ollama"}, false, "replicate"},
		{"finds a chosen credential gone", map[string]any{"model": "openai/gpt-x", "credential": ref("gone")}, nil, flow.CodeProviderAuth, []string{`no credential "gone"`}, false, ""},
		{"shows one provider's secret to no other", map[string]any{"model": "openai/gpt-x", "credential": ref("router")}, nil, flow.CodeInputInvalid, []string{`"router" is for OpenRouter`, "openrouter/…"}, false, ""},
		{"takes no credential beside another's name", map[string]any{"model": "gateway/m", "credential": ref("bound")}, nil, flow.CodeInputInvalid, []string{`"gateway"`, `"bound"`}, false, ""},
		{"keeps a secret to its hosts", map[string]any{"model": "bound/m"}, nil, flow.CodeProviderAuth, []string{`"bound" may not be sent to models.example.com`}, false, ""},
		{"wants a base URL", map[string]any{"model": "gateway/m"}, nil, flow.CodeProviderAuth, []string{`"gateway" has no base URL`}, false, ""},
		{"wants a provider", map[string]any{"model": "webhooks/m"}, nil, flow.CodeProviderAuth, []string{`"webhooks"`, "openai_compatible"}, false, ""},
		{"lets no model choose a plain credential", map[string]any{"model": "plain/m"}, nil, flow.CodeProviderAuth, []string{`no credential named "plain"`}, false, ""},
		{"wants a provider it knows", map[string]any{"model": "old/m"}, nil, flow.CodeProviderAuth, []string{`"old"`}, false, ""},
		{"wants a model for a credential", map[string]any{"credential": ref("gateway")}, nil, flow.CodeInputInvalid, []string{"A credential is chosen but no model"}, false, ""},
		{"sends hosted models to their own node", map[string]any{"model": "replicate/meta/llama", "credential": ref("webhooks")}, nil, flow.CodeModelIncompatible, []string{"Hosted model node"}, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w, got := newFixture(), &calls{}
			w.credentials, w.environment = keys, nil
			u := ask(c.config)
			if c.name == "wants provider/model" {
				u.ports = map[string]any{"model": "gpt-x"} // typed, it is refused before
			}
			r := u.executeIn(t, w, Deps{Providers: fakeProviders{got}, Local: c.local})
			if r.State != flow.StepFailed || r.Error.Code != c.code || r.Error.Retryable != c.retryable {
				t.Fatalf("state %s, error %+v, want %s", r.State, r.Error, c.code)
			}
			has(t, r.Error.Message, c.says...)
			if c.notMention != "" && strings.Contains(r.Error.Message, c.notMention) {
				t.Errorf("%q mentions %q", r.Error.Message, c.notMention)
			}
			if len(got.requests) > 0 || r.Outputs != nil {
				t.Errorf("asked %v, gave %v", got.requests, r.Outputs)
			}
		})
	}
	t.Run("lists the providers that support the task", func(t *testing.T) {
		t.Parallel()
		for kind, says := range map[string]string{"image": "openai, gemini", "speech": "openai, groq", "transcribe": "openai, mistral", "embed": "openai, gemini"} {
			w := newFixture()
			w.environment = map[string]flow.Access{"anthropic": {Provider: "anthropic", Secret: "secret"}}
			u := use{kind: kind, config: map[string]any{"model": "anthropic/claude-x"}, ports: map[string]any{"text": "x"}}
			switch kind {
			case "image":
				u.config["prompt"], u.ports = "x", nil
			case "transcribe":
				u.ports = map[string]any{"audio": "https://example.com/a.mp3"}
			}
			r := u.executeIn(t, w, fakes())
			if r.Error == nil || r.Error.Code != flow.CodeModelIncompatible {
				t.Fatalf("%s: %v", kind, r.Error)
			}
			has(t, r.Error.Message, "Anthropic cannot", says)
		}
	})
	t.Run("requires a base URL for an OpenAI-compatible provider", func(t *testing.T) {
		t.Parallel()
		u := ask(map[string]any{"model": "openai_compatible/m"})
		has(t, u.fails(t, fakes(), flow.CodeProviderAuth).Message, "Add one with its base URL", "--provider openai_compatible")
		u.ports = map[string]any{"credential": "sk-of-the-caller"}
		has(t, u.fails(t, fakes(), flow.CodeProviderAuth).Message, "Add one with its base URL")
	})
	t.Run("does not offer the environment to other workspaces", func(t *testing.T) {
		t.Parallel()
		p, _ := providers.FindPreset("openai")
		if message := noAccess(&flow.In{WorkspaceID: "ws_1"}, p, taskEmbed).Error(); strings.Contains(message, "OPENAI_API_KEY") || strings.Contains(message, "Ollama") {
			t.Error(message)
		}
	})
	t.Run("rejects an invalid model", func(t *testing.T) {
		t.Parallel()
		for _, kind := range []string{"chat", "image", "speech", "transcribe", "embed"} {
			u := use{kind: kind, config: map[string]any{"model": "gpt-x"}}
			found := false
			for _, p := range u.problems(t) {
				found = found || p.Pointer == "/nodes/0/config/model" && p.Code == "invalid"
			}
			if !found {
				t.Errorf("%s takes it", kind)
			}
		}
	})
}

// failing is a provider whose calls all fail.
type failing struct {
	fakeProviders
	err    error
	result *providers.ChatResult // usage of the failed call
}

func (f failing) Chat(context.Context, providers.Endpoint, providers.ChatRequest, func(string)) (*providers.ChatResult, error) {
	return f.result, f.err
}

func TestProvider_converts_errors(t *testing.T) {
	t.Parallel()
	u := ask(map[string]any{"model": "openai/gpt-x"})
	for kind, code := range map[providers.ErrorClass]flow.Code{
		providers.ClassAuth: "provider_auth", providers.ClassRateLimited: "provider_rate_limited", providers.ClassRejected: "provider_rejected",
		providers.ClassUnavailable: "provider_unavailable", providers.ClassNotFound: "model_not_found", providers.ClassIncompatible: "model_incompatible",
		providers.ClassBadAnswer: "output_invalid", providers.ClassTooLarge: "output_invalid", providers.ClassBlocked: "destination_blocked",
		providers.ClassBadRequest: "input_invalid", "new": "internal",
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			e := &providers.Error{Class: kind, Message: "OpenAI says no.", RequestID: "req_9"}
			failure := u.fails(t, Deps{Providers: failing{err: e}}, code)
			has(t, failure.Message, "OpenAI says no. Model: openai/gpt-x.", "Request ID: req_9.")
			if named := strings.Contains(failure.Message, "OPENAI_API_KEY"); named != (kind == providers.ClassAuth) {
				t.Errorf("names the credential: %v, in %q", named, failure.Message)
			}
		})
	}
	t.Run("reports Retry-After", func(t *testing.T) {
		t.Parallel()
		e := &providers.Error{Class: providers.ClassRateLimited, Message: "OpenAI asks to slow down.", Retryable: true, After: 7 * time.Second}
		m := &target{ref: "openai/gpt-x"}
		failure, ok := errors.AsType[*flow.Error](m.failed(t.Context(), e))
		if !ok || !failure.Retryable || failure.After != 7*time.Second {
			t.Errorf("got %+v", failure)
		}
	})
	t.Run("counts the usage of a failed call", func(t *testing.T) {
		t.Parallel()
		e := &providers.Error{Class: providers.ClassBadAnswer, Message: "The answer does not fit."}
		r := u.execute(t, Deps{Providers: failing{err: e, result: &providers.ChatResult{Usage: providers.Usage{InputTokens: 3, CostNanoUSD: 5, CostKnown: true}}}})
		if r.State != flow.StepFailed || r.Usage.InputTokens != 3 || r.Usage.CostNanoUSD != 5 || r.run.Usage.InputTokens != 3 {
			t.Errorf("state %s, usage %+v", r.State, r.Usage)
		}
	})
	t.Run("redacts a secret that the provider echoes", func(t *testing.T) {
		t.Parallel()
		failure := u.fails(t, Deps{Providers: failing{err: &providers.Error{Class: providers.ClassAuth, Message: "Bad key secret-of-openai."}}}, flow.CodeProviderAuth)
		if strings.Contains(failure.Message, "secret-of-openai") {
			t.Errorf("tells the secret: %q", failure.Message)
		}
		r := ask(map[string]any{"model": "openai/gpt-x", "prompt": "Say secret-of-openai"}).execute(t, fakes())
		if text := flow.Text(r.Outputs["text"]) + r.emitted; !strings.Contains(text, flow.Redacted) || strings.Contains(text, "secret-of-openai") {
			t.Errorf("got %q", text)
		}
	})
	t.Run("hides internal errors", func(t *testing.T) {
		t.Parallel()
		failure := u.fails(t, Deps{Providers: failing{err: errors.New("some fault")}}, flow.CodeInternal)
		if strings.Contains(failure.Message, "some fault") {
			t.Error(failure.Message)
		}
	})
	t.Run("returns the error of the context", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := (&target{}).failed(ctx, &providers.Error{Class: providers.ClassUnavailable}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

func TestProvider_computes_cost(t *testing.T) {
	t.Parallel()
	w := newFixture()
	w.prices = priceList{"openai/gpt-x": {Input: 1_000_000_000, Output: 2_000_000_000, Call: 7, Second: 10}}
	usage := func(model string, reported int64) flow.Usage {
		r := ask(map[string]any{"model": model}).executeIn(t, w, Deps{Providers: priced{cost: reported}})
		if r.State != flow.StepSucceeded {
			t.Fatal(r.Error)
		}
		return r.Usage
	}
	for _, c := range []struct {
		name, model string
		reported    int64
		want        int64
	}{
		{"the provider's own", "openai/gpt-x", 42, 42},
		{"by the workspace's price", "openai/gpt-x", 0, 7 + 10*1000 + 3*2000},
		{"none is known", "openai/gpt-y", 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := usage(c.model, c.reported); got != (flow.Usage{InputTokens: 10, OutputTokens: 3, CostNanoUSD: flow.NanoUSD(c.want), UnpricedSteps: unpriced(c.model)}) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// unpriced returns 1 if TestProvider_computes_cost has no price for the model.
func unpriced(model string) int64 {
	if model == "openai/gpt-y" {
		return 1
	}
	return 0
}

// priced reports the same usage for every chat.
type priced struct {
	fakeProviders
	cost int64
}

func (p priced) Chat(context.Context, providers.Endpoint, providers.ChatRequest, func(string)) (*providers.ChatResult, error) {
	return &providers.ChatResult{Text: "x", Usage: providers.Usage{InputTokens: 10, OutputTokens: 3, CostNanoUSD: p.cost, CostKnown: p.cost > 0}}, nil
}
