import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parseJSON, parseNumber, parseRetry, same } from "./parse.ts";

describe("parseNumber", () => {
  for (const [text, want] of [["1", 1], [" 2 ", 2], ["-0.5", -0.5], [".5", 0.5], ["+3", 3], ["1e3", 1000], ["1.5E-2", 0.015], ["0", 0]] as const)
    test(`reads ${text}`, () => assert.deepEqual(parseNumber(text, false), { value: want }));
  for (const text of ["", "  "]) test(`reads "${text}" as nothing`, () => assert.deepEqual(parseNumber(text, false), {}));
  for (const text of ["1,5", "one", "01", "1.", "0x10", "--1", "Infinity", "1 000"]) test(`rejects ${text}`, () => assert(parseNumber(text, false).error));
  test("rejects a fraction where a whole number is needed", () => assert(parseNumber("1.5", true).error));
  test("accepts 1e3 as a whole number", () => assert.deepEqual(parseNumber("1e3", true), { value: 1000 }));
});

describe("parseJSON", () => {
  test("reads a value", () => assert.deepEqual(parseJSON(' {"a": [1, null]} '), { value: { a: [1, null] } }));
  test("reads null", () => assert.deepEqual(parseJSON("null"), { value: null }));
  test("returns no value for an empty text", () => assert.deepEqual(parseJSON(" "), {}));
  test("returns an error that does not repeat the text", () => {
    const { error } = parseJSON('{"secret": oops}');
    assert(error && !error.includes("secret"));
  });
});

describe("parseRetry", () => {
  test("returns no value without attempts", () => assert.deepEqual(parseRetry(undefined, undefined), {}));
  test("requires attempts for a pause", () => assert(parseRetry(undefined, 2).error));
  test("limits the attempts", () => assert(parseRetry(0, undefined).error && parseRetry(21, undefined).error));
  test("omits a pause of 0", () => assert.deepEqual(parseRetry(3, 0), { value: { attempts: 3 } }));
  test("keeps a pause", () => assert.deepEqual(parseRetry(3, 0.5), { value: { attempts: 3, backoff_s: 0.5 } }));
});

describe("same", () => {
  test("ignores the order of names", () => assert(same({ a: 1, b: [1, { c: null }] }, { b: [1, { c: null }], a: 1 })));
  for (const [a, b] of [[1, "1"], [[1, 2], [2, 1]], [{ a: 1 }, { a: 1, b: 2 }], [{ a: undefined }, { b: undefined }], [[], {}], [null, {}], ["", undefined]] as [unknown, unknown][])
    test(`tells ${JSON.stringify(a)} from ${JSON.stringify(b)}`, () => assert(!same(a, b) && !same(b, a)));
});
