import assert from "node:assert/strict";
import { test } from "node:test";
import { arrange } from "./layout.ts";

const node = (id: string, x: number, y: number) => ({ id, x, y, width: 200, height: 80 });

test("lays out a chain from left to right", () => {
  const p = arrange([node("c", 500, 500), node("a", 40, 30), node("b", 700, 90)], [{ from: "a", to: "b" }, { from: "b", to: "c" }]);
  assert(p.a!.x + 200 < p.b!.x && p.b!.x + 200 < p.c!.x, JSON.stringify(p));
  assert.equal(p.a!.y, p.b!.y);
});

test("keeps the upper left corner", () => {
  const p = arrange([node("a", 40, 30), node("b", 700, 500)], [{ from: "a", to: "b" }]);
  assert.deepEqual([Math.min(p.a!.x, p.b!.x), Math.min(p.a!.y, p.b!.y)], [40, 30]);
});

test("does not overlap nodes", () => {
  const p = arrange([node("a", 0, 0), node("b", 0, 0), node("c", 0, 0)], [{ from: "a", to: "b" }, { from: "a", to: "c" }]);
  assert(Math.abs(p.b!.y - p.c!.y) >= 80, JSON.stringify(p));
});
