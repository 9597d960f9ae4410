// Dragging nodes: one, or all that are selected, on the grid. Shift locks the
// axis; Alt pressed during the drag ignores the grid, and at its start copies.
// A node without edges can be dropped on an edge. Escape cancels.
import type { Announce } from "./announce.ts";
import type { Committer, Repaintable } from "./context.ts";
import type { HasEdges } from "./edges.ts";
import { grid } from "./geometry.ts";
import type { Guides } from "./guides.ts";
import type { Insert } from "./insert.ts";
import type { Edge, Point } from "./model.ts";
import type { Op } from "./ops.ts";
import type { Selection } from "./select.ts";
import type { HasView } from "./viewport.ts";
import { infiniteExtent, XYDrag } from "./xyflow.ts";

const threshold = 2; // pixels; below it a press is a click

type Items = Map<string, { position: Point }>;

/** DragContext is what dragging nodes needs of the canvas. */
export interface DragContext extends Committer, HasEdges, HasView {
  readonly layer: HTMLElement;
  readonly selection: Selection;
  readonly inserts: Insert;
  readonly drawing: typeof import("./drawing.ts") | undefined;
  readonly announce: Announce;
  readonly minimap: Repaintable | undefined;
  readonly groups: { draw(): void };
  readonly keys: { readonly alt: boolean; readonly shift: boolean };
  readonly pointer: { readonly last: Point | undefined };
  readonly clipboard: { duplicate(nodes: string[], to: (node: string) => Point): void };
  /** moved is called when anything may have moved on the screen. */
  moved(): void;
}

/**
 * Drag moves nodes with XYDrag, one instance per node. The library reports the
 * positions of all dragged nodes; until the drop they are shown, but not in the
 * draft, so cancel only has to show the old positions again.
 */
export class Drag {
  private drags = new Map<string, ReturnType<typeof XYDrag>>();
  private from = new Map<string, Point>();
  private copying = false;
  private cancelled = false;
  private target: Edge | undefined; // the edge that the node would be inserted into
  private guides: Guides | undefined; // from the first drag on

  constructor(private canvas: DragContext, private layer: SVGElement) {}

  /** ready makes a node draggable at its first press; doing so for 500 nodes at once would delay the start. */
  ready(id: string): void {
    const el = this.canvas.scene.elements.get(id);
    if (!el || this.drags.has(id) || this.canvas.readonly) return;
    const drag = XYDrag({
      getStoreItems: () => this.store() as never,
      onNodeMouseDown: (node) => { if (!this.canvas.selection.nodes.has(node)) this.canvas.selection.set([node]); },
      onDragStart: (e, items) => this.begin(e, items),
      onDragStop: () => this.end(),
    });
    drag.update({ domNode: el, nodeId: id, noDragClassName: "nodrag", isSelectable: true, nodeClickDistance: threshold });
    this.drags.set(id, drag);
  }

  /** forget removes the listeners of a node whose element is replaced or removed. */
  forget(id: string): void {
    this.drags.get(id)?.destroy();
    this.drags.delete(id);
  }

  /** store returns what the library reads at each event. It must be live: a stale transform or lookup makes nodes jump. */
  private store() {
    const { scene, view, pane, keys } = this.canvas;
    return {
      nodes: [], edges: [], nodeLookup: scene.boxes, nodeExtent: infiniteExtent, snapGrid: [grid, grid], snapToGrid: this.copying || !keys.alt, nodeOrigin: [0, 0],
      multiSelectionActive: false, domNode: pane, transform: view.transform, autoPanOnNodeDrag: true, nodesDraggable: true, selectNodesOnDrag: true,
      nodeDragThreshold: threshold, panBy: view.pan, unselectNodesAndEdges: () => {},
      updateNodePositions: (items: Items, dragging?: boolean) => { if (dragging) this.move(items); },
    };
  }

  /** begin starts a drag. Alt is read here, because pressed later it means something else: to ignore the grid. */
  private begin(e: MouseEvent | TouchEvent, items: Items): void {
    this.canvas.edges.settle();
    this.from = new Map([...items.keys()].map((id) => [id, { ...this.canvas.draft.position(id) }]));
    this.copying = e.altKey;
    this.cancelled = false;
    this.canvas.pane.toggleAttribute("data-copying", this.copying);
    this.raise([...items.keys()]);
    const { scene, drawing } = this.canvas;
    this.guides ??= drawing && new drawing.Guides(this.layer);
    this.guides?.begin([...scene.boxes.keys()].filter((id) => !items.has(id) && !scene.hidden(id)).map((id) => scene.box(id)!));
  }

  /** raise brings the dragged nodes to the front and disables hit testing of the others. */
  private raise(ids: string[]): void {
    this.canvas.pane.setAttribute("data-held", "");
    for (const id of ids) this.canvas.scene.elements.get(id)?.setAttribute("data-dragged", "");
  }

  /** lower undoes raise. */
  private lower(): void {
    this.canvas.pane.removeAttribute("data-held");
    for (const el of this.canvas.layer.querySelectorAll("[data-dragged]")) el.removeAttribute("data-dragged");
  }

  /** active reports whether nodes are being dragged. */
  get active(): boolean { return this.from.size > 0; }

  private move(items: Items): void {
    if (this.cancelled) return;
    const shift = this.shift(items), { edges, groups } = this.canvas;
    edges.moveNodes([...items].map(([id, item]) => [id, this.locked(id, { x: item.position.x + shift.dx, y: item.position.y + shift.dy })] as const));
    groups.draw();
    this.aim(items);
    this.canvas.moved();
  }

  /** shift returns how far guides pull the nodes; they are off while the grid is ignored. */
  private shift(items: Items): { dx: number; dy: number } {
    if (this.canvas.keys.alt && !this.copying) { this.guides?.end(); return { dx: 0, dy: 0 }; }
    for (const [id, item] of items) this.canvas.scene.place(id, item.position);
    return this.guides?.catch(this.canvas.scene.bounds(items.keys()), this.canvas.view.transform[2]) ?? { dx: 0, dy: 0 };
  }

  /** locked keeps to the axis in which the node moved further, while Shift is down. */
  private locked(id: string, p: Point): Point {
    const from = this.from.get(id);
    if (!this.canvas.keys.shift || !from) return p;
    return Math.abs(p.x - from.x) >= Math.abs(p.y - from.y) ? { x: p.x, y: from.y } : { x: from.x, y: p.y };
  }

  /** aim highlights the edge that a single unconnected node would be inserted into. */
  private aim(items: Items): void {
    const [id] = items.keys();
    const alone = items.size === 1 && !this.copying && !this.canvas.draft.edgesOf(id!).length;
    const pointer = this.canvas.pointer.last, edge = alone && pointer ? this.canvas.edges.under(pointer) : undefined;
    this.target = edge && this.canvas.inserts.ops(id!, edge) ? edge : undefined;
    this.canvas.edges.aim(this.target);
  }

  /** cancel moves everything back; the button may still be down. */
  cancel(): void {
    this.cancelled = true;
    this.moveBack(this.from);
    this.guides?.end();
    this.canvas.groups.draw();
  }

  /** end commits the new positions as one step of the history, for all dragged nodes. */
  private end(): void {
    const { from, target, copying } = this;
    this.lower();
    this.guides?.end();
    this.aim(new Map());
    this.from = new Map();
    this.copying = false;
    this.canvas.pane.removeAttribute("data-copying");
    this.canvas.minimap?.paint();
    if (this.cancelled) return;
    const to: Record<string, Point> = {};
    for (const [id, p] of from) {
      const now = this.canvas.scene.boxes.get(id)?.position;
      if (now && (now.x !== p.x || now.y !== p.y)) to[id] = { ...now };
    }
    if (!Object.keys(to).length) return;
    if (copying) return this.copy(from, to);
    const [id] = from.keys(), insert = target && this.canvas.inserts.ops(id!, target);
    if (insert) return this.insert(id!, to, target!, insert);
    this.canvas.commit("Move", [{ op: "move", nodes: to }]);
    this.canvas.announce.moved(Object.keys(to));
  }

  /** insert inserts the dropped node into an edge. */
  private insert(id: string, dropped: Record<string, Point>, edge: Edge, ops: Op[]): void {
    const { inserts, draft } = this.canvas, nodes = { ...dropped, ...inserts.room(id, edge) };
    const from = new Map(Object.keys(nodes).map((n): [string, Point] => [n, { ...(dropped[n] ?? draft.position(n)) }]));
    this.canvas.commit("Insert into edge", [{ op: "move", nodes }, ...ops]);
    inserts.show(id, from);
  }

  private moveBack(from: Map<string, Point>): void { this.canvas.edges.moveNodes(from); }

  /** copy leaves the dragged nodes where they were and adds copies where they were dropped. */
  private copy(from: Map<string, Point>, to: Record<string, Point>): void {
    this.moveBack(from);
    this.canvas.clipboard.duplicate([...from.keys()], (id) => to[id] ?? from.get(id)!);
  }

  /** endAll removes all listeners. */
  endAll(): void { for (const id of [...this.drags.keys()]) this.forget(id); }
}
