// The flow document (sluice.flow/v1) and the draft that the canvas edits.

export const schema = "sluice.flow/v1";

export type Point = { x: number; y: number };
export type PortType = "text" | "number" | "boolean" | "json" | "list" | "file" | "messages" | "any" | "file or text" | "list, file or text" | "list or text" | "tool";
export type Side = "in" | "out";

/** Port is a named input or output of a node. many: it takes several edges; first: of these, the first one with a value counts. */
export type Port = { node: string; name: string; side: Side; type: PortType; many: boolean; first?: boolean };

/** Edge connects two ports, each written node.port. */
export type Edge = { from: string; to: string };

/** Via names the ports of a new node to connect, where the first that fit are not the right ones. */
export type Via = { into?: string; out?: string };

/** Attach is what a new node is connected to: a port, or an edge that it is inserted into. */
export type Attach = { port?: Port; edge?: Edge; via?: Via; /** also is another edge to the same input of a node in an edge, from its output; instead is the edge that it replaces. */ also?: { from: string; instead?: Edge } };

/** Group frames nodes on the canvas. */
export type Group = { id: string; label?: string; color?: string; nodes: string[] };

/** FlowNode is a node of the document. */
export type FlowNode = {
  id: string; kind: string; label?: string; position?: Point; color?: string; disabled?: boolean;
  retry?: { attempts: number; backoff_s?: number }; timeout_s?: number; on_error?: unknown; tool?: unknown; config: Record<string, unknown>;
};

export type FlowDocument = { schema?: string; name?: string; description?: string; nodes: FlowNode[]; edges: Edge[]; groups?: Group[] };

/** ends splits node.port at the first dot; port names may contain dots. */
export function ends(at: string): [node: string, port: string] {
  const dot = at.indexOf(".");
  return dot < 0 ? [at, ""] : [at.slice(0, dot), at.slice(dot + 1)];
}

/** nodeOf and portOf return the parts of "node.port"; at joins them; edgeKey identifies an edge in maps and attributes. */
export const nodeOf = (at: string): string => ends(at)[0];
export const portOf = (at: string): string => ends(at)[1];
export const edgeKey = (e: Edge): string => `${e.from}>${e.to}`;
export const at = (p: { node: string; name: string }): string => `${p.node}.${p.name}`;

/**
 * fits reports whether an edge between the types can work. The server has the
 * same rule (flow/validate.go) and decides.
 */
export function fits(from: PortType, to: PortType): boolean {
  if (from === "tool" || to === "tool") return from === to;
  const loose = (t: PortType) => t === "any" || t === "json";
  const scalar = (t: PortType) => t === "number" || t === "boolean";
  if (from === "text" && to === "file") return true; // a URL is fetched
  if (from === "messages") from = "list";
  if (to === "messages") to = "list";
  const overlap = from.split(/, | or /).some((t) => to.split(/, | or /).includes(t));
  return overlap || loose(from) || loose(to) || (from === "text" && scalar(to)) || (scalar(from) && to === "text");
}

/** insertAt sets a key of a map at an index of its order; without one, or with one beyond the end, a new key comes last. */
export function insertAt<T>(map: Map<string, T>, key: string, value: T, at = map.size): void {
  if (map.has(key) || at >= map.size) return void map.set(key, value);
  const rest = [...map].slice(Math.max(at, 0));
  for (const [k] of rest) map.delete(k);
  map.set(key, value);
  for (const [k, v] of rest) map.set(k, v);
}

/** Draft is the document of the server with the edits made here that are not saved yet. */
export class Draft {
  name = "";
  description = "";
  readonly nodes = new Map<string, FlowNode>();
  readonly groups = new Map<string, Group>();
  edges: Edge[] = []; // in order: a list port receives its values in this order
  private touching = new Map<string, Edge[]>(); // node to its edges; rebuilt when edges change
  private laidOut = new Map<string, Point>(); // where nodes without a position of their own are shown

  constructor(d: FlowDocument) {
    this.name = d.name ?? "";
    this.description = d.description ?? "";
    for (const n of d.nodes) this.nodes.set(n.id, n);
    for (const g of d.groups ?? []) this.groups.set(g.id, g);
    this.setEdges(d.edges);
  }

  /** setEdges replaces all edges and rebuilds the index by node. Edges are never changed in place. */
  setEdges(edges: Edge[]): void {
    this.edges = edges;
    this.touching = new Map();
    for (const e of edges) {
      const [a, b] = [nodeOf(e.from), nodeOf(e.to)];
      this.touch(a, e);
      if (b !== a) this.touch(b, e);
    }
  }

  private touch(node: string, e: Edge): void {
    const list = this.touching.get(node);
    if (list) list.push(e);
    else this.touching.set(node, [e]);
  }

  /** edgesOf returns the edges from and to a node; edgesInto and edgesFrom those of one port. */
  edgesOf(node: string): Edge[] { return this.touching.get(node) ?? []; }
  edgesInto(port: string): Edge[] { return this.edgesOf(nodeOf(port)).filter((e) => e.to === port); }
  edgesFrom(port: string): Edge[] { return this.edgesOf(nodeOf(port)).filter((e) => e.from === port); }
  hasEdge(e: Edge): boolean { return this.edgesOf(nodeOf(e.from)).some((o) => o.from === e.from && o.to === e.to); }
  /** groupOf returns the first group that contains a node. */
  groupOf(node: string): Group | undefined { return [...this.groups.values()].find((g) => g.nodes.includes(node)); }

  /** position returns where a node is shown: its own position, or else where it was laid out. */
  position(id: string): Point { return this.nodes.get(id)?.position ?? this.laidOut.get(id) ?? { x: 0, y: 0 }; }

  /** layOut records where a node without a position of its own is shown. */
  layOut(id: string, p: Point): void { if (!this.laidOut.has(id)) this.laidOut.set(id, p); }

  /** place gives a node a position. With null the node has none and is shown where it was laid out, or else where it is. */
  place(n: FlowNode, p: Point | null): void {
    if (p) n.position = { ...p };
    else if (n.position) {
      this.layOut(n.id, n.position);
      delete n.position;
    }
  }

  /** insert adds a node at an index in the order of nodes, or at the end. */
  insert(n: FlowNode, at?: number): void { insertAt(this.nodes, n.id, n, at); }
  /** title returns the label of a node, or else its ID. */
  title(id: string): string { return this.nodes.get(id)?.label || id; }

  /** after returns the nodes that depend on this one, directly or not. more are edges between nodes beside those of the document. */
  after(id: string, more: Edge[] = []): Set<string> { return this.reach(id, "from", "to", more); }

  /** before returns the nodes that this one depends on, directly or not. */
  before(id: string): Set<string> { return this.reach(id, "to", "from", []); }

  /** reach follows edges from their near to their far end. The start is only included when it is part of a loop. */
  private reach(id: string, near: "from" | "to", far: "from" | "to", more: Edge[]): Set<string> {
    const seen = new Set<string>(), queue = [id];
    for (let n = queue.pop(); n !== undefined; n = queue.pop())
      for (const e of more.length ? [...this.edgesOf(n), ...more] : this.edgesOf(n)) {
        const next = nodeOf(e[far]);
        if (nodeOf(e[near]) === n && !seen.has(next)) { seen.add(next); queue.push(next); }
      }
    return seen;
  }

  /** order returns the nodes in topological order, for keyboard navigation; nodes of a cycle come last. */
  order(): string[] {
    const waits = new Map([...this.nodes.keys()].map((id) => [id, 0]));
    for (const e of this.edges) waits.set(nodeOf(e.to), (waits.get(nodeOf(e.to)) ?? 0) + 1);
    const byPlace = (a: string, b: string) => this.position(a).x - this.position(b).x || this.position(a).y - this.position(b).y;
    const ready = [...this.nodes.keys()].filter((id) => !waits.get(id)).sort(byPlace);
    const out: string[] = [];
    for (let id = ready.shift(); id !== undefined; id = ready.shift()) {
      out.push(id);
      for (const e of this.edgesOf(id)) {
        if (nodeOf(e.from) !== id) continue;
        const to = nodeOf(e.to), left = waits.get(to)! - 1;
        waits.set(to, left);
        if (!left) ready.push(to);
      }
    }
    return [...out, ...[...this.nodes.keys()].filter((id) => !out.includes(id))]; // nodes of cycles
  }

  /** free returns an ID like base that no node has, and adds it to taken. */
  free(base: string, taken = new Set<string>()): string {
    const stem = base.replace(/_\d+$/, "").slice(0, 56) || "node";
    let id = stem;
    for (let i = 2; this.nodes.has(id) || taken.has(id); i++) id = `${stem}_${i}`;
    taken.add(id);
    return id;
  }
}
