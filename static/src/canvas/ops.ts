// The edit operations of a draft. The server applies the same ones (flow's
// ApplyEdits), and both run the vectors in testdata/edits. Operations are
// tolerant: they skip objects that another tab has removed. An operation
// that the server would refuse has an unspecified effect here, but its inverse
// restores the draft.
import { insertAt, nodeOf, type Draft, type Edge, type FlowNode, type Group, type Point } from "./model.ts";

export type Op =
  | { op: "move"; nodes: Record<string, Point | null> } // null: the node has no position of its own
  | { op: "add"; node: FlowNode; at?: number; groups?: Membership[] } // with at: puts a node back; skipped when its ID is in use
  | { op: "remove"; nodes: string[]; edges?: Edge[] } // edges: those that went with the nodes, for information only
  | { op: "connect"; edge: Edge; at?: number; place?: number } // at: index among the edges of the input port; place: among all edges
  | { op: "disconnect"; edge: Edge; at?: number }
  | { op: "set"; node: string; field: string; value?: unknown }
  | { op: "put"; node: string; member: Member; value?: unknown }
  | { op: "group"; id: string; group?: Omit<Group, "id"> & { id?: string }; at?: number }
  | { op: "name"; name?: string; description?: string };

/** Membership is the index of a node in a group. */
export type Membership = { id: string; at: number };

/** Member is a property of a node beside its config. */
export type Member = "label" | "color" | "disabled" | "retry" | "timeout_s" | "on_error" | "tool";

/** Touched collects what operations changed, so that only that is painted again. */
export class Touched {
  moved = new Set<string>();
  added = new Set<string>();
  removed = new Set<string>();
  changed = new Set<string>(); // nodes whose config or members changed
  edges = false;
  groups = false;
}

/** applyAll applies operations in order and returns the inverse, ready to be applied. */
export function applyAll(draft: Draft, ops: Op[], touched: Touched): Op[] {
  const editor = new Editor(draft, touched), inverse: Op[] = [];
  for (const op of ops) inverse.unshift(...editor.apply(op));
  return inverse;
}

/** Editor applies the operations of one transaction. Each method returns the inverse; empty when the operation was skipped. */
class Editor {
  private foreign = new Set<string>(); // IDs of nodes that could not be put back: another node has the ID now

  constructor(private draft: Draft, private touched: Touched) {}

  /** apply applies one operation and returns its inverse. */
  apply(op: Op): Op[] {
    switch (op.op) {
      case "move": return this.move(op.nodes);
      case "add": return this.add(op);
      case "remove": return this.remove(op.nodes);
      case "connect": return this.connect(op);
      case "disconnect": return this.disconnect(op);
      case "set": return this.set(op);
      case "put": return this.put(op);
      case "group": return this.group(op);
      case "name": return this.rename(op);
      default: return []; // from a newer server; a reload of the page brings it
    }
  }

  /** find returns a node that this transaction may change. */
  private find(id: string): FlowNode | undefined { return this.foreign.has(id) ? undefined : this.draft.nodes.get(id); }

  /** move places nodes; null removes the position. */
  private move(nodes: Record<string, Point | null>): Op[] {
    const back: Record<string, Point | null> = {};
    for (const [id, p] of Object.entries(nodes)) {
      const n = this.find(id);
      if (!n) continue;
      back[id] = n.position ?? null;
      this.draft.place(n, p);
      this.touched.moved.add(id);
    }
    this.touched.groups = true;
    return Object.keys(back).length ? [{ op: "move", nodes: back }] : [];
  }

  /** add inserts a node. As part of an undo (with at) it also restores the memberships in groups. */
  private add(op: { node: FlowNode; at?: number; groups?: Membership[] }): Op[] {
    const { draft, touched } = this, { id } = op.node;
    if (draft.nodes.has(id)) {
      if (op.at !== undefined) this.foreign.add(id);
      return [];
    }
    this.foreign.delete(id);
    draft.insert(withoutDefaults(structuredClone(op.node)), op.at);
    for (const m of op.groups ?? []) {
      const g = draft.groups.get(m.id);
      if (g) draft.groups.set(m.id, { ...g, nodes: g.nodes.toSpliced(m.at, 0, id) });
      touched.groups = true;
    }
    touched.added.add(id);
    touched.removed.delete(id);
    return [{ op: "remove", nodes: [id] }];
  }

  /** remove deletes nodes with their edges. The inverse adds each node first and then its edges, with the indexes that they had. */
  private remove(ids: string[]): Op[] {
    const { draft, touched } = this, inverse: Op[] = [];
    let edges = draft.edges;
    for (const id of ids) {
      const node = this.find(id);
      if (!node) continue;
      const at = [...draft.nodes.keys()].indexOf(id), groups = this.leaveGroups(id);
      const [rest, cut] = cutEdges(edges, id);
      edges = rest;
      inverse.unshift(groups.length ? { op: "add", node, at, groups } : { op: "add", node, at }, ...cut);
      draft.nodes.delete(id);
      touched.removed.add(id);
      touched.added.delete(id);
      touched.edges = true;
    }
    draft.setEdges(edges);
    return inverse;
  }

  /** leaveGroups removes a node from all groups and returns its memberships in the order that restores them. An empty group stays. */
  private leaveGroups(id: string): Membership[] {
    const list: Membership[] = [];
    for (const g of this.draft.groups.values()) {
      const nodes = [...g.nodes];
      for (let at = nodes.indexOf(id); at >= 0; at = nodes.indexOf(id)) {
        nodes.splice(at, 1);
        list.unshift({ id: g.id, at });
      }
      if (nodes.length !== g.nodes.length) this.draft.groups.set(g.id, { ...g, nodes });
    }
    if (list.length) this.touched.groups = true;
    return list;
  }

  /** connect adds an edge. Its index at the input port counts: a list port receives its values in this order. */
  private connect(op: { edge: Edge; at?: number; place?: number }): Op[] {
    const { draft } = this, { from, to } = op.edge;
    if (!this.find(nodeOf(from)) || !this.find(nodeOf(to)) || (op.at === undefined && draft.hasEdge(op.edge))) return [];
    const place = placeFor(draft.edges, to, op.at, op.place), at = countInto(draft.edges.slice(0, place), to);
    draft.setEdges(draft.edges.toSpliced(place, 0, { from, to }));
    this.touched.edges = true;
    return [{ op: "disconnect", edge: op.edge, at }];
  }

  /** disconnect removes the edge at an index of the port, or else the first one with the same ends. */
  private disconnect({ edge, at }: { edge: Edge; at?: number }): Op[] {
    const { draft } = this;
    let place = at === undefined ? -1 : nthInto(draft.edges, edge.to, at);
    if (place < 0 || !equal(draft.edges[place]!, edge)) place = draft.edges.findIndex((e) => equal(e, edge));
    if (place < 0) return [];
    const inverse: Op = { op: "connect", edge, at: countInto(draft.edges.slice(0, place), edge.to), place };
    draft.setEdges(draft.edges.toSpliced(place, 1));
    this.touched.edges = true;
    return [inverse];
  }

  /** set changes a field of the config; without a value it removes the field. */
  private set({ node: id, field, value }: { node: string; field: string; value?: unknown }): Op[] {
    const n = this.find(id);
    if (!n) return [];
    n.config ??= {};
    const inverse: Op = field in n.config ? { op: "set", node: id, field, value: n.config[field] } : { op: "set", node: id, field };
    if (value === undefined) delete n.config[field];
    else n.config[field] = value;
    this.touched.changed.add(id);
    return [inverse];
  }

  /** put changes a member of the node, such as its label. */
  private put({ node: id, member, value }: { node: string; member: Member; value?: unknown }): Op[] {
    const n = this.find(id) as Record<string, unknown> | undefined;
    if (!n) return [];
    const inverse: Op = n[member] === undefined ? { op: "put", node: id, member } : { op: "put", node: id, member, value: n[member] };
    n[member] = value;
    withoutDefaults(n);
    this.touched.changed.add(id);
    return [inverse];
  }

  /** group adds, replaces or removes a group. */
  private group({ id, group, at }: { id: string; group?: Omit<Group, "id">; at?: number }): Op[] {
    const { groups } = this.draft, old = groups.get(id);
    if (!old && !group) return [];
    const index = [...groups.keys()].indexOf(id);
    this.touched.groups = true;
    if (!group) {
      groups.delete(id);
      return [{ op: "group", id, group: old, at: index }];
    }
    const made: Group = { ...group, id, nodes: group.nodes.filter((n) => this.find(n)) };
    if (!made.label) delete made.label;
    if (!made.color) delete made.color;
    insertAt(groups, id, made, old ? index : at);
    return [old ? { op: "group", id, group: old } : { op: "group", id }];
  }

  /** rename changes the name or description of the flow. */
  private rename(op: { name?: string; description?: string }): Op[] {
    const inverse: Op = { op: "name" }, { draft } = this;
    if (op.name !== undefined) {
      if (draft.name) inverse.name = draft.name; // a flow cannot lose its name
      draft.name = op.name;
    }
    if (op.description !== undefined) { inverse.description = draft.description; draft.description = op.description; }
    return [inverse];
  }
}

/** withoutDefaults deletes the members of a node that hold their default, as the server leaves them out of the document. */
function withoutDefaults<T extends Record<string, unknown>>(n: T): T {
  const node = n as Record<string, unknown>, retry = node.retry as { attempts: number; backoff_s?: number } | undefined;
  for (const [member, value] of Object.entries({ label: "", color: "", disabled: false, timeout_s: 0, on_error: "fail" })) if (node[member] === value) delete node[member];
  for (const member of ["label", "color", "disabled", "retry", "timeout_s", "on_error", "tool"]) if (node[member] === undefined) delete node[member];
  if (retry?.backoff_s === 0) node.retry = { attempts: retry.attempts };
  node.config ??= {};
  return n;
}

const equal = (a: Edge, b: Edge): boolean => a.from === b.from && a.to === b.to;
const countInto = (edges: Edge[], port: string): number => edges.filter((e) => e.to === port).length;

/** nthInto returns the index of the nth edge into a port, or -1. */
function nthInto(edges: Edge[], port: string, n: number): number {
  return edges.findIndex((e) => e.to === port && n-- === 0);
}

/** placeFor returns where among all edges a new edge goes. place counts only while it agrees with at, the index at the port. */
function placeFor(edges: Edge[], port: string, at: number | undefined, place: number | undefined): number {
  if (at === undefined) return edges.length;
  if (place !== undefined && place <= edges.length && countInto(edges.slice(0, place), port) === at) return place;
  const next = nthInto(edges, port, at);
  return next < 0 ? edges.length : next;
}

/** cutEdges splits edges into those that stay and the operations that put the edges of a node back, one after the other. */
function cutEdges(edges: Edge[], node: string): [rest: Edge[], back: Op[]] {
  const seen = new Map<string, number>(), rest: Edge[] = [], back: Op[] = [];
  edges.forEach((edge, place) => {
    const at = seen.get(edge.to) ?? 0;
    seen.set(edge.to, at + 1);
    if (nodeOf(edge.from) === node || nodeOf(edge.to) === node) back.push({ op: "connect", edge, at, place });
    else rest.push(edge);
  });
  return [rest, back];
}
