// Interprets presses, clicks and touches, and dispatches them to the other parts.
import type { Connect } from "./connect.ts";
import type { Drag } from "./drag.ts";
import type { Edges } from "./edges.ts";
import type { Groups } from "./groups.ts";
import type { Attach, Point } from "./model.ts";
import type { Notes } from "./notes.ts";
import type { OrderContext } from "./order.ts";
import type { Selection } from "./select.ts";
import type { Taps } from "./taps.ts";
import { handleClass } from "./xyflow.ts";

const longPress = 500; // milliseconds
const slack = 8; // pixels a resting finger may move

/** PointerContext is what presses and clicks need of the canvas. */
export interface PointerContext extends OrderContext {
  /** selecting reports whether a drag on empty space selects, for touch screens. */
  readonly selecting: boolean;
  readonly edges: Edges;
  readonly groups: Groups;
  readonly selection: Selection;
  readonly notes: Notes;
  readonly drag: Drag;
  readonly connect: Connect;
  readonly taps: Taps;
  readonly drawing: typeof import("./drawing.ts") | undefined;
  readonly readonly: boolean;
  readonly keys: { focus(node: string): void };
  palette(client: Point, attach?: Attach): void;
  open(node: string): boolean;
  menu(client: Point): boolean;
}

/**
 * Pointer decides what a press, click or touch means. It listens on the pane
 * only, so nodes need no listeners of their own and the server may replace them
 * at any time.
 *
 * The order of the listeners matters: ready runs in the capture phase and makes a
 * node draggable before the drag library's own listener sees the same event.
 */
export class Pointer {
  /** last is the last position of the pointer in the window, or undefined when it has left. */
  last: Point | undefined;
  private timer = 0;
  private ignoreClick = false; // ignore the click that follows a marquee or a long press

  constructor(private canvas: PointerContext) {}

  start(signal: AbortSignal): void {
    const { pane } = this.canvas, o = { signal };
    for (const name of ["mousedown", "touchstart"] as const) {
      pane.addEventListener(name, (e) => this.ready(e), { signal, capture: true, passive: true });
      pane.addEventListener(name, (e) => this.press(e), { signal, passive: true });
    }
    pane.addEventListener("pointerdown", (e) => this.down(e), { signal, capture: true });
    pane.addEventListener("pointermove", (e) => this.move(e), o);
    pane.addEventListener("pointerleave", () => { this.last = undefined; this.canvas.edges.point(undefined); }, o);
    for (const name of ["pointerup", "pointercancel"] as const) addEventListener(name, () => this.up(), { signal, capture: true });
    pane.addEventListener("pointerover", (e) => this.hover(e), o);
    pane.addEventListener("click", (e) => this.click(e), o);
    pane.addEventListener("dblclick", (e) => this.double(e), o);
    pane.addEventListener("contextmenu", (e) => this.context(e), o);
  }

  private up(): void { // anywhere in the window: the pointer may be released outside
    clearTimeout(this.timer);
    if (!this.canvas.drag.active) this.canvas.view.release();
  }

  /** ready prepares the pressed node for dragging. */
  private ready(e: MouseEvent | TouchEvent): void {
    const id = nodeAt(e.target), p = "touches" in e ? e.touches[0]! : e;
    if (this.canvas.notes.at(e.target, { x: p.clientX, y: p.clientY })) return e.stopPropagation(); // the corner resizes, it does not drag
    if (id) this.canvas.drag.ready(id);
  }

  /** press starts to drag an edge from a port, or one end of an existing edge. XYHandle needs mouse and touch events. */
  private press(e: MouseEvent | TouchEvent): void {
    if (("button" in e && e.button) || ("touches" in e && e.touches.length > 1)) return;
    const el = e.target as Element, port = el.closest<HTMLElement>(`.${handleClass}`), grip = el.closest<SVGElement>(".canvas-edge-grip");
    if (port) return this.canvas.connect.press(e, port);
    const edge = grip && this.canvas.edges.get(this.canvas.edges.toolsOf ?? "");
    if (grip && edge) this.canvas.connect.pressEnd(e, edge, grip.dataset.end as "from" | "to", grip);
  }

  /** down starts the gestures that use pointer events: groups, notes, the marquee and the long press. */
  private down(e: PointerEvent): void {
    this.ignoreClick = false;
    clearTimeout(this.timer);
    const el = e.target as Element, group = el.closest<HTMLElement>(".canvas-group-name")?.parentElement?.dataset.group;
    if (group) return this.canvas.groups.press(e, group);
    const note = e.button === 0 && this.canvas.notes.at(el, { x: e.clientX, y: e.clientY });
    if (note) return this.canvas.notes.press(e, note);
    const order = el.closest(".canvas-edge-order")?.closest("[data-edge]")?.getAttribute("data-edge");
    if (order && e.button === 0 && this.canvas.drawing && !this.canvas.readonly) {
      this.ignoreClick = true;
      return this.canvas.drawing.reorder(this.canvas, e, order, () => this.canvas.selection.set([], [order]));
    }
    if (e.pointerType === "touch") this.hold(e);
    const empty = !el.closest(`article, .${handleClass}, .canvas-edge-tools, button`);
    if (empty && e.button === 0 && e.isPrimary && (e.shiftKey || this.canvas.selecting)) { this.ignoreClick = true; this.canvas.selection.marquee(e); }
  }

  /** hold waits for a long press, which opens the context menu on touch screens. */
  private hold(e: PointerEvent): void {
    const from = { x: e.clientX, y: e.clientY };
    this.last = from;
    this.timer = window.setTimeout(() => {
      if (!this.last || Math.hypot(this.last.x - from.x, this.last.y - from.y) > slack || this.canvas.drag.active || this.canvas.connect.active) return;
      this.ignoreClick = true;
      this.menuAt(e.target as Element, from);
    }, longPress);
  }

  private move(e: PointerEvent): void {
    this.last = { x: e.clientX, y: e.clientY };
    if (!e.buttons) this.canvas.view.pointerMoved();
  }

  /** hover shows the tools of the edge under the pointer, unless a selected edge shows its own. */
  private hover(e: PointerEvent): void {
    const el = e.target as Element, key = el.closest("[data-edge]")?.getAttribute("data-edge") ?? (el.closest(".canvas-edge-tools") ? this.canvas.edges.toolsOf : undefined);
    if (!e.buttons) this.canvas.edges.point(key, { x: e.clientX, y: e.clientY });
    if (e.buttons || this.canvas.selection.edges.size === 1) return;
    if (key) this.canvas.edges.showTools(key);
    else if (!el.closest(".canvas-edge-tools")) this.canvas.edges.showTools(undefined);
  }

  /** click selects, and runs the small buttons on edges and groups. */
  private click(e: MouseEvent): void {
    if (this.ignoreClick) { this.ignoreClick = false; return; }
    const el = e.target as Element, add = e.shiftKey || e.ctrlKey || e.metaKey, { canvas } = this;
    const port = el.closest<HTMLElement>(`.${handleClass}`), node = nodeAt(el), edge = el.closest("[data-edge]")?.getAttribute("data-edge");
    const fold = el.closest<HTMLElement>(".canvas-group-fold")?.parentElement?.dataset.group;
    if (port) return canvas.taps.tap(port);
    if (fold) return canvas.groups.fold(fold);
    if (el.closest(".canvas-edge-plus")) return canvas.palette({ x: e.clientX, y: e.clientY }, { edge: canvas.edges.get(canvas.edges.toolsOf ?? "") });
    const toggle = add || canvas.selecting; // a finger has no Shift
    if (node) return this.clickNode(node, el, toggle);
    if (edge) {
      canvas.edges.point(edge, { x: e.clientX, y: e.clientY }); // a finger does not hover
      return toggle ? canvas.selection.toggleEdge(edge) : canvas.selection.set([], [edge]);
    }
    canvas.edges.point(undefined);
    if (el.closest(".canvas-edge-tools, .canvas-group-name")) return;
    canvas.taps.cancel();
    if (!add) canvas.selection.clear();
  }

  /** clickNode selects a node; after a tap on a port of another node it connects the two. */
  private clickNode(node: string, el: Element, add: boolean): void {
    const { connect, taps, selection, keys } = this.canvas, first = taps.pending;
    if (first && first.node !== node) {
      taps.cancel();
      return connect.joinNode(first, node);
    }
    if (add) selection.toggle(node);
    else selection.set([node]);
    if (!el.closest("button, a, input, textarea, select, summary, [contenteditable]")) keys.focus(node);
  }

  /** double opens a node, or the palette on empty space. */
  private double(e: MouseEvent): void {
    const el = e.target as Element, node = nodeAt(el);
    if (el.closest(`.${handleClass}, .canvas-edge-tools, .canvas-group`)) return;
    if (node) this.canvas.open(node);
    else if (!el.closest("[data-edge]")) this.canvas.palette({ x: e.clientX, y: e.clientY });
  }

  private context(e: MouseEvent): void {
    if (this.menuAt(e.target as Element, { x: e.clientX, y: e.clientY })) e.preventDefault();
  }

  /** menuAt selects what is at the pointer, or nothing, and asks the page for its menu. It reports whether the page shows one. */
  private menuAt(el: Element, client: Point): boolean {
    const node = nodeAt(el), edge = el.closest("[data-edge]")?.getAttribute("data-edge") ?? undefined, { selection } = this.canvas;
    if (node && !selection.nodes.has(node)) selection.set([node]);
    if (edge && !selection.edges.has(edge)) selection.set([], [edge]);
    if (!node && !edge) selection.clear();
    return this.canvas.menu(client);
  }

  end(): void { clearTimeout(this.timer); }
}

function nodeAt(target: EventTarget | null): string | undefined {
  return (target as Element | null)?.closest<HTMLElement>("article[data-id]")?.dataset.id;
}
