import assert from "node:assert/strict";
import { test } from "node:test";
import { step } from "./arrows.ts";

for (const [key, at, want] of [
  ["ArrowDown", 0, 1], ["ArrowDown", 2, 0], ["ArrowDown", -1, 0], ["ArrowUp", 1, 0], ["ArrowUp", 0, 2], ["ArrowUp", -1, 2], ["Home", 1, 0], ["End", 1, 2], ["ArrowLeft", 1, undefined], ["a", 1, undefined],
] as const) test(`${key} at ${at} of 3 moves to ${want}`, () => assert.equal(step(key, at, 3), want));
