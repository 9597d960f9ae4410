import assert from "node:assert/strict";
import { test } from "node:test";
import { formatDuration, stateLabel } from "./events.ts";

for (const [ms, want] of [[0, "<1 ms"], [1, "1 ms"], [999.4, "999 ms"], [1000, "1.0 s"], [9949, "9.9 s"], [10_000, "10 s"], [99_999, "99 s"], [100_000, "1 min 40 s"], [3_600_000, "60 min 0 s"]] as const)
  test(`${ms} ms is ${want}`, () => assert.equal(formatDuration(ms), want));

test("labels a state", () => assert.equal(stateLabel("succeeded"), "Succeeded"));
