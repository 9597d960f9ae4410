// What keys, menus and the page do with what is selected.
import { align, type Alignment } from "./align.ts";
import type { Connect } from "./connect.ts";
import type { Announcer, Committer, Emitter } from "./context.ts";
import type { Edges } from "./edges.ts";
import { snap } from "./geometry.ts";
import { nodeOf, type Attach, type Draft, type Edge, type Point } from "./model.ts";
import type { Op } from "./ops.ts";
import type { Scene } from "./scene.ts";
import type { Selection } from "./select.ts";
import { count } from "./text.ts";
import type { Viewport } from "./viewport.ts";

/** ActsContext is what the commands need of the canvas. */
export interface ActsContext extends Committer, Emitter {
  readonly draft: Draft;
  readonly scene: Scene;
  readonly edges: Edges;
  readonly selection: Selection;
  readonly view: Viewport;
  readonly connect: Connect;
  readonly announce: Announcer;
  readonly drag: { readonly active: boolean; cancel(): void };
  readonly taps: { cancel(): boolean };
  readonly pointer: { readonly last: Point | undefined };
  readonly keys: { readonly node: string | undefined; order(): string[]; focus(node: string | undefined): void };
}

export class Acts {
  constructor(private canvas: ActsContext) {}

  /** chosen are the selected nodes, or the one with the focus. */
  chosen(): string[] {
    const { nodes } = this.canvas.selection, at = this.canvas.keys.node;
    return nodes.size ? [...nodes] : at ? [at] : [];
  }

  /** erase deletes what is selected. With heal, the ends of a cut chain are joined. */
  erase(heal: boolean): void {
    const { selection, connect, announce, keys } = this.canvas;
    const nodes = selection.edges.size ? [...selection.nodes] : this.chosen(), gone = new Set(nodes), edges = this.edgesBeside(gone);
    if (!nodes.length && !edges.length) return;
    const next = this.after(nodes[0], gone), joins = connect.healing(gone);
    const ops: Op[] = edges.map((edge) => ({ op: "disconnect", edge }));
    if (heal) ops.push(...joins);
    if (nodes.length) ops.push({ op: "remove", nodes });
    this.canvas.commit("Delete", ops);
    announce.say(`Deleted ${nodes.length ? count(nodes.length, "node") : count(edges.length, "edge")}`);
    if (nodes.length) keys.focus(next);
    if (!heal && joins.length) this.canvas.emit("canvas:heal", { ops: joins.filter((op) => op.op === "connect") });
  }

  /** edgesBeside are the selected edges that do not go with the nodes anyway. */
  private edgesBeside(gone: Set<string>): Edge[] {
    return this.chosenEdges().filter((e) => !gone.has(nodeOf(e.from)) && !gone.has(nodeOf(e.to)));
  }

  /** after is the node that takes the focus when others go: the next one, else the last. */
  private after(first: string | undefined, gone: Set<string>): string | undefined {
    const order = this.canvas.keys.order(), left = (id: string) => !gone.has(id);
    return order.slice(order.indexOf(first ?? "") + 1).find(left) ?? order.findLast(left);
  }

  private chosenEdges(): Edge[] {
    return [...this.canvas.selection.edges].map((key) => this.canvas.edges.get(key)).filter((e) => e !== undefined);
  }

  /** pin asks the page to keep what the chosen nodes gave, or to let go of it. */
  pin(): boolean {
    const nodes = this.chosen();
    if (nodes.length) this.canvas.emit("canvas:pin", { nodes });
    return nodes.length > 0;
  }

  /** escape puts back a drag, ends a connection, or selects nothing. */
  escape(): void {
    const { drag, taps, announce, selection } = this.canvas;
    if (drag.active) return drag.cancel();
    if (taps.cancel()) return announce.say("Connecting cancelled");
    selection.clear();
  }

  /** disable leaves the chosen nodes out of runs, or takes them in again when all are out. */
  disable(): void {
    const { draft, announce } = this.canvas, ids = this.chosen(), on = ids.some((id) => !draft.nodes.get(id)?.disabled);
    const ops = ids.map((node): Op => (on ? { op: "put", node, member: "disabled", value: true } : { op: "put", node, member: "disabled" }));
    this.canvas.commit(on ? "Disable" : "Enable", ops);
    if (ids.length) announce.say(`${on ? "Disabled" : "Enabled"} ${count(ids.length, "node")}`);
  }

  /** menu asks the page for the menu of what is chosen. It tells whether the page shows one. */
  menu(client?: Point): boolean {
    const nodes = this.chosen(), r = this.canvas.scene.elements.get(nodes[0] ?? "")?.getBoundingClientRect();
    const beside = r ? { x: r.left, y: r.bottom } : undefined;
    return !this.canvas.emit("canvas:menu", { nodes, edges: this.chosenEdges(), client: client ?? beside });
  }

  /** palette asks the page for a node: at a place, connected to a port, or put into an edge. */
  palette(client: Point | undefined, attach: Attach): void {
    if (this.canvas.readonly) return;
    const { pointer, view } = this.canvas, at = client ?? pointer.last, p = at ? view.toFlow(at) : view.centre();
    const position = { x: snap(p.x), y: snap(p.y) };
    this.canvas.emit("canvas:palette", { position, client: at, ...attach });
  }

  /** tidy lays out the selection, or everything, as one step. */
  async tidy(): Promise<void> {
    if (this.canvas.readonly) return;
    const { arrange } = await import("./layout.ts"), { selection, scene, draft, view } = this.canvas;
    const ids = selection.nodes.size > 1 ? selection.nodes : new Set(scene.boxes.keys());
    const edges = draft.edges.map((e) => ({ from: nodeOf(e.from), to: nodeOf(e.to) })).filter((e) => ids.has(e.from) && ids.has(e.to));
    const nodes = await arrange(this.boxes(ids), edges);
    this.canvas.commit("Tidy", [{ op: "move", nodes }]);
    view.fit(ids);
  }

  /** align brings the selected nodes into line. */
  align(how: Alignment): void {
    const { nodes } = this.canvas.selection;
    if (nodes.size > 1) this.canvas.commit("Align", [{ op: "move", nodes: align(how, this.boxes(nodes)) }]);
  }

  private boxes(ids: Iterable<string>) { return [...ids].map((id) => ({ id, ...this.canvas.scene.box(id)! })); }
}
