// Lays a flow out from left to right in layers (Sugiyama's method): each node is
// right of what it depends on, ports count for the order of nodes, a long edge
// keeps a lane of its own in every layer that it passes, and the ports of a chain
// are level (the alignment is that of Brandes and Köpf).
import type { Point } from "./model.ts";

const between = 48; // flow units between columns
const beside = 32; // between nodes of a column
const lane = 20; // height of a lane
const busy = 3; // edges with a turn that a gap between columns has space for; more widen it

export type Sized = { id: string; x: number; y: number; width: number; height: number };
/** Wire is an edge between nodes. out and into are the offsets of its ports from the tops of the nodes. tool: from is a tool of the agent to. */
export type Wire = { from: string; to: string; out?: number; into?: number; tool?: boolean };

/** Cell is a place in a layer: a node, or a lane of edges that pass the layer. */
type Cell = { node?: Sized; width: number; height: number; layer: number; order: number; ins: Link[]; outs: Link[]; level?: Cell; block: Block; offset: number };
/** Link connects cells of neighboring layers. */
type Link = { from: Cell; to: Cell; out: number; into: number };
/** Block is a row of cells whose ports are level; y is that of its first cell. */
type Block = { y: number; cells: Cell[] };

const under = 88; // between an agent and its tools
const inRow = 5; // tools side by side

/** arrange returns a position for each node: tools below their agents, everything else from left to right. The upper left corner of all stays where it is. */
export function arrange(nodes: Sized[], wires: Wire[]): Record<string, Point> {
  const known = new Map(nodes.map((n) => [n.id, n])), agentOf = new Map(wires.filter((w) => w.tool && known.has(w.from) && known.has(w.to)).map((w) => [w.from, w.to]));
  if (!agentOf.size) return arrangeFlow(nodes, wires);
  const places = arrangeFlow(nodes.filter((n) => !agentOf.has(n.id)), wires);
  const boxOf = (id: string) => ({ ...known.get(id)!, ...places[id]! });
  for (const agent of new Set(agentOf.values())) {
    if (!places[agent]) continue; // a tool cannot have tools
    const tools = nodes.filter((n) => agentOf.get(n.id) === agent).toSorted((a, b) => a.x - b.x || a.y - b.y), box = boxOf(agent);
    let top = box.y + box.height + under;
    for (let i = 0; i < tools.length; i += inRow) {
      const row = tools.slice(i, i + inRow), width = row.reduce((sum, n) => sum + n.width + between / 2, -between / 2);
      const left = box.x + box.width / 2 - width / 2;
      for (const b of Object.keys(places).map(boxOf)) if (b.x < left + width + beside && b.x + b.width + beside > left && b.id !== agent) top = Math.max(top, b.y + b.height + beside);
      let x = left;
      for (const n of row) {
        places[n.id] = { x: Math.round(x), y: Math.round(top) };
        x += n.width + between / 2;
      }
      top += Math.max(...row.map((n) => n.height)) + beside;
    }
  }
  for (const n of nodes) places[n.id] ??= { x: n.x, y: n.y };
  const low = (key: "x" | "y", of: (n: Sized) => Point) => Math.min(...nodes.map((n) => of(n)[key]));
  const dx = low("x", (n) => n) - low("x", (n) => places[n.id]!), dy = low("y", (n) => n) - low("y", (n) => places[n.id]!);
  return Object.fromEntries(Object.entries(places).map(([id, p]) => [id, { x: p.x + dx, y: p.y + dy }]));
}

function arrangeFlow(nodes: Sized[], wires: Wire[]): Record<string, Point> {
  if (!nodes.length) return {};
  const cells = new Map(nodes.toSorted((a, b) => a.y - b.y || a.x - b.x).map((n) => [n.id, cell(n.width, n.height, n)]));
  const links = linked(cells, wires), sorted = forward([...cells.values()], links);
  rank(sorted);
  const layers = layered(sorted);
  order(layers);
  align(layers);
  level(layers);
  const left = columns(layers), places = sorted.map((c) => ({ id: c.node!.id, x: left[c.layer]!, y: c.block.y + c.offset }));
  const dx = Math.min(...nodes.map((n) => n.x)) - Math.min(...places.map((p) => p.x));
  const dy = Math.min(...nodes.map((n) => n.y)) - Math.min(...places.map((p) => p.y));
  return Object.fromEntries(places.map((p) => [p.id, { x: Math.round(p.x + dx), y: Math.round(p.y + dy) }]));
}

function cell(width: number, height: number, node?: Sized): Cell {
  const c: Cell = { node, width, height, layer: 0, order: 0, ins: [], outs: [], offset: 0, block: { y: 0, cells: [] } };
  c.block.cells.push(c);
  return c;
}

function link(from: Cell, to: Cell, out: number, into: number): Link {
  const l = { from, to, out, into };
  from.outs.push(l);
  to.ins.push(l);
  return l;
}

/** linked connects the cells of nodes and sorts the links of each by port. */
function linked(cells: Map<string, Cell>, wires: Wire[]): Link[] {
  const links = wires.flatMap((w) => {
    const from = cells.get(w.from), to = cells.get(w.to);
    return from && to && from !== to ? [link(from, to, w.out ?? from.height / 2, w.into ?? to.height / 2)] : [];
  });
  for (const c of cells.values()) c.outs.sort((a, b) => a.out - b.out);
  return links;
}

/** forward removes the links that close a loop, and returns the cells so that each comes after those it depends on. Their order is a first order within the layers. */
function forward(all: Cell[], links: Link[]): Cell[] {
  const seen = new Set<Cell>(), done: Cell[] = [], open = new Set<Cell>(), loops = new Set<Link>();
  const visit = (c: Cell): void => {
    seen.add(c);
    open.add(c);
    for (const l of c.outs.toReversed()) {
      if (open.has(l.to)) loops.add(l);
      else if (!seen.has(l.to)) visit(l.to);
    }
    open.delete(c);
    done.push(c);
  };
  const roots = all.filter((c) => !c.ins.length);
  for (const c of [...roots.toReversed(), ...all]) if (!seen.has(c)) visit(c);
  if (loops.size) for (const c of all) { c.ins = c.ins.filter((l) => !loops.has(l)); c.outs = c.outs.filter((l) => !loops.has(l)); }
  if (loops.size) links.splice(0, links.length, ...links.filter((l) => !loops.has(l)));
  return done.reverse();
}

/** rank assigns layers: as far left as possible, but what feeds more than it is fed is beside what it feeds. */
function rank(sorted: Cell[]): void {
  for (const c of sorted) c.layer = Math.max(0, ...c.ins.map((l) => l.from.layer + 1));
  for (const c of sorted.toReversed()) if (c.outs.length > c.ins.length) c.layer = Math.min(...c.outs.map((l) => l.to.layer)) - 1;
}

/** layered puts the cells into layers, and a lane in every layer that a link passes. Links of one port share their lanes. */
function layered(sorted: Cell[]): Cell[][] {
  const layers: Cell[][] = Array.from({ length: Math.max(...sorted.map((c) => c.layer)) + 1 }, () => []);
  sorted.forEach((c, i) => { c.order = i; });
  for (const c of sorted) layers[c.layer]!.push(c);
  for (const c of sorted) {
    const lanes = new Map<string, Cell>();
    for (const l of c.outs.filter((l) => l.to.layer > c.layer + 1)) {
      const { out } = l;
      c.outs.splice(c.outs.indexOf(l), 1);
      l.from = c;
      for (let i = c.layer + 1; i < l.to.layer; i++) {
        let next = lanes.get(`${out} ${i}`);
        if (!next) {
          lanes.set(`${out} ${i}`, (next = Object.assign(cell(0, lane), { layer: i, order: c.order + 0.5 })));
          layers[i]!.push(next);
          link(l.from, next, l.out, lane / 2);
        }
        l.from = next;
        l.out = lane / 2;
      }
      l.from.outs.push(l);
    }
  }
  for (const layer of layers) number(layer.sort((a, b) => a.order - b.order));
  return layers;
}

function number(layer: Cell[]): void { layer.forEach((c, i) => { c.order = i; }); }

// start and end are where a link begins and ends in the order of its layers, with the ports of one cell apart.
const start = (l: Link): number => l.from.order + (l.out + 1) / (l.from.height + 2) / 2;
const end = (l: Link): number => l.to.order + (l.into + 1) / (l.to.height + 2) / 2;
const mean = (list: number[]): number => list.reduce((a, b) => a + b, 0) / list.length;

/** order sorts the layers so that few links cross: by the mean of the neighbors, in both directions, then by swapping neighbors. The best of all rounds stays. */
function order(layers: Cell[][]): void {
  let best = layers.map((l) => [...l]), least = crossings(layers);
  const rounds = 12;
  for (let i = 0; i < rounds && least; i++) {
    const down = i % 2 === 0;
    for (const layer of down ? layers.slice(1) : layers.slice(0, -1).toReversed()) {
      const keys = new Map(layer.map((c) => [c, down ? (c.ins.length ? mean(c.ins.map(start)) : c.order) : c.outs.length ? mean(c.outs.map(end)) : c.order]));
      layer.sort((a, b) => keys.get(a)! - keys.get(b)! || a.order - b.order);
      number(layer);
    }
    swap(layers);
    const now = crossings(layers);
    if (now < least) { least = now; best = layers.map((l) => [...l]); }
  }
  best.forEach((layer, i) => { layers[i]!.splice(0, layer.length, ...layer); number(layer); });
}

/** swap swaps neighbors of a layer while that saves crossings. */
function swap(layers: Cell[][]): void {
  for (const layer of layers)
    for (let i = 1; i < layer.length; i++) {
      const [a, b] = [layer[i - 1]!, layer[i]!];
      const over = (x: number[], y: number[]) => x.reduce((n, p) => n + y.filter((q) => p > q).length, 0);
      const [ai, bi, ao, bo] = [a.ins.map(start), b.ins.map(start), a.outs.map(end), b.outs.map(end)];
      if (over(ai, bi) + over(ao, bo) <= over(bi, ai) + over(bo, ao)) continue;
      layer[i - 1] = b;
      layer[i] = a;
      number(layer);
    }
}

/** crossings counts the links that cross. */
function crossings(layers: Cell[][]): number {
  let n = 0;
  for (const layer of layers) {
    const links = layer.flatMap((c) => c.outs).map((l) => [start(l), end(l)] as const);
    for (let i = 1; i < links.length; i++) for (let j = 0; j < i; j++) if ((links[i]![0] - links[j]![0]) * (links[i]![1] - links[j]![1]) < 0) n++;
  }
  return n;
}

/** align joins cells to rows: each cell with one of the middle cells that feed it, unless that one has a successor in its row, or rows would cross. Lanes leave a row to the nodes. */
function align(layers: Cell[][]): void {
  for (const layer of layers.slice(1)) {
    let last = -1;
    for (const c of layer) {
      const ins = c.ins.toSorted((a, b) => start(a) - start(b)), middle = (ins.length - 1) / 2;
      for (const l of new Set([ins[Math.floor(middle)], ins[Math.ceil(middle)]])) {
        if (!l || l.from.level || l.from.order <= last || (!c.node && l.from.node && l.from.outs.some((o) => o.to.node))) continue;
        l.from.level = c;
        c.block = l.from.block;
        c.block.cells.push(c);
        c.offset = l.from.offset + l.out - l.into;
        last = l.from.order;
        break;
      }
    }
  }
}

/** apartOf returns the distance between the tops of two neighbors. */
const apartOf = (a: Cell, b: Cell): number => a.height + (a.node && b.node ? beside : a.node || b.node ? beside / 2 : 0);

/** level places the rows: first as high as possible, then each toward what it is connected to. */
function level(layers: Cell[][]): void {
  const above = new Map<Block, [Block, number][]>(), below = new Map<Block, [Block, number][]>();
  const blocks = [...new Set(layers.flat().map((c) => c.block))];
  for (const b of blocks) { above.set(b, []); below.set(b, []); }
  for (const layer of layers)
    for (let i = 1; i < layer.length; i++) {
      const [a, b] = [layer[i - 1]!, layer[i]!], by = a.offset + apartOf(a, b) - b.offset; // b.block.y - a.block.y is at least this
      above.get(b.block)!.push([a.block, by]);
      below.get(a.block)!.push([b.block, by]);
    }
  const sorted = topDown(blocks, above, below);
  for (const b of sorted) b.y = Math.max(...above.get(b)!.map(([o, by]) => o.y + by), above.get(b)!.length ? -Infinity : -Math.min(...b.cells.map((c) => c.offset)));
  const rounds = 24;
  for (let i = 0; i < rounds; i++)
    for (const b of i % 2 ? sorted : sorted.toReversed()) {
      const wanted = b.cells.flatMap((c) => [
        ...c.ins.filter((l) => l.from.block !== b).map((l) => l.from.block.y + l.from.offset + l.out - l.into - c.offset),
        ...c.outs.filter((l) => l.to.block !== b).map((l) => l.to.block.y + l.to.offset + l.into - l.out - c.offset),
      ]);
      if (!wanted.length) continue;
      const low = Math.max(-Infinity, ...above.get(b)!.map(([o, by]) => o.y + by)), high = Math.min(Infinity, ...below.get(b)!.map(([o, by]) => o.y - by));
      b.y = Math.max(low, Math.min(high, mean(wanted)));
    }
}

/** topDown sorts the rows so that each comes after those above it. */
function topDown(blocks: Block[], above: Map<Block, [Block, number][]>, below: Map<Block, [Block, number][]>): Block[] {
  const waits = new Map(blocks.map((b) => [b, above.get(b)!.length])), ready = blocks.filter((b) => !waits.get(b)), out: Block[] = [];
  for (let b = ready.shift(); b; b = ready.shift()) {
    out.push(b);
    for (const [o] of below.get(b)!) {
      waits.set(o, waits.get(o)! - 1);
      if (!waits.get(o)) ready.push(o);
    }
  }
  return out;
}

/** columns returns the left edge of each layer. */
function columns(layers: Cell[][]): number[] {
  const y = (c: Cell) => c.block.y + c.offset;
  let x = 0;
  return layers.map((layer) => {
    const left = x, bent = layer.flatMap((c) => c.outs).filter((l) => Math.abs(y(l.from) + l.out - y(l.to) - l.into) > 1).length;
    x += Math.max(...layer.map((c) => c.width)) + between + Math.min(between, 6 * Math.max(0, bent - busy));
    return left;
  });
}
