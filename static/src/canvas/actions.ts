// The commands that keys, menus and the page run on the selection.
import type { Alignment } from "./align.ts";
import type { Connect } from "./connect.ts";
import type { Announcer, Committer, Emitter } from "./context.ts";
import type { HasEdges } from "./edges.ts";
import { snapPoint } from "./geometry.ts";
import { nodeOf, portOf, type Attach, type Edge, type Point } from "./model.ts";
import type { Op } from "./ops.ts";
import type { Selection } from "./select.ts";
import { count } from "./text.ts";
import type { Viewport } from "./viewport.ts";

/** ActionsContext is what the commands need of the canvas. */
export interface ActionsContext extends Committer, Emitter, HasEdges {
  readonly selection: Selection;
  readonly view: Viewport;
  readonly connect: Connect;
  readonly announce: Announcer;
  readonly drag: { readonly active: boolean; cancel(): void };
  readonly taps: { cancel(): boolean };
  /** implied returns the edges between nodes that the document does not have. */
  implied(): Edge[];
  readonly pointer: { readonly last: Point | undefined };
  readonly keys: { readonly node: string | undefined; order(): string[]; focus(node: string | undefined): void };
}

/** Actions are commands that are more than one call of a part. Each is one step of the history and announces what it did. */
export class Actions {
  constructor(private canvas: ActionsContext) {}

  /** chosen returns the selected nodes, or else the focused one. */
  chosen(): string[] {
    const { nodes } = this.canvas.selection, at = this.canvas.keys.node;
    return nodes.size ? [...nodes] : at ? [at] : [];
  }

  /** erase deletes the selection. With reconnect, the neighbors of deleted nodes are connected to each other. */
  erase(reconnect: boolean): void {
    const { selection, connect, announce, keys } = this.canvas;
    const nodes = selection.edges.size ? [...selection.nodes] : this.chosen(), gone = new Set(nodes), edges = this.edgesBeside(gone);
    if (!nodes.length && !edges.length) return;
    const next = this.after(nodes[0], gone), joins = connect.reconnectOps(gone);
    const ops: Op[] = edges.map((edge) => ({ op: "disconnect", edge }));
    if (reconnect) ops.push(...joins);
    if (nodes.length) ops.push({ op: "remove", nodes });
    this.canvas.commit("Delete", ops);
    announce.say(`Deleted ${nodes.length ? count(nodes.length, "node") : count(edges.length, "edge")}`);
    if (nodes.length) keys.focus(next);
    if (!reconnect && joins.length) this.canvas.emit("canvas:reconnect", { ops: joins.filter((op) => op.op === "connect") });
  }

  /** edgesBeside returns the selected edges that are not deleted together with the nodes. */
  private edgesBeside(gone: Set<string>): Edge[] {
    return this.chosenEdges().filter((e) => !gone.has(nodeOf(e.from)) && !gone.has(nodeOf(e.to)));
  }

  /** after returns the node to focus when others are deleted: the next one, or else the last. */
  private after(first: string | undefined, gone: Set<string>): string | undefined {
    const order = this.canvas.keys.order(), left = (id: string) => !gone.has(id);
    return order.slice(order.indexOf(first ?? "") + 1).find(left) ?? order.findLast(left);
  }

  /** chosenEdges returns the selected edges. */
  private chosenEdges(): Edge[] {
    return [...this.canvas.selection.edges].map((key) => this.canvas.edges.get(key)).filter((e) => e !== undefined);
  }

  /** pin asks the page to pin or unpin the outputs of nodes, by default the chosen ones. */
  pin(nodes = this.chosen()): boolean {
    if (nodes.length) this.canvas.emit("canvas:pin", { nodes });
    return nodes.length > 0;
  }

  /** escape cancels a drag or a connection, or else clears the selection. */
  escape(): void {
    const { drag, taps, announce, selection } = this.canvas;
    if (drag.active) return drag.cancel();
    if (taps.cancel()) return announce.say("Connecting canceled");
    selection.clear();
  }

  /** disable disables nodes, by default the chosen ones, or enables them when all are disabled. */
  disable(ids = this.chosen()): void {
    const { draft, announce } = this.canvas, on = ids.some((id) => !draft.nodes.get(id)?.disabled);
    const ops = ids.map((node): Op => (on ? { op: "put", node, member: "disabled", value: true } : { op: "put", node, member: "disabled" }));
    this.canvas.commit(on ? "Disable" : "Enable", ops);
    if (ids.length) announce.say(`${on ? "Disabled" : "Enabled"} ${count(ids.length, "node")}`);
  }

  /** menu asks the page for a context menu, at a position that was pressed or else beside the chosen nodes, and reports whether it shows one. */
  menu(client?: Point): boolean {
    const nodes = client ? [...this.canvas.selection.nodes] : this.chosen(), r = this.canvas.scene.elements.get(nodes[0] ?? "")?.getBoundingClientRect();
    const beside = r ? { x: r.left, y: r.bottom } : undefined;
    return !this.canvas.emit("canvas:menu", { nodes, edges: this.chosenEdges(), client: client ?? beside });
  }

  /** palette asks the page which node to add: at a position, connected to a port, or inserted into an edge. */
  palette(client: Point | undefined, attach: Attach): void {
    if (this.canvas.readonly) return;
    const { pointer, view } = this.canvas, at = client ?? pointer.last, position = snapPoint(at ? view.toFlow(at) : view.center());
    this.canvas.emit("canvas:palette", { position, client: at, ...attach });
  }

  /** tidy lays out the selection, or everything, as one step of the history. */
  async tidy(): Promise<void> {
    if (this.canvas.readonly) return;
    const { arrange } = await import("./drawing.ts"), { selection, scene, draft, view, edges } = this.canvas;
    const ids = selection.nodes.size > 1 ? selection.nodes : new Set(scene.boxes.keys());
    const wires = draft.edges.map((e) => ({ from: nodeOf(e.from), to: nodeOf(e.to), tool: portOf(e.from) === "tool", ...edges.levels(e) }));
    const implied = this.canvas.implied(); // counts twice, so that outputs stand beside what sends them
    const nodes = arrange(this.boxes(ids), [...wires, ...implied, ...implied].filter((e) => ids.has(e.from) && ids.has(e.to)));
    this.canvas.commit("Tidy", [{ op: "move", nodes }]);
    view.fit(ids);
  }

  /** align aligns or distributes the selected nodes. */
  async align(how: Alignment): Promise<void> {
    const { align } = await import("./drawing.ts"), { nodes } = this.canvas.selection;
    if (nodes.size > 1) this.canvas.commit("Align", [{ op: "move", nodes: align(how, this.boxes(nodes)) }]);
  }

  /** boxes returns the boxes of nodes with their IDs, as the layout functions take them. */
  private boxes(ids: Iterable<string>) { return [...ids].map((id) => ({ id, ...this.canvas.scene.box(id)! })); }
}
