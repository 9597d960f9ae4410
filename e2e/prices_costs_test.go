package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPriceList_prices_calls asks a model that has a price in the list that ships with
// Sluice, one that has none, and one of a list that the operator loads.
func TestPriceList_prices_calls(t *testing.T) {
	t.Parallel()
	s := modelServer(t)
	c := s.client(s.key())
	ask := func(model string) string {
		return s.publish(documentOf("Ask", []object{input("q"), node("ask", "chat", object{"model": model}), output("text")}, "q.value > ask.prompt", "ask.text > out_text.value"))
	}
	cost := func(id string) object {
		t.Helper()
		r := c.succeed(id, object{"q": "greet"})
		return c.want(200, "GET", r.path(), nil).object(t)["cost"].(object)
	}
	known, unknown := ask("openai/gpt-4o"), ask("openai/unheard-of")
	if got := cost(known); got["usd"] == "0.00" || got["unpriced_steps"] != 0.0 {
		t.Errorf("a model of the list costs %v", got)
	}
	if got := cost(unknown); got["usd"] != "0.00" || got["unpriced_steps"] != 1.0 {
		t.Errorf("a model without a price costs %v", got)
	}
	s.must("flow", "limits", unknown, "--usd-per-day", "5")
	if a := c.rejected(402, "price_unknown", "POST", "/v1/flow/"+unknown+"/run", object{"q": "greet"}); !strings.Contains(string(a.body), "openai/unheard-of") {
		t.Errorf("the refusal: %s", a.body)
	}
	s.must("flow", "limits", unknown, "--allow-unpriced", "yes")
	cost(unknown)
	if r := s.command("doctor"); !strings.Contains(r.out, "--allow-unpriced no") {
		t.Errorf("doctor does not name the budget:\n%s", r.out)
	}
	s.must("flow", "limits", unknown, "--allow-unpriced", "no")
	s.must("price", "set", "openai/unheard-of", "--call", "0.5")
	if got := cost(unknown); got["usd"] != "0.50" || got["unpriced_steps"] != 0.0 {
		t.Errorf("with a price of the workspace it costs %v", got)
	}
	if list := s.must("price", "list"); !strings.Contains(list, "openai/unheard-of") || !strings.Contains(list, "genai-prices 0.1.8 of 2026-09-23") {
		t.Errorf("price list:\n%s", list)
	}
	if list := s.must("price", "list", "gpt-4o"); !strings.Contains(list, "openai/gpt-4o") || !strings.Contains(list, "2.5") || strings.Contains(list, "unheard-of") {
		t.Errorf("price list gpt-4o:\n%s", list)
	}
	path := filepath.Join(t.TempDir(), "prices.json")
	if err := os.WriteFile(path, []byte(`[{"id":"openai","models":[{"id":"gpt-4o","match":{"equals":"gpt-4o"},"prices":{"requests_kcount":2000}}]}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	s.stop()
	s.env = append(s.env, "SLUICE_PRICES="+path)
	s.start()
	c = s.client(s.key())
	if got := cost(known); got["usd"] != "2.00" {
		t.Errorf("by the operator's list it costs %v", got)
	}
}
