// The question at a port that has a value: replace it, or add the new one as a fallback.
import type { HasEdges } from "./edges.ts";
import { at, type Attach, type Edge, type Point, type Port } from "./model.ts";
import type { Op } from "./ops.ts";
import { curve } from "./route.ts";
import { connectOps } from "./rules.ts";

type Choice = { label: string; keys?: string; run(): void };

/** OfferContext is what the question needs of the canvas. */
export interface OfferContext extends HasEdges {
  readonly pane: HTMLElement;
  readonly fallback: { kind: string; into: string; out: string } | undefined;
  insert(node: { kind: string; config: Record<string, unknown>; position: Point }, attach: Attach): string;
}

/** Offered is an edge to a port that has one: el is the element of the port, taken its edge, and moving the edge that would be moved. */
export type Offered = { from: Port; to: Port; el: HTMLElement; taken: Edge; moving?: Edge };

/** offer asks whether an edge replaces those of a port, or is used when they have no value. At a port for one edge, the fallback is a node that joins both. The edge is drawn meanwhile. */
export function offer(canvas: OfferContext, { from, to, el, taken, moving }: Offered, connect: (ops: Op[]) => void, line: SVGElement, layer: SVGElement): void {
  const { draft, scene, fallback } = canvas, free: Op[] = moving ? [{ op: "disconnect", edge: moving }] : [], p = draft.position(to.node);
  const choices: Choice[] = [{ label: "Replace", keys: "↵", run: () => connect(connectOps(draft, from, to, moving, true)) }];
  if (to.first) choices.push({ label: "Add as fallback", run: () => connect([...free, { op: "connect", edge: { from: at(from), to: at(to) } }]) });
  else if (fallback) choices.push({ label: "Add as fallback", run: () => void canvas.insert({ kind: fallback.kind, config: {}, position: { x: p.x - 240, y: p.y } }, { edge: taken, via: fallback, also: { from: at(from), instead: moving } }) });
  const s = scene.box(from.node), t = scene.box(to.node);
  if (!s || !t || !el.isConnected) return;
  line.setAttribute("d", curve({ x: s.x + s.width, y: s.y + (scene.level(from) ?? 0) }, { x: t.x, y: t.y + (scene.level(to) ?? 0) }).d);
  line.setAttribute("data-valid", "true");
  layer.append(line);
  ask(canvas.pane, el, `${scene.title(to.node)} › ${to.name} has a value already`, choices, () => line.remove());
}

/** ask shows buttons below a port, with the focus on the first. Escape, a press elsewhere and a moved view choose none. */
function ask(pane: HTMLElement, port: HTMLElement, label: string, choices: Choice[], ended: () => void): void {
  const chip = Object.assign(document.createElement("div"), { className: "canvas-choice nokey" }), back = document.activeElement, stop = new AbortController(), { signal } = stop;
  chip.setAttribute("role", "group");
  chip.setAttribute("aria-label", label);
  const end = (): void => {
    if (signal.aborted) return;
    stop.abort();
    const inside = chip.contains(document.activeElement);
    chip.remove();
    ended();
    if (inside && back instanceof HTMLElement && back.isConnected) back.focus({ preventScroll: true });
  };
  for (const c of choices) {
    const b = Object.assign(document.createElement("button"), { type: "button", textContent: c.label });
    if (c.keys) b.append(Object.assign(document.createElement("kbd"), { textContent: c.keys }));
    b.addEventListener("click", (e) => { e.stopPropagation(); end(); c.run(); });
    chip.append(b);
  }
  for (const type of ["pointerdown", "mousedown", "touchstart", "dblclick"]) chip.addEventListener(type, (e) => e.stopPropagation());
  chip.addEventListener("keydown", (e) => {
    const all = [...chip.querySelectorAll("button")], at = all.indexOf(document.activeElement as HTMLButtonElement);
    const by = { ArrowRight: 1, ArrowLeft: -1, Tab: e.shiftKey ? -1 : 1 }[e.key];
    e.stopPropagation();
    if (e.key === "Escape") end();
    else if (by) all[(at + by + all.length) % all.length]!.focus();
    else return;
    e.preventDefault();
  });
  pane.append(chip);
  const r = port.getBoundingClientRect(), p = pane.getBoundingClientRect(), gap = 8; // pixels
  const x = Math.max(gap, Math.min(r.left - p.left - gap, p.width - chip.offsetWidth - gap)), below = r.bottom - p.top + gap;
  const y = below + chip.offsetHeight + gap <= p.height ? below : r.top - p.top - chip.offsetHeight - gap;
  chip.style.transform = `translate(${Math.round(x)}px,${Math.round(y)}px)`;
  chip.querySelector("button")!.focus({ preventScroll: true });
  addEventListener("pointerdown", (e) => { if (!chip.contains(e.target as Node)) end(); }, { signal, capture: true });
  pane.addEventListener("wheel", end, { signal, capture: true });
}
