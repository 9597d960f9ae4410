import assert from "node:assert/strict";
import { test } from "node:test";
import { count, duration, isOver } from "./text.ts";

test("count adds the plural s", () => assert.deepEqual([0, 1, 2].map((n) => count(n, "node")), ["0 nodes", "1 node", "2 nodes"]));
for (const [ms, want] of [[0, "0 ms"], [999, "999 ms"], [1000, "1.0 s"], [59_949, "59.9 s"], [60_000, "1 min 0 s"], [125_000, "2 min 5 s"]] as const)
  test(`${ms} ms is ${want}`, () => assert.equal(duration(ms), want));

test("only final states end a step or run", () => {
  assert.deepEqual(["pending", "queued", "running", "retrying", "waiting", "succeeded", "reused", "skipped", "failed", "canceled"].filter(isOver), ["succeeded", "reused", "skipped", "failed", "canceled"]);
});
