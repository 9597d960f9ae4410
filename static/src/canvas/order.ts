// Changing the order of the edges into one port by dragging their numbers.
import type { Committer } from "./context.ts";
import type { HasEdges } from "./edges.ts";
import { track } from "./gesture.ts";
import { edgeKey, type Edge, type Point } from "./model.ts";
import type { Op } from "./ops.ts";
import type { HasView } from "./viewport.ts";

const threshold = 5; // pixels; below it a press is a click

/** OrderContext is what dragging numbers needs of the canvas. */
export interface OrderContext extends Committer, HasEdges, HasView {
  readonly announce: { say(text: string): void };
}

/** placeOps returns the operations that give an edge another place among those of its port. */
export function placeOps(edge: Edge, place: number): Op[] { return [{ op: "disconnect", edge }, { op: "connect", edge, at: place }]; }

/** moved returns a list in which one item has another place. */
export function moved<T>(list: T[], from: number, to: number): T[] {
  const rest = list.filter((_, i) => i !== from);
  return [...rest.slice(0, to), list[from]!, ...rest.slice(to)];
}

/**
 * reorder follows a pressed number. The number takes the place whose number is nearest, and all
 * show what they would be; the release makes it so and Escape doesn't. clicked is called when the
 * pointer hardly moved.
 */
export function reorder(canvas: OrderContext, press: PointerEvent, key: string, clicked: () => void): void {
  const { edges, draft, pane, view } = canvas, edge = edges.get(key);
  if (!edge) return;
  const list = draft.edgesInto(edge.to), from = list.findIndex((e) => edgeKey(e) === key), stop = new AbortController();
  const signs = list.map((e) => edges.element(edgeKey(e))!.querySelector<SVGGElement>(".canvas-edge-order")!), places = signs.map(position);
  let to = from, dragged = false, canceled = false;
  const show = (order: number[], at?: Point) => signs.forEach((s, i) => {
    s.lastElementChild!.textContent = String(order.indexOf(i) + 1);
    const p = i === from && at ? at : places[i]!;
    s.setAttribute("transform", `translate(${p.x},${p.y})`);
  });
  const all = list.map((_, i) => i);
  addEventListener("keydown", (e) => {
    if (e.key !== "Escape") return;
    e.preventDefault();
    e.stopPropagation();
    canceled = true;
    show(all);
  }, { signal: stop.signal, capture: true });
  track(pane, press, (e) => {
    dragged ||= Math.hypot(e.clientX - press.clientX, e.clientY - press.clientY) > threshold;
    if (!dragged || canceled) return;
    const at = view.toFlow({ x: e.clientX, y: e.clientY });
    to = nearest(places, at);
    pane.toggleAttribute("data-ordering", true);
    show(moved(all, from, to), at);
  }, () => {
    stop.abort();
    pane.removeAttribute("data-ordering");
    show(all);
    if (canceled) return;
    if (!dragged) return clicked();
    if (to === from) return;
    canvas.commit("Change order", placeOps(edge, to));
    canvas.announce.say(`${edges.name(edge)} is now ${to + 1} of ${list.length}`);
  });
}

/** position returns where a number is, in flow units. */
function position(sign: SVGGElement): Point {
  const m = sign.transform.baseVal.consolidate()!.matrix;
  return { x: m.e, y: m.f };
}

/** nearest returns the index of the point that is nearest to another. */
function nearest(points: Point[], p: Point): number {
  const far = points.map((q) => Math.hypot(q.x - p.x, q.y - p.y));
  return far.indexOf(Math.min(...far));
}
