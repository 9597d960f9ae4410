// Prints costs that genai-prices itself calculates, for the test of the list.
import { calcPrice } from "@pydantic/genai-prices";

const aliases = { gemini: "google", xai: "x-ai" };
const models = [
  "openai/gpt-4o", "openai/gpt-4o-mini", "openai/gpt-5", "openai/gpt-5-nano", "openai/gpt-4.1-mini", "openai/o3", "openai/o4-mini", "openai/gpt-4o-2024-05-13",
  "openai/text-embedding-3-small", "openai/text-embedding-3-large", "openai/gpt-5.4", "openai/ft:gpt-4o-mini-2024-07-18:acme",
  "anthropic/claude-sonnet-4-5", "anthropic/claude-sonnet-4-20250514", "anthropic/claude-3-5-haiku-latest", "anthropic/claude-opus-4-1", "anthropic/claude-haiku-4-5",
  "gemini/gemini-2.5-pro", "gemini/gemini-2.5-flash", "gemini/gemini-2.0-flash", "mistral/mistral-small-latest", "mistral/mistral-large-latest",
  "groq/llama-3.3-70b-versatile", "deepseek/deepseek-chat", "deepseek/deepseek-reasoner", "xai/grok-4", "xai/grok-3-mini", "together/meta-llama/Llama-3.3-70B-Instruct-Turbo",
  "cerebras/llama-3.3-70b", "fireworks/accounts/fireworks/models/deepseek-v3", "perplexity/sonar", "perplexity/sonar-pro", "openrouter/openai/gpt-4o", "openrouter/anthropic/claude-sonnet-4.5",
];
const uses = [
  { input_tokens: 1000, output_tokens: 500 },
  { input_tokens: 50_000, cache_read_tokens: 40_000, cache_write_tokens: 5_000, output_tokens: 1_234 },
  { input_tokens: 250_001, cache_read_tokens: 7, output_tokens: 3_000, output_reasoning_tokens: 2_000 },
  { input_tokens: 300_000, cache_write_tokens: 6_000, cache_write_1h_tokens: 2_000, output_tokens: 1 },
];
const times = ["2026-10-01T12:00:00Z", "2025-01-05T20:00:00Z"];
const rows = [];
for (const model of models) {
  const slash = model.indexOf("/");
  const provider = model.slice(0, slash);
  for (const at of times) {
    for (const usage of uses) {
      const price = calcPrice(usage, model.slice(slash + 1), { providerId: aliases[provider] ?? provider, timestamp: new Date(at) });
      rows.push({ model, at, usage, usd: price ? price.total_price : null });
    }
  }
}
process.stdout.write(JSON.stringify(rows).replaceAll("},{", "},\n{") + "\n");
