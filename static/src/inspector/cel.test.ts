import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { ops, parse, shown, shownList, takes, typed, typedList, write, type Literal, type Op, type Row, type Rows } from "./cel.ts";

type Vector = Rows & { text: string };
const vectors = JSON.parse(readFileSync("testdata/conditions.json", "utf8")) as Vector[];

describe("the shared vectors", () => {
  for (const { text, join, rows } of vectors) {
    test(`writes ${text}`, () => assert.equal(write({ join, rows }), text));
    test(`reads ${text}`, () => assert.deepEqual(parse(text), { join, rows }));
  }
});

describe("expressions that are not rows", () => {
  for (const text of ["", "true", "value", "value > 1 && value < 3 || value == 7", "(value > 1)", "value.all(x, x > 1)", "value + 1 > 2", "other == 1", 'value == r"a"', 'value == "\\x41"', "value == 1u", "1 < value",
    "size(value) == 3", "!(value == 1)", 'value["a" + "b"] == 1', "value == 1 &&", 'value.contains(value.name)', "value contains 'a'", "value == 'a\\'b'", "value == 0x1F", "value == -1.5.2", 'value.f("a")', "has(value) == true", '!value.startsWith("a")'])
    test(text || "nothing", () => assert.equal(parse(text), undefined));
});

test("reads other spellings of rows", () => {
  assert.deepEqual(parse(` value.a=='it is "x"'&&value [ 'b c' ]>2 `), { join: "&&", rows: [{ path: "value.a", op: "==", values: [{ type: "text", text: 'it is "x"' }] }, { path: 'value["b c"]', op: ">", values: [{ type: "number", text: "2" }] }] });
});

/** random returns numbers below n that are the same in each run (mulberry32). */
function random(seed: number): (n: number) => number {
  return (n) => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % n;
  };
}

const texts = ["", " ", "positive", 'say "hi"', "it's", "a, b", "5", "-0.5", "true", "null", "\\", "\\n", "\n", "\t", "é", "日本語", "😀", "\u2028", "{{x}}", "[1]", "&&", "value", '"', '""', "in", "a\\\"b", "// no comment", "0x1F", "1,000"];
const numbers = ["0", "3", "-7", "0.10", "1e3", "-2.5E-4", "9007199254740993"];
const paths = ["value", "value.a", "value.a.b_2", 'value["weird key"]', "value[0]", 'value.items[12].name', 'value["é\\"]"]', "value.size", "value.contains"];

function literals(at: (n: number) => number): Literal {
  const of = [() => ({ type: "text", text: texts[at(texts.length)]! }), () => ({ type: "number", text: numbers[at(numbers.length)]! }), () => ({ type: "boolean", text: at(2) ? "true" : "false" }), () => ({ type: "null", text: "null" })] as const;
  return of[at(of.length)]!() as Literal;
}

function rowOf(at: (n: number) => number): Row {
  const op = Object.keys(ops)[at(Object.keys(ops).length)] as Op, path = paths[at(paths.length)]!;
  switch (takes(op)) {
    case "none": return { path, op, values: [] };
    case "text": return { path, op, values: [{ type: "text", text: texts[at(texts.length)]! }] };
    case "list": return { path, op, values: Array.from({ length: at(4) }, () => literals(at)) };
    case "number": return { path, op, values: [{ type: "number", text: numbers[at(numbers.length)]! }] };
  }
  return { path, op, values: [literals(at)] };
}

test("reads what it writes, for generated rows", () => {
  const at = random(7);
  for (let i = 0; i < 20_000; i++) {
    const rows = Array.from({ length: 1 + at(4) }, () => rowOf(at)), r: Rows = { join: rows.length > 1 && at(2) ? "||" : "&&", rows };
    assert.deepEqual(parse(write(r)), r, write(r));
  }
});

test("reads the values that it shows in fields", () => {
  const at = random(11);
  for (let i = 0; i < 5_000; i++) {
    const list = Array.from({ length: at(4) }, () => literals(at)), sample = [undefined, "text", "number"][at(3)];
    if (sample === "text") for (const l of list) l.type = "text"; // a value that is a text is compared with texts
    for (const l of list) assert.deepEqual(typed(shown(l, "any", sample), "any", sample), l);
    assert.deepEqual(typedList(shownList(list, sample), sample), list, shownList(list, sample));
  }
});
