// The toolbar above the selection. It is placed when the selection, the view or
// the nodes have moved, and hidden while nodes are dragged.
import { listen } from "../listen.ts";
import type { Point } from "../canvas/model.ts";
import { builder, canvas, readonly, isReady } from "./canvas.ts";

const bar = document.getElementById("selection-bar");
const above = 12, gap = 8; // pixels
const dock = 72; // pixels below the toolbar where the selection has no free side, for the zoom bar
let frame = 0;

/** show places the toolbar in the next frame; several events of one frame are one update. */
function show(): void {
  cancelAnimationFrame(frame);
  frame = requestAnimationFrame(put);
}

/** put places the toolbar above the selection, or else below, right or left of it, or at the bottom or top of the canvas: where it covers no node, and within the canvas. */
function put(): void {
  if (!isReady()) return;
  const { nodes } = canvas.selection;
  if (!bar || !nodes.size || canvas.drag.active || readonly) return hide();
  const b = canvas.scene.bounds(nodes), [tx, ty, k] = canvas.view.transform, { clientWidth: w, clientHeight: h } = canvas.pane;
  const left = b.x * k + tx, top = Math.min(b.y, ...titles(nodes)) * k + ty, right = left + b.width * k, bottom = (b.y + b.height) * k + ty;
  if (right < 0 || bottom < 0 || left > w || top > h) return hide();
  bar.hidden = false;
  bar.querySelector<HTMLElement>("[data-several]")!.hidden = nodes.size < 2;
  const { offsetWidth: width, offsetHeight: height } = bar, run = document.getElementById("run-bar")!, least = gap + (run.offsetHeight && run.offsetTop + run.offsetHeight); // below the bar of a run
  const x = Math.max(gap, Math.min((left + right - width) / 2, w - width - gap)), beneath = { x, y: Math.min(bottom + above, h - height - gap) };
  const places = [{ x, y: top - height - above }, { x, y: bottom + above }, { x: right + above, y: Math.max(least, top) }, { x: left - above - width, y: Math.max(least, top) }, { x, y: h - height - dock }, { x, y: least }];
  const inside = (p: Point) => p.x >= gap && p.x + width + gap <= w && p.y >= least && p.y + height + gap <= h;
  const p = places.find((p) => inside(p) && !covers(p, width, height, nodes)) ?? places.find(inside) ?? beneath;
  bar.style.transform = `translate(${Math.round(p.x)}px,${Math.round(p.y)}px)`;
}

/** covers reports whether the toolbar would cover a node that is not selected. */
function covers(at: Point, width: number, height: number, selected: ReadonlySet<string>): boolean {
  const [tx, ty, k] = canvas.view.transform;
  return canvas.scene.visible().some((b) => !selected.has(b.id) && at.x < (b.x + b.width) * k + tx && at.x + width > b.x * k + tx && at.y < (b.y + b.height) * k + ty && at.y + height > b.y * k + ty);
}

/** titles returns the tops of the frames around selected nodes, whose titles must stay visible. */
function titles(nodes: ReadonlySet<string>): number[] {
  return [...new Set([...nodes].map((id) => canvas.draft.groupOf(id)?.id))].map((g) => (g ? canvas.groups.box(g)?.y : undefined) ?? Infinity);
}

function hide(): void { if (bar) bar.hidden = true; }

if (bar) {
  listen(canvas, "canvas:select canvas:ops canvas:remote canvas:moved", show);
  canvas.addEventListener("pointerdown", (e) => { if ((e.target as Element).closest("article")) hide(); });
  addEventListener("pointerup", show);
  bar.addEventListener("mousedown", (e) => e.preventDefault()); // the focus stays on the canvas, whose keys go on working
  new ResizeObserver(show).observe(builder);
}
