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
