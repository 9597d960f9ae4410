package e2e

import (
	"encoding/json"
	"math"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"sluice/e2e/npm"
)

// TestChatFallback tries rate-limited and unavailable models, and then a model of another
// provider.
func TestChatFallback(t *testing.T) {
	t.Parallel()
	s := modelServer(t)
	c := s.client(s.key())
	id := s.publish(asking(object{"model": "openai/gpt-busy", "fallback": []any{"openai/gpt-down", "anthropic/claude-sonnet-4-5"}}))
	r := c.succeed(id, object{"q": "greet"})
	run := c.want(200, "GET", r.path(), nil).object(t)
	if models, _ := json.Marshal(run["models"]); string(models) != `["anthropic/claude-sonnet-4-5"]` {
		t.Errorf("the run names the models %s", models)
	}
	if cost := run["cost"].(object); cost["usd"] == "0.00" || cost["unpriced_steps"] != 0.0 {
		t.Errorf("it costs %v", cost)
	}
	for _, step := range c.want(200, "GET", r.path()+"/steps", nil).object(t)["steps"].([]any) {
		step := step.(object)
		if step["node"] != "ask" {
			continue
		}
		var tries []string
		for _, try := range step["tries"].([]any) {
			try := try.(object)
			line := try["model"].(string) + " " + try["cost"].(object)["usd"].(string)
			if e, failed := try["error"].(object); failed {
				line += " " + e["code"].(string)
			}
			tries = append(tries, line)
		}
		got := strings.Join(tries, "\n")
		if len(tries) != 3 || tries[0] != "openai/gpt-busy 0.00 provider_rate_limited" || tries[1] != "openai/gpt-down 0.00 provider_unavailable" ||
			!strings.HasPrefix(tries[2], "anthropic/claude-sonnet-4-5 0.0") || step["model"] != "anthropic/claude-sonnet-4-5" {
			t.Errorf("model %v, tries:\n%s", step["model"], got)
		}
	}
}

// TestChatConversation sends a conversation with an image over every wire, and the answer
// to a second node.
func TestChatConversation(t *testing.T) {
	t.Parallel()
	s := modelServer(t)
	c := s.client(s.key())
	talk := []any{
		object{"role": "system", "content": "You are polite."},
		object{"role": "user", "content": []any{object{"type": "text", "text": "Who is this?"}, object{"type": "image_url", "image_url": object{"url": "data:image/png;base64,iVBORw0KGgo="}}}},
		object{"role": "assistant", "content": "Ada."},
	}
	for _, config := range []object{
		{"model": "openai/gpt-4o", "seed": 7, "top_p": 0.5, "stop": []any{"END"}, "reasoning_effort": "low", "extra": object{"service_tier": "flex"}},
		{"model": "openai/gpt-4o", "web_search": true, "reasoning_effort": "low"},
		{"model": "anthropic/claude-sonnet-4-5", "reasoning_effort": "high", "system": strings.Repeat("Be kind. ", 600)},
		{"model": "anthropic/claude-sonnet-4-5", "thinking_budget": 2000, "web_search": true},
		{"model": "ollama/llama3.2", "seed": 7},
	} {
		first := object{"prompt": "Please greet her", "messages": talk}
		for name, value := range config {
			first[name] = value
		}
		id := s.publish(documentOf("Talk", []object{input("q"), node("ask", "chat", first), node("again", "chat", object{"model": config["model"], "prompt": "greet again"}), output("text"), output("talk")},
			"q.value > ask.prompt", "ask.messages > again.messages", "again.text > out_text.value", "again.messages > out_talk.value"))
		r := c.await(c.start(id, object{"q": "Please greet her"}))
		list, _ := r.Outputs["talk"].([]any)
		if r.Status != "succeeded" || len(list) != 7 || list[6].(object)["role"] != "assistant" || list[3].(object)["content"] != "Please greet her" {
			t.Errorf("%v: %s %+v, conversation %v", config, r.Status, r.Error, list)
		}
	}
}

// TestCommonModelsHavePrices compares the cost of runs on common models with what
// genai-prices itself calculates for the same tokens; the prompt is so long that tiers
// count.
func TestCommonModelsHavePrices(t *testing.T) {
	t.Parallel()
	models := []string{
		"openai/gpt-4o", "openai/gpt-4o-mini", "openai/gpt-4.1-mini", "openai/gpt-5", "openai/gpt-5-nano", "openai/o3", "openai/o4-mini", "openai/gpt-5.4",
		"anthropic/claude-sonnet-4-5", "anthropic/claude-opus-4-1", "anthropic/claude-haiku-4-5", "anthropic/claude-3-5-haiku-latest",
		"gemini/gemini-2.5-pro", "gemini/gemini-2.5-flash", "gemini/gemini-2.0-flash", "together/meta-llama/Llama-3.3-70B-Instruct-Turbo", "xai/grok-3-mini",
		"groq/llama-3.3-70b-versatile", "deepseek/deepseek-chat", "xai/grok-4",
	}
	want := calculated(t, models, 250_001, 3_000)
	base := upstream(t)
	var env []string
	for _, name := range []string{"OPENAI", "ANTHROPIC", "GEMINI", "TOGETHER", "GROQ", "DEEPSEEK", "XAI"} {
		env = append(env, name+"_API_KEY=sk-test", name+"_BASE_URL="+base+"/v1")
	}
	s := newServer(t, env...)
	c := s.client(s.key())
	for _, model := range models {
		id := s.publish(asking(object{"model": model}))
		r := c.succeed(id, object{"q": "price this"})
		cost := c.want(200, "GET", r.path(), nil).object(t)["cost"].(object)
		got, err := strconv.ParseFloat(cost["usd"].(string), 64)
		if err != nil || want[model] == 0 || math.Abs(got-want[model]) > 1e-8 || cost["unpriced_steps"] != 0.0 {
			t.Errorf("%s costs %v, want %v", model, cost, want[model])
		}
	}
}

// calculated returns what genai-prices calculates now.
func calculated(t *testing.T, models []string, input, output int) map[string]float64 {
	t.Helper()
	modules := npm.Install(t, filepath.Join("..", "providers", "prices", "generate"))
	list, _ := json.Marshal(models)
	script := `import { createRequire } from "node:module"; import { pathToFileURL } from "node:url";
const require = createRequire(process.argv[1] + "/");
const { calcPrice } = await import(pathToFileURL(require.resolve("@pydantic/genai-prices")).href);
const aliases = { gemini: "google", xai: "x-ai" }, out = {};
for (const model of ` + string(list) + `) {
  const [provider] = model.split("/"), name = model.slice(provider.length + 1);
  out[model] = calcPrice({ input_tokens: ` + strconv.Itoa(input) + `, output_tokens: ` + strconv.Itoa(output) + ` }, name, { providerId: aliases[provider] ?? provider })?.total_price ?? 0;
}
console.log(JSON.stringify(out));`
	text, err := exec.Command("node", "--input-type=module", "-e", script, modules).Output()
	if err != nil {
		t.Fatalf("genai-prices: %v", err)
	}
	prices := map[string]float64{}
	if err := json.Unmarshal(text, &prices); err != nil {
		t.Fatal(err)
	}
	return prices
}
