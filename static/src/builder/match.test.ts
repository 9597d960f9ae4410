import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { freeName, ranked, score, withoutEmptySections } from "./match.ts";

describe("score", () => {
  for (const [words, title, more, want] of [
    ["", "Chat", "", 1], ["  ", "Chat", "", 1], ["ch", "Chat", "", 5], ["CHAT", "Chat", "", 5], ["req", "HTTP request", "", 4], ["lang", "detect_language", "", 4],
    ["lang", "detect-language", "", 4], ["ttp", "HTTP request", "", 3], ["model", "Chat", "Ask a model", 2], ["chat model", "Chat", "Ask a model", 2],
    ["model chat", "Chat", "Ask a model", 2], ["chat file", "Chat", "Ask a model", 0], ["x", "Chat", "", 0],
  ] as const) test(`"${words}" in "${title}"`, () => assert.equal(score(words, title, more), want));
});

describe("ranked", () => {
  const titles = ["Web page", "Page", "Template", "HTTP request"];
  const search = (words: string) => ranked(titles, (t) => score(words, t));
  test("puts the best match first", () => assert.deepEqual(search("page"), ["Page", "Web page"]));
  test("keeps the order of equal matches", () => assert.deepEqual(search("e"), titles));
  test("keeps everything without words", () => assert.deepEqual(search(""), titles));
  test("finds nothing", () => assert.deepEqual(search("zzz"), []));
});

describe("withoutEmptySections", () => {
  for (const [name, items, want] of [
    ["keeps separators between items", ["a", null, "b"], ["a", null, "b"]], ["drops a leading separator", [null, "a"], ["a"]], ["drops a trailing separator", ["a", null], ["a"]],
    ["keeps one of two separators", ["a", null, null, "b"], ["a", null, "b"]], ["keeps nothing of separators only", [null, null], []], ["keeps nothing of nothing", [], []],
  ] as [string, (string | null)[], (string | null)[]][]) test(name, () => assert.deepEqual(withoutEmptySections(items), want));
});

describe("freeName", () => {
  test("returns a name that is free", () => assert.equal(freeName("input", new Set()), "input"));
  test("appends the lowest free number", () => assert.equal(freeName("input", new Set(["input", "input_2", "input_4"])), "input_3"));
});
