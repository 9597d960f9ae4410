// The nodes on the canvas: their elements, sizes and ports. The server renders
// what is inside an <article>; the canvas owns only the <article> itself (its
// position, selection and tab stop).
import type { Box } from "./geometry.ts";
import { ends, type Draft, type Point, type Port, type PortType, type Side } from "./model.ts";
import { adoptUserNodes, flowId, getInternalNodesBounds, handleClass, infiniteExtent, nodeClass, updateNodeInternals, type InternalNodeBase, type NodeBase } from "./xyflow.ts";

/** SceneContext is what the scene needs of the canvas. */
export interface SceneContext {
  readonly pane: HTMLElement;
  readonly draft: Draft;
  readonly selection: { readonly nodes: ReadonlySet<string> };
}

/** HasScene is the part of a context for reading the flow and finding its nodes on the screen. */
export interface HasScene {
  readonly draft: Draft;
  readonly scene: Scene;
}

/**
 * Scene holds what is known about each node on the screen, by node ID. boxes,
 * elements and ports always have the same keys; a node of the draft that the
 * server has not rendered yet has a placeholder element without ports.
 */
export class Scene {
  /** boxes is the lookup of nodes that the library needs: geometry, selection and port positions. */
  readonly boxes = new Map<string, InternalNodeBase>();
  readonly elements = new Map<string, HTMLElement>();
  readonly ports = new Map<string, Port[]>();
  private readonly trash = new Map<string, HTMLElement>(); // elements of removed nodes, for undo
  private readonly parents = new Map();
  private shown: (Box & { id: string })[] | undefined; // what visible returns, until a node moves

  constructor(private canvas: SceneContext) {}

  /** adopt takes over a node's element, new or replaced. measure reads its size. */
  adopt(el: HTMLElement): string {
    const id = el.dataset.id!;
    const known = this.canvas.draft.nodes.get(id);
    const rendered = { x: Number(el.dataset.x) || 0, y: Number(el.dataset.y) || 0 };
    if (!known) this.canvas.draft.nodes.set(id, { id, kind: el.dataset.kind ?? "", label: el.dataset.label || undefined, position: rendered, config: {} });
    else if (!known.position) this.canvas.draft.layOut(id, rendered);
    const position = this.canvas.draft.position(id);
    const selected = this.canvas.selection.nodes.has(id);
    const one = new Map<string, InternalNodeBase>();
    adoptUserNodes([{ id, position, selected, data: {} } as NodeBase], one as never, new Map()); // clears the map that it is given, so never pass it boxes
    this.boxes.set(id, one.get(id)!);
    this.shown = undefined;
    this.elements.set(id, el);
    this.trash.delete(id);
    this.shell(el, id, position, selected);
    this.readPorts(id);
    return id;
  }

  /** shell sets the attributes of an <article> that the canvas owns. */
  private shell(el: HTMLElement, id: string, p: Point, selected: boolean): void {
    el.id = `node-${id}`;
    el.classList.add(nodeClass);
    el.style.transform = `translate(${p.x}px,${p.y}px)`;
    el.toggleAttribute("data-selected", selected);
    el.tabIndex = -1;
    el.setAttribute("aria-roledescription", "node");
    this.size(el, id);
  }

  /** size sets the size of a note from its config; other nodes fit their content. */
  private size(el: HTMLElement, id: string): void {
    const n = this.canvas.draft.nodes.get(id);
    if (n?.kind !== "note") return;
    const px = (v: unknown) => (typeof v === "number" && v > 0 ? `${v}px` : "");
    el.style.width = px(n.config.width);
    el.style.minHeight = px(n.config.height);
  }

  /** resize applies a size that was changed in the config. */
  resize(id: string): void {
    const el = this.elements.get(id);
    if (el) this.size(el, id);
  }

  /** reshell restores the attributes of a node's element. */
  reshell(id: string): void {
    const el = this.elements.get(id), box = this.boxes.get(id);
    if (el && box) this.shell(el, id, box.position, this.canvas.selection.nodes.has(id));
  }

  /** readPorts finds the ports of a node and decorates them for the library. */
  readPorts(id: string): void {
    const list: Port[] = [];
    for (const p of this.elements.get(id)!.querySelectorAll<HTMLElement>("[data-port]")) list.push(decorate(p, id));
    this.ports.set(id, list);
  }

  /**
   * measure reads sizes and port positions, which the library caches: it never
   * notices a new or moved port, so every swap inside a node has to end here.
   * It uses getBoundingClientRect, so a transform inside of a node would distort
   * the result.
   */
  measure(ids: Iterable<string>): void {
    const all = [...ids].filter((id) => this.elements.has(id));
    const updates = new Map(all.map((id) => [id, { id, nodeElement: this.elements.get(id) as HTMLDivElement, force: true }]));
    updateNodeInternals(updates, this.boxes, this.parents, this.canvas.pane as HTMLDivElement, [0, 0], infiniteExtent);
    this.shown = undefined;
  }

  /**
   * place moves a node on the screen only; the draft is changed by an operation.
   * It changes the library's record in place: adopting the node again on every
   * movement, as React Flow does, would cost a pass over all nodes per frame.
   */
  place(id: string, p: Point): void {
    const box = this.boxes.get(id), el = this.elements.get(id);
    if (!box || !el) return;
    box.position = box.internals.userNode.position = box.internals.positionAbsolute = { x: p.x, y: p.y };
    el.style.transform = `translate(${p.x}px,${p.y}px)`;
    this.shown = undefined;
  }

  /** drop forgets a node whose element left the page. */
  drop(id: string): void {
    this.boxes.delete(id);
    this.elements.delete(id);
    this.ports.delete(id);
    this.shown = undefined;
  }

  /** discard removes a node's element and keeps it for undo. */
  discard(id: string): void {
    const el = this.elements.get(id);
    if (!el) return;
    this.drop(id);
    this.trash.set(id, el);
    el.remove();
  }

  /** recover returns the element of a node that was removed, or a placeholder until the server sends its content. */
  recover(id: string): HTMLElement {
    const kept = this.trash.get(id);
    if (kept) return kept;
    const n = this.canvas.draft.nodes.get(id)!;
    const el = document.createElement("article");
    el.className = "node";
    Object.assign(el.dataset, { id, kind: n.kind });
    el.setAttribute("aria-busy", "true");
    el.setAttribute("aria-label", n.label || id);
    el.append(Object.assign(document.createElement("header"), { textContent: n.label || id }));
    return el;
  }

  /** port returns a port by its address ("node.port"). Inputs and outputs of a node may have the same name, so the side is needed. */
  port(at: string, side: Side): Port | undefined {
    const [node, name] = ends(at);
    return this.ports.get(node)?.find((p) => p.side === side && p.name === name);
  }

  portElement(p: Port): HTMLElement | null {
    return this.elements.get(p.node)?.querySelector(`[data-port="${CSS.escape(p.name)}"][data-side="${p.side}"]`) ?? null;
  }

  /** title returns the displayed name of a node. */
  title(id: string): string {
    return this.elements.get(id)?.querySelector("[data-title]")?.textContent?.trim() || this.canvas.draft.title(id);
  }

  /** bounds returns the box around some nodes, or all of them, without hidden ones. */
  bounds(ids?: Iterable<string>): Box {
    const only = ids && new Set(ids);
    return getInternalNodesBounds(this.boxes, only ? { filter: (n) => only.has(n.id) && !this.hidden(n.id) } : { filter: (n) => !this.hidden(n.id) });
  }

  /** box returns the position and measured size of a node, in flow units. */
  box(id: string): Box | undefined {
    const b = this.boxes.get(id);
    return b && { ...b.internals.positionAbsolute, width: b.measured.width ?? 0, height: b.measured.height ?? 0 };
  }

  /** visible returns the boxes of all nodes that are not hidden. */
  visible(): (Box & { id: string })[] {
    return (this.shown ??= [...this.boxes.keys()].filter((id) => !this.hidden(id)).map((id) => ({ id, ...this.box(id)! })));
  }

  /** refold makes visible look again, after nodes were hidden or shown. */
  refold(): void { this.shown = undefined; }

  /** level returns how far the middle of a port is below the top of its node. */
  level(p: Port): number | undefined {
    const b = this.boxes.get(p.node)?.internals.handleBounds?.[p.side === "out" ? "source" : "target"]?.find((h) => h.id === p.name);
    return b && b.y + b.height / 2;
  }

  /** hidden reports whether a node is inside a collapsed group, or not on the screen at all. */
  hidden(id: string): boolean { return !!(this.elements.get(id)?.hidden ?? true); }
}

/** decorate adds the attributes that the library looks for to a port. A morph removes them again, see Watch. */
function decorate(el: HTMLElement, node: string): Port {
  const side = (el.dataset.side === "out" ? "out" : "in") as Side;
  const type = side === "out" ? "source" : "target"; // the library's terms for output and input
  const name = el.dataset.port!;
  if (!el.classList.contains(handleClass)) el.classList.add(handleClass, type, "connectable", "connectableend", "nodrag", "nopan");
  const marks = { nodeid: node, handleid: name, handlepos: el.dataset.type === "tool" ? (side === "out" ? "top" : "bottom") : side === "out" ? "right" : "left", id: `${flowId}-${node}-${name}-${type}` };
  for (const [k, v] of Object.entries(marks)) if (el.dataset[k] !== v) el.dataset[k] = v;
  if (el.tabIndex !== -1) el.tabIndex = -1;
  return { node, name, side, type: (el.dataset.type ?? "any") as PortType, many: "many" in el.dataset, ...("first" in el.dataset && { first: true }) };
}
