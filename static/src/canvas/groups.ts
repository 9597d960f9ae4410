// Frames around groups of nodes. Whether a group is collapsed is not part of the
// document; the browser remembers it.
import type { Announcer, Committer, Repaintable } from "./context.ts";
import type { HasEdges } from "./edges.ts";
import { enclosing, snapPoint, type Box } from "./geometry.ts";
import { track } from "./gesture.ts";
import type { Group, Point } from "./model.ts";
import type { Op } from "./ops.ts";
import type { Selection } from "./select.ts";
import { loadJSON, store } from "./storage.ts";
import { count } from "./text.ts";
import type { HasView } from "./viewport.ts";

const margin = 20, head = 32; // flow units around the nodes, and above them for the name
const foldedSize = { width: 200, height: 48 };

/** GroupsContext is what groups need of the canvas. */
export interface GroupsContext extends Committer, HasEdges, HasView {
  readonly selection: Selection;
  readonly announce: Announcer;
  readonly minimap: Repaintable | undefined;
  readonly swaps: { remeasure(nodes: string[]): void };
}

/**
 * Groups draws a frame around the nodes of each group. A group has no geometry of
 * its own: the frame always encloses its nodes, so it cannot contradict the
 * document, and moving a group is moving its nodes.
 */
export class Groups {
  private frames = new Map<string, HTMLElement>();
  private closed: Set<string>;

  constructor(private canvas: GroupsContext, private layer: HTMLElement, private key: string) {
    this.closed = new Set(loadJSON<string[]>("localStorage", key));
  }

  /** folded returns the collapsed group that hides a node. */
  folded(node: string): string | undefined {
    if (!this.closed.size) return undefined;
    const g = this.canvas.draft.groupOf(node);
    return g && this.closed.has(g.id) ? g.id : undefined;
  }

  /** box returns the frame of a group, or undefined when none of its nodes is on the screen. */
  box(id: string): Box | undefined {
    const g = this.canvas.draft.groups.get(id), all = g && this.around(g);
    return all && (this.closed.has(id) ? { x: all.x, y: all.y, ...foldedSize } : all);
  }

  private around(g: Group): Box | undefined {
    const boxes = g.nodes.map((n) => this.canvas.scene.box(n)).filter((b) => b !== undefined);
    const b = enclosing(boxes);
    return b && { x: b.x - margin, y: b.y - margin - head, width: b.width + 2 * margin, height: b.height + 2 * margin + head };
  }

  /** sync adds and removes frames to match the draft, and hides nodes of collapsed groups. */
  sync(): void {
    const { groups } = this.canvas.draft;
    for (const [id, el] of this.frames) if (!groups.has(id)) { el.remove(); this.frames.delete(id); }
    for (const g of groups.values()) this.paint(g, this.frames.get(g.id) ?? this.make(g.id));
    this.hide();
    this.draw();
  }

  private make(id: string): HTMLElement {
    const el = document.createElement("section");
    el.className = "canvas-group";
    el.dataset.group = id;
    const fold = Object.assign(document.createElement("button"), { type: "button", className: "canvas-group-fold nodrag nopan", tabIndex: -1 });
    const name = Object.assign(document.createElement("header"), { className: "canvas-group-name nopan" });
    el.append(name, fold);
    this.layer.append(el);
    this.frames.set(id, el);
    return el;
  }

  /** paint writes the name, color and accessible labels of a group. */
  private paint(g: Group, el: HTMLElement): void {
    const shut = this.closed.has(g.id), [name, fold] = el.children as unknown as HTMLElement[];
    const label = g.label || "Group";
    name!.textContent = shut ? `${label} · ${count(g.nodes.length, "node")}` : label;
    fold!.setAttribute("aria-expanded", String(!shut));
    fold!.setAttribute("aria-label", `${shut ? "Expand" : "Collapse"} ${label}`);
    el.setAttribute("role", "group");
    el.setAttribute("aria-label", `${label}, ${count(g.nodes.length, "node")}`);
    el.toggleAttribute("data-folded", shut);
    if (g.color) el.dataset.color = g.color;
    else delete el.dataset.color;
  }

  /** hide hides the nodes of collapsed groups and shows the others. */
  private hide(): void {
    for (const [id, el] of this.canvas.scene.elements) {
      const hidden = this.folded(id) !== undefined;
      if (el.hidden === hidden) continue;
      el.hidden = hidden;
      this.canvas.scene.refold();
      this.canvas.edges.drawOf(id);
    }
  }

  /** draw fits the frames around their nodes, which may have moved. */
  draw(): void {
    for (const [id, el] of this.frames) {
      const b = this.box(id);
      el.hidden = !b;
      if (b) Object.assign(el.style, { transform: `translate(${b.x}px,${b.y}px)`, width: `${b.width}px`, height: `${b.height}px` });
    }
  }

  /** fold collapses a group, or expands it. */
  fold(id: string): void {
    if (!this.closed.delete(id)) this.closed.add(id);
    store("localStorage", this.key, JSON.stringify([...this.closed]));
    this.sync();
    for (const n of this.canvas.draft.groups.get(id)?.nodes ?? []) this.canvas.edges.drawOf(n);
    this.canvas.swaps.remeasure(this.canvas.draft.groups.get(id)?.nodes ?? []);
    this.canvas.minimap?.paint();
    this.canvas.announce.say(this.closed.has(id) ? "Group collapsed" : "Group expanded");
  }

  /** group makes a group of the selected nodes, removing them from other groups. */
  group(): void {
    const nodes = [...this.canvas.selection.nodes];
    if (!nodes.length || this.canvas.readonly) return;
    let n = 1;
    while (this.canvas.draft.groups.has(`group_${n}`)) n++;
    this.canvas.commit("Group", [...this.leaveOps(nodes), { op: "group", id: `group_${n}`, group: { label: `Group ${n}`, nodes } }]);
    this.canvas.announce.say(`Grouped ${count(nodes.length, "node")}`);
  }

  /** ungroup removes the groups of the selected nodes, but not the nodes. */
  ungroup(): void {
    const ids = new Set([...this.canvas.selection.nodes].map((n) => this.canvas.draft.groupOf(n)?.id).filter((id) => id !== undefined));
    if (!ids.size || this.canvas.readonly) return;
    this.canvas.commit("Ungroup", [...ids].map((id) => ({ op: "group", id })));
    this.canvas.announce.say(`Removed ${count(ids.size, "group")}`);
  }

  /** leaveOps returns the operations that remove nodes from their groups, and groups that become empty. */
  private leaveOps(nodes: string[]): Op[] {
    const ops: Op[] = [];
    for (const { id, ...g } of this.canvas.draft.groups.values()) {
      const left = g.nodes.filter((n) => !nodes.includes(n));
      if (left.length !== g.nodes.length) ops.push(left.length ? { op: "group", id, group: { ...g, nodes: left } } : { op: "group", id });
    }
    return ops;
  }

  /** press drags a group by its name. */
  press(e: PointerEvent, id: string): void {
    const { draft, scene, view, pane, edges, selection } = this.canvas, g = draft.groups.get(id);
    if (!g || this.canvas.readonly || e.button) return;
    const start = view.toFlow({ x: e.clientX, y: e.clientY });
    const from = new Map<string, Point>(g.nodes.filter((n) => scene.boxes.has(n)).map((n) => [n, { ...draft.position(n) }]));
    let to: Record<string, Point> = {};
    track(pane, e, (m) => {
      const now = view.toFlow({ x: m.clientX, y: m.clientY }), by = snapPoint({ x: now.x - start.x, y: now.y - start.y });
      to = {};
      for (const [n, p] of from) to[n] = { x: p.x + by.x, y: p.y + by.y };
      edges.moveNodes(Object.entries(to));
      this.draw();
    }, () => {
      if (!Object.keys(to).length) return selection.set(g.nodes);
      this.canvas.commit("Move group", [{ op: "move", nodes: to }]);
    });
  }
}
