// Starts the upstream with what the tests ask it, prints its address, and ends
// with its standard input.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(process.argv[2] + "/");
const { LLMock } = await import(pathToFileURL(require.resolve("@copilotkit/aimock")).href);

const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const mp3 = Buffer.concat([Buffer.from([0xff, 0xfb, 0x90, 0x64]), Buffer.alloc(413)]); // one silent frame
const usage = { prompt_tokens: 11, completion_tokens: 7, input_tokens: 11, output_tokens: 7, cost: 0.0021 };

const mock = new LLMock({ port: 0, chunkSize: 3, latency: 1 });
const large = { prompt_tokens: 250_001, completion_tokens: 3_000, input_tokens: 250_001, output_tokens: 3_000 };
// Patterns, because names are listed as the models of Ollama.
mock.on({ model: /^gpt-busy$/ }, { error: { message: "Rate limit reached, slow down.", type: "rate_limit_error" }, status: 429 });
mock.on({ model: /^gpt-down$/ }, { error: { message: "The server had an error.", type: "server_error" }, status: 500 });
mock.onMessage(/price this/i, { content: "Priced.", usage: large });
mock.onMessage(/greet/i, { content: "Grüß dich, Ada – schön! 👋", usage });
mock.onMessage(/route this ticket/i, { content: '{"team": "billing", "urgent": true}', usage });
mock.onMessage(/route this/i, { content: '{"team": "billing", "urgent": true, "score": 0.75}', usage });
mock.onMessage(/data of this invoice: .*invoice 2026-0417/is, { content: '{"number": "2026-0417", "total": 128.5}', usage });
mock.onMessage(/answer in a formal tone.*parcel/is, { content: "We are looking for your parcel.", usage });
mock.onMessage(/three months to the end.*how long is the notice period/is, { content: "Three months.", usage });
mock.onMessage(/wrong shape/i, { content: '{"team": 7}', usage });
mock.onMessage(/slow down/i, { error: { message: "Rate limit reached, slow down.", type: "rate_limit_error" }, status: 429, retryAfter: 1 });
mock.onMessage(/no money/i, { error: { message: "You exceeded your current quota.", type: "insufficient_quota", code: "insufficient_quota" }, status: 429 });
mock.onMessage(/broken/i, { error: { message: "The server had an error.", type: "server_error" }, status: 500 });
mock.onMessage(/cut me off/i, { content: "This is a long answer that never comes to its end. ".repeat(20) }, { truncateAfterChunks: 5, disconnectAfterMs: 60 });
mock.onEmbedding(/parcel/i, { embedding: [0.25, -0.5, 0.75] });
mock.onImage(/lighthouse/i, { image: { b64Json: png } });
mock.onSpeech(/hello/i, { audio: mp3.toString("base64"), format: "mp3" });
mock.onTranscription({ transcription: { text: "Where is my parcel?" } });

await mock.start();
console.log(mock.url);
process.stdin.resume();
process.stdin.on("end", () => mock.stop().then(() => process.exit(0)));
