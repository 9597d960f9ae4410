package providers

import (
	"slices"
	"strings"
)

// Presets returns all known providers in the order in which lists show them, hosted ones
// first. The caller may modify the result.
func Presets() []Preset {
	list := slices.Concat(hostedPresets, localPresets)
	for i := range list {
		list[i].Hosts = slices.Clone(list[i].Hosts)
		list[i].EnvVars = slices.Clone(list[i].EnvVars)
	}
	return list
}

// FindPreset returns the preset with a name.
func FindPreset(name string) (Preset, bool) {
	for _, p := range Presets() {
		if p.Name == name {
			return p, true
		}
	}
	return Preset{}, false
}

// ParseModel splits a model reference such as openai/gpt-x at the first slash; the names of
// models may contain more slashes. It does not check whether the provider is known.
func ParseModel(ref string) (provider, model string, ok bool) {
	provider, model, ok = strings.Cut(ref, "/")
	if provider == "" || model == "" {
		return "", "", false
	}
	return provider, model, ok
}

// Names of the two parameters for the same limit. OpenAI deprecated the first, and its
// reasoning models reject it; most other providers support only the first.
const (
	maxTokens           = "max_tokens"
	maxCompletionTokens = "max_completion_tokens"
)

// Presets that this package treats specially.
const (
	nameOpenRouter  = "openrouter"
	nameHuggingFace = "huggingface"
	namePerplexity  = "perplexity"
	nameTogether    = "together"
	nameGemini      = "gemini"
	nameMistral     = "mistral"
	nameXAI         = "xai"
	nameAzure       = "azure"
	nameOllama      = "ollama"
	nameLMStudio    = "lmstudio"
	nameLlamaCpp    = "llamacpp"
	nameVLLM        = "vllm"
)

// hostedPresets follow each provider's API reference. A parameter that only some models of a
// provider support counts as supported: a rejection names the parameter and costs nothing,
// and Chat then falls back.
var hostedPresets = []Preset{
	{
		Name: "openai", Title: "OpenAI", Wire: WireOpenAI, BaseURL: "https://api.openai.com/v1",
		Hosts: []string{"api.openai.com"}, EnvVars: []string{"OPENAI_API_KEY"}, KeysURL: "https://platform.openai.com/api-keys",
		Capabilities: Capabilities{MaxTokens: maxCompletionTokens, Schema: SchemaStrict, ImageURLs: true, StreamUsage: true, Search: SearchResponses, Responses: true, FormatWithTools: true, Models: true,
			Chat: true, Embed: true, Image: true, ImageEdit: true, Speech: true, Transcribe: true},
	},
	{
		Name: "anthropic", Title: "Anthropic", Wire: WireAnthropic, BaseURL: "https://api.anthropic.com/v1",
		Hosts: []string{"api.anthropic.com"}, EnvVars: []string{"ANTHROPIC_API_KEY"}, KeysURL: "https://platform.claude.com/settings/keys",
		Capabilities: Capabilities{MaxTokens: maxTokens, Schema: SchemaStrict, ImageURLs: true, StreamUsage: true, Search: SearchTool, FormatWithTools: true, Models: true, Chat: true},
	},
	{
		// Pictures go as data: the compatible endpoint fetches no URLs.
		Name: nameGemini, Title: "Google Gemini", Wire: WireOpenAI, BaseURL: "https://generativelanguage.googleapis.com/v1beta/openai",
		Hosts: []string{"generativelanguage.googleapis.com"}, EnvVars: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"},
		KeysURL: "https://aistudio.google.com/apikey",
		Capabilities: Capabilities{MaxTokens: maxTokens, Schema: SchemaStrict, StreamUsage: true, Models: true,
			Chat: true, Embed: true, Image: true},
	},
	{
		// Usage comes unasked in the last event; stream_options is no field of theirs,
		// and unknown fields are refused with 422.
		Name: nameMistral, Title: "Mistral", Wire: WireOpenAI, BaseURL: "https://api.mistral.ai/v1",
		Hosts: []string{"api.mistral.ai"}, EnvVars: []string{"MISTRAL_API_KEY"}, KeysURL: "https://console.mistral.ai/api-keys",
		Capabilities: Capabilities{MaxTokens: maxTokens, Schema: SchemaStrict, ImageURLs: true, Models: true,
			Chat: true, Embed: true, Transcribe: true},
	},
	{
		Name: "groq", Title: "Groq", Wire: WireOpenAI, BaseURL: "https://api.groq.com/openai/v1",
		Hosts: []string{"api.groq.com"}, EnvVars: []string{"GROQ_API_KEY"}, KeysURL: "https://console.groq.com/keys",
		Capabilities: Capabilities{MaxTokens: maxCompletionTokens, Schema: SchemaStrict, ImageURLs: true, StreamUsage: true, Models: true,
			Chat: true, Speech: true, Transcribe: true},
	},
	{
		Name: nameTogether, Title: "Together AI", Wire: WireOpenAI, BaseURL: "https://api.together.xyz/v1",
		Hosts: []string{"api.together.xyz", "api.together.ai"}, EnvVars: []string{"TOGETHER_API_KEY"}, KeysURL: "https://api.together.ai/settings/api-keys",
		Capabilities: Capabilities{MaxTokens: maxTokens, Schema: SchemaStrict, ImageURLs: true, StreamUsage: true, Models: true,
			Chat: true, Embed: true, Image: true, Speech: true, Transcribe: true},
	},
	{
		Name: nameOpenRouter, Title: "OpenRouter", Wire: WireOpenAI, BaseURL: "https://openrouter.ai/api/v1", Prices: true,
		Hosts: []string{"openrouter.ai"}, EnvVars: []string{"OPENROUTER_API_KEY"}, KeysURL: "https://openrouter.ai/settings/keys",
		Capabilities: Capabilities{MaxTokens: maxTokens, Schema: SchemaStrict, ImageURLs: true, StreamUsage: true, Search: SearchPlugin, Models: true,
			Chat: true, Embed: true},
	},
	{
		// JSON mode only; the prompt must contain the word "json", which form.prompt does.
		Name: "deepseek", Title: "DeepSeek", Wire: WireOpenAI, BaseURL: "https://api.deepseek.com/v1",
		Hosts: []string{"api.deepseek.com"}, EnvVars: []string{"DEEPSEEK_API_KEY"}, KeysURL: "https://platform.deepseek.com/api_keys",
		Capabilities: Capabilities{MaxTokens: maxTokens, Schema: SchemaJSON, StreamUsage: true, Models: true, Chat: true},
	},
	{
		Name: nameXAI, Title: "xAI", Wire: WireOpenAI, BaseURL: "https://api.x.ai/v1",
		Hosts: []string{"api.x.ai"}, EnvVars: []string{"XAI_API_KEY"}, KeysURL: "https://console.x.ai",
		Capabilities: Capabilities{MaxTokens: maxCompletionTokens, Schema: SchemaStrict, ImageURLs: true, StreamUsage: true, Search: SearchResponses, Responses: true, FormatWithTools: true, Models: true,
			Chat: true, Image: true},
	},
	{
		// The router serves chat alone in this format; huggingface.co answers for the
		// token itself.
		Name: nameHuggingFace, Title: "Hugging Face", Wire: WireOpenAI, BaseURL: "https://router.huggingface.co/v1",
		Hosts: []string{"router.huggingface.co", "huggingface.co"}, EnvVars: []string{"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"},
		KeysURL: "https://huggingface.co/settings/tokens",
		Capabilities: Capabilities{MaxTokens: maxTokens, Schema: SchemaStrict, ImageURLs: true, StreamUsage: true, Models: true,
			Chat: true},
	},
	{
		Name: "fireworks", Title: "Fireworks AI", Wire: WireOpenAI, BaseURL: "https://api.fireworks.ai/inference/v1",
		Hosts: []string{"api.fireworks.ai"}, EnvVars: []string{"FIREWORKS_API_KEY"}, KeysURL: "https://app.fireworks.ai/settings/users/api-keys",
		Capabilities: Capabilities{MaxTokens: maxTokens, Schema: SchemaStrict, ImageURLs: true, StreamUsage: true, Models: true,
			Chat: true, Embed: true},
	},
	{
		Name: "cerebras", Title: "Cerebras", Wire: WireOpenAI, BaseURL: "https://api.cerebras.ai/v1",
		Hosts: []string{"api.cerebras.ai"}, EnvVars: []string{"CEREBRAS_API_KEY"}, KeysURL: "https://cloud.cerebras.ai",
		Capabilities: Capabilities{MaxTokens: maxCompletionTokens, Schema: SchemaStrict, StreamUsage: true, Models: true, Chat: true},
	},
	{
		// No version in the path, no list of models; usage comes unasked.
		Name: namePerplexity, Title: "Perplexity", Wire: WireOpenAI, BaseURL: "https://api.perplexity.ai", Prices: true,
		Hosts: []string{"api.perplexity.ai"}, EnvVars: []string{"PERPLEXITY_API_KEY"}, KeysURL: "https://www.perplexity.ai/account/api/keys",
		Capabilities: Capabilities{MaxTokens: maxTokens, Schema: SchemaStrict, Search: SearchAlways, ImageURLs: true, Chat: true},
	},
	{
		// Every resource has an address of its own, which ends with /openai/v1; its models
		// are named by their deployments.
		Name: nameAzure, Title: "Azure OpenAI", Wire: WireOpenAI, EnvVars: []string{"AZURE_OPENAI_API_KEY"}, KeysURL: "https://portal.azure.com",
		Capabilities: Capabilities{MaxTokens: maxCompletionTokens, Schema: SchemaStrict, Search: SearchResponses, Responses: true, FormatWithTools: true, ImageURLs: true, StreamUsage: true, Models: true,
			Chat: true, Embed: true, Image: true, ImageEdit: true, Speech: true, Transcribe: true},
	},
	{
		// Whatever speaks the format. How to ask is kept to what everybody knows; what
		// can be asked is the server's to say.
		Name: "openai_compatible", Title: "OpenAI-compatible", Wire: WireOpenAI,
		Capabilities: Capabilities{MaxTokens: maxTokens, Schema: SchemaNone, StreamUsage: true, Models: true,
			Chat: true, Embed: true, Image: true, ImageEdit: true, Speech: true, Transcribe: true},
	},
	{
		Name: "replicate", Title: "Replicate", Wire: WireHost, BaseURL: "https://api.replicate.com/v1",
		Hosts: []string{"api.replicate.com"}, EnvVars: []string{"REPLICATE_API_TOKEN"}, KeysURL: "https://replicate.com/account/api-tokens",
	},
	{
		// A server of tools, not of models; see package mcpclient.
		Name: "mcp", Title: "MCP server", Wire: WireTools,
	},
}

// localPresets are servers on this machine at their default ports. All of them constrain
// sampling by the schema.
var localPresets = []Preset{
	{
		Name: nameOllama, Title: "Ollama", Wire: WireOpenAI, BaseURL: "http://127.0.0.1:11434/v1", Local: true,
		Capabilities: Capabilities{MaxTokens: maxTokens, Schema: SchemaStrict, StreamUsage: true, Models: true, Chat: true, Embed: true},
	},
	{
		Name: nameLMStudio, Title: "LM Studio", Wire: WireOpenAI, BaseURL: "http://127.0.0.1:1234/v1", Local: true,
		Capabilities: Capabilities{MaxTokens: maxTokens, Schema: SchemaStrict, StreamUsage: true, Models: true, Chat: true, Embed: true},
	},
	{
		Name: nameLlamaCpp, Title: "llama.cpp", Wire: WireOpenAI, BaseURL: "http://127.0.0.1:8080/v1", Local: true,
		Capabilities: Capabilities{MaxTokens: maxTokens, Schema: SchemaStrict, StreamUsage: true, Models: true, Chat: true, Embed: true},
	},
	{
		Name: nameVLLM, Title: "vLLM", Wire: WireOpenAI, BaseURL: "http://127.0.0.1:8000/v1", Local: true,
		Capabilities: Capabilities{MaxTokens: maxTokens, Schema: SchemaStrict, ImageURLs: true, StreamUsage: true, Models: true,
			Chat: true, Embed: true, Transcribe: true},
	},
}
