package providers_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/providers"
)

func TestKnown(t *testing.T) {
	t.Parallel()
	known := providers.Known()
	if _, err := time.Parse(time.DateOnly, known.Date); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"openai", "anthropic", "gemini", "mistral", "groq", "deepseek", "xai", "cerebras", "perplexity"} {
		p, ok := providers.FindPreset(name)
		models := known.Models(name)
		if !ok || !p.Chat || len(models) < 2 {
			t.Errorf("%s has %d known models", name, len(models))
		}
		seen := map[string]bool{}
		for _, m := range models {
			if m.ID == "" || seen[m.ID] || m.Context <= 0 || m.Price != nil && (m.Price.AsOf != known.Date || m.Price.OutputNanoUSD < 0) {
				t.Errorf("%s knows %+v", name, m)
			}
			seen[m.ID] = true
		}
	}
	listed := []providers.Model{{ID: "claude-haiku-4-5"}, {ID: "claude-haiku-4-5-20251001"}, {ID: "claude-opus-4-5", Context: 7, Price: &providers.ModelPrice{OutputNanoUSD: 1}}}
	known.Complete("anthropic", listed)
	if listed[0].Context != 200_000 || listed[0].Price == nil {
		t.Errorf("not completed: %+v", listed[0])
	}
	if listed[1].Context != 0 || listed[1].Price != nil {
		t.Errorf("completed by a similar name: %+v", listed[1])
	}
	if listed[2].Context != 7 || listed[2].Price.OutputNanoUSD != 1 {
		t.Errorf("what the provider says was replaced: %+v", listed[2])
	}
}

// TestModelFacts reads what providers say of their models, in their own forms.
func TestModelFacts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ entry, want string }{
		"openrouter": {`{"id": "m", "context_length": 131072, "architecture": {"input_modalities": ["text", "image"]}, "pricing": {"prompt": "0.0000005", "completion": "0.000002"}, "supported_parameters": ["tools", "structured_outputs"]}`,
			`{"Context": 131072, "Vision": true, "Tools": true, "JSON": true, "Price": {"InputNanoUSD": 500000000, "OutputNanoUSD": 2000000000, "AsOf": ""}}`},
		"together":          {`{"id": "m", "context_length": 8192, "pricing": {"input": 0.2, "output": 0.6, "hourly": 0}}`, `{"Context": 8192, "Price": {"InputNanoUSD": 200000000, "OutputNanoUSD": 600000000, "AsOf": ""}}`},
		"mistral":           {`{"id": "m", "max_context_length": 32768, "capabilities": {"completion_chat": true, "function_calling": true, "vision": false}}`, `{"Context": 32768, "Tools": true}`},
		"groq":              {`{"id": "m", "context_window": 131072}`, `{"Context": 131072}`},
		"vLLM":              {`{"id": "m", "max_model_len": 4096}`, `{"Context": 4096}`},
		"nothing":           {`{"id": "m"}`, `{}`},
		"unexpected types":  {`{"id": "m", "context_length": "many", "pricing": "free", "capabilities": ["chat"], "supported_parameters": {}}`, `{}`},
		"price unknown":     {`{"id": "m", "pricing": {"prompt": "-1", "completion": "-1"}}`, `{}`},
		"not sold by token": {`{"id": "m", "pricing": {"input": 0, "output": 0}}`, `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write([]byte(`{"data": [` + c.entry + `]}`)) }))
			defer server.Close()
			got, err := providers.NewClient(plainDoer{}).Models(t.Context(), providers.Endpoint{Provider: "openai_compatible", BaseURL: server.URL, Trusted: true})
			if err != nil || len(got) != 1 {
				t.Fatalf("%v, %v", got, err)
			}
			want := providers.Model{ID: "m"}
			if err := json.Unmarshal([]byte(c.want), &want); err != nil {
				t.Fatal(err)
			}
			a, _ := json.Marshal(got[0])
			b, _ := json.Marshal(want)
			if string(a) != string(b) {
				t.Errorf("read %s, wanted %s", a, b)
			}
		})
	}
}

// plainDoer calls without the guards of package outbound.
type plainDoer struct{}

func (plainDoer) HTTPClient(bool) *http.Client { return http.DefaultClient }

func TestKnown_abilities(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"anthropic/claude-sonnet-4-5": "vision tools json", "anthropic/claude-sonnet-4-0": "vision tools", "anthropic/claude-3-5-haiku-latest": "vision tools", "anthropic/claude-2": "",
		"openai/gpt-5-mini": "vision tools json", "openai/o3-mini": "tools json", "openai/gpt-4o-audio-preview": "", "openai/gpt-3.5-turbo-instruct": "", "openai/gpt-image-1": "", "openai/o1-preview": "",
		"gemini/gemini-2.5-flash": "vision tools json", "gemini/gemini-2.5-flash-image": "", "mistral/gpt-5": "", "groq/gemini-2": "",
	} {
		provider, model, _ := strings.Cut(id, "/")
		list := []providers.Model{{ID: model}}
		providers.Known().Complete(provider, list)
		var got []string
		for word, has := range map[string]bool{"vision": list[0].Vision, "tools": list[0].Tools, "json": list[0].JSON} {
			if has {
				got = append(got, word)
			}
		}
		slices.Sort(got)
		wanted := strings.Fields(want)
		slices.Sort(wanted)
		if !slices.Equal(got, wanted) {
			t.Errorf("%s can %v, want %v", id, got, wanted)
		}
	}
	stated := []providers.Model{{ID: "claude-2", Vision: true}}
	if providers.Known().Complete("anthropic", stated); !stated[0].Vision {
		t.Error("what the provider's list says is lost")
	}
}
