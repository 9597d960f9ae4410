package e2e

import (
	"strings"
	"testing"

	"sluice/e2e/need"
)

// TestLiveChat calls real providers, if that is requested.
func TestLiveChat(t *testing.T) {
	t.Parallel()
	for variable, model := range map[string]string{
		"OPENAI_API_KEY": "openai/gpt-5-nano", "ANTHROPIC_API_KEY": "anthropic/claude-haiku-4-5",
		"OPENROUTER_API_KEY": "openrouter/openai/gpt-5-nano", "GEMINI_API_KEY": "gemini/gemini-2.5-flash",
	} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, variable+"="+need.RealProvider(t, variable))
			id := s.publish(asking(object{"model": model, "max_tokens": 2000}))
			r := s.client(s.key()).succeed(id, object{"q": "Answer with the single word pineapple."})
			if text, _ := r.Outputs["text"].(string); !strings.Contains(strings.ToLower(text), "pineapple") {
				t.Errorf("the answer is %q", text)
			}
		})
	}
}

// TestLiveHosted runs a cheap hosted model and stores its output.
func TestLiveHosted(t *testing.T) {
	t.Parallel()
	s := newServer(t, "REPLICATE_API_TOKEN="+need.RealProvider(t, "REPLICATE_API_TOKEN"))
	id := s.publish(documentOf("Draw", []object{
		input("q"), node("draw", "hosted_model", object{"model": "black-forest-labs/flux-schnell"}), output("picture"),
	}, "q.value > draw.input.prompt", "draw.output > out_picture.value"))
	r := s.client(s.key()).succeed(id, object{"q": "A lighthouse in the fog"})
	if files, _ := r.Outputs["picture"].([]any); len(files) != 1 {
		t.Errorf("the outputs are %v", r.Outputs)
	}
}
