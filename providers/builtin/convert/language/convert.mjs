// Writes model/lande.bin: the languages, the n-grams and the weights of lande. The same package version gives the same
// bytes. The layout is read by ../../language_model.go:
//
//   "SLUICEL1"
//   u32 languages, each: u8 length, ISO 639-3 code
//   4 times, for n-grams of 1, 2, 3 and 4 characters: u32 n-grams, each: u8 length, UTF-8 bytes
//   2 layers, each: u32 rows, u32 columns, f64 scale of the biases, rows * u8,
//     then per row: f64 scale, columns * u8
//   a weight or bias is (byte - 127) / scale
//
// All numbers are little-endian. These are the published bytes: nothing is rounded once more.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const MAGIC = "SLUICEL1";
const standalone = join(dirname(fileURLToPath(import.meta.url)), "node_modules/lande/standalone");
const published = async (name) => (await import(pathToFileURL(join(standalone, name)).href)).default;

function u8(n) {
  return Buffer.from([n]);
}

function u32(n) {
  const b = Buffer.alloc(4);
  b.writeUInt32LE(n);
  return b;
}

function f64(n) {
  const b = Buffer.alloc(8);
  b.writeDoubleLE(n);
  return b;
}

function text(s) {
  const b = Buffer.from(s, "utf8");
  return Buffer.concat([u8(b.length), b]);
}

function list(texts) {
  return Buffer.concat([u32(texts.length), ...texts.map(text)]);
}

// packed reads "1scale|base64", toygrad's eight-bit encoding.
function packed(s) {
  const [head, data] = s.split("|");
  if (head[0] !== "1" || head[1] === "-") throw new Error(`unexpected encoding ${head}`);
  return { scale: Number(head.slice(1)), bytes: Buffer.from(data, "base64") };
}

function layer({ filters, _biases, _filters }) {
  const biases = packed(_biases);
  const rows = _filters.map(packed);
  const columns = rows[0].bytes.length;
  if (rows.length !== filters || biases.bytes.length !== filters || rows.some((r) => r.bytes.length !== columns)) {
    throw new Error("a layer whose parts do not fit");
  }
  return Buffer.concat([u32(filters), u32(columns), f64(biases.scale), biases.bytes, ...rows.flatMap((r) => [f64(r.scale), r.bytes])]);
}

const { layers } = await published("t50-options.js");
if (layers.map((l) => l.type).join() !== "input,dense,relu,dense,softmax") throw new Error("another network than this was written for");
const ngrams = await published("t50-ngrams.js");
const file = Buffer.concat([
  Buffer.from(MAGIC),
  list(await published("t50-langs.js")),
  ...["unigrams", "bigrams", "trigrams", "quadgrams"].map((n) => list(ngrams[n])),
  layer(layers[1]),
  layer(layers[3]),
]);
writeFileSync(process.argv[2], file);
console.log(`${process.argv[2]}: ${file.length} bytes`);
