// Connecting ports by dragging, and moving the ends of edges; taps and keys are
// in taps.ts. Ports that fit are highlighted, and the others explain why not.
import type { OfferContext } from "./choice.ts";
import type { Announcer, Committer, Emitter } from "./context.ts";
import type { HasEdges } from "./edges.ts";
import { at, edgeKey, ends, fits, nodeOf, type Attach, type Edge, type Point, type Port, type Via } from "./model.ts";
import type { Op } from "./ops.ts";
import { curve, rising } from "./route.ts";
import { connectOps, loopNodes, loopOver, pair, refusal } from "./rules.ts";
import { svg } from "./svg.ts";
import type { HasView } from "./viewport.ts";
import { ConnectionMode, flowId, handleClass, lib, pointToRendererPoint, XYHandle, type Connection, type ConnectionState } from "./xyflow.ts";

const radius = 24; // flow units within which a port catches the pointer
const threshold = 3; // pixels; below it a press is a tap
/** fingers matches where the main pointer is a finger. */
export const fingers = matchMedia("(pointer: coarse)");

type State = ConnectionState & { inProgress: boolean };

/** ConnectContext is what making edges needs of the canvas. */
export interface ConnectContext extends Committer, Emitter, HasEdges, HasView, OfferContext {
  readonly layer: HTMLElement;
  readonly announce: Announcer;
  readonly taps: { readonly pending: Port | undefined; cancel(): boolean };
  readonly drawing: typeof import("./drawing.ts") | undefined;
  palette(client: Point, attach: Attach): void;
}

/**
 * Connect drags edges out of ports. XYHandle finds the port near the pointer and
 * reports the state of the drag; Connect decides what is valid and draws it.
 *
 * XYHandle must be started from both mousedown and touchstart, it does not know
 * pointer events (see pointer.ts). While it runs, getFromHandle has to return the
 * handle that the drag started at, or the drag ends at once.
 */
export class Connect {
  private state: State | undefined;
  private moving: Edge | undefined; // the edge whose end is dragged
  private from: Port | undefined;
  private over: HTMLElement | null = null;
  private line = svg("path", { class: "canvas-connecting" });
  private tip = Object.assign(document.createElement("div"), { className: "canvas-reason" });

  constructor(private canvas: ConnectContext, private layer: SVGElement) {}

  /** press starts a drag at a port. At a connected input it picks up the end of its edge. */
  press(e: MouseEvent | TouchEvent, el: HTMLElement): void {
    const port = this.portOf(el);
    if (!port || this.canvas.readonly) return;
    const [taken] = port.side === "in" && !port.many ? this.canvas.draft.edgesInto(at(port)) : [];
    if (taken) return this.pressEnd(e, taken, "to", el);
    this.start(e, port, el);
  }

  /** pressEnd starts to move one end of an edge. */
  pressEnd(e: MouseEvent | TouchEvent, edge: Edge, end: "from" | "to", el: Element): void {
    const fixed = end === "to" ? this.canvas.scene.port(edge.from, "out") : this.canvas.scene.port(edge.to, "in");
    if (!fixed || this.canvas.readonly) return;
    this.start(e, fixed, el, edge);
  }

  /** start drags from a port. With moving it replaces that edge, whose other end is the port. */
  private start(e: MouseEvent | TouchEvent, from: Port, el: Element, moving?: Edge): void {
    const type = from.side === "out" ? "source" : "target";
    const { pane, scene, view } = this.canvas;
    XYHandle.onPointerDown(e, {
      lib, flowId,
      domNode: pane as HTMLDivElement,
      handleDomNode: el,
      nodeId: from.node,
      handleId: from.name,
      isTarget: from.side === "in",
      nodeLookup: scene.boxes,
      connectionMode: ConnectionMode.Strict,
      connectionRadius: radius,
      dragThreshold: threshold,
      autoPanOnConnect: true,
      edgeUpdaterType: moving ? type : undefined,
      panBy: view.pan,
      getTransform: () => view.transform,
      getFromHandle: () => (this.state?.inProgress ? this.state.fromHandle : null) as never,
      isValidConnection: (c) => !this.refusalOf(c as Connection),
      onConnectStart: () => this.begin(from, moving),
      updateConnection: (c) => { this.state = c as State; this.draw(); },
      cancelConnection: () => this.end(),
      onConnect: (c) => this.dropped(c),
      onConnectEnd: (event, c) => { if (!c.isValid) this.droppedElsewhere(event); },
    });
  }

  private begin(from: Port, moving: Edge | undefined): void {
    this.canvas.taps.cancel();
    this.from = from;
    this.moving = moving;
    if (moving) this.canvas.edges.element(edgeKey(moving))?.setAttribute("data-moving", "");
    this.mark(from);
  }

  /** active reports whether an edge is being dragged. */
  get active(): boolean { return !!this.state?.inProgress; }

  /** refusalFor returns why two ports cannot be connected, or undefined when they can. */
  refusalFor(a: Port, b: Port, moving?: Edge): string | undefined {
    return refusal(this.canvas.draft, a, b, moving, (id) => this.canvas.scene.title(id));
  }

  private refusalOf(c: Connection): string | undefined {
    const [a, b] = this.portsOf(c);
    return a && b ? this.refusalFor(a, b, this.moving) : "This port no longer exists.";
  }

  private dropped(c: Connection): void {
    const [a, b] = this.portsOf(c);
    this.join(a!, b!, this.moving); // the library reports valid connections only
  }

  /** portsOf returns the output and the input that the library would connect. */
  private portsOf(c: Connection): [from: Port | undefined, to: Port | undefined] {
    const { scene } = this.canvas;
    return [scene.port(`${c.source}.${c.sourceHandle}`, "out"), scene.port(`${c.target}.${c.targetHandle}`, "in")];
  }

  /** join connects two ports as one step of the history. It asks first where only one value counts and there is one. */
  join(a: Port, b: Port, moving?: Edge): void {
    const { draft, drawing, scene } = this.canvas, [from, to] = pair(a, b)!, taken = draft.edgesInto(at(to)).filter((e) => !moving || edgeKey(e) !== edgeKey(moving));
    const el = scene.portElement(to), same = moving && moving.from === at(from) && moving.to === at(to);
    if (drawing && el && taken.length && !same && (!to.many || to.first)) this.ask(from, to, el, taken[0]!, moving);
    else this.connect(a, b, connectOps(draft, a, b, moving), moving);
  }

  /** ask asks whether an edge replaces those of a port, or is used when they have no value. It waits for the end of the drag, which removes the line. */
  private ask(from: Port, to: Port, el: HTMLElement, taken: Edge, moving?: Edge): void {
    requestAnimationFrame(() => this.canvas.drawing!.offer(this.canvas, { from, to, el, taken, moving }, (ops) => this.connect(from, to, ops, moving), this.line, this.layer));
  }

  /** connect applies the operations that connect two ports. */
  private connect(a: Port, b: Port, ops: Op[], moving?: Edge): void {
    if (!ops.length) return;
    this.canvas.commit(moving ? "Reconnect" : "Connect", ops);
    const [from, to] = a.side === "out" ? [a, b] : [b, a], input = ops.some((o) => o.op === "set") && to.name.replace("input.", "");
    this.canvas.announce.say(`Connected ${this.canvas.scene.title(from.node)} ${from.name} to ${this.canvas.scene.title(to.node)} ${to.name}${input ? `, looping over ${input}` : ""}`);
  }

  /** droppedElsewhere handles a drop that made no edge: on a node, on a port that does not fit, or on empty space. */
  private droppedElsewhere(e: MouseEvent | TouchEvent): void {
    const p = "changedTouches" in e ? e.changedTouches[0]! : e, client = { x: p.clientX, y: p.clientY };
    const el = document.elementFromPoint(client.x, client.y), from = this.from!, moving = this.moving;
    const port = el?.closest<HTMLElement>(`.${handleClass}`), node = el?.closest<HTMLElement>("article[data-id]")?.dataset.id;
    if (port) {
      const to = this.portOf(port);
      if (to && to.node + to.name + to.side !== from.node + from.name + from.side) this.refuse(this.refusalFor(from, to, moving) ?? "");
    } else if (node) this.joinNode(from, node, moving);
    else if (!el) return;
    else if (!this.canvas.pane.contains(el)) this.canvas.emit("canvas:fill", { port: from, el, moving }); // perhaps a field of the page
    else if (moving) this.canvas.commit("Disconnect", [{ op: "disconnect", edge: moving }]);
    else this.canvas.palette(client, { port: from });
  }

  /** joinNode connects to the first free port of a node that fits. Without one the page may make one, by a name in a template. */
  joinNode(from: Port, node: string, moving?: Edge): void {
    const free = this.free(from, node, moving);
    if (free) this.join(from, free, moving);
    else if (this.canvas.emit("canvas:fill", { port: from, node, moving })) this.refuse(`No free port on ${this.canvas.scene.title(node)} matches ${this.canvas.scene.title(from.node)} › ${from.name}.`);
  }

  /** firstFitOps returns the operations that connect a port to the first free port of a node that fits. */
  firstFitOps(from: Port, node: string, via: Via = {}): Op[] | undefined {
    if (from.side === "out" && via.into) return [{ op: "connect", edge: { from: at(from), to: `${node}.${via.into}` } }];
    const free = this.free(from, node);
    return free && connectOps(this.canvas.draft, from, free);
  }

  /** free returns the first port of a node that a drop on the node connects to. */
  private free(from: Port, node: string, moving?: Edge): Port | undefined {
    const { scene, draft } = this.canvas;
    const fitting = (scene.ports.get(node) ?? []).filter((p) => !this.refusalFor(from, p, moving));
    return fitting.find((p) => p.side === "out" || p.many || !draft.edgesInto(at(p)).length);
  }

  /** reconnectOps returns the operations that connect the single source of removed nodes to their targets, where the types fit. */
  reconnectOps(gone: Set<string>): Op[] {
    const { draft, scene } = this.canvas;
    const into = draft.edges.filter((e) => gone.has(nodeOf(e.to)) && !gone.has(nodeOf(e.from)));
    const out = draft.edges.filter((e) => gone.has(nodeOf(e.from)) && !gone.has(nodeOf(e.to)));
    if (into.length !== 1) return [];
    return out.flatMap((e) => {
      const from = scene.port(into[0]!.from, "out"), to = scene.port(e.to, "in");
      return from && to && fits(from.type, to.type) ? [{ op: "disconnect", edge: e }, { op: "connect", edge: { from: into[0]!.from, to: e.to } }] as Op[] : [];
    });
  }

  /** refuse shows why two ports cannot be connected. */
  refuse(reason: string): void {
    if (!reason) return;
    this.canvas.announce.say(reason);
    this.canvas.emit("canvas:refused", { reason, by: "canvas" });
  }

  /** mark highlights the ports that fit. Nodes that would close a loop are found once, instead of by a search for each port. */
  mark(from: Port): void {
    const around = loopNodes(this.canvas.draft, from);
    this.canvas.pane.setAttribute("data-connecting", from.side);
    for (const ports of this.canvas.scene.ports.values())
      for (const p of ports) {
        const el = this.canvas.scene.portElement(p);
        if (el) el.dataset.fit = this.fitsFrom(from, p, around) ? "yes" : "no";
      }
  }

  /** fitsFrom reports whether a port can be connected to another. around are the nodes that would close a loop. */
  fitsFrom(from: Port, p: Port, around: Set<string>): boolean {
    if (p.side === from.side || p.node === from.node || around.has(p.node)) return false;
    const [source, target] = from.side === "out" ? [from, p] : [p, from];
    return fits(source.type, target.type) || !!loopOver(this.canvas.draft, source, target);
  }

  /** unmark removes the highlight of mark. */
  unmark(): void {
    this.canvas.pane.removeAttribute("data-connecting");
    for (const el of this.canvas.layer.querySelectorAll<HTMLElement>("[data-fit]")) delete el.dataset.fit;
  }

  /** draw shows the edge that is being dragged. */
  private draw(): void {
    const c = this.state;
    if (!c?.inProgress) return;
    const to = pointToRendererPoint(c.to, this.canvas.view.transform); // the library gives it in pixels, `from` in flow units
    const [s, t] = c.fromHandle.type === "source" ? [c.from, to] : [to, c.from];
    this.line.setAttribute("d", (c.fromHandle.position === "top" || c.fromHandle.position === "bottom" ? rising(s, t, [], [], 0, undefined) : curve(s, t)).d);
    this.line.setAttribute("data-valid", String(c.isValid));
    if (!this.line.isConnected) this.layer.append(this.line);
    this.point(c);
  }

  /** point marks the port under the pointer as valid or invalid, and shows the reason beside the pointer. */
  private point(c: State & { inProgress: true }): void {
    const to = c.toHandle && this.canvas.scene.port(`${c.toHandle.nodeId}.${c.toHandle.id}`, c.toHandle.type === "source" ? "out" : "in");
    const el = to ? this.canvas.scene.portElement(to) : null;
    if (this.over !== el) this.over?.removeAttribute("data-verdict");
    this.over = el;
    el?.setAttribute("data-verdict", c.isValid ? "valid" : "invalid");
    const [source, target] = (to && this.from && pair(this.from, to)) ?? [], input = c.isValid && source && target ? loopOver(this.canvas.draft, source, target) : undefined;
    const reason = to && !c.isValid && this.from && at(to) !== at(this.from) ? this.refusalFor(this.from, to, this.moving) : undefined;
    this.showTip(reason ?? (input && `Loop over ${input}`), !!input, c.pointer);
  }

  /** showTip shows beside the pointer why an edge does not fit, or what it will do. */
  private showTip(text: string | undefined, fine: boolean, p: Point): void {
    if (!text) return this.tip.remove();
    this.tip.textContent = text;
    this.tip.toggleAttribute("data-fine", fine);
    if (!this.tip.isConnected) this.canvas.pane.append(this.tip);
    const { offsetWidth: w, offsetHeight: h } = this.tip, x = Math.max(8, Math.min(p.x + 14, this.canvas.view.size.width - w - 8));
    this.tip.style.transform = `translate(${x}px,${fingers.matches ? Math.max(8, p.y - h - 44) : p.y + 14}px)`; // not below a finger
  }

  private end(): void {
    if (this.moving) this.canvas.edges.element(edgeKey(this.moving))?.removeAttribute("data-moving");
    this.over?.removeAttribute("data-verdict");
    this.over = null;
    this.state = this.from = this.moving = undefined;
    this.line.remove();
    this.tip.remove();
    if (!this.canvas.taps.pending) this.unmark();
  }

  /** portOf returns the port that an element shows. */
  portOf(el: HTMLElement): Port | undefined {
    const { nodeid, port, side } = el.dataset;
    return this.canvas.scene.port(`${nodeid}.${port}`, side === "out" ? "out" : "in");
  }

  /** clear removes all edges of a port. */
  clear(el: HTMLElement): void {
    const p = this.portOf(el);
    if (!p || this.canvas.readonly) return;
    const edges = p.side === "in" ? this.canvas.draft.edgesInto(at(p)) : this.canvas.draft.edgesFrom(at(p));
    if (!edges.length) return;
    this.canvas.commit("Disconnect", edges.map((edge) => ({ op: "disconnect", edge })));
    this.canvas.announce.say(`Removed ${edges.length === 1 ? "the edge" : `${edges.length} edges`} of ${ends(at(p)).join(" ")}`);
  }
}
