package nodes

import (
	"testing"

	"sluice/flow"
)

func TestCharge_of_model(t *testing.T) {
	t.Parallel()
	kinds := New(fakes())
	secret := map[string]any{"credential": "mine"}
	for name, c := range map[string]struct {
		kind   string
		config map[string]any
		want   flow.Charge
		paid   bool
	}{
		"a model of a provider":           {"chat", map[string]any{"model": " openai/gpt-x "}, flow.Charge{Model: "openai/gpt-x"}, true},
		"one that says what it costs":     {"chat", map[string]any{"model": "openrouter/a/b"}, flow.Charge{Model: "openrouter/a/b", Reported: true}, true},
		"a gateway":                       {"chat", map[string]any{"model": "gateway/some"}, flow.Charge{Model: "gateway/some"}, true},
		"a server on this machine":        {"chat", map[string]any{"model": "ollama/llama3.2"}, flow.Charge{Model: "ollama/llama3.2", Free: true}, true},
		"such a server, with a secret":    {"chat", map[string]any{"model": "ollama/llama3.2", "credential": secret}, flow.Charge{Model: "ollama/llama3.2"}, true},
		"the first model of this machine": {"chat", map[string]any{"prompt": "Hello"}, flow.Charge{}, false},
		"the model inside":                {"embed", map[string]any{"text": "a", "model": ""}, flow.Charge{}, false},
		"vectors of a provider":           {"embed", map[string]any{"model": "openai/text-embedding-3-small"}, flow.Charge{Model: "openai/text-embedding-3-small"}, true},
		"pictures":                        {"image", map[string]any{"model": "openai/gpt-image-1"}, flow.Charge{Model: "openai/gpt-image-1"}, true},
		"speech":                          {"speech", map[string]any{"model": "openai/tts-1"}, flow.Charge{Model: "openai/tts-1"}, true},
		"recordings":                      {"transcribe", map[string]any{"model": "openai/whisper-1"}, flow.Charge{Model: "openai/whisper-1"}, true},
		"a hosted model":                  {"hosted_model", map[string]any{"model": "https://replicate.com/a/b"}, flow.Charge{Model: "replicate/a/b"}, true},
		"a hosted model by an edge":       {"hosted_model", map[string]any{}, flow.Charge{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, paid := kinds.Find(c.kind).Charge(c.config)
			got.Use, got.Seconds, got.Tokens = flow.TokenUse{}, 0, false
			if got != c.want || paid != c.paid {
				t.Errorf("got %+v %v, want %+v %v", got, paid, c.want, c.paid)
			}
		})
	}
}

// TestCharge_is_declared_by_kinds_with_models checks that exactly the kinds in the group of
// models declare that they may cost money.
func TestCharge_is_declared_by_kinds_with_models(t *testing.T) {
	t.Parallel()
	for _, k := range New(fakes()).List() {
		if (k.Charge != nil) != (k.Group == groupModels) {
			t.Errorf("%s of the group %s: it is declared that it may cost money: %v", k.Name, k.Group, k.Charge != nil)
		}
	}
}
