// The canvas by keyboard. It is one tab stop: one node has the focus, arrows move
// it to neighbors, Alt and arrows along edges, Enter into the node to its ports,
// and Escape back. Single letters work only while the canvas has the focus.
import type { Announce } from "./announce.ts";
import type { Connect } from "./connect.ts";
import type { Committer, Repaintable } from "./context.ts";
import type { HasEdges } from "./edges.ts";
import { grid, neighbor, type Box } from "./geometry.ts";
import type { Groups } from "./groups.ts";
import { at, edgeKey, nodeOf, type Point } from "./model.ts";
import type { Selection } from "./select.ts";
import { chord, shortcuts, type Commands } from "./shortcuts.ts";
import type { Taps } from "./taps.ts";
import type { Viewport } from "./viewport.ts";
import { handleClass } from "./xyflow.ts";

const arrows: Record<string, Point> = { ArrowLeft: { x: -1, y: 0 }, ArrowRight: { x: 1, y: 0 }, ArrowUp: { x: 0, y: -1 }, ArrowDown: { x: 0, y: 1 } };
const leap = 4 * grid; // of one nudge with Shift

/** KeysContext is what the keyboard needs of the canvas. */
export interface KeysContext extends Commands, Committer, Pick<HTMLElement, "addEventListener">, HasEdges {
  readonly pane: HTMLElement;
  readonly view: Viewport;
  readonly layer: HTMLElement;
  readonly groups: Groups;
  readonly selection: Selection;
  readonly connect: Connect;
  readonly taps: Taps;
  readonly announce: Announce;
  readonly minimap: Repaintable | undefined;
}

/**
 * Keys makes the canvas one tab stop with a roving tabindex (ARIA Authoring
 * Practices): exactly one node has tabindex 0, all others -1. With every node a
 * tab stop, as in React Flow, Tab would stop 500 times in a large flow.
 *
 * The state of Alt and Shift is tracked with listeners on the window, because
 * the drag library does not pass on the event of each movement.
 */
export class Keys {
  alt = false;
  shift = false;
  private tabStop: string | undefined; // the node that Tab focuses
  private sorted: string[] | undefined;
  private spaced: { node: string | undefined; view: unknown } | undefined; // while Space is down: the focused node, and the view at the press
  private nudged = new Map<string, Point>(); // nodes that arrows moved, and where they were

  constructor(private canvas: KeysContext) {}

  start(signal: AbortSignal): void {
    const o = { signal };
    this.canvas.addEventListener("keydown", (e) => this.down(e), o);
    addEventListener("keydown", (e) => this.modifiers(e), { signal, capture: true });
    addEventListener("keyup", (e) => { this.modifiers(e); this.up(e); }, { signal, capture: true });
    addEventListener("pointerdown", (e) => this.modifiers(e), { signal, capture: true });
    addEventListener("pointermove", (e) => this.modifiers(e), { signal, capture: true });
    this.canvas.addEventListener("focusout", () => this.settle(), o);
    this.canvas.addEventListener("focusin", (e) => this.focused(e), o);
    this.ensureTabStop();
  }

  private modifiers(e: { altKey: boolean; shiftKey: boolean }): void {
    this.alt = e.altKey;
    this.shift = e.shiftKey;
  }

  /** up ends what a held key did: arrows are one step of the history from the first press to the release. */
  private up(e: KeyboardEvent): void {
    if (e.key in arrows) this.settle();
    if (e.key === " ") this.endSpace();
  }

  /** space lets the mouse pan over nodes while the key is down. Whether it selects the focused node is only known at its release. */
  space(): void {
    this.spaced ??= { node: this.node, view: this.canvas.view.transform };
    this.canvas.view.holdSpace(true);
  }

  /** endSpace selects the node that had the focus, unless the view was panned. */
  private endSpace(): void {
    const { node, view } = this.spaced ?? {};
    this.spaced = undefined;
    this.canvas.view.holdSpace(false);
    if (node && view === this.canvas.view.transform) this.canvas.selection.toggle(node);
  }

  private focused(e: FocusEvent): void {
    const el = (e.target as Element).closest<HTMLElement>("article[data-id]");
    if (!el) return;
    this.pointAt(e.target as HTMLElement);
    this.setTabStop(el.dataset.id!);
    if ((e.target as Element).matches(":focus-visible")) this.canvas.view.reveal(el.dataset.id!);
  }

  /** pointAt points at the edge of a focused port, as hovering it would. */
  private pointAt(el: HTMLElement): void {
    const { connect, draft, edges } = this.canvas, p = el.classList.contains(handleClass) && el.matches(":focus-visible") ? connect.portOf(el) : undefined;
    const [edge] = !p ? [] : p.side === "in" ? draft.edgesInto(at(p)) : draft.edgesFrom(at(p));
    const r = el.getBoundingClientRect();
    edges.point(edge && edgeKey(edge), { x: r.x + r.width / 2, y: r.bottom }, true);
  }

  /** order returns the visible nodes, starting from the inputs. */
  order(): string[] { return (this.sorted ??= this.canvas.draft.order()).filter((id) => this.canvas.scene.elements.has(id) && !this.canvas.scene.hidden(id)); }
  /** resetOrder makes order sort again, after nodes or edges changed. */
  resetOrder(): void { this.sorted = undefined; }

  /** ensureTabStop makes sure that exactly one node is a tab stop. */
  ensureTabStop(): void {
    if (!this.tabStop || !this.canvas.scene.elements.has(this.tabStop) || this.canvas.scene.hidden(this.tabStop)) this.setTabStop(this.order()[0]);
    else this.canvas.scene.elements.get(this.tabStop)!.tabIndex = 0;
  }

  private setTabStop(id: string | undefined): void {
    const old = this.tabStop && this.canvas.scene.elements.get(this.tabStop);
    if (old) old.tabIndex = -1;
    this.tabStop = id;
    const el = id && this.canvas.scene.elements.get(id);
    if (el) el.tabIndex = 0;
  }

  /** focus moves the focus to a node, or to the canvas itself, and brings the node into view. */
  focus(id: string | undefined): void {
    const el = id && this.canvas.scene.elements.get(id);
    if (!el) return this.canvas.pane.focus({ preventScroll: true });
    this.setTabStop(id);
    el.focus({ preventScroll: true });
    this.canvas.view.reveal(id);
  }

  /** node returns the focused node, unless something inside it has the focus. */
  get node(): string | undefined { return (document.activeElement as HTMLElement | null)?.matches("article[data-id]") ? (document.activeElement as HTMLElement).dataset.id : undefined; }

  /** inside returns the focused control inside of a node. */
  private inside(): HTMLElement | undefined {
    const el = document.activeElement as HTMLElement | null;
    return el && this.canvas.layer.contains(el) && !el.matches("article[data-id]") ? el : undefined;
  }

  private down(e: KeyboardEvent): void {
    if (e.defaultPrevented || typing(e.target as HTMLElement)) return this.leaveField(e);
    const inner = this.inside();
    if (inner && this.within(e, inner)) return e.preventDefault();
    if (e.key in arrows && !e.ctrlKey && !e.metaKey) { if (this.arrow(e)) e.preventDefault(); return; }
    if (inner && (e.key === "Enter" || e.key === " ")) return; // the button handles it
    const s = shortcuts.find((s) => s.chords.includes(chord(e)));
    if (!s || (s.edits && this.canvas.readonly)) return;
    if (s.run(this.canvas, e) !== false) e.preventDefault();
  }

  /** leaveField moves the focus from a text field to its node on Escape; all other keys belong to the field. */
  private leaveField(e: KeyboardEvent): void {
    if (e.key !== "Escape" || e.defaultPrevented) return;
    e.preventDefault();
    this.focus((e.target as Element).closest<HTMLElement>("article[data-id]")?.dataset.id);
  }

  /** within handles keys on a port or another control inside a node, and reports whether it did. */
  private within(e: KeyboardEvent, el: HTMLElement): boolean {
    const dir = arrows[e.key];
    if (dir && !e.altKey) return this.nextPort(el, dir.x + dir.y);
    if ((e.key === "Delete" || e.key === "Backspace") && el.classList.contains(handleClass)) { this.canvas.connect.clear(el); return true; }
    if (e.key !== "Escape" || this.canvas.taps.pending) return false;
    this.focus(el.closest<HTMLElement>("article[data-id]")?.dataset.id);
    return true;
  }

  /** nextPort moves the focus through the controls of a node, or through the ports that fit while connecting. */
  private nextPort(el: HTMLElement, by: number): boolean {
    const { taps, scene } = this.canvas;
    const list = taps.pending
      ? taps.candidates().map((p) => scene.portElement(p)!)
      : [...el.closest("article[data-id]")!.querySelectorAll<HTMLElement>(controls)];
    if (!list.length) return true;
    const i = list.indexOf(el), next = list[i < 0 ? (by > 0 ? 0 : list.length - 1) : (i + by + list.length) % list.length]!;
    next.focus({ preventScroll: true });
    if (taps.pending) taps.at(next);
    this.canvas.view.reveal(next.closest<HTMLElement>("article[data-id]")!.dataset.id!);
    return true;
  }

  /** enter moves the focus into the focused node. */
  enter(): boolean {
    const id = this.node;
    if (!id) return false;
    const el = this.canvas.scene.elements.get(id)!; // ports come first: a node with problems has their button before them
    (el.querySelector<HTMLElement>("[data-port]") ?? el.querySelector<HTMLElement>(controls))?.focus({ preventScroll: true });
    return true;
  }

  /** arrow moves the selection, or without one the focus. */
  private arrow(e: KeyboardEvent): boolean {
    const dir = arrows[e.key]!, at = this.node;
    if (e.altKey) return this.along(dir);
    if (this.canvas.selection.nodes.size && (!at || this.canvas.selection.nodes.has(at)) && !this.canvas.readonly) return this.nudge(dir, e.shiftKey ? leap : grid);
    const next = at ? this.neighbor(at, dir) : this.tabStop ?? this.order()[0];
    if (next) this.focus(next);
    return true;
  }

  /** along follows edges: left and right to sources and targets, up and down between nodes with the same source. */
  private along(dir: Point): boolean {
    const at = this.node;
    if (!at) return false;
    const { draft } = this.canvas;
    const beside = (id: string, side: "from" | "to") => draft.edgesOf(id).filter((e) => nodeOf(side === "to" ? e.from : e.to) === id).map((e) => nodeOf(e[side]));
    if (dir.x) { this.focus(beside(at, dir.x > 0 ? "to" : "from")[0] ?? at); return true; }
    const siblings = [...new Set(beside(at, "from").flatMap((p) => beside(p, "to")))];
    const i = siblings.indexOf(at);
    if (i >= 0) this.focus(siblings[(i + dir.y + siblings.length) % siblings.length]);
    return true;
  }

  private neighbor(id: string, direction: Point): string | undefined {
    const { scene } = this.canvas, others = [...scene.boxes.keys()].filter((n) => n !== id && !scene.hidden(n)).map((n): [string, Box] => [n, scene.box(n)!]);
    return neighbor(scene.box(id)!, others, direction);
  }

  /** nudge moves the selected nodes on the screen; settle commits the move once the key is released. */
  private nudge(dir: Point, by: number): boolean {
    const { scene, edges, groups } = this.canvas;
    for (const id of this.canvas.selection.nodes) {
      const p = scene.boxes.get(id)?.position;
      if (!p) continue;
      if (!this.nudged.has(id)) this.nudged.set(id, { x: p.x, y: p.y });
      edges.moveNode(id, { x: p.x + dir.x * by, y: p.y + dir.y * by });
    }
    groups.draw();
    this.canvas.minimap?.paint();
    return true;
  }

  /** settle makes moves by arrow keys one step of the history. */
  settle(): void {
    if (!this.nudged.size) return;
    const nodes: Record<string, Point> = {};
    for (const id of this.nudged.keys()) { const p = this.canvas.scene.boxes.get(id)?.position; if (p) nodes[id] = { x: p.x, y: p.y }; }
    this.nudged.clear();
    this.canvas.commit("Move", [{ op: "move", nodes }]);
    this.canvas.announce.moved(Object.keys(nodes));
  }
}

const controls = "[data-port], button, a[href], input, textarea, select, summary";

/** typing reports whether a key belongs to a text field. */
function typing(el: HTMLElement): boolean {
  return el.isContentEditable || !!el.closest(".nokey, input:not([type=checkbox], [type=range]), textarea, select");
}
