import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { mergeText, span } from "./merge.ts";

describe("mergeText", () => {
  for (const [name, base, mine, theirs, want] of [
    ["keeps both texts at the end", "a", "a 111", "a 222", "a 111 222"],
    ["keeps edits at both ends", "middle", "my middle", "middle of it", "my middle of it"],
    ["keeps their edit before mine", "one two three", "one two 3", "1 two three", "1 two 3"],
    ["takes theirs if mine is unchanged", "a", "a", "b", "b"],
    ["takes mine if theirs is unchanged", "a", "b", "a", "b"],
    ["takes an equal edit once", "a", "ab", "ab", "ab"],
    ["fills an empty text from both", "", "my text. ", "their text", "my text. their text"],
    ["keeps a deletion and an insertion", "abc def ghi", "def ghi", "abc def ghi!", "def ghi!"],
  ] as const) test(name, () => assert.equal(mergeText(base, mine, theirs), want));
  test("does not merge names", () => assert.equal(mergeText("openai/gpt", "openai/gpt-mini", "openai/gpt-nano"), undefined));
  test("does not merge different replacements of one word", () => assert.equal(mergeText("a word", "a term", "a name"), undefined));
});

test("span finds the shortest replacement", () => {
  assert.deepEqual(span("aaa", "aaaa"), { from: 3, to: 3, text: "a" });
  assert.deepEqual(span("abc", "axc"), { from: 1, to: 2, text: "x" });
});
