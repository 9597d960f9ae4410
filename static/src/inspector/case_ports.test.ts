import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { Edge } from "../canvas/model.ts";
import type { Op } from "../canvas/ops.ts";
import { casesOf, follow } from "./case_ports.ts";

test("names ports as the server does", () => {
  for (const { config, ports } of JSON.parse(readFileSync("testdata/cases.json", "utf8"))) assert.deepEqual(casesOf(config).map((c) => c.port), ports);
});

/** random returns numbers below n, the same ones for the same seed (mulberry32). */
function random(seed: number): (n: number) => number {
  return (n) => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % n;
  };
}

/** applied returns the edges after operations. */
function applied(edges: Edge[], ops: Op[]): Edge[] {
  let list = [...edges];
  for (const op of ops) {
    if (op.op === "disconnect") list = list.toSpliced(list.findIndex((e) => e.from === op.edge.from && e.to === op.edge.to), 1);
    if (op.op !== "connect") continue;
    const into = list.flatMap((e, i) => (e.to === op.edge.to ? [i] : []));
    list = list.toSpliced(into[op.at!] ?? list.length, 0, op.edge);
  }
  return list;
}

const into = (edges: Edge[], port: string): string[] => edges.filter((e) => e.to === port).map((e) => e.from);

test("keeps edges at their cases through generated changes", () => {
  const at = random(5);
  for (let i = 0; i < 5_000; i++) {
    const by = at(2) ? "expression" : "equal to", count = 1 + at(5), list = Array.from({ length: count }, (_, n) => ({ text: `value == ${n}`, name: at(3) ? `Name ${n}` : "", id: n }));
    const config = (cases: typeof list) => ({ by, cases: cases.map((c) => c.text), names: cases.map((c, n) => c.name || `case_${n + 1}`) });
    const before = config(list), ports = casesOf(before).map((c) => c.port);
    // Each case leads to a node of its own, and several lead to one in a certain order.
    const edges = list.flatMap((c, n): Edge[] => [{ from: `s.${ports[n]}`, to: `n${c.id}.in` }, { from: `s.${ports[n]}`, to: "all.in" }]);
    let changed = list.map((c) => ({ ...c })), drop = false, gone = -1;
    const which = at(count);
    switch (at(4)) {
      case 0: changed[which]!.text = "value == 99"; break;
      case 1: if (by === "expression") changed[which]!.name = "Renamed"; break;
      case 2: { const [c] = changed.splice(which, 1); changed.splice(at(count), 0, c!); break; }
      case 3: drop = true; gone = which; changed.splice(which, 1); break;
    }
    const after = config(changed);
    const now = casesOf(after).map((c) => c.port);
    const result = applied(edges, follow(edges, "s", before, after, drop));
    for (const c of list) {
      const n = changed.findIndex((x) => x.id === c.id);
      assert.deepEqual(into(result, `n${c.id}.in`), n < 0 ? [] : [`s.${now[n]}`], JSON.stringify({ before, after, id: c.id, gone }));
    }
    assert.deepEqual(into(result, "all.in"), list.filter((c) => c.id !== gone).map((c) => `s.${now[changed.findIndex((x) => x.id === c.id)]}`));
  }
});

test("keeps the edges of a case whose text is emptied while typing, unless another takes its port", () => {
  const edges = [{ from: "s.a", to: "x.in" }, { from: "s.case_2", to: "y.in" }];
  assert.deepEqual(follow(edges, "s", { cases: ["a", "b"] }, { cases: ["b"] }, false), []);
  const by = "expression", moved = applied(edges, follow(edges, "s", { by, cases: ["p", "q"], names: ["a"] }, { by, cases: ["q"] }, false));
  assert.deepEqual(moved, [{ from: "s.a", to: "x.in" }, { from: "s.case_1", to: "y.in" }]);
});
