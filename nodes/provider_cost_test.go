package nodes

import (
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/outbound"
	"sluice/providers"
)

// Prices of the cost table: what the workspace entered, and what a price list has. A million
// input tokens cost 1 dollar, and as many output tokens 2.
var (
	entered = flow.Price{Input: 1e9, Output: 2e9}
	listed  = flow.Price{Tokens: &flow.TokenPrices{Input: &flow.TokenRate{Price: 1e9}, Output: &flow.TokenRate{Price: 2e9}}}
	perCall = flow.Price{Call: 500}
	perTime = flow.Price{Call: 500, Second: 100}
)

// TestProviderCost_is_right_or_unpriced has answers of real servers and the cost of the step: right, or unpriced where
// a rule is unsure. A wrong known cost would break budgets.
func TestProviderCost_is_right_or_unpriced(t *testing.T) {
	t.Parallel()
	const text = `data: {"choices":[{"index":0,"delta":{"content":"Hi"}}]}` + "\n\n"
	const over = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	done := "data: [DONE]\n\n"
	stream := func(more, usage string) string {
		return text + over + `data: {` + more + `"choices":[],"usage":` + usage + `}` + "\n\n" + done
	}
	const plain = `{"prompt_tokens":1000,"completion_tokens":100,"total_tokens":1100}`
	const full = 1_000_000 + 200_000 // nano-dollars for plain
	message := func(tier, stop string) string {
		return `{"type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Hi"}],"stop_reason":"` + stop + `","usage":{"input_tokens":1000,"output_tokens":100,"service_tier":"` + tier + `"}}`
	}
	whole := `{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],"usage":` + plain + `}`
	vector := func(usage string) string {
		return `{"data":[{"index":0,"embedding":[0.5,1]}],"usage":` + usage + `}`
	}
	chat := func(provider string) use { return ask(map[string]any{"model": provider + "/m"}) }
	embed := use{kind: "embed", config: map[string]any{"model": "openai/m"}, ports: map[string]any{"text": "x"}}
	speak := use{kind: "speech", config: map[string]any{"model": "openai/m", "text": "Hello"}}
	hear := use{kind: "transcribe", config: map[string]any{"model": "openai/whisper"}, ports: map[string]any{"audio": "data:audio/wav;base64,SGk="}}
	for _, c := range []struct {
		name     string
		use      use
		price    *flow.Price
		answer   string
		code     flow.Code
		cost     int64
		unpriced int64
		lost     bool
	}{
		{"a stream", chat("openai"), &listed, stream("", plain), "", full, 0, false},
		{"a whole answer", chat("openai"), &listed, whole, "", full, 0, false},
		{"no usage", chat("openai"), &listed, text + over + done, "", 0, 1, true},
		{"no price", chat("openai"), nil, stream("", plain), "", 0, 1, false},
		{"only an end", chat("openai"), &listed, done, flow.CodeOutputInvalid, 0, 1, true},
		{"no choices", chat("openai"), &listed, `{"choices":null}`, flow.CodeOutputInvalid, 0, 1, true},
		{"no text", chat("openai"), &listed, over + `data: {"choices":[],"usage":` + plain + `}` + "\n\n" + done, flow.CodeOutputInvalid, full, 0, false},
		{"a bad end", chat("openai"), &listed, text + `data: {"choices":[{"index":0,"delta":{},"finish_reason":"abort"}],"usage":` + plain + `}` + "\n\n" + done, flow.CodeProviderUnavailable, full, 0, false},
		{"a cut stream", chat("openai"), &listed, text, flow.CodeProviderUnavailable, 0, 1, true},
		{"a page", chat("openai"), &listed, "<html>Hello</html>", flow.CodeOutputInvalid, 0, 1, true},
		{"an error", chat("openai"), &listed, `{"error":{"message":"Bad","code":400}}`, flow.CodeProviderRejected, 0, 0, false},
		{"an error after text", chat("openai"), &listed, text + `data: {"error":{"message":"Bad","code":500}}` + "\n\n", flow.CodeProviderUnavailable, 0, 1, true},
		{"Gemini's thoughts", chat("gemini"), &listed, stream("", `{"prompt_tokens":1000,"completion_tokens":100,"total_tokens":1600}`), "", 1_000_000 + 1_200_000, 0, false},
		{"xAI's thoughts", chat("xai"), &listed, stream("", `{"prompt_tokens":1000,"completion_tokens":100,"total_tokens":1600,"completion_tokens_details":{"reasoning_tokens":500}}`), "", 1_000_000 + 1_200_000, 0, false},
		{"thoughts that are counted", chat("gemini"), &listed, stream("", `{"prompt_tokens":1000,"completion_tokens":100,"total_tokens":1100,"completion_tokens_details":{"reasoning_tokens":60}}`), "", full, 0, false},
		{"a total that is unclear", chat("openai"), &listed, stream("", `{"prompt_tokens":1000,"completion_tokens":100,"total_tokens":1600}`), "", full, 1, true},
		{"the default tier", chat("openai"), &listed, stream(`"service_tier":"default",`, plain), "", full, 0, false},
		{"OpenAI's flex", chat("openai"), &listed, stream(`"service_tier":"flex",`, plain), "", full / 2, 0, false},
		{"flex with an entered price", chat("openai"), &entered, stream(`"service_tier":"flex",`, plain), "", 0, 1, false},
		{"OpenAI's priority", chat("openai"), &listed, stream(`"service_tier":"priority",`, plain), "", 0, 1, false},
		{"Groq's flex", chat("groq"), &listed, stream(`"service_tier":"flex",`, plain), "", full, 0, false},
		{"Anthropic's standard", chat("anthropic"), &listed, message("standard", "end_turn"), "", full, 0, false},
		{"Anthropic's priority", chat("anthropic"), &listed, message("priority", "end_turn"), "", 0, 1, false},
		{"Anthropic's pause", chat("anthropic"), &listed, message("standard", "pause_turn"), flow.CodeOutputInvalid, full, 0, false},
		{"OpenRouter's cost", chat("openrouter"), nil, stream("", `{"prompt_tokens":1000,"completion_tokens":100,"total_tokens":1100,"cost":0.01,"is_byok":false,"cost_details":{"upstream_inference_cost":null}}`), "", 10_000_000, 0, false},
		{"OpenRouter with a key of one's own", chat("openrouter"), nil, stream("", `{"prompt_tokens":1000,"completion_tokens":100,"total_tokens":1100,"cost":0.01,"is_byok":true,"cost_details":{"upstream_inference_cost":0.2}}`), "", 210_000_000, 0, false},
		{"OpenRouter without the cost behind it", chat("openrouter"), nil, stream("", `{"prompt_tokens":1000,"completion_tokens":100,"total_tokens":1100,"cost":0,"is_byok":true}`), "", 0, 1, false},
		{"Moonshot's usage", chat("openai"), &listed, text + `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":` + plain + `}]}` + "\n\n" + done, "", full, 0, false},
		{"a server at another address", chat("vllm"), nil, stream("", plain), "", 0, 1, false},
		{"such a server with a price", chat("vllm"), &entered, stream("", plain), "", full, 0, false},
		{"such a server without usage", chat("vllm"), &entered, text + over + done, "", 0, 1, true},
		{"a server on this machine", chat("ollama"), nil, stream("", plain), "", 0, 0, false},
		{"such a server without a count", chat("ollama"), nil, text + over + done, "", 0, 0, false},
		{"such a server with an entered price", chat("ollama"), &entered, stream("", plain), "", full, 0, false},
		{"such a server with a price and no count", chat("ollama"), &entered, text + over + done, "", 0, 1, true},
		{"a vector", embed, &listed, vector(`{"prompt_tokens":1000,"total_tokens":1000}`), "", 1_000_000, 0, false},
		{"a vector with a total", embed, &listed, vector(`{"total_tokens":1000}`), "", 1_000_000, 0, false},
		{"a vector with halves of tokens", embed, &listed, vector(`{"prompt_tokens":1000.0,"total_tokens":"many"}`), "", 1_000_000, 0, false},
		{"a vector without usage", embed, &listed, vector(`null`), "", 0, 1, true},
		{"null in a vector", embed, &listed, `{"data":[{"index":0,"embedding":[0.5,null]}],"usage":{"prompt_tokens":1000}}`, flow.CodeOutputInvalid, 0, 1, true},
		{"speech", speak, &perCall, "ID3", "", 500, 0, false},
		{"silence", speak, &perCall, "", flow.CodeOutputInvalid, 0, 1, true},
		{"speech that is refused", speak, &perCall, `{"detail":"Unauthorized"}`, flow.CodeProviderAuth, 0, 0, false},
		{"a transcript", hear, &perTime, `{"text":"Hi","duration":1.5}`, "", 650, 0, false},
		{"a transcript with its time in the usage", hear, &perTime, `{"text":"Hi","usage":{"type":"duration","seconds":2}}`, "", 700, 0, false},
		{"a transcript without its time", hear, &perTime, `{"text":"Hi"}`, "", 0, 1, false},
		{"a transcript by calls", hear, &perCall, `{"text":"Hi"}`, "", 500, 0, false},
		{"no transcript", hear, &perTime, `{"text":null}`, flow.CodeOutputInvalid, 0, 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			u := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, c.answer) })
			f := newFixture()
			f.credentials = memoryCredentials{}
			for _, name := range []string{"openai", "gemini", "xai", "groq", "anthropic", "openrouter", "vllm"} {
				f.credentials.(memoryCredentials)[name] = flow.Credential{Provider: name, BaseURL: u.URL + "/v1", Hosts: []string{"127.0.0.1"}, Trusted: true}
			}
			model, _ := c.use.config["model"].(string)
			if f.prices = (priceList{}); c.price != nil {
				f.prices[model] = *c.price
			}
			u.deps.Providers = reaching(t, outbound.Config{AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
			ollama, _ := providers.FindPreset("ollama")
			u.deps.Local = servers{{Preset: ollama, BaseURL: u.URL + "/v1", Addr: netip.MustParseAddrPort(strings.TrimPrefix(u.URL, "http://"))}}
			r := c.use.executeIn(t, f, u.deps)
			code := flow.Code("")
			if r.Error != nil {
				code = r.Error.Code
			}
			lost := len(r.Attempts) > 0 && r.Attempts[len(r.Attempts)-1].Lost
			if code != c.code || int64(r.Usage.CostNanoUSD) != c.cost || r.Usage.UnpricedSteps != c.unpriced || lost != c.lost {
				t.Errorf("ended with %v, cost %d, unpriced %d, lost %v; want %q, %d, %d, %v", r.Error, r.Usage.CostNanoUSD, r.Usage.UnpricedSteps, lost, c.code, c.cost, c.unpriced, c.lost)
			}
		})
	}
}

// TestProviderCost_of_lost_calls breaks connections before an answer: the call left, so that its
// bill is unknown, and a fallback model is tried.
func TestProviderCost_of_lost_calls(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter)
		lost   bool
	}{
		"broken":  {func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, true},
		"refused": {func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), "first") {
					c.answer(w)
					return
				}
				answerAsModel(w, r.URL.Path, "")
			})
			f := newFixture()
			f.prices = priceList{"openai/first": listed, "openai/second": listed}
			f.credentials = memoryCredentials{"openai": {Provider: "openai", BaseURL: u.URL + "/v1", Hosts: []string{"127.0.0.1"}, Trusted: true}}
			u.deps.Providers = reaching(t, outbound.Config{AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
			r := ask(map[string]any{"model": "openai/first", "fallback": []any{"openai/second"}}).executeIn(t, f, u.deps)
			if r.State != flow.StepSucceeded || len(r.Attempts) != 2 || r.Attempts[0].Lost != c.lost || (r.Usage.UnpricedSteps == 1) != c.lost || r.Usage.InputTokens != 12 {
				t.Errorf("ended with %v, usage %+v, attempts %+v", r.Error, r.Usage, r.Attempts)
			}
		})
	}
}
