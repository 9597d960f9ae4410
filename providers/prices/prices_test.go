package prices

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/flow"
)

// TestCost compares costs with those that genai-prices calculates from the same data.
func TestCost(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("testdata", "calculated.json"))
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct {
		Model string
		At    time.Time
		Usage map[string]int64
		USD   *float64
	}
	if err := json.Unmarshal(data, &rows); err != nil {
		t.Fatal(err)
	}
	priced := map[string]bool{}
	for _, r := range rows {
		p, known := Shipped().Find(r.Model, r.At)
		if known != (r.USD != nil) {
			t.Errorf("%s at %s: known is %v", r.Model, r.At, known)
			continue
		}
		if !known {
			continue
		}
		u := r.Usage
		got := p.Cost(flow.TokenUse{
			Input: u["input_tokens"], Output: u["output_tokens"], CacheRead: u["cache_read_tokens"], CacheWrite: u["cache_write_tokens"],
			CacheWriteHour: u["cache_write_1h_tokens"], Reasoning: u["output_reasoning_tokens"],
		}, 0)
		if math.Abs(got.Dollars()-*r.USD) > 5e-9 { // each kind of tokens is rounded to a nano-dollar
			t.Errorf("%s %v at %s: got %s, want %v", r.Model, u, r.At, got, *r.USD)
		}
		priced[r.Model] = true
	}
	if len(priced) < 30 {
		t.Errorf("only %d models have a price", len(priced))
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
	for model, want := range map[string]bool{
		"openai/gpt-4o": true, " OpenAI/GPT-4o ": true, "huggingface/meta-llama/llama-3.3-70b-instruct:novita": true,
		"openai/unheard-of": false, "my-gateway/gpt-4o": false, "avian/meta-llama": false, "gpt-4o": false, "": false, "ollama/llama3.2": false, "groq/whisper-large-v3": false,
	} {
		if _, known := Shipped().Find(model, now); known != want {
			t.Errorf("%q: known is %v", model, known)
		}
	}
	if l := Shipped(); !strings.HasPrefix(l.Source, "@pydantic/genai-prices ") || len(l.Date) != len(time.DateOnly) {
		t.Errorf("the list is %s of %s", l.Source, l.Date)
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "prices.json")
	for text, want := range map[string]string{
		`[{"id":"openai","models":[{"id":"x","match":{"equals":"x"},"prices":{"input_mtok":1}}]}]`:                                                                 "",
		`{"source":"mine","date":"2026-01-02","providers":[{"id":"openai","models":[{"id":"x","match":{"regex":"^x$"},"prices":[{"prices":{"input_mtok":1}}]}]}]}`: "",
		`{}`: "no providers", `{"providers":3}`: "price list",
		`[{"id":"openai","models":[{"id":"x","match":{"regex":"("},"prices":{"input_mtok":1}}]}]`: "openai/x",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := Load(path)
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		if err != nil || l.Source == "" || l.Date == "" {
			t.Errorf("%s: %+v %v", text, l, err)
		} else if p, known := l.Find("openai/x", time.Now()); !known || p.Cost(flow.TokenUse{Input: 2_000_000}, 0) != 2*flow.USD {
			t.Errorf("%s: %+v %v", text, p, known)
		}
	}
}
