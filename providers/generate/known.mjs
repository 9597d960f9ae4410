// Prints the well-known chat models of the providers that Sluice names, from the
// data inside @pydantic/genai-prices: for each the ID, the context window in tokens,
// and the list price per million tokens in billionths of a dollar.
import fs from "node:fs";

const dir = new URL("node_modules/@pydantic/genai-prices/", import.meta.url);
const { version } = JSON.parse(fs.readFileSync(new URL("package.json", dir), "utf8"));
const source = fs.readFileSync(new URL("dist/index.js", dir), "utf8");
// The data is the first constant of the bundle, which does not export it.
const end = source.search(/\n\]\s*[;,\n]/) + 2;
const data = new Function(source.slice(0, end) + "\n\n return " + source.match(/^const (\w+) = \[/)[1])();

const names = { openai: "openai", anthropic: "anthropic", gemini: "google", mistral: "mistral", groq: "groq", deepseek: "deepseek", xai: "x-ai", cerebras: "cerebras", perplexity: "perplexity" };
// Models that a chat cannot use, and names that only a price list knows.
const unfit = /^ft:|audio|realtime|transcribe|tts|image|embed|moderation|search-preview|computer-use|ocr|voice|voxtral|guard|gpt-3\.5-turbo-|gpt-4-|:/;
const nano = (price) => (typeof price === "object" ? Math.round(price.base * 1e9) : Math.round(price * 1e9));

const out = {};
for (const [name, id] of Object.entries(names)) {
  out[name] = data.find((p) => p.id === id).models
    .filter((m) => !m.deprecated && m.context_window && !unfit.test(m.id) && (name !== "gemini" || /^gemini-\d/.test(m.id)) && (name !== "openai" || !m.id.startsWith("gpt-oss")))
    // Prices that change with the date or the time of day are left out: one number would be wrong.
    .map((m) => ({ id: m.id, context: m.context_window, ...(!Array.isArray(m.prices) && m.prices.input_mtok !== undefined && m.prices.output_mtok !== undefined ? { input: nano(m.prices.input_mtok), output: nano(m.prices.output_mtok) } : {}) }))
    .sort((a, b) => /^o\d/.test(a.id) - /^o\d/.test(b.id) || b.id.localeCompare(a.id, "en", { numeric: true })); // new ones first, as their numbers are higher
}
const lines = Object.entries(out).map(([name, list]) => `  ${JSON.stringify(name)}: [\n${list.map((m) => "    " + JSON.stringify(m)).join(",\n")}\n  ]`);
process.stdout.write(`{\n"source": "@pydantic/genai-prices ${version}",\n"date": ${JSON.stringify(process.argv[2])},\n"providers": {\n${lines.join(",\n")}\n}}\n`);
