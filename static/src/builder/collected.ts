// Dashed lines from outputs to the nodes that send them, such as webhooks. These nodes
// wait for the outputs, although the document has no edge between them.
import { listen } from "../listen.ts";
import { svg } from "../canvas/svg.ts";
import type { FlowNode } from "../canvas/model.ts";
import { canvas, whenReady } from "./canvas.ts";
import { kindOf } from "./kinds.ts";

const shape = svg("path", { class: "canvas-collected", "aria-hidden": "true" }); // the outputs are named in the inspector
let frame = 0;

/** soon draws in the next frame. */
function soon(): void { frame ||= requestAnimationFrame(draw); }

function draw(): void {
  frame = 0;
  const nodes = [...canvas.draft.nodes.values()].filter((n) => !n.disabled), outputs = nodes.filter((n) => kindOf(n.kind)?.output);
  const lines = nodes.flatMap((to) => outputs.filter((from) => sends(to, from)).map((from) => line(from.id, to.id)));
  shape.setAttribute("d", lines.join(""));
  if (!shape.isConnected) canvas.pane.querySelector(".canvas-edges")!.prepend(shape);
}

/** sends reports whether a node sends an output: one that is chosen, or any when none is. */
function sends(to: FlowNode, from: FlowNode): boolean {
  const field = kindOf(to.kind)?.collects, chosen = field && to.config[field];
  return !!field && (!Array.isArray(chosen) || !chosen.length || chosen.includes(from.config.name));
}

/** line returns a curve between two nodes, or nothing while one is inside a folded group or not measured. */
function line(from: string, to: string): string {
  const a = canvas.scene.box(from), b = canvas.scene.box(to);
  if (!a || !b || canvas.groups.folded(from) || canvas.groups.folded(to)) return "";
  const x = a.x + a.width, y = a.y + a.height / 2, v = b.y + b.height / 2, bend = Math.max(40, Math.abs(b.x - x) / 2);
  return `M${x},${y}C${x + bend},${y} ${b.x - bend},${v} ${b.x},${v}`;
}

listen(canvas, "canvas:ops canvas:remote canvas:history canvas:acked", soon);
void whenReady.then((c) => { c.edges.drawn = soon; soon(); });
