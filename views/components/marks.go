package components

import (
	"strings"

	"github.com/a-h/templ"
)

// markShapes are drawings of the families of models and of providers: simple shapes in one
// color, on a square of 24 by 24. Names starts with one of the words of a family, in lower
// case and without what is before the last slash; the first family that fits counts.
var markShapes = []struct {
	words []string
	shape string
}{
	{[]string{"sluice", "built-in", "builtin"}, `<path d="M4 9c3-4 5 2 8 0s5 2 8-1M4 16c3-4 5 2 8 0s5 2 8-1"/>`},
	{[]string{"azure", "microsoft", "phi"}, `<path class="full" d="M4 4h7.2v7.2H4zM12.8 4H20v7.2h-7.2zM4 12.8h7.2V20H4zM12.8 12.8H20V20h-7.2z"/>`},
	{[]string{"mcp"}, `<path d="M8 3v6M16 3v6M5.5 9h13v2a6.5 6.5 0 0 1-13 0zM12 17.5V22"/>`},
	{[]string{"openai-compatible", "server"}, `<path d="M5 5h14v6H5zM5 13h14v6H5zM8.5 8h.01M8.5 16h.01"/>`},
	{[]string{"openai", "gpt", "chatgpt", "o1", "o3", "o4", "dall-e", "sora", "whisper", "tts"}, `<g><ellipse cx="12" cy="12" rx="3.6" ry="9"/><ellipse cx="12" cy="12" rx="3.6" ry="9" transform="rotate(60 12 12)"/><ellipse cx="12" cy="12" rx="3.6" ry="9" transform="rotate(120 12 12)"/></g>`},
	{[]string{"anthropic", "claude"}, `<path d="M12 3v18M3 12h18M5.6 5.6l12.8 12.8M18.4 5.6 5.6 18.4"/>`},
	{[]string{"google", "gemini", "gemma", "imagen", "veo", "lyria"}, `<path class="full" d="M12 2c1 6.4 3.6 9 10 10-6.4 1-9 3.6-10 10-1-6.4-3.6-9-10-10 6.4-1 9-3.6 10-10z"/>`},
	{[]string{"mistral", "ministral", "mixtral", "codestral", "magistral", "pixtral", "devstral", "voxtral"}, `<path class="full" d="M3 5h4v3.5H3zM17 5h4v3.5h-4zM3 8.5h8v3.5H3zM13 8.5h8v3.5h-8zM3 12h18v3.5H3zM3 15.5h4V19H3zM10 15.5h4V19h-4zM17 15.5h4V19h-4z"/>`},
	{[]string{"groq"}, `<path d="M17.5 10.5a5.5 5.5 0 1 0-5.5 5.5c3 0 5.5-2 5.5-5.5v4a5.5 5.5 0 0 1-9.4 3.9"/>`},
	{[]string{"together"}, `<path d="M9 6.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM15 6.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11z"/>`},
	{[]string{"openrouter"}, `<path d="M3 12h5c4 0 5-5 9-5h3M8 12c4 0 5 5 9 5h3M17.5 4.5 20 7l-2.5 2.5M17.5 14.5 20 17l-2.5 2.5"/>`},
	{[]string{"deepseek"}, `<path class="full" d="M2.5 12.5C4 7 10.5 5.5 14 9.5c2 2.2 4.5 1.5 5-2 .5 1 1.5 1.5 2.5 1.2C21 13 19 14 18.5 14c-1.5 4-8 6-12 3.5-2-1.2-3.5-3-4-5z"/>`},
	{[]string{"xai", "grok"}, `<path d="m5 4 14 16M19 4l-5.5 6.3M10.5 13.7 5 20"/>`},
	{[]string{"hugging", "huggingface", "smol"}, `<path d="M12 4a7.5 7.5 0 1 0 0 15 7.5 7.5 0 0 0 0-15zM9 10v.01M15 10v.01M8.5 13.5c2 3 5 3 7 0"/>`},
	{[]string{"fireworks"}, `<path d="M12 12V4M12 12l5.7-5.7M12 12h8M12 12l5.7 5.7M12 12 6.3 6.3M12 12H4M12 17v3M8 16l-2 2"/>`},
	{[]string{"cerebras"}, `<path d="M19 6.5a9 9 0 1 0 0 11M16 9a5.2 5.2 0 1 0 0 6M13 12h.01"/>`},
	{[]string{"perplexity", "sonar"}, `<path d="M12 3v18M5 9h14v7h-3M5 9v7h3M12 9 6.5 4v5M12 9l5.5-5v5M12 10l-5 5v5l5-5M12 10l5 5v5l-5-5"/>`},
	{[]string{"replicate"}, `<path class="full" d="M20 4v2.8H7.8V20H4.8V4zM20 9v2.8h-7.2V20h-3V9zM20 14v2.8h-2.2V20h-3v-6z"/>`},
	{[]string{"ollama"}, `<path d="M8 11V6c0-3 3-3 3.2 0v1.5h1.6V6c.2-3 3.2-3 3.2 0v5M8 11c-2 1.5-2 4.5-.5 6V20M16 11c2 1.5 2 4.5.5 6V20M10.5 14.5c0-1.6 3-1.6 3 0s-3 1.6-3 0z"/>`},
	{[]string{"lm studio", "lmstudio"}, `<path d="M4 6h11M8 10h12M4 14h12M9 18h11"/>`},
	{[]string{"llama.cpp", "llamacpp"}, `<path d="M9 7.5a5.5 5.5 0 1 0 0 9M12 12h4M14 10v4M18 12h4M20 10v4"/>`},
	{[]string{"vllm"}, `<path d="m4 5 6.5 14L20 4M9 5l2.5 6"/>`},
	{[]string{"meta", "llama", "code llama", "sam", "musicgen"}, `<path d="M7.5 7.5C4.5 7.5 2.5 9.6 2.5 12s2 4.5 5 4.5c4.2 0 4.8-9 9-9 3 0 5 2.1 5 4.5s-2 4.5-5 4.5c-4.2 0-4.8-9-9-9z"/>`},
	{[]string{"qwen", "qwq", "alibaba", "wan"}, `<path d="m12 3 7.8 4.5v9L12 21l-7.8-4.5v-9zM12 8.5l3.5 6h-7z"/>`},
	{[]string{"flux", "black", "black-forest-labs"}, `<path d="M12 3.5 20.5 19h-17zM12 10l4.5 9M12 10l-4.5 9"/>`},
	{[]string{"stability", "stable", "sd", "sdxl"}, `<path d="M17 7.5C16 5 8 4 7.5 8c-.5 4.5 9.5 3 9 8-.5 4-8.5 3.5-9.5.5M19.5 18v.01"/>`},
	{[]string{"nvidia", "nemotron"}, `<path d="M3 12c4-6.5 14-6.5 18 0-4 6.5-14 6.5-18 0zM12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6z"/>`},
	{[]string{"cohere", "command", "aya"}, `<path class="full" d="M4 4h9a4.5 4.5 0 0 1 0 9H8.5A4.5 4.5 0 0 1 4 8.5zM4 17a3 3 0 0 1 3-3 3 3 0 0 1 0 6 3 3 0 0 1-3-3zM12 17.5a3 3 0 0 1 3-3h2a3 3 0 0 1 0 5.5h-2a3 3 0 0 1-3-2.5z"/>`},
	{[]string{"moonshot", "kimi"}, `<path class="full" d="M14 3a9 9 0 1 0 7 12.5A8 8 0 0 1 14 3z"/>`},
	{[]string{"eleven", "elevenlabs"}, `<path class="full" d="M7 4h3.5v16H7zM13.5 4H17v16h-3.5z"/>`},
	{[]string{"minimax", "hailuo", "speech"}, `<path d="M4 10v4M8 6v12M12 8.5v7M16 4v16M20 10v4"/>`},
	{[]string{"bytedance", "seedream", "seedance", "seed", "dreamina"}, `<path d="M5 8v11M10 5v11M14.5 9v10M19 4v12"/>`},
	{[]string{"ideogram"}, `<path d="M7 4v16M7 4h3c10 0 10 16 0 16H7M11 8.5v7"/>`},
	{[]string{"recraft"}, `<path d="M5 20V4h9a4.5 4.5 0 0 1 0 9H5M12 13l7 7"/>`},
	{[]string{"ibm", "granite"}, `<path d="M4 6h16M4 10h16M4 14h16M4 18h16"/>`},
	{[]string{"kling", "kwai", "kwaivgi"}, `<path d="M6 4v16M6 14 18 4M11 10l7 10"/>`},
	{[]string{"runway", "gen"}, `<path d="M5 20V4h9.5a4.5 4.5 0 0 1 0 9H10l9 7"/>`},
	{[]string{"luma", "ray", "photon"}, `<path d="M5 4v16l14-8z"/>`},
}

// MarkShape returns the drawing of a provider or of a model's family as the content of an SVG, or ""
// for one without a drawing. Names of models may have an owner before them: meta/llama-3.
func MarkShape(name string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	if owner, model, ok := strings.Cut(name, "/"); ok {
		if shape := markShape(model[strings.LastIndexByte(model, '/')+1:]); shape != "" {
			return shape
		}
		name = owner
	}
	return markShape(name)
}

// drawing renders a shape of markShapes.
func drawing(shape string) templ.Component { return templ.Raw(shape) }

// markShape finds the family of a name without owner.
func markShape(name string) string {
	for i := range markShapes {
		for _, word := range markShapes[i].words {
			if rest, ok := strings.CutPrefix(name, word); ok && (rest == "" || !isLetter(rest[0])) {
				return markShapes[i].shape
			}
		}
	}
	return ""
}

// isLetter reports whether a byte after a word belongs to the word. Digits do not: qwen3.
func isLetter(b byte) bool { return b >= 'a' && b <= 'z' || b >= 0x80 }
