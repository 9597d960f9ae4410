// Dashed lines from outputs to the nodes that send them, such as webhooks. These nodes
// wait for the outputs, although the document has no edge between them. The lines to a
// node join, so that they read as one bundle.
import { listen } from "../listen.ts";
import { lanes, rounded } from "../canvas/detour.ts";
import { svg } from "../canvas/svg.ts";
import type { Edge, FlowNode, Point } from "../canvas/model.ts";
import { canvas, whenReady } from "./canvas.ts";
import { kindOf } from "./kinds.ts";

const shape = svg("path", { class: "canvas-collected", "aria-hidden": "true" }); // the outputs are named in the inspector
const heads = svg("path", { class: "canvas-collected-head", "aria-hidden": "true" });
const port = 18.5; // flow units from the top of a node to the middle of its title
let frame = 0;

/** soon draws in the next frame. */
function soon(): void { frame ||= requestAnimationFrame(draw); }

function draw(): void {
  frame = 0;
  const all = sent(), lines: string[] = [], arrows: string[] = [];
  for (const to of new Set(all.map((e) => e.to))) bundle(to, all.filter((e) => e.to === to).map((e) => e.from), lines, arrows);
  shape.setAttribute("d", lines.join(""));
  heads.setAttribute("d", arrows.join(""));
  if (!shape.isConnected) canvas.pane.querySelector(".canvas-edges")!.prepend(shape, heads);
}

/** sent returns an edge from each output to each node that sends it. */
function sent(): Edge[] {
  const nodes = [...canvas.draft.nodes.values()].filter((n) => !n.disabled), outputs = nodes.filter((n) => kindOf(n.kind)?.output);
  return nodes.flatMap((to) => outputs.filter((from) => sends(to, from)).map((from) => ({ from: from.id, to: to.id })));
}

/** sends reports whether a node sends an output: one that is chosen, or any when none is. */
function sends(to: FlowNode, from: FlowNode): boolean {
  const field = kindOf(to.kind)?.collects, chosen = field && to.config[field];
  return !!field && (!Array.isArray(chosen) || !chosen.length || chosen.includes(from.config.name));
}

/** bundle adds the lines from outputs to a node, each up to where it meets another. Nodes inside a folded group and nodes that are not measured have none. */
function bundle(to: string, from: string[], lines: string[], arrows: string[]): void {
  const b = canvas.scene.box(to);
  if (!b || canvas.groups.folded(to)) return;
  const starts = from.filter((id) => !canvas.groups.folded(id)).map((id) => ({ id, ...canvas.scene.box(id)! })).filter((a) => a.width);
  if (!starts.length) return;
  const back = b.x < Math.max(...starts.map((a) => a.x + a.width)), end = { x: back ? b.x + b.width : b.x, y: b.y + port }, tip = back ? 5 : -5;
  const drawn: [Point, Point][] = [];
  for (const a of starts.toSorted((p, q) => Math.abs(q.y - b.y) - Math.abs(p.y - b.y))) {
    const start = { x: a.x + a.width, y: a.y + port }, others = canvas.scene.visible().filter((o) => o.id !== a.id && o.id !== to);
    const way = lanes(start, end, others, [a, b], back) ?? [start, end], met = way.findIndex((p, i) => i > 0 && drawn.some(([s, t]) => between(s, t, p)));
    const path = met < 0 ? way : way.slice(0, met + 1);
    lines.push(rounded(path).d);
    path.slice(1).forEach((p, i) => drawn.push([path[i]!, p]));
  }
  arrows.push(`M${end.x + tip},${end.y - 4}L${end.x},${end.y}L${end.x + tip},${end.y + 4}`);
}

/** between reports whether a point is on a horizontal or vertical line. */
function between(a: Point, b: Point, p: Point): boolean {
  return (a.x === b.x && p.x === a.x && (p.y - a.y) * (p.y - b.y) <= 0) || (a.y === b.y && p.y === a.y && (p.x - a.x) * (p.x - b.x) <= 0);
}

listen(canvas, "canvas:ops canvas:remote canvas:history canvas:acked", soon);
void whenReady.then((c) => { c.edges.drawn = soon; c.implied = sent; soon(); });
