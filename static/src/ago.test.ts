import assert from "node:assert/strict";
import { test } from "node:test";
import { ago } from "./ago.ts";

const now = Date.UTC(2030, 0, 15, 12);
const second = 1000, minute = 60 * second, hour = 60 * minute, day = 24 * hour;

for (const [ms, want] of [
  [0, "now"], [4 * second, "now"], [5 * second, "5 sec. ago"], [59 * second, "59 sec. ago"], [minute, "1 min. ago"], [89 * second, "1 min. ago"], [59 * minute, "59 min. ago"],
  [hour, "1 hr. ago"], [23 * hour, "23 hr. ago"], [day, "yesterday"], [2 * day, "2 days ago"], [30 * day, "30 days ago"], [31 * day, undefined],
  [-4 * second, "now"], [-90 * second, "in 1 min."], [-day, "tomorrow"], [-31 * day, undefined],
] as const) test(`${ms} ms ago is ${want}`, () => assert.equal(ago(new Date(now - ms), now), want));
