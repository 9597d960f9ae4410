// Calls a flow with the official client of OpenAI's API, of which only the address and
// the key are changed, and prints what it got as JSON.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [, , modules, base, key, flow] = process.argv;
const require = createRequire(modules + "/");
const { default: OpenAI } = await import(pathToFileURL(require.resolve("openai")).href);

let requests = 0;
const client = new OpenAI({ baseURL: base + "/v1", apiKey: key, fetch: (...request) => (requests++, fetch(...request)) });
const user = (content) => ({ role: "user", content });
const failure = async (ask) => {
  requests = 0;
  try {
    await ask();
    return "no error";
  } catch (e) {
    return { name: e.constructor.name, status: e.status, code: e.code, message: e.message, requests };
  }
};

const whole = await client.chat.completions.create({ model: flow, messages: [user("Please greet Ada")], metadata: { tone: "formal", other: "x" }, temperature: 0.5 });
const parts = await client.chat.completions.create({ model: flow, messages: [user([{ type: "text", text: "Please greet Ada" }])] });
const pieces = [];
let last;
for await (const piece of await client.chat.completions.create({ model: flow, messages: [user("Please greet Ada")], stream: true, stream_options: { include_usage: true } })) {
  if (piece.choices[0]?.delta.content) pieces.push(piece.choices[0].delta.content);
  last = piece;
}
const pixel = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==";
const seen = await client.chat.completions.create({ model: "converse", messages: [
  { role: "system", content: "You are Bob." }, user("Hello"), { role: "assistant", content: "Hello!" },
  user([{ type: "text", text: "Please greet Ada" }, { type: "image_url", image_url: { url: pixel, detail: "low" } }]),
] });
const streamed = [];
for await (const piece of await client.chat.completions.create({ model: "converse", messages: [user("Please greet Ada")], stream: true })) streamed.push(piece.choices[0]?.delta.content ?? "");
const models = [];
for await (const model of client.models.list()) models.push(model.id);

console.log(JSON.stringify({
  text: whole.choices[0].message.content, finish: whole.choices[0].finish_reason, usage: whole.usage, parts: parts.choices[0].message.content,
  pieces, last: last.usage, models, seen: seen.choices[0].message.content, conversed: streamed,
  unknown: await failure(() => client.chat.completions.create({ model: "no-such-flow", messages: [user("x")] })),
  failed: await failure(() => client.chat.completions.create({ model: flow, messages: [user("broken")] })),
  streamed: await failure(async () => { for await (const _ of await client.chat.completions.create({ model: flow, messages: [user("broken")], stream: true })); }),
  tool: await failure(() => client.chat.completions.create({ model: "converse", messages: [{ role: "tool", tool_call_id: "a", content: "b" }, user("x")] })),
  denied: await failure(() => new OpenAI({ baseURL: base + "/v1", apiKey: "slu_wrong", maxRetries: 0 }).models.list()),
  several: await failure(() => client.chat.completions.create({ model: flow, messages: [user("x")], n: 2 })),
}));
