package nodes

import (
	"context"
	"math"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/providers"
	"sluice/providers/builtin"
)

func TestEmbed(t *testing.T) {
	t.Parallel()
	length := func(text string) float64 {
		vector := use{kind: "embed", ports: map[string]any{"text": text}}.succeeds(t, real())["vector"].([]any)
		if len(vector) != builtin.Dimensions {
			t.Fatalf("%d numbers", len(vector))
		}
		sum := 0.0
		for _, v := range vector {
			f, ok := flow.Float(v)
			if !ok {
				t.Fatalf("%v is no number", v)
			}
			sum += f * f
		}
		return math.Sqrt(sum)
	}
	if got := length("Where is my parcel?"); math.Abs(got-1) > 1e-5 {
		t.Errorf("length %v", got)
	}
	if got := length(" "); got != 0 {
		t.Errorf("length %v of a blank text", got)
	}
	use{kind: "embed", ports: map[string]any{"text": strings.Repeat("a", builtin.MaxText+1)}}.fails(t, real(), flow.CodeInputInvalid)
}

func TestEmbed_with_provider(t *testing.T) {
	t.Parallel()
	got := &calls{}
	u := use{kind: "embed", config: map[string]any{"model": "openai/text-embedding-3-small", "dimensions": number("6")}, ports: map[string]any{"text": "abcde"}}
	r := u.execute(t, Deps{Providers: fakeProviders{got}})
	same(t, "outputs", r.Outputs, map[string]any{"vector": []any{0, 1, 0, 0, 0, 0}})
	if request := got.requests[0].(providers.EmbedRequest); request.Model != "text-embedding-3-small" || len(request.Texts) != 1 || r.Usage.InputTokens != 1 {
		t.Errorf("sent %+v, usage %+v", request, r.Usage)
	}
	for name, c := range map[string]struct {
		config map[string]any
		code   flow.Code
		says   string
	}{
		"dimensions of the model inside": {map[string]any{"dimensions": number("6")}, flow.CodeInputInvalid, "always outputs 512 numbers"},
		"a credential without a model":   {map[string]any{"credential": map[string]any{"credential": "mine"}}, flow.CodeInputInvalid, "A credential is chosen but no model"},
		"a chat provider":                {map[string]any{"model": "groq/llama"}, flow.CodeProviderAuth, "no credential for Groq"},
		"an answer of another number":    {map[string]any{"model": "openai/odd"}, flow.CodeOutputInvalid, "sent 2 vectors for one text"},
	} {
		t.Run("refuses "+name, func(t *testing.T) {
			t.Parallel()
			d := real()
			d.Providers = twoVectors{}
			failure := use{kind: "embed", config: c.config, ports: map[string]any{"text": "x"}}.fails(t, d, c.code)
			has(t, failure.Message, c.says)
		})
	}
}

// twoVectors returns one vector too many.
type twoVectors struct{ fakeProviders }

func (twoVectors) Embed(context.Context, providers.Endpoint, providers.EmbedRequest) (*providers.EmbedResult, error) {
	return &providers.EmbedResult{Vectors: [][]float64{{1}, {2}}}, nil
}
