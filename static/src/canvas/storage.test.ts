import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { load, loadJSON, store } from "./storage.ts";

/** use replaces the sessionStorage of the browser. */
function use(storage: Partial<Storage>): void { Object.assign(globalThis, { sessionStorage: storage }); }

function working(): Map<string, string> {
  const kept = new Map<string, string>();
  use({ getItem: (k) => kept.get(k) ?? null, setItem: (k, v) => void kept.set(k, v), removeItem: (k) => void kept.delete(k) });
  return kept;
}

describe("storage", () => {
  test("stores a text", () => {
    working();
    store("sessionStorage", "a", "1");
    assert.deepEqual([load("sessionStorage", "a"), load("sessionStorage", "b")], ["1", ""]);
  });
  test("removes the key of an empty text", () => {
    const kept = working();
    store("sessionStorage", "a", "1");
    store("sessionStorage", "a", "");
    assert.equal(kept.size, 0);
  });
  test("loadJSON parses JSON and returns undefined for other text", () => {
    working();
    store("sessionStorage", "a", '["x"]');
    store("sessionStorage", "b", "{");
    assert.deepEqual([loadJSON("sessionStorage", "a"), loadJSON("sessionStorage", "b"), loadJSON("sessionStorage", "c")], [["x"], undefined, undefined]);
  });
  test("ignores a full or forbidden storage", () => {
    const refuse = (): never => { throw new Error("QuotaExceededError"); };
    use({ getItem: refuse, setItem: refuse, removeItem: refuse });
    store("sessionStorage", "a", "1");
    assert.deepEqual([load("sessionStorage", "a"), loadJSON("sessionStorage", "a")], ["", undefined]);
  });
});
