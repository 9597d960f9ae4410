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

test("lays tools out below their agent", () => {
  const nodes = [node("in", 0, 0), node("agent", 0, 100), node("out", 0, 200), node("b", 900, 0), node("a", 100, 0), node("c", 950, 0)];
  const p = arrange(nodes, [{ from: "in", to: "agent" }, { from: "agent", to: "out" }, { from: "in", to: "a" }, ...["a", "b", "c"].map((from) => ({ from, to: "agent", tool: true }))]);
  assert(p.in!.x + 200 < p.agent!.x && p.agent!.x + 200 < p.out!.x, JSON.stringify(p));
  assert(p.a!.y > p.agent!.y + 80 && p.a!.y === p.b!.y && p.b!.y === p.c!.y, JSON.stringify(p));
  assert(p.a!.x + 200 < p.b!.x && p.b!.x + 200 < p.c!.x, JSON.stringify(p));
  assert.equal(p.b!.x, p.agent!.x); // the middle one is below the agent
  for (const tool of ["a", "b", "c"]) for (const other of ["in", "agent", "out"]) assert(p[tool]!.y >= p[other]!.y + 80, `${tool} overlaps ${other}: ${JSON.stringify(p)}`);
  assert.deepEqual([Math.min(...Object.values(p).map((q) => q.x)), Math.min(...Object.values(p).map((q) => q.y))], [0, 0]);
});

test("lays many tools out in rows", () => {
  const tools = Array.from({ length: 7 }, (_, i) => node(`t${i}`, 300 * i, 500));
  const p = arrange([node("agent", 0, 0), ...tools], tools.map((t) => ({ from: t.id, to: "agent", tool: true })));
  assert.equal(new Set(tools.map((t) => p[t.id]!.y)).size, 2);
});
