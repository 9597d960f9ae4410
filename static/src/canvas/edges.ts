// Edges as curves: a wide invisible path for the pointer and a thin visible one.
// A selected or hovered edge shows "+" to insert a node and a grip at each end.
import type { Box } from "./geometry.ts";
import { at, edgeKey, nodeOf, portOf, type Edge, type Point } from "./model.ts";
import type { HasScene } from "./scene.ts";
import { svg } from "./svg.ts";
import { curve, rising, route, type Detour } from "./route.ts";
import { ConnectionMode, getEdgePosition, Position } from "./xyflow.ts";

type View = { edge: Edge; group: SVGElement; line: SVGPathElement; hit: SVGElement; middle: [number, number]; d?: string; items?: SVGElement; order?: SVGElement };
type Ends = { sourceX: number; sourceY: number; targetX: number; targetY: number; sourcePosition: Position; targetPosition: Position };

const gripAt = matchMedia("(pointer: coarse)").matches ? 36 : 22; // flow units from the port, beyond its hit area, which is larger for fingers
const shortest = 64, shortestOrdered = 110; // flow units of an edge that has space for grips, without and with a number
const ordered = [0.75, 0.62] as const, besideOrder = [0.3, 0.4] as const; // where the number of an edge is, and "+" beside it, as parts of a short and of a long edge
const duration = 160; // ms that nodes take to make room
const most = 120; // nodes that glide; more jump

/** EdgesContext is what edges need of the canvas. */
export interface EdgesContext extends HasScene {
  readonly readonly: boolean;
  readonly pane: HTMLElement;
  readonly groups: { folded(node: string): string | undefined; box(group: string): Box | undefined };
  readonly selection: { forget(key: string): void };
  emit(name: string, detail: unknown): boolean;
  /** drawing is undefined until it is loaded. */
  readonly drawing: { readonly detour: Detour } | undefined;
  /** moved is called when anything may have moved on the screen. */
  moved(): void;
}

/** HasEdges is the part of a context for drawing nodes and edges. */
export interface HasEdges extends HasScene {
  readonly edges: Edges;
}

/**
 * Edges draws the edges of the draft, by edgeKey. A curve is redrawn when one of
 * its nodes moves (drawOf), and never while only the view moves: the whole SVG is
 * inside of the scaled viewport.
 */
export class Edges {
  private views = new Map<string, View>();
  private tools = svg("g", { class: "canvas-edge-tools nopan" });
  private aimed: string | undefined; // the key of the highlighted edge
  private shown: string | undefined; // the key of the edge whose tools are shown
  private pointed: string | undefined; // the key of the edge that is pointed at
  private routing = 0; // the animation frame that draws all edges
  private plain = false; // while nodes glide, edges are plain curves
  private gliding = 0; // the animation frame of glide

  constructor(private canvas: EdgesContext, private layer: SVGElement) {
    const plus = svg("g", { class: "canvas-edge-plus", role: "button", "aria-label": "Insert a node here" });
    plus.append(svg("circle", { r: "10" }), svg("path", { d: "M-4,0H4M0,-4V4" }));
    this.tools.append(plus, svg("circle", { class: "canvas-edge-grip", r: "7", "data-end": "from" }), svg("circle", { class: "canvas-edge-grip", r: "7", "data-end": "to" }));
  }

  /** sync adds and removes curves to match the draft. */
  sync(): void {
    const want = new Map(this.canvas.draft.edges.map((e) => [edgeKey(e), e]));
    for (const [key, v] of this.views) if (!want.has(key)) this.remove(key, v);
    for (const [key, e] of want) if (!this.views.has(key)) this.add(key, e);
  }

  private add(key: string, edge: Edge): void {
    const group = svg("g", { class: "canvas-edge", "data-edge": key, role: "img", "aria-label": this.name(edge) });
    const hit = group.appendChild(svg("path", { class: "canvas-edge-hit" }));
    const line = group.appendChild(svg("path", { class: "canvas-edge-line" })) as SVGPathElement;
    group.toggleAttribute("data-tool", isTool(edge));
    this.layer.append(group);
    this.views.set(key, { edge, group, hit, line, middle: [0, 0] });
    this.draw(key);
  }

  private remove(key: string, v: View): void {
    v.group.remove();
    this.views.delete(key);
    this.canvas.selection.forget(key);
    if (this.shown === key) this.showTools(undefined);
  }

  /** get returns the drawn edge with a key. */
  get(key: string): Edge | undefined { return this.views.get(key)?.edge; }
  element(key: string): SVGElement | undefined { return this.views.get(key)?.group; }
  path(key: string): SVGPathElement | undefined { return this.views.get(key)?.line; }
  get size(): number { return this.views.size; }

  /** name returns the accessible label of an edge. */
  name(e: Edge): string {
    const { scene } = this.canvas;
    return `Edge from ${scene.title(nodeOf(e.from))} output ${portOf(e.from)} to ${scene.title(nodeOf(e.to))} input ${portOf(e.to)}`;
  }

  /** drawOf draws the edges of a node again. */
  drawOf(node: string): void {
    for (const e of this.canvas.draft.edgesOf(node)) this.draw(edgeKey(e));
    this.drawn?.();
  }

  /** drawn is called after the edges of a node were drawn again, for what else depends on where nodes are. */
  drawn: (() => void) | undefined;

  /** moveNode shows a node at a position, with its edges. The draft is changed by an operation, once the gesture ends. */
  moveNode(id: string, p: Point): void { this.moveNodes([[id, p]]); }

  /** moveNodes shows several nodes at positions, and draws each of their edges once. */
  moveNodes(to: Iterable<readonly [string, Point]>): void {
    const keys = new Set<string>();
    for (const [id, p] of to) {
      this.canvas.scene.place(id, p);
      for (const e of this.canvas.draft.edgesOf(id)) keys.add(edgeKey(e));
    }
    for (const key of keys) this.draw(key);
    this.drawn?.();
  }

  /** glide moves nodes from where they were to where they are now. Their edges are curves until they arrive. */
  glide(from: Map<string, Point>): void {
    const { scene, draft, pane } = this.canvas, began = performance.now();
    if (matchMedia("(prefers-reduced-motion: reduce)").matches || from.size > most) return;
    const frame = (now: number) => {
      const part = Math.min(1, Math.max(0, now - began) / duration), eased = 1 - (1 - part) ** 3;
      this.plain = part < 1;
      this.moveNodes([...from].filter(([id]) => scene.boxes.has(id)).map(([id, a]) => {
        const b = draft.position(id);
        return [id, { x: a.x + (b.x - a.x) * eased, y: a.y + (b.y - a.y) * eased }] as const;
      }));
      this.gliding = part < 1 ? requestAnimationFrame(frame) : 0;
      pane.toggleAttribute("data-gliding", part < 1);
      if (part === 1) this.reroute();
      this.canvas.moved();
    };
    cancelAnimationFrame(this.gliding);
    frame(began);
  }

  /** settle ends a glide: its nodes are shown where they belong. */
  settle(): void {
    if (!this.gliding) return;
    cancelAnimationFrame(this.gliding);
    this.gliding = 0;
    this.plain = false;
    this.canvas.pane.removeAttribute("data-gliding");
    this.moveNodes([...this.canvas.scene.boxes.keys()].map((id) => [id, this.canvas.draft.position(id)] as const));
    this.reroute();
  }

  /** aim highlights the edge that a dragged node would be inserted into; undefined highlights none. */
  aim(edge: Edge | undefined): void {
    const key = edge && edgeKey(edge);
    if (key === this.aimed) return;
    this.element(this.aimed ?? "")?.removeAttribute("data-target");
    this.element(key ?? "")?.setAttribute("data-target", "");
    this.aimed = key;
  }

  /** point highlights the edge under the pointer and its two ports, and emits canvas:edge; the page shows the last value. focus: a port has the keyboard focus. */
  point(key: string | undefined, client: Point = { x: 0, y: 0 }, focus = false): void {
    if (key === this.pointed) return;
    this.ring(this.pointed, false);
    this.ring((this.pointed = key), true);
    this.canvas.emit("canvas:edge", { edge: this.get(key ?? ""), client, focus });
  }

  private ring(key: string | undefined, on: boolean): void {
    const v = key === undefined ? undefined : this.views.get(key), { scene } = this.canvas;
    if (!v) return;
    v.group.toggleAttribute("data-pointed", on);
    for (const port of [scene.port(v.edge.from, "out"), scene.port(v.edge.to, "in")]) if (port) scene.portElement(port)?.toggleAttribute("data-pointed", on);
  }

  private draw(key: string): void {
    const v = this.views.get(key);
    if (!v) return;
    const ends = this.ends(v.edge);
    v.group.style.display = ends ? "" : "none"; // not measured yet, or inside a folded group
    if (!ends) return;
    const { d, middle } = this.way(v.edge, ends);
    if (v.d === d) return;
    v.d = d;
    v.line.setAttribute("d", d);
    v.hit.setAttribute("d", d);
    v.middle = [middle.x, middle.y];
    this.placeItems(v);
    if (this.shown === key) this.placeTools(v);
  }

  /** way returns the shape of an edge: around the nodes that it does not belong to. */
  private way(e: Edge, ends: Ends) {
    const { scene } = this.canvas, from = nodeOf(e.from), to = nodeOf(e.to), s = { x: ends.sourceX, y: ends.sourceY }, t = { x: ends.targetX, y: ends.targetY };
    if (this.plain) return isTool(e) ? rising(s, t, [], [], 0, undefined) : curve(s, t);
    const own = [scene.box(from), scene.box(to)].filter((b) => b !== undefined), slot = (scene.ports.get(from) ?? []).findIndex((p) => p.side === "out" && at(p) === e.from);
    return (isTool(e) ? rising : route)(s, t, scene.visible().filter((b) => b.id !== from && b.id !== to), own, Math.max(0, slot), this.canvas.drawing?.detour);
  }

  /** reroute draws all edges again in the next frame: nodes that have moved may be in the way of edges of others. */
  reroute(): void {
    this.routing ||= requestAnimationFrame(() => {
      this.routing = 0;
      if (this.plain) return;
      for (const key of this.views.keys()) this.draw(key);
      this.drawn?.();
    });
  }

  /** levels returns how far the ports of an edge are below the tops of their nodes. */
  levels(e: Edge): { out?: number; into?: number } {
    const { scene } = this.canvas, from = scene.port(e.from, "out"), to = scene.port(e.to, "in");
    return { out: from && scene.level(from), into: to && scene.level(to) };
  }

  /** count shows how many items a run sent over an edge, when it was more than one. */
  count(key: string, items: number | undefined): void {
    const v = this.views.get(key);
    if (!v) return;
    v.items?.remove();
    v.items = undefined;
    const many = items !== undefined && items !== 1;
    v.group.setAttribute("aria-label", this.name(v.edge) + (many ? `, ${items} items` : ""));
    if (!many) return;
    v.items = v.group.appendChild(svg("text", { class: "canvas-edge-items", "text-anchor": "middle", dy: "-6" }));
    v.items.textContent = String(items);
    this.placeItems(v);
  }

  /** number shows the order of edges at ports where it matters: of lists, and where the first value counts. */
  number(): void {
    const { scene, draft } = this.canvas;
    for (const [key, v] of this.views) {
      const to = scene.port(v.edge.to, "in"), all = to?.first || (to?.many && to.type !== "tool") ? draft.edgesInto(v.edge.to) : [], n = all.length > 1 ? String(all.findIndex((e) => edgeKey(e) === key) + 1) : "";
      if ((v.order?.textContent ?? "") === n) continue;
      v.order?.remove();
      v.order = undefined;
      v.group.setAttribute("aria-label", this.name(v.edge) + (n && `, ${n} of ${all.length}`));
      if (!n) continue;
      v.order = v.group.appendChild(svg("g", { class: "canvas-edge-order nopan" }));
      v.order.append(svg("circle", { r: "9" }), svg("text", { "text-anchor": "middle", dy: "4" }));
      v.order.lastElementChild!.textContent = n;
      this.placeItems(v);
    }
  }

  private placeItems(v: View): void {
    if (v.order) {
      const p = along(v, ordered);
      v.order.setAttribute("transform", `translate(${p.x},${p.y})`);
    }
    v.items?.setAttribute("x", String(v.middle[0]));
    v.items?.setAttribute("y", String(v.middle[1]));
  }

  /** ends returns where an edge starts and ends. Edges of a collapsed group end at its frame; those within it are not drawn. */
  private ends(e: Edge): Ends | null {
    const from = nodeOf(e.from), to = nodeOf(e.to), { groups, scene } = this.canvas;
    const a = groups.folded(from), b = groups.folded(to);
    if (a && a === b) return null;
    const p = this.measured(e, from, to);
    if (!a && !b) return p;
    const A = a ? groups.box(a) : scene.box(from), B = b ? groups.box(b) : scene.box(to);
    if (!A || !B) return null;
    if (isTool(e)) return { sourceX: p && !a ? p.sourceX : A.x + A.width / 2, sourceY: A.y, targetX: p && !b ? p.targetX : B.x + B.width / 2, targetY: B.y + B.height, sourcePosition: Position.Top, targetPosition: Position.Bottom };
    const near = { sourceX: A.x + A.width, sourceY: A.y + A.height / 2, targetX: B.x, targetY: B.y + B.height / 2, sourcePosition: Position.Right, targetPosition: Position.Left };
    if (p && !a) { near.sourceX = p.sourceX; near.sourceY = p.sourceY; }
    if (p && !b) { near.targetX = p.targetX; near.targetY = p.targetY; }
    return near;
  }

  /** measured returns the positions of the two ports, or null before both nodes were measured. */
  private measured(e: Edge, from: string, to: string): Ends | null {
    const { boxes } = this.canvas.scene, s = boxes.get(from), t = boxes.get(to);
    if (!s?.internals.handleBounds || !t?.internals.handleBounds) return null;
    return getEdgePosition({ id: edgeKey(e), sourceNode: s, targetNode: t, sourceHandle: portOf(e.from), targetHandle: portOf(e.to), connectionMode: ConnectionMode.Strict });
  }

  /** showTools shows "+" and the grips on one edge, or hides them. */
  showTools(key: string | undefined): void {
    if (this.canvas.readonly) key = undefined;
    this.shown = key;
    const v = key === undefined ? undefined : this.views.get(key);
    if (!v) return this.tools.remove();
    this.layer.append(this.tools);
    this.placeTools(v);
  }

  /** toolsOf returns the key of the edge that shows its tools. */
  get toolsOf(): string | undefined { return this.shown; }

  /** placeTools puts "+" at the middle of the curve and the grips near its ends. */
  private placeTools(v: View): void {
    const [plus, from, to] = this.tools.children as unknown as SVGElement[];
    const length = v.line.getTotalLength(), grip = Math.min(gripAt, length / 3);
    const a = v.line.getPointAtLength(grip), b = v.line.getPointAtLength(length - grip);
    const at = v.order ? along(v, besideOrder) : { x: v.middle[0], y: v.middle[1] };
    plus!.setAttribute("transform", `translate(${at.x},${at.y})`);
    for (const g of [from!, to!]) g.style.display = length < (v.order ? shortestOrdered : shortest) ? "none" : ""; // they would cover "+"
    from!.setAttribute("transform", `translate(${a.x},${a.y})`);
    to!.setAttribute("transform", `translate(${b.x},${b.y})`);
  }

  /** under returns the edge at a position of the window, even behind nodes: a dragged node covers the edge that it is dropped on. */
  under(client: Point): Edge | undefined {
    for (const el of document.elementsFromPoint(client.x, client.y)) {
      const key = el.classList.contains("canvas-edge-hit") && el.closest("[data-edge]")?.getAttribute("data-edge");
      if (key) return this.get(key);
    }
    return undefined;
  }

  /** rename updates the labels of a node's edges after its title changed. */
  rename(node: string): void {
    for (const e of this.canvas.draft.edgesOf(node)) this.element(edgeKey(e))?.setAttribute("aria-label", this.name(e));
  }
}

/** isTool reports whether an edge makes a node a tool of an agent. */
export const isTool = (e: Edge): boolean => portOf(e.from) === "tool";

/** along returns the point of an edge at a part of its length. */
function along(v: View, [short, long]: readonly [number, number]): Point {
  const length = v.line.getTotalLength();
  return v.line.getPointAtLength(length * (length < shortestOrdered ? short : long));
}
