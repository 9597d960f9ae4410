package providers

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
)

func TestPresets(t *testing.T) {
	t.Parallel()
	var names []string
	for _, p := range Presets() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			checkPreset(t, p)
		})
		names = append(names, p.Name)
	}
	for _, name := range []string{"openai", "anthropic", "gemini", "mistral", "groq", "together", "openrouter", "deepseek", "xai", "huggingface",
		"fireworks", "cerebras", "perplexity", "azure", "openai_compatible", "replicate", "ollama", "lmstudio", "llamacpp", "vllm"} {
		if !slices.Contains(names, name) {
			t.Errorf("there is no preset %s", name)
		}
	}
	if unique := slices.Compact(slices.Sorted(slices.Values(names))); len(unique) != len(names) {
		t.Errorf("a name is there twice in %v", names)
	}
}

func checkPreset(t *testing.T, p Preset) {
	t.Helper()
	found, ok := FindPreset(p.Name)
	if !ok || found.Title != p.Title || p.Title == "" || strings.ContainsAny(p.Name, "/ ") {
		t.Errorf("it is found as %+v, %v", found, ok)
	}
	u, err := url.Parse(p.BaseURL)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case p.Local:
		addr, err := netip.ParseAddrPort(u.Host)
		if err != nil || !addr.Addr().IsLoopback() || u.Scheme != "http" || u.Path != "/v1" || len(p.Hosts)+len(p.EnvVars) > 0 {
			t.Errorf("a local server is at %s with %v and %v", p.BaseURL, p.Hosts, p.EnvVars)
		}
	case p.Name == "openai_compatible":
		if p.BaseURL != "" || len(p.Hosts) > 0 || p.Schema != SchemaNone {
			t.Errorf("it has %+v", p)
		}
	case p.Wire == WireTools:
		if p.BaseURL != "" || len(p.Hosts)+len(p.EnvVars) > 0 || p.Capabilities != (Capabilities{}) {
			t.Errorf("it has %+v", p)
		}
	case p.Name == nameAzure:
		if p.BaseURL != "" || len(p.Hosts) > 0 || len(p.EnvVars) == 0 {
			t.Errorf("it has %+v", p)
		}
	default:
		if u.Scheme != "https" || !slices.Contains(p.Hosts, u.Host) || len(p.EnvVars) == 0 || !strings.HasPrefix(p.KeysURL, "https://") {
			t.Errorf("it has %+v", p)
		}
	}
	if p.Chat != (p.MaxTokens == maxTokens || p.MaxTokens == maxCompletionTokens) || p.Chat != (p.Schema != "") {
		t.Errorf("chat is %v, with %q and %q", p.Chat, p.MaxTokens, p.Schema)
	}
}

func TestPresetsAreCopies(t *testing.T) {
	t.Parallel()
	p, _ := FindPreset("openai")
	p.Hosts[0], p.EnvVars[0] = "evil.example", "PATH"
	if q, _ := FindPreset("openai"); q.Hosts[0] != "api.openai.com" || q.EnvVars[0] != "OPENAI_API_KEY" {
		t.Errorf("a caller changed the preset to %+v", q)
	}
}

func TestParseModel(t *testing.T) {
	t.Parallel()
	for ref, want := range map[string][2]string{
		"openai/gpt-x": {"openai", "gpt-x"}, "openrouter/meta-llama/llama-4:free": {"openrouter", "meta-llama/llama-4:free"},
		"gpt-x": {}, "/gpt-x": {}, "openai/": {}, "": {}, "/": {},
	} {
		provider, model, ok := ParseModel(ref)
		if provider != want[0] || model != want[1] || ok != (want[0] != "") {
			t.Errorf("%q: got %q, %q, %v", ref, provider, model, ok)
		}
	}
}

// TestEndpoints checks which endpoints are rejected before a request is sent.
func TestEndpoints(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		at    Endpoint
		class ErrorClass
		says  string
	}{
		{"unknown provider", Endpoint{Provider: "nobody"}, ClassBadRequest, `no provider named "nobody"`},
		{"no base URL", Endpoint{Provider: "openai_compatible"}, ClassBadRequest, "needs a base URL"},
		{"no URL", Endpoint{Provider: "openai_compatible", BaseURL: "gopher://x"}, ClassBadRequest, "http:// or https://"},
		{"an address in disguise", Endpoint{Provider: "openai_compatible", BaseURL: "http://0x7f000001/v1"}, ClassBlocked, "private"},
		{"a secret of two lines", Endpoint{Provider: "openai", Secret: "sk-1\nX-Evil: 1"}, ClassAuth, "Copy it again"},
		{"a secret for another host", Endpoint{Provider: "openai", Secret: secret, BaseURL: "https://evil.example/v1"}, ClassBadRequest, "is not sent to evil.example"},
		{"a platform for models", Endpoint{Provider: "replicate", Secret: secret}, ClassIncompatible, "no chat models"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := NewClient(newDoer(t)).Chat(brief(t), c.at, ChatRequest{Model: "m", Prompt: "?"}, nil)
			if e := failure(t, err); e.Class != c.class || !strings.Contains(e.Message, c.says) {
				t.Errorf("got %s %q", e.Class, e.Message)
			}
		})
	}
}

func TestCannot(t *testing.T) {
	t.Parallel()
	c, at := NewClient(newDoer(t)), Endpoint{Provider: "anthropic", Secret: secret}
	_, embed := c.Embed(brief(t), at, EmbedRequest{Model: "m", Texts: []string{"a"}})
	_, image := c.Image(brief(t), at, ImageRequest{Model: "m", Prompt: "p"})
	_, edit := c.Image(brief(t), Endpoint{Provider: "xai", Secret: secret}, ImageRequest{Model: "m", Prompt: "p", Images: []Media{tune}})
	_, speech := c.Speech(brief(t), at, SpeechRequest{Model: "m", Text: "t"})
	_, transcribe := c.Transcribe(brief(t), at, TranscribeRequest{Model: "m", Audio: tune})
	_, models := c.Models(brief(t), Endpoint{Provider: "perplexity", Secret: secret})
	for name, err := range map[string]error{"embed": embed, "image": image, "edit": edit, "speech": speech, "transcribe": transcribe, "models": models} {
		if e := failure(t, err); e.Class != ClassIncompatible {
			t.Errorf("%s: got %+v", name, e)
		}
	}
}

func TestBaseURLOfLocalServer(t *testing.T) {
	t.Parallel()
	p, _ := FindPreset("ollama")
	for raw, want := range map[string]string{
		"":                                 "http://127.0.0.1:11434/v1",
		"http://192.168.1.9:11434":         "http://192.168.1.9:11434/v1",
		"http://192.168.1.9:11434/":        "http://192.168.1.9:11434/v1",
		"http://192.168.1.9/a/v1/":         "http://192.168.1.9/a/v1",
		"https://gw.example/v1?api=2&b=#x": "https://gw.example/v1?api=2&b=",
	} {
		if u, err := baseURL(p, raw); err != nil || u.String() != want {
			t.Errorf("%q: got %v, %v", raw, u, err)
		}
	}
}
