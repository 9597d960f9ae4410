package providers

// ChatRequest is one turn: an optional system text, a prompt, images.
type ChatRequest struct {
	Model       string // as the provider calls it
	System      string
	Prompt      string
	Images      []Media
	Temperature *float64 // nil: the provider's default
	TopP        *float64
	MaxTokens   int // of the answer; 0: the provider's default
	Stop        []string
	// Schema asks for an answer by a JSON Schema: an object as DecodeJSON-like
	// decoders give it. Empty: free text.
	Schema map[string]any
	// Key names the call so that a provider that knows idempotency keys does
	// not charge twice. It is stable over retries of a step.
	Key string
}

// ChatResult is the whole answer.
type ChatResult struct {
	Text  string
	JSON  any    // the parsed and checked answer when there was a Schema
	Model string // as the provider says it answered
	Stop  string // why it ended: stop, length, refusal …
	Usage Usage
}
