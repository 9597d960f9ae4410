// The selected nodes and edges. The selection is not part of the document.
import type { Announcer, Emitter } from "./context.ts";
import type { HasEdges } from "./edges.ts";
import type { Box } from "./geometry.ts";
import { track } from "./gesture.ts";
import { edgeKey } from "./model.ts";
import { count } from "./text.ts";
import type { HasView } from "./viewport.ts";
import { getNodesInside } from "./xyflow.ts";

/** SelectionContext is what the selection needs of the canvas. */
export interface SelectionContext extends Emitter, HasEdges, HasView {
  readonly announce: Announcer;
  selectionBox(): Box | undefined;
}

/**
 * Selection marks nodes and edges as selected. The drag library reads "selected"
 * from its own records, so mark keeps both in step; every change emits one
 * canvas:select.
 */
export class Selection {
  readonly nodes = new Set<string>();
  readonly edges = new Set<string>();
  private highlighted = new Set<string>();
  private box = document.createElement("div");

  constructor(private canvas: SelectionContext) { this.box.className = "canvas-marquee"; }

  /** set replaces the selection. */
  set(nodes: Iterable<string>, edges: Iterable<string> = []): void {
    const n = new Set(nodes), e = new Set(edges);
    const same = n.size === this.nodes.size && e.size === this.edges.size && [...n].every((id) => this.nodes.has(id)) && [...e].every((k) => this.edges.has(k));
    if (same) return;
    for (const id of [...this.nodes]) if (!n.has(id)) this.mark(id, false);
    for (const id of n) if (!this.nodes.has(id) && this.canvas.scene.boxes.has(id)) this.mark(id, true);
    for (const k of this.edges) this.canvas.edges.element(k)?.toggleAttribute("data-selected", e.has(k));
    this.edges.clear();
    for (const k of e) { this.edges.add(k); this.canvas.edges.element(k)?.setAttribute("data-selected", ""); }
    this.changed();
  }

  /** mark selects or deselects one node without emitting. */
  private mark(id: string, on: boolean): void {
    if (on) this.nodes.add(id);
    else this.nodes.delete(id);
    const box = this.canvas.scene.boxes.get(id);
    if (box) box.selected = box.internals.userNode.selected = on;
    this.canvas.scene.elements.get(id)?.toggleAttribute("data-selected", on);
  }

  /** changed updates what depends on the selection and emits it. */
  private changed(): void {
    this.highlightEdges();
    const [one] = this.edges;
    this.canvas.edges.showTools(this.edges.size === 1 ? one : undefined);
    const edges = [...this.edges].map((k) => this.canvas.edges.get(k)).filter(Boolean);
    this.canvas.emit("canvas:select", { nodes: [...this.nodes], edges, client: this.canvas.selectionBox() });
  }

  /** highlightEdges highlights the edges of selected nodes. */
  highlightEdges(): void {
    const highlighted = new Set<string>();
    for (const id of this.nodes) for (const e of this.canvas.draft.edgesOf(id)) highlighted.add(edgeKey(e));
    for (const k of this.highlighted) if (!highlighted.has(k)) this.canvas.edges.element(k)?.removeAttribute("data-lit");
    for (const k of highlighted) this.canvas.edges.element(k)?.setAttribute("data-lit", "");
    this.highlighted = highlighted;
  }

  /** toggle selects or deselects a node and keeps the rest of the selection. */
  toggle(id: string): void {
    const n = new Set(this.nodes);
    if (!n.delete(id)) n.add(id);
    this.set(n, this.edges);
  }

  toggleEdge(key: string): void {
    const e = new Set(this.edges);
    if (!e.delete(key)) e.add(key);
    this.set(this.nodes, e);
  }

  all(): void { this.set([...this.canvas.scene.boxes.keys()].filter((id) => !this.canvas.scene.hidden(id))); }
  clear(): void { this.set([]); }

  /** forget deselects a node or an edge that was removed. */
  forget(id: string): void {
    if (this.edges.delete(id)) this.changed();
    if (this.nodes.has(id)) { this.mark(id, false); this.changed(); }
  }

  /** marquee selects what a rectangle from the press on touches. With Ctrl the selected nodes stay selected. */
  marquee(press: PointerEvent): void {
    const { pane, view } = this.canvas, r = pane.getBoundingClientRect();
    const kept = new Set(press.ctrlKey || press.metaKey ? this.nodes : []);
    const x0 = press.clientX - r.left, y0 = press.clientY - r.top;
    let moved = false;
    view.configure({ selecting: true });
    track(pane, press, (e) => {
      moved = true;
      const x1 = e.clientX - r.left, y1 = e.clientY - r.top;
      const b = { x: Math.min(x0, x1), y: Math.min(y0, y1), width: Math.abs(x1 - x0), height: Math.abs(y1 - y0) };
      pane.append(this.box);
      Object.assign(this.box.style, { left: `${b.x}px`, top: `${b.y}px`, width: `${b.width}px`, height: `${b.height}px` });
      const inside = getNodesInside(this.canvas.scene.boxes, b, view.transform, true).map((n) => n.id).filter((id) => !this.canvas.scene.hidden(id));
      this.set([...kept, ...inside]);
    }, () => {
      this.box.remove();
      view.configure();
      if (!moved && !press.shiftKey) this.set(kept); // a tap
      this.canvas.announce.say(`${count(this.nodes.size, "node")} selected`);
    });
  }
}
