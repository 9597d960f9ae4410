package aiflow_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"sluice/flow"
	"sluice/flow/document/aiflow"
)

// words are what random files are made of: what the rules know, beside it, and
// nonsense.
var (
	someTypes = []string{
		"input-text", "file", "url_input", "http_get", "document-to-text", "llm-prompt", "gpt-vision", "claude", "deepseek", "openrouter", "o1",
		"dalle-prompt", "gpt-image", "text-to-speech", "replicate", "merger-prompt", "ai-data-splitter", "transition", "display", "webhook", "", "nonsense \u0007",
	}
	someFields = []string{
		"inputText", "fileUrl", "url", "headers", "document_url", "model", "context", "prompt", "temperature", "image_url", "image_url_3", "size", "quality",
		"text", "voice", "api_input_name", "api_output_name", "signature", "outputs", "default_value", "a.b", "input-2", "input", "x", "config", "",
	}
	someValues = []any{
		"", "x", "{{a}}", "{${input-1}} \\${input-2}", "https://example.com/{{x}}", "a/b:c", "not a URL", "9", 0.5, -3, true, nil,
		[]any{"a", []any{}}, map[string]any{"Authorization": "Bearer abcdefgh"}, "{\"a\": \"b\"}", "\u0000",
	}
)

func randomFile(r *rand.Rand) []byte {
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	list := []any{}
	size := 1 + r.IntN(12)
	name := func() string { return fmt.Sprintf("%d#n", r.IntN(size+1)) }
	for i := range size {
		m := map[string]any{"name": fmt.Sprintf("%d#n", i), "processorType": pick(someTypes)}
		for range r.IntN(5) {
			m[pick(someFields)] = someValues[r.IntN(len(someValues))]
		}
		inputs := []any{}
		for range r.IntN(4) {
			in := map[string]any{"inputNode": name(), "inputNodeOutputKey": r.IntN(3) - 1}
			if r.IntN(2) == 0 {
				in["inputName"] = pick(someFields)
			}
			inputs = append(inputs, in)
		}
		m["inputs"] = inputs
		if r.IntN(3) > 0 {
			m["x"], m["y"] = r.Float64()*1e4, r.IntN(1000)
		}
		list = append(list, m)
	}
	return flow.EncodeJSON(list)
}

// TestConvert_loses_nothing holds for random files what FuzzConvert holds for
// random bytes.
func TestConvert_loses_nothing(t *testing.T) {
	t.Parallel()
	seeds := uint64(1500)
	if testing.Short() {
		seeds = 150
	}
	for seed := range seeds {
		data := randomFile(rand.New(rand.NewPCG(seed, 1)))
		if !aiflow.Recognize(data) {
			continue // every node is without a type
		}
		d, report := convert(t, data)
		if accounted(t, data, d, report); t.Failed() {
			t.Fatalf("seed %d: %s", seed, data)
		}
	}
}
