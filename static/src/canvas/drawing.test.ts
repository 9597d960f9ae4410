import assert from "node:assert/strict";
import { test } from "node:test";
import type { Box } from "./geometry.ts";
import { arrange } from "./layout.ts";
import type { Point } from "./model.ts";
import { makeRoom } from "./room.ts";
import { detour } from "./detour.ts";
import { curve, route } from "./route.ts";

// A seeded generator, so that a failure can be repeated.
const random = (seed: number) => () => ((seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32);

type Node = Box & { id: string };
type Wire = { from: string; to: string; out: number; into: number };
type Flow = { nodes: Map<string, Node>; wires: Wire[] };

const head = 50, row = 23; // of a node: where its first port is, and the distance of ports
const port = (i: number): number => head + i * row;
const node = (id: string, ports: number): Node => ({ id, x: 0, y: 0, width: 176, height: port(ports) + 40 });

/** randomFlow returns a flow with branches, long edges, outputs, and webhooks that wait for all outputs. */
function randomFlow(next: () => number): Flow {
  const nodes = new Map<string, Node>(), wires: Wire[] = [], n = 4 + Math.floor(next() * 20);
  for (let i = 0; i < n; i++) nodes.set(`n${i}`, node(`n${i}`, 1 + Math.floor(next() * 5)));
  for (let i = 1; i < n; i++)
    for (let k = 0; k < 1 + next() * 2; k++) wires.push({ from: `n${Math.floor(next() * i)}`, to: `n${i}`, out: port(Math.floor(next() * 2)), into: port(k) });
  const outputs = [...nodes.keys()].filter((id) => !wires.some((w) => w.from === id));
  for (const hook of ["hook", "other"].slice(Math.floor(next() * 3))) {
    nodes.set(hook, node(hook, 1));
    for (const o of outputs) wires.push({ from: o, to: hook, out: nodes.get(o)!.height / 2, into: 40 });
  }
  return { nodes, wires };
}

function tidied(f: Flow): Flow {
  for (const [id, p] of Object.entries(arrange([...f.nodes.values()], f.wires))) Object.assign(f.nodes.get(id)!, p);
  return f;
}

const from = (f: Flow, w: Wire): Point => { const n = f.nodes.get(w.from)!; return { x: n.x + n.width, y: n.y + w.out }; };
const to = (f: Flow, w: Wire): Point => { const n = f.nodes.get(w.to)!; return { x: n.x, y: n.y + w.into }; };
const after = (f: Flow, id: string, seen = new Set<string>()): Set<string> => {
  for (const w of f.wires) if (w.from === id && !seen.has(w.to)) after(f, w.to, seen.add(w.to));
  return seen;
};

/** points returns 200 points of path data with the commands that route writes. */
function points(d: string): Point[] {
  const pieces = d.split(/(?=[MLCQ])/).map((p) => ({ c: p[0]!, n: p.slice(1).trim().split(/[ ,]+/).map(Number) })), out: Point[] = [];
  let at: Point = { x: 0, y: 0 };
  for (const { c, n } of pieces) {
    const all = [at, ...Array.from({ length: n.length / 2 }, (_, i) => ({ x: n[2 * i]!, y: n[2 * i + 1]! }))];
    for (let i = 0; c !== "M" && i <= 200 / (pieces.length - 1); i++) {
      let level = all;
      const u = i / (200 / (pieces.length - 1));
      while (level.length > 1) level = level.slice(1).map((p, j) => ({ x: level[j]!.x + (p.x - level[j]!.x) * u, y: level[j]!.y + (p.y - level[j]!.y) * u }));
      out.push(level[0]!);
    }
    at = all.at(-1)!;
  }
  return out;
}

/** defects lists nodes that overlap, and wires that pass behind a node of neither end. */
function defects(f: Flow): string[] {
  const list: string[] = [], all = [...f.nodes.values()];
  all.forEach((a, i) => all.slice(i + 1).forEach((b) => {
    if (a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height) list.push(`${a.id} overlaps ${b.id}`);
  }));
  for (const w of f.wires) {
    const others = all.filter((n) => n.id !== w.from && n.id !== w.to), own = all.filter((n) => n.id === w.from || n.id === w.to);
    const behind = points(route(from(f, w), to(f, w), others, own, 0, detour).d).flatMap((p) => others.filter((n) => p.x > n.x && p.x < n.x + n.width && p.y > n.y && p.y < n.y + n.height));
    if (behind.length) list.push(`${w.from} to ${w.to} passes behind ${behind[0]!.id}`);
  }
  return list;
}

test("tidies 100 random flows without overlaps and wires behind nodes", () => {
  for (let seed = 1; seed <= 100; seed++) {
    const f = tidied(randomFlow(random(seed)));
    assert.deepEqual(defects(f), [], `seed ${seed}`);
    for (const w of f.wires) assert(from(f, w).x < to(f, w).x, `seed ${seed}: ${w.from} to ${w.to} goes back`);
  }
});

test("keeps a drawing clear through 200 random inserts", () => {
  const next = random(7);
  let f = tidied(randomFlow(next));
  for (let i = 0; i < 200; i++) {
    if (i % 20 === 0) f = tidied(randomFlow(next));
    const w = f.wires[Math.floor(next() * f.wires.length)]!, id = `new${i}`, fresh = node(id, 1 + Math.floor(next() * 4)), a = f.nodes.get(w.from)!;
    f.wires.splice(f.wires.indexOf(w), 1, { ...w, to: id, into: port(0) }, { ...w, from: id, out: port(0) });
    f.nodes.set(id, fresh);
    const want = { ...fresh, x: a.x + a.width + 48, y: a.y + w.out - port(0) };
    for (const [moved, p] of Object.entries(makeRoom(f.nodes, id, want, [w.to], (n) => after(f, n)))) Object.assign(f.nodes.get(moved)!, p);
    assert.deepEqual(defects(f), [], `insert ${i}`);
  }
});

test("moves what follows an insert by the width of the node and 48", () => {
  const f: Flow = { nodes: new Map(["a", "b", "c", "d"].map((id) => [id, node(id, 1)])), wires: [["a", "c"], ["c", "d"], ["a", "b"]].map(([from, to]) => ({ from: from!, to: to!, out: port(0), into: port(0) })) };
  tidied(f);
  const { a, b, c, d } = Object.fromEntries(f.nodes) as Record<string, Node>, fresh = node("new", 1);
  const moves = makeRoom(f.nodes, "new", { ...fresh, x: a!.x + a!.width + 48, y: a!.y }, ["c"], (n) => after(f, n));
  assert.deepEqual([moves.c, moves.d, moves.new], [{ x: c!.x + 230, y: c!.y }, { x: d!.x + 230, y: d!.y }, { x: a!.x + a!.width + 48, y: a!.y }]);
  assert.equal(moves.b, undefined, `b stays at ${b!.y}`);
});

test("moves nothing when there is room", () => {
  const boxes = new Map([["a", { ...node("a", 1) }], ["b", { ...node("b", 1), x: 800 }]]), fresh = node("new", 1);
  assert.deepEqual(makeRoom(boxes, "new", { ...fresh, x: 300 }, ["b"], () => []), { new: { x: 300, y: 0 } });
});

test("puts the branch of an upper port above that of a lower one", () => {
  const f: Flow = { nodes: new Map(["if", "no", "yes"].map((id) => [id, node(id, 2)])), wires: [{ from: "if", to: "no", out: port(1), into: port(0) }, { from: "if", to: "yes", out: port(0), into: port(0) }] };
  const { no, yes } = Object.fromEntries(tidied(f).nodes) as Record<string, Node>;
  assert(yes!.y < no!.y, JSON.stringify([yes, no]));
});

test("puts the ports of a chain on one line", () => {
  const f: Flow = { nodes: new Map(["a", "b", "c"].map((id, i) => [id, node(id, 1 + i)])), wires: [{ from: "a", to: "b", out: port(0), into: port(1) }, { from: "b", to: "c", out: port(0), into: port(2) }] };
  tidied(f);
  for (const w of f.wires) assert.equal(from(f, w).y, to(f, w).y);
});

test("draws a curve where no node is in the way, and goes around otherwise", () => {
  const s = { x: 0, y: 0 }, t = { x: 600, y: 0 }, box = { x: 200, y: -40, width: 176, height: 80 };
  assert.equal(route(s, t, [], [], 0, detour).d, curve(s, t).d);
  assert.equal(route(s, t, [{ ...box, y: 60 }], [], 0, detour).d, curve(s, t).d);
  const way = route(s, t, [box], [], 0, detour);
  assert.notEqual(way.d, curve(s, t).d);
  assert(points(way.d).every((p) => p.x < 200 || p.x > 376 || Math.abs(p.y) > 40), way.d);
  assert(Math.abs(way.middle.y) > 40, JSON.stringify(way.middle));
});
