// The custom element <flow-canvas>: it puts the parts together and is what
// the page talks to. It adopts the nodes that the server rendered into it.
import { align, type Alignment } from "./align.ts";
import { Announce } from "./announce.ts";
import { Clipboard } from "./clipboard.ts";
import { Connect } from "./connect.ts";
import { Drag } from "./drag.ts";
import { Edges } from "./edges.ts";
import { Groups } from "./groups.ts";
import { History } from "./history.ts";
import { Keys } from "./keys.ts";
import { Minimap } from "./minimap.ts";
import { at, Draft, edgeKey, nodeOf, type Edge, type FlowDocument, type FlowNode, type Point, type Port } from "./model.ts";
import { applyAll, Touched, type Op } from "./ops.ts";
import { frame, island, type Frame } from "./frame.ts";
import { Notes } from "./notes.ts";
import { Pointer } from "./pointer.ts";
import { Scene, type Box } from "./scene.ts";
import { count, Selection } from "./select.ts";
import { held, shortcuts } from "./shortcuts.ts";
import { Status, type Step } from "./status.ts";
import { Sync, type Remote } from "./sync.ts";
import { Viewport } from "./viewport.ts";
import { Watch } from "./watch.ts";

/** Wish is what the page should do with a node that a person chooses. */
export type Wish = { port?: Port; edge?: Edge };

export class FlowCanvas extends HTMLElement {
  pane!: HTMLElement; viewport!: HTMLElement; grid!: HTMLElement; layer!: HTMLElement;
  draft!: Draft; scene!: Scene; view!: Viewport; edges!: Edges; selection!: Selection; history!: History; sync!: Sync; drag!: Drag; connect!: Connect;
  keys!: Keys; groups!: Groups; clipboard!: Clipboard; announce!: Announce; status!: Status; minimap: Minimap | undefined;
  /** selecting makes a drag on empty space select, for fingers. */
  selecting = false;
  private frame!: Frame;
  private watch!: Watch;
  notes!: Notes;
  pointer!: Pointer;
  private stop!: AbortController;
  private movedIn = 0; // the frame that tells of it
  private wishes = new Map<string, Wish>(); // of nodes whose ports the server has not sent yet

  get readonly(): boolean { return this.hasAttribute("readonly"); }
  /** shortcuts are the keys and what they do, for a sheet. */
  get shortcuts(): { chords: string[]; what: string }[] { return [...shortcuts, ...held]; }

  connectedCallback(): void {
    const began = performance.now(), flow = this.getAttribute("flow") ?? "", document = island(this);
    this.stop = new AbortController();
    this.draft = new Draft(document);
    this.frame = frame(this);
    Object.assign(this, { pane: this.frame.pane, viewport: this.frame.viewport, grid: this.frame.grid, layer: this.frame.layer });
    this.build(flow);
    this.present(flow);
    this.listen(this.stop.signal);
    performance.measure("canvas:ready", { start: began, end: performance.now() });
    this.setAttribute("ready", "");
    this.emit("canvas:ready", { ms: performance.now() - began });
  }

  private build(flow: string): void {
    const { svg, over, groups } = this.frame;
    this.scene = new Scene(this);
    this.announce = new Announce(this);
    this.status = new Status(this);
    this.selection = new Selection(this);
    this.edges = new Edges(this, svg);
    this.groups = new Groups(this, groups, `canvas:${flow}:folded`);
    this.drag = new Drag(this, over);
    this.connect = new Connect(this, over);
    this.clipboard = new Clipboard(this);
    this.keys = new Keys(this);
    this.history = new History(this, `canvas:${flow}:history`);
    this.sync = new Sync(this, this.getAttribute("ops") ?? "", Number(this.getAttribute("rev") ?? 0), `canvas:${flow}`);
    this.notes = new Notes(this);
    this.pointer = new Pointer(this);
  }

  /** present shows the document for the first time: all is written first, then the browser lays it out once, and all sizes are read. */
  private present(flow: string): void {
    this.append(this.announce.region);
    for (const el of this.layer.querySelectorAll<HTMLElement>(":scope > article[data-id]")) this.scene.adopt(el);
    this.groups.sync();
    this.view = new Viewport(this, `canvas:${flow}:view`); // reads the size of the pane
    this.watch = new Watch(this); // after the shells are written, which is no news
    for (const el of this.scene.elements.values()) this.watch.start(el);
    this.scene.measure(this.scene.elements.keys());
    this.groups.draw();
    this.edges.sync();
    this.linked();
    for (const id of this.scene.elements.keys()) this.announce.name(id);
    this.status.readAll();
    if (!this.hasAttribute("nomap")) {
      this.minimap = new Minimap(this);
      this.append(this.minimap.element);
      this.minimap.start();
    }
    this.view.restore();
    if (!this.readonly) this.sync.resume();
  }

  private listen(signal: AbortSignal): void {
    this.keys.start(signal);
    this.pointer.start(signal);
    this.addEventListener("copy", (e) => { if (this.ownKey(e)) this.clipboard.copy(e); }, { signal });
    this.addEventListener("cut", (e) => { if (this.ownKey(e) && !this.readonly && this.clipboard.copy(e)) this.erase(); }, { signal });
    this.addEventListener("paste", (e) => {
      if (this.ownKey(e) && this.clipboard.paste(e.clipboardData?.getData("text/plain") ?? "", this.pasteAt(), this.keys.shift)) e.preventDefault();
    }, { signal });
    this.addEventListener("canvas:paint", (e) => this.status.take((e as CustomEvent<{ steps: Step[] }>).detail.steps), { signal });
    document.addEventListener("flow:ops", (e) => this.remote((e as CustomEvent).detail), { signal });
  }

  private ownKey(e: Event): boolean { return !(e.target as Element).closest?.("input, textarea, select, [contenteditable]"); }
  private pasteAt(): Point { return this.pointer.last ? this.view.toFlow(this.pointer.last) : this.view.centre(); }

  disconnectedCallback(): void {
    this.keys.settle();
    this.stop.abort();
    for (const part of [this.sync, this.watch, this.view, this.minimap, this.status, this.announce, this.pointer]) part?.end();
    cancelAnimationFrame(this.movedIn);
    this.drag.endAll();
    this.minimap?.element.remove();
    this.announce.region.remove();
    this.setAttribute("rev", String(this.sync.rev));
    this.frame.restore(this.document());
    this.removeAttribute("ready");
  }

  /** document is the draft as it stands here. */
  document(): FlowDocument {
    const { name, description, nodes, edges, groups } = this.draft;
    return { name, description, nodes: [...nodes.values()], edges, groups: [...groups.values()] };
  }

  /** moved tells, once a frame, that what is selected may lie elsewhere on the screen. */
  moved(): void {
    this.movedIn ||= requestAnimationFrame(() => { this.movedIn = 0; this.emit("canvas:moved", { client: this.selectionBox() }); });
  }

  emit(name: string, detail: unknown): boolean { return this.dispatchEvent(new CustomEvent(name, { bubbles: true, cancelable: true, detail })); }

  /** headers go with every request; the page may set them, for a guard against forged requests. */
  headers(): Record<string, string> {
    try { return JSON.parse(this.getAttribute("headers") ?? "{}"); } catch { return {}; }
  }

  // Changes.

  /** commit applies ops as one step of the history and sends them. */
  commit(label: string, ops: Op[], how: { key?: string; join?: boolean } = {}): void {
    if (this.readonly || !ops.length) return;
    const { undo, txid } = this.perform(ops);
    if (undo.length) this.history.record({ label, redo: ops, undo, key: how.key, txids: [txid] }, how.join);
  }

  /** perform applies ops and sends them, without a step of the history. */
  perform(ops: Op[]): { undo: Op[]; txid: string } {
    const undo = this.apply(ops), txid = crypto.randomUUID();
    if (!undo.length) return { undo, txid };
    this.sync.push({ txid, ops, undo });
    this.emit("canvas:ops", { ops, txid });
    return { undo, txid };
  }

  /** apply changes draft and picture; it gives what undoes it. */
  apply(ops: Op[]): Op[] {
    const t = new Touched(), undo = applyAll(this.draft, structuredClone(ops), t);
    for (const id of t.removed) this.discard(id);
    for (const id of t.added) this.layer.append(this.adopt(this.scene.recover(id)));
    if (t.added.size) this.measured([...t.added]);
    for (const id of t.moved) { this.scene.place(id, this.draft.position(id)); this.edges.drawOf(id); }
    if (t.edges) { this.edges.sync(); this.linked(); }
    if (t.groups || t.added.size || t.removed.size) this.groups.sync();
    for (const id of t.changed) { this.scene.resize(id); this.scene.elements.get(id)?.toggleAttribute("data-disabled", !!this.draft.nodes.get(id)?.disabled); this.announce.name(id); }
    if (t.edges || t.added.size || t.removed.size) { this.keys.reorder(); this.keys.ensure(); }
    this.minimap?.paint();
    return undo;
  }

  private discard(id: string): void {
    this.selection.forget(id);
    this.drag.forget(id);
    const el = this.scene.elements.get(id);
    if (el) this.watch.stop(el);
    this.scene.discard(id);
    this.status.forget(id);
  }

  private adopt(el: HTMLElement): HTMLElement {
    const id = this.scene.adopt(el);
    this.drag.forget(id);
    this.watch.start(el);
    el.toggleAttribute("data-disabled", !!this.draft.nodes.get(id)?.disabled);
    this.status.again(id);
    return el;
  }

  /** linked marks ports that have an edge; an empty one looks hollow. */
  private linked(): void {
    const taken = new Set(this.draft.edges.flatMap((e) => [`out ${e.from}`, `in ${e.to}`]));
    for (const ports of this.scene.ports.values())
      for (const p of ports) this.scene.portElement(p)?.toggleAttribute("data-linked", taken.has(`${p.side} ${at(p)}`));
    this.selection.light();
    this.status.edgesPainted();
  }

  /** measured reads nodes that came or changed, and draws their edges. */
  private measured(ids: string[]): void {
    this.scene.measure(ids);
    for (const id of ids) { this.edges.drawOf(id); this.edges.rename(id); this.announce.name(id); this.grant(id); }
  }

  remeasure(ids: string[]): void {
    const there = ids.filter((id) => this.scene.elements.has(id));
    if (!there.length) return;
    this.measured(there);
    this.linked();
    this.groups.draw();
    this.minimap?.paint();
  }

  /** arrived takes a node that the server put in, new or in the place of another. */
  arrived(el: HTMLElement): void {
    const id = el.dataset.id!;
    if (this.scene.elements.get(id) === el || !el.isConnected) return; // known, or gone again before this was told
    const old = this.scene.elements.get(id);
    if (old?.isConnected) old.remove();
    this.adopt(el);
    this.edges.sync();
    this.groups.sync();
    this.keys.reorder();
    this.keys.ensure();
    this.remeasure([id]);
  }

  /** left lets go of an element that the server took out or swapped. */
  left(el: HTMLElement): void {
    const id = el.dataset.id!;
    if (this.scene.elements.get(id) !== el || el.isConnected) return;
    this.drag.forget(id);
    this.watch.stop(el);
    this.scene.drop(id);
  }

  /** reshell writes the shell anew after a morph of a whole node took the server's. */
  reshell(id: string): void {
    this.scene.reshell(id);
    this.status.again(id);
    this.keys.ensure();
    this.announce.name(id);
  }

  /** insides puts what the server rendered for nodes into them. The shells stay. */
  insides(html: string): void {
    const template = document.createElement("template");
    template.innerHTML = html;
    for (const fresh of template.content.querySelectorAll<HTMLElement>("article[data-id]")) {
      const el = this.scene.elements.get(fresh.dataset.id!);
      if (!el) continue;
      const port = el.contains(document.activeElement) ? (document.activeElement as HTMLElement).dataset.port : undefined;
      Object.assign(el.dataset, fresh.dataset);
      for (const c of fresh.classList) el.classList.add(c);
      el.removeAttribute("aria-busy");
      el.replaceChildren(...fresh.childNodes);
      (window as { htmx?: { process(el: Element): void } }).htmx?.process(el);
      this.scene.readPorts(fresh.dataset.id!);
      if (port) el.querySelector<HTMLElement>(`[data-port="${CSS.escape(port)}"]`)?.focus({ preventScroll: true });
      this.remeasure([fresh.dataset.id!]);
    }
  }

  /** remote applies a transaction of another tab, as the server tells it. */
  remote(m: Remote): void { this.sync.remote(m); }

  // What keys, menus and the page ask for.

  /** insert adds a node, connected to the port or put into the edge that the palette was asked for. */
  insert(node: Omit<FlowNode, "id"> & { id?: string }, wish: Wish = {}): string {
    const id = node.id ?? this.draft.free(node.kind);
    if (wish.port || wish.edge) this.wishes.set(id, wish);
    this.commit("Add", [{ op: "add", node: { ...node, id } }]);
    this.selection.set([id]);
    this.keys.focus(id);
    return id;
  }

  /** grant connects a new node once its ports are known, in the same step of the history. */
  private grant(id: string): void {
    const wish = this.wishes.get(id);
    if (!wish || !this.scene.ports.get(id)?.length) return;
    this.wishes.delete(id);
    const ops = wish.edge ? this.drag.between(id, wish.edge) : wish.port && this.connect.first(wish.port, id);
    if (ops?.length) this.commit("Add", ops, { join: true });
  }

  /** selectionBox is where the selected nodes lie on the screen; nothing when none is selected. */
  selectionBox(): Box | undefined {
    const { nodes } = this.selection;
    if (!nodes.size) return undefined;
    const b = this.scene.bounds(nodes), { transform: [x, y, zoom] } = this.view, r = this.pane.getBoundingClientRect();
    return { x: r.x + x + b.x * zoom, y: r.y + y + b.y * zoom, width: b.width * zoom, height: b.height * zoom };
  }

  /** chosen are the selected nodes, or the one with the focus. */
  chosen(): string[] {
    const { nodes } = this.selection, at = this.keys.node;
    return nodes.size ? [...nodes] : at ? [at] : [];
  }

  /** erase deletes what is selected. With heal, the ends of a cut chain are joined. */
  erase(heal = false): void {
    const nodes = this.selection.edges.size ? [...this.selection.nodes] : this.chosen(), gone = new Set(nodes);
    const edges = [...this.selection.edges].map((k) => this.edges.get(k)).filter((e) => e && !gone.has(nodeOf(e.from)) && !gone.has(nodeOf(e.to))) as Edge[];
    if (!nodes.length && !edges.length) return;
    const order = this.keys.order(), next = order.slice(order.indexOf(nodes[0] ?? "") + 1).find((id) => !gone.has(id)) ?? order.findLast((id) => !gone.has(id));
    const ops: Op[] = edges.map((edge) => ({ op: "disconnect", edge }));
    const joins = this.connect.healing(gone);
    if (heal) ops.push(...joins);
    if (nodes.length) ops.push({ op: "remove", nodes });
    this.commit("Delete", ops);
    this.announce.say(`Deleted ${nodes.length ? count(nodes.length, "node") : count(edges.length, "edge")}`);
    if (nodes.length) this.keys.focus(next);
    if (!heal && joins.length) this.emit("canvas:heal", { ops: joins.filter((op) => op.op === "connect") });
  }

  /** pin asks the page to keep what the chosen nodes gave, or to let go of it. */
  pin(): boolean {
    const nodes = this.chosen();
    if (nodes.length) this.emit("canvas:pin", { nodes });
    return nodes.length > 0;
  }

  escape(): void {
    if (this.drag.active) return this.drag.cancel();
    if (this.connect.cancelPending()) return this.announce.say("Connecting cancelled");
    this.selection.clear();
  }

  disable(): void {
    const ids = this.chosen(), on = ids.some((id) => !this.draft.nodes.get(id)?.disabled);
    this.commit(on ? "Disable" : "Enable", ids.map((node) => (on ? { op: "put", node, member: "disabled", value: true } : { op: "put", node, member: "disabled" })));
    if (ids.length) this.announce.say(`${on ? "Disabled" : "Enabled"} ${count(ids.length, "node")}`);
  }

  open(node: string | undefined, part?: string): boolean {
    if (node) this.emit("canvas:open", { node, part });
    return !!node;
  }

  menu(client?: Point): boolean {
    const r = this.scene.elements.get(this.chosen()[0] ?? "")?.getBoundingClientRect();
    return !this.emit("canvas:menu", { ...this.chosenParts(), client: client ?? (r ? { x: r.left, y: r.bottom } : undefined) });
  }

  private chosenParts() { return { nodes: this.chosen(), edges: [...this.selection.edges].map((k) => this.edges.get(k)) }; }

  /** palette asks the page for a node: at a place, connected to a port, or put into an edge. */
  palette(client?: Point, wish: Wish = {}): void {
    if (this.readonly) return;
    const at = client ?? this.pointer.last, p = at ? this.view.toFlow(at) : this.view.centre();
    this.emit("canvas:palette", { position: { x: Math.round(p.x / 10) * 10, y: Math.round(p.y / 10) * 10 }, client: at, ...wish });
  }

  /** tidy lays out the selection, or everything, as one step. */
  async tidy(): Promise<void> {
    if (this.readonly) return;
    const { arrange } = await import("./layout.ts");
    const ids = this.selection.nodes.size > 1 ? this.selection.nodes : new Set(this.scene.boxes.keys());
    const edges = this.draft.edges.map((e) => ({ from: nodeOf(e.from), to: nodeOf(e.to) })).filter((e) => ids.has(e.from) && ids.has(e.to));
    const nodes = await arrange([...ids].map((id) => ({ id, ...this.scene.box(id)! })), edges);
    this.commit("Tidy", [{ op: "move", nodes }]);
    this.view.fit(ids);
  }

  /** align brings the selected nodes into line. */
  align(how: Alignment): void {
    const ids = [...this.selection.nodes];
    if (ids.length > 1) this.commit("Align", [{ op: "move", nodes: align(how, ids.map((id) => ({ id, ...this.scene.box(id)! }))) }]);
  }

  /** node is a node of the draft as it stands here. */
  node(id: string): FlowNode | undefined { return this.draft.nodes.get(id); }

  /** edgesOf are the edges that begin or end at a node, in the order of the draft. */
  edgesOf(id: string): Edge[] { return this.draft.edgesOf(id); }

  /** follow pans just so far that a node is seen whole; the zoom stays. */
  follow(id: string): void { this.view.reveal(id); }

  /** edge finds an edge by its ends. */
  edge(e: Edge): Edge | undefined { return this.edges.get(edgeKey(e)); }
}
