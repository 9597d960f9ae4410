// Applies operations to the draft and updates the screen, for changes made here
// and elsewhere. Only those made here are sent and become steps of the history.
import type { Announce } from "./announce.ts";
import type { Connect } from "./connect.ts";
import type { CommitOptions, Emitter, Repaintable } from "./context.ts";
import type { Drag } from "./drag.ts";
import type { HasEdges } from "./edges.ts";
import type { Groups } from "./groups.ts";
import type { History } from "./history.ts";
import type { Insert } from "./insert.ts";
import { at, type Attach, type Edge, type FlowNode, type Point } from "./model.ts";
import { applyAll, Touched, type Op } from "./ops.ts";
import type { Selection } from "./select.ts";
import type { Status } from "./status.ts";
import type { Swaps } from "./swaps.ts";
import type { Sync } from "./sync.ts";

/** ChangesContext is what applying changes needs of the canvas. */
export interface ChangesContext extends Emitter, HasEdges {
  readonly readonly: boolean;
  readonly layer: HTMLElement;
  readonly groups: Groups;
  readonly selection: Selection;
  readonly status: Status;
  readonly announce: Announce;
  readonly minimap: Repaintable | undefined;
  readonly connect: Connect;
  readonly drag: Drag;
  readonly inserts: Insert;
  readonly history: History;
  readonly sync: Sync;
  readonly swaps: Swaps;
  readonly watch: { stop(el: HTMLElement): void };
  readonly view: { reveal(node: string): void };
  readonly keys: { resetOrder(): void; ensureTabStop(): void; focus(node: string): void };
}

/**
 * Changes is the only part that changes the draft. Every change is a list of
 * operations (ops.ts): from a gesture, the inspector, undo, another tab or a
 * rebase. Touched says which nodes, edges and groups have to be painted again.
 */
export class Changes {
  private pending = new Map<string, Attach>(); // new nodes whose ports the server has not sent yet

  constructor(private canvas: ChangesContext) {}

  /** commit applies ops as one step of the history and sends them. */
  commit(label: string, ops: Op[], options: CommitOptions = {}): void {
    if (this.canvas.readonly || !ops.length) return;
    const { undo, txid } = this.perform(ops);
    if (undo.length) this.canvas.history.record({ label, redo: ops, undo, key: options.key, txids: [txid] }, options.join);
  }

  /** perform applies ops and sends them, without a step of the history. */
  perform(ops: Op[]): { undo: Op[]; txid: string } {
    const undo = this.apply(ops), txid = crypto.randomUUID();
    if (!undo.length) return { undo, txid };
    this.canvas.sync.push({ txid, ops, undo });
    this.canvas.emit("canvas:ops", { ops, txid });
    return { undo, txid };
  }

  /** apply changes the draft and the screen, and returns the inverse. */
  apply(ops: Op[]): Op[] {
    const touched = new Touched(), undo = applyAll(this.canvas.draft, structuredClone(ops), touched);
    this.show(touched);
    return undo;
  }

  /** show paints what operations touched, in this order: edges can only be drawn once their nodes are measured. */
  private show(t: Touched): void {
    const { scene, edges, groups, layer, swaps, keys, minimap } = this.canvas, nodes = t.added.size + t.removed.size > 0;
    for (const id of t.removed) this.discard(id);
    for (const id of t.added) layer.append(swaps.adopt(scene.recover(id)));
    if (t.added.size) swaps.measured([...t.added]);
    edges.moveNodes([...t.moved].map((id) => [id, this.canvas.draft.position(id)] as const));
    if (t.edges) {
      edges.sync();
      this.markConnected();
    }
    if (t.groups || nodes) groups.sync();
    for (const id of t.changed) this.refreshShell(id);
    if (t.edges || nodes) {
      keys.resetOrder();
      keys.ensureTabStop();
    }
    if (t.moved.size || t.edges || nodes) edges.reroute();
    minimap?.paint();
  }

  /** discard removes a deleted node from the screen and from all parts. */
  private discard(id: string): void {
    const { selection, drag, scene, status, watch } = this.canvas, el = scene.elements.get(id);
    selection.forget(id);
    drag.forget(id);
    if (el) watch.stop(el);
    scene.discard(id);
    status.forget(id);
  }

  /** refreshShell updates the element of a node whose members changed. */
  private refreshShell(id: string): void {
    const { scene, draft, announce } = this.canvas;
    scene.resize(id);
    scene.elements.get(id)?.toggleAttribute("data-disabled", !!draft.nodes.get(id)?.disabled);
    announce.name(id);
  }

  /** markConnected marks the ports that have an edge; the others look hollow. */
  markConnected(): void {
    const { draft, scene, selection, status } = this.canvas;
    const taken = new Set(draft.edges.flatMap((e) => [`out ${e.from}`, `in ${e.to}`]));
    for (const ports of scene.ports.values())
      for (const p of ports) scene.portElement(p)?.toggleAttribute("data-linked", taken.has(`${p.side} ${at(p)}`));
    this.canvas.edges.number();
    selection.highlightEdges();
    status.edgesPainted();
  }

  /** insert adds a node and connects it to a port, or inserts it into an edge, once its ports are known. */
  insert(node: Omit<FlowNode, "id"> & { id?: string }, attach: Attach): string {
    const id = node.id ?? this.canvas.draft.free(node.kind);
    this.pending.set(id, attach);
    this.commit("Add", [{ op: "add", node: { ...node, id } }]);
    this.canvas.selection.set([id]);
    this.canvas.keys.focus(id);
    return id;
  }

  /** attach connects a new node whose ports have become known, in the same step of the history. */
  attach(id: string): void {
    const attach = this.pending.get(id), { scene, connect } = this.canvas;
    if (!attach || !scene.ports.get(id)?.length) return;
    this.pending.delete(id);
    if (attach.edge) this.attachToEdge(id, attach.edge, attach);
    else if (attach.port) this.commit("Add", connect.firstFitOps(attach.port, id, attach.via) ?? [], { join: true });
    this.canvas.view.reveal(id); // it has its full height now
  }

  /** attachToEdge inserts a new node into an edge, and makes room for it. */
  private attachToEdge(id: string, edge: Edge, { via, also }: Attach): void {
    const { draft, inserts } = this.canvas, ops = inserts.ops(id, edge, via);
    if (!ops || !draft.hasEdge(edge)) return;
    const more: Op[] = also?.instead ? [{ op: "disconnect", edge: also.instead }] : [];
    if (also) more.push({ op: "connect", edge: { from: also.from, to: `${id}.${via?.into}` } });
    const nodes = inserts.room(id, edge), from = new Map(Object.keys(nodes).map((n): [string, Point] => [n, { ...draft.position(n) }]));
    this.commit("Add", [{ op: "move", nodes }, ...ops, ...more], { join: true });
    inserts.show(id, from);
  }
}
