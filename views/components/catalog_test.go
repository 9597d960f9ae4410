package components

import "testing"

func TestMonogram(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"OpenAI": "OA", "OpenRouter": "OR", "Hugging Face": "HF", "GPT-5 nano": "G", "Llama 3 8B": "L", "xAI": "XA", "Mistral": "M", "llama3.2": "L", "": ""} {
		if got := Monogram(name); got != want {
			t.Errorf("%q has the monogram %q, not %q", name, got, want)
		}
	}
}

func TestMarkShape(t *testing.T) {
	same := [][]string{{"OpenAI", "gpt-5-mini", "openai/gpt-5", "o3-mini", "openrouter/openai/gpt-5"}, {"Meta", "llama-3.3-70b", "groq/llama-3.1-8b", "meta/meta-llama-3"}, {"Google Gemini", "google/gemma3"}, {"Qwen3", "qwen2.5"}, {"OpenAI-compatible"}, {"Azure OpenAI"}, {"llama.cpp"}, {"Ollama"}}
	seen := map[string]string{}
	for _, names := range same {
		shape := MarkShape(names[0])
		if shape == "" || seen[shape] != "" {
			t.Errorf("%q has no drawing of its own; it has that of %q", names[0], seen[shape])
		}
		seen[shape] = names[0]
		for _, name := range names {
			if MarkShape(name) != shape {
				t.Errorf("%q has not the drawing of %q", name, names[0])
			}
		}
	}
	for _, name := range []string{"", "/", "metaphor", "acme/model", "gptx", "generic"} {
		if shape := MarkShape(name); shape != "" {
			t.Errorf("%q has the drawing %s", name, shape)
		}
	}
}
