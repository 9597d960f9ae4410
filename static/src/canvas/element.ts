// The custom element <flow-canvas>: it assembles the parts and is what the page
// calls. It adopts the nodes that the server rendered into it.
import { Actions } from "./actions.ts";
import type { Alignment } from "./align.ts";
import { Announce } from "./announce.ts";
import { Changes } from "./changes.ts";
import type { Clipboard } from "./clipboard.ts";
import { Connect } from "./connect.ts";
import type { CommitOptions } from "./context.ts";
import { Drag } from "./drag.ts";
import { Edges } from "./edges.ts";
import { frame, readDocument, type Frame } from "./frame.ts";
import { Groups } from "./groups.ts";
import { History } from "./history.ts";
import { Insert } from "./insert.ts";
import { Keys } from "./keys.ts";
import type { Minimap } from "./minimap.ts";
import type { Box } from "./geometry.ts";
import { Draft, type Attach, type Edge, type FlowDocument, type FlowNode, type Point } from "./model.ts";
import { Notes } from "./notes.ts";
import type { Op } from "./ops.ts";
import { Pointer } from "./pointer.ts";
import { Scene } from "./scene.ts";
import { Selection } from "./select.ts";
import { held, shortcuts } from "./shortcuts.ts";
import { Status, type Step } from "./status.ts";
import { Swaps } from "./swaps.ts";
import { Sync, type Remote } from "./sync.ts";
import { Taps } from "./taps.ts";
import { prepareDetail, Viewport } from "./viewport.ts";
import { Watch } from "./watch.ts";

/**
 * FlowCanvas is <flow-canvas>. Everything is in the light DOM, so that the
 * server's HTML stays reachable for htmx, style sheets and tests. The parts are
 * public fields, because each part sees the element as its context; the page
 * uses only what README.md lists.
 */
export class FlowCanvas extends HTMLElement {
  pane!: HTMLElement;
  viewport!: HTMLElement;
  grid!: HTMLElement;
  layer!: HTMLElement;
  draft!: Draft;
  scene!: Scene;
  view!: Viewport;
  edges!: Edges;
  selection!: Selection;
  history!: History;
  sync!: Sync;
  changes!: Changes;
  swaps!: Swaps;
  actions!: Actions;
  drag!: Drag;
  inserts!: Insert;
  connect!: Connect;
  taps!: Taps;
  keys!: Keys;
  groups!: Groups;
  notes!: Notes;
  pointer!: Pointer;
  clipboard!: Clipboard;
  announce!: Announce;
  status!: Status;
  watch!: Watch;
  minimap: Minimap | undefined;
  /** selecting makes a drag on empty space select, for touch screens. */
  selecting = false;
  /** implied returns edges between nodes that the document doesn't have, such as those from outputs to webhooks; the page sets it. */
  implied: () => Edge[] = () => [];
  /** drawing is undefined until it is loaded. */
  drawing: typeof import("./drawing.ts") | undefined;
  /** fallback is a kind whose nodes output the first value that they get, and its ports; the page sets it. */
  fallback: { kind: string; into: string; out: string } | undefined;
  private frame!: Frame;
  private stop!: AbortController;
  private movedIn = 0; // the animation frame that emits canvas:moved

  get readonly(): boolean { return this.hasAttribute("readonly"); }
  /** shortcuts lists the keys and what they do, for a help dialog. */
  get shortcuts(): { chords: string[]; what: string }[] { return [...shortcuts, ...held]; }

  /** connectedCallback builds everything again from the HTML, also when the element is moved in the page or restored by htmx. */
  connectedCallback(): void {
    const began = performance.now(), flow = this.getAttribute("flow") ?? "", document = readDocument(this);
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
    void import("./drawing.ts").then((d) => { if (this.isConnected) this.complete(d); });
  }

  /** complete adds the parts that are loaded after the first paint, and draws edges around nodes. */
  private complete(d: typeof import("./drawing.ts")): void {
    this.drawing = d;
    this.clipboard = new d.Clipboard(this);
    if (!this.hasAttribute("nomap") && !this.minimap) {
      this.minimap = new d.Minimap(this);
      this.append(this.minimap.element);
      this.minimap.start();
    }
    this.edges.reroute();
  }

  /** build creates the parts. Constructors only keep what they are given; a part may use others only after all exist. */
  private build(flow: string): void {
    const { svg, over, groups } = this.frame;
    this.scene = new Scene(this);
    this.announce = new Announce(this);
    this.status = new Status(this);
    this.selection = new Selection(this);
    this.edges = new Edges(this, svg);
    this.groups = new Groups(this, groups, `canvas:${flow}:folded`);
    this.drag = new Drag(this, over);
    this.inserts = new Insert(this);
    this.connect = new Connect(this, over);
    this.taps = new Taps(this);
    this.changes = new Changes(this);
    this.swaps = new Swaps(this);
    this.actions = new Actions(this);
    this.keys = new Keys(this);
    this.history = new History(this, `canvas:${flow}:history`);
    this.sync = new Sync(this, this.getAttribute("ops") ?? "", Number(this.getAttribute("rev") ?? 0), `canvas:${flow}`);
    this.notes = new Notes(this);
    this.pointer = new Pointer(this);
  }

  /** present shows the document for the first time. It writes everything before it reads sizes, so that the browser lays out once. */
  private present(flow: string): void {
    this.append(this.announce.region);
    for (const el of this.layer.querySelectorAll<HTMLElement>(":scope > article[data-id]")) this.scene.adopt(el);
    this.groups.sync();
    prepareDetail(this.pane, this.draft, `canvas:${flow}:view`);
    this.view = new Viewport(this, `canvas:${flow}:view`); // reads the size of the pane: not before
    this.watch = new Watch(this); // after the elements are set up, which it must not observe
    for (const el of this.scene.elements.values()) this.watch.start(el);
    this.scene.measure(this.scene.elements.keys());
    this.groups.draw();
    this.edges.sync();
    this.changes.markConnected();
    for (const id of this.scene.elements.keys()) this.announce.name(id);
    this.status.readAll();
    this.view.restore();
    if (!this.readonly) this.sync.resume();
  }

  /** listen adds the listeners of the element itself. All of them end with the signal. */
  private listen(signal: AbortSignal): void {
    this.keys.start(signal);
    this.pointer.start(signal);
    // On the document: Firefox sends these events to the node that has the document's selection.
    document.addEventListener("copy", (e) => { if (this.hasKeys()) this.clipboard.copy(e); }, { signal });
    document.addEventListener("cut", (e) => { if (this.hasKeys() && !this.readonly && this.clipboard.copy(e)) this.erase(); }, { signal });
    document.addEventListener("paste", (e) => {
      if (this.hasKeys() && this.clipboard.paste(e.clipboardData?.getData("text/plain") ?? "", this.pasteAt(), this.keys.shift)) e.preventDefault();
    }, { signal });
    this.addEventListener("canvas:paint", (e) => this.status.showSteps((e as CustomEvent<{ steps: Step[] }>).detail.steps), { signal });
    document.addEventListener("flow:ops", (e) => this.sync.remote((e as CustomEvent<Remote>).detail), { signal });
  }

  /** hasKeys reports whether the focus is in the canvas, and not in a text field of it. */
  private hasKeys(): boolean {
    const at = document.activeElement;
    return !!at && !!this.drawing && this.contains(at) && !at.closest("input, textarea, select, [contenteditable]");
  }

  private pasteAt(): Point { return this.pointer.last ? this.view.toFlow(this.pointer.last) : this.view.center(); }

  /** disconnectedCallback saves, stops all parts and leaves the HTML as the server would render it now, so that the element can be connected again. */
  disconnectedCallback(): void {
    this.keys.settle();
    this.stop.abort();
    for (const part of [this.sync, this.watch, this.view, this.minimap, this.announce, this.pointer]) part?.end();
    cancelAnimationFrame(this.movedIn);
    this.drag.endAll();
    this.minimap?.element.remove();
    this.minimap = undefined;
    this.announce.region.remove();
    this.setAttribute("rev", String(this.sync.rev));
    this.frame.restore(this.document());
    this.removeAttribute("ready");
  }

  /** document returns the draft with unsaved changes. */
  document(): FlowDocument {
    const { name, description, nodes, edges, groups } = this.draft;
    return { name, description, nodes: [...nodes.values()], edges, groups: [...groups.values()] };
  }

  /** moved emits, once per frame, that the selection may have moved on the screen. */
  moved(): void {
    this.movedIn ||= requestAnimationFrame(() => { this.movedIn = 0; this.emit("canvas:moved", { client: this.selectionBox() }); });
  }

  /** emit dispatches an event that bubbles; it returns false when a listener called preventDefault. */
  emit(name: string, detail: unknown): boolean { return this.dispatchEvent(new CustomEvent(name, { bubbles: true, cancelable: true, detail })); }

  /** headers returns the headers of every request, such as a CSRF token; the page sets them as an attribute. */
  headers(): Record<string, string> {
    try { return JSON.parse(this.getAttribute("headers") ?? "{}"); } catch { return {}; }
  }

  // The interface for the page.

  /** commit applies operations as one step of the history and sends them. */
  commit(label: string, ops: Op[], options: CommitOptions = {}): void { this.changes.commit(label, ops, options); }

  /** insides replaces the content of nodes by what the server rendered. Their elements stay. */
  insides(html: string): void { this.swaps.insides(html); }

  /** insert adds a node and connects it to a port, or inserts it into an edge. It returns the ID. */
  insert(node: Omit<FlowNode, "id"> & { id?: string }, attach: Attach = {}): string { return this.changes.insert(node, attach); }

  /** chosen returns the selected nodes, or else the focused one. */
  chosen(): string[] { return this.actions.chosen(); }

  /** erase deletes the selection. With reconnect, the neighbors of deleted nodes are connected to each other. */
  erase(reconnect = false): void { this.actions.erase(reconnect); }

  /** disable disables the chosen nodes, or enables them when all are disabled. */
  disable(nodes?: string[]): void { this.actions.disable(nodes); }

  /** open asks the page to open a node and reports whether there is one. */
  open(node: string | undefined, part?: string): boolean {
    if (node) this.emit("canvas:open", { node, part });
    return !!node;
  }

  /** menu asks the page for a context menu and reports whether it shows one. */
  menu(client?: Point): boolean { return this.actions.menu(client); }

  /** palette asks the page which node to add: at a position, connected to a port, or inserted into an edge. */
  palette(client?: Point, attach: Attach = {}): void { this.actions.palette(client, attach); }

  /** tidy lays out the selection, or everything, as one step of the history. */
  tidy(): Promise<void> { return this.actions.tidy(); }

  /** align aligns or distributes the selected nodes. */
  align(how: Alignment): Promise<void> { return this.actions.align(how); }

  /** selectionBox returns the box of the selected nodes in pixels of the window, or undefined when none is selected. */
  selectionBox(): Box | undefined {
    const { nodes } = this.selection;
    if (!nodes.size) return undefined;
    const b = this.scene.bounds(nodes), { transform: [x, y, zoom] } = this.view, r = this.pane.getBoundingClientRect();
    return { x: r.x + x + b.x * zoom, y: r.y + y + b.y * zoom, width: b.width * zoom, height: b.height * zoom };
  }
}
