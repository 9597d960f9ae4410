// The one vocabulary of changes to a draft. The server applies the same ops
// (flow/edits.go); here each also gives back what undoes it. Ops are tolerant:
// what is gone is skipped, since another tab may have been faster.
import { edgeKey, nodeOf, type Draft, type Edge, type FlowNode, type Group, type Point } from "./model.ts";

export type Op =
  | { op: "move"; nodes: Record<string, Point | null> } // null: the node has no place of its own
  | { op: "add"; node: FlowNode; at?: number; groups?: { id: string; at: number }[] } // with at: put back, skipped when the ID is in use
  | { op: "remove"; nodes: string[]; edges?: Edge[] }
  | { op: "connect"; edge: Edge; at?: number; place?: number } // at: among the edges of its input port, place: among all
  | { op: "disconnect"; edge: Edge; at?: number }
  | { op: "set"; node: string; field: string; value?: unknown }
  | { op: "put"; node: string; member: Member; value?: unknown }
  | { op: "group"; id: string; group?: Omit<Group, "id"> }
  | { op: "name"; name?: string; description?: string };

/** Member is a part of a node beside its config. */
export type Member = "label" | "color" | "disabled" | "retry" | "timeout_s" | "on_error";

/** Touched collects what has to be painted again after ops. */
export class Touched {
  moved = new Set<string>();
  added = new Set<string>();
  removed = new Set<string>();
  changed = new Set<string>(); // config or members; the server sends their insides
  edges = false;
  groups = false;
}

/** applyAll applies ops in order and gives back the ops that undo them, in theirs. */
export function applyAll(draft: Draft, ops: Op[], touched: Touched): Op[] {
  const undo: Op[] = [];
  for (const op of ops) undo.unshift(...apply(draft, op, touched));
  return undo;
}

function apply(d: Draft, op: Op, t: Touched): Op[] {
  switch (op.op) {
    case "move": return move(d, op.nodes, t);
    case "add": return add(d, op.node, op.groups ?? [], t);
    case "remove": return remove(d, op.nodes, t);
    case "connect": return connect(d, op, t);
    case "disconnect": return disconnect(d, op.edge, t);
    case "set": return set(d, op.node, op.field, op.value, t);
    case "put": return put(d, op.node, op.member, op.value, t);
    case "group": return group(d, op.id, op.group, t);
    case "name": return rename(d, op);
    default: return []; // an op of a newer server: its next page will show it
  }
}

function move(d: Draft, nodes: Record<string, Point | null>, t: Touched): Op[] {
  const back: Record<string, Point> = {};
  for (const [id, p] of Object.entries(nodes)) {
    const n = d.nodes.get(id);
    if (!n || !p) continue;
    back[id] = d.position(id);
    n.position = { x: p.x, y: p.y };
    t.moved.add(id);
  }
  t.groups = true;
  return Object.keys(back).length ? [{ op: "move", nodes: back }] : [];
}

function add(d: Draft, node: FlowNode, groups: { id: string; at: number }[], t: Touched): Op[] {
  if (d.nodes.has(node.id)) return [];
  d.nodes.set(node.id, structuredClone(node));
  for (const { id, at } of groups) {
    const g = d.groups.get(id);
    if (g) d.groups.set(id, { ...g, nodes: g.nodes.toSpliced(at, 0, node.id) });
    t.groups = true;
  }
  t.added.add(node.id);
  t.removed.delete(node.id);
  return [{ op: "remove", nodes: [node.id] }];
}

function remove(d: Draft, ids: string[], t: Touched): Op[] {
  const gone = new Set(ids.filter((id) => d.nodes.has(id)));
  const undo: Op[] = [...d.nodes.keys()].flatMap((id, at) => (gone.has(id) ? [{ op: "add", node: d.nodes.get(id)!, at } as Op] : []));
  d.edges.forEach((e, place) => {
    if (gone.has(nodeOf(e.from)) || gone.has(nodeOf(e.to))) undo.push({ op: "connect", edge: e, at: amongPort(d, e), place });
  });
  for (const { id, ...g } of d.groups.values()) {
    if (!g.nodes.some((n) => gone.has(n))) continue;
    undo.push({ op: "group", id, group: g });
    leave(d, id, gone);
    t.groups = true;
  }
  for (const id of gone) { d.nodes.delete(id); t.removed.add(id); t.added.delete(id); }
  d.setEdges(d.edges.filter((e) => !gone.has(nodeOf(e.from)) && !gone.has(nodeOf(e.to))));
  t.edges = true;
  return gone.size ? undo : [];
}

function leave(d: Draft, id: string, gone: Set<string>): void {
  const g = d.groups.get(id)!;
  d.groups.set(id, { ...g, nodes: g.nodes.filter((n) => !gone.has(n)) }); // an empty group stays: its nodes may come back
}

/** amongPort is the place of an edge among those of its input port. */
function amongPort(d: Draft, e: Edge): number { return d.edgesInto(e.to).findIndex((o) => edgeKey(o) === edgeKey(e)); }

function connect(d: Draft, op: { edge: Edge; at?: number; place?: number }, t: Touched): Op[] {
  const e = op.edge;
  if (d.hasEdge(e) || !d.nodes.has(nodeOf(e.from)) || !d.nodes.has(nodeOf(e.to))) return [];
  d.setEdges(d.edges.toSpliced(placeOf(d, e.to, op.at, op.place), 0, { from: e.from, to: e.to }));
  t.edges = true;
  return [{ op: "disconnect", edge: e }];
}

/** placeOf finds where among all edges a new one goes. The place among all counts while it agrees with the port's. */
function placeOf(d: Draft, to: string, at: number | undefined, place: number | undefined): number {
  const own = d.edges.flatMap((e, i) => (e.to === to ? [i] : []));
  if (place !== undefined && place <= d.edges.length && (at === undefined || own.filter((i) => i < place).length === at)) return place;
  return at !== undefined && at < own.length ? own[at]! : d.edges.length;
}

function disconnect(d: Draft, e: Edge, t: Touched): Op[] {
  const place = d.edges.findIndex((o) => edgeKey(o) === edgeKey(e));
  if (place < 0) return [];
  const back: Op = { op: "connect", edge: e, at: amongPort(d, e), place };
  d.setEdges(d.edges.toSpliced(place, 1));
  t.edges = true;
  return [back];
}

function set(d: Draft, id: string, field: string, value: unknown, t: Touched): Op[] {
  const n = d.nodes.get(id);
  if (!n) return [];
  const undo: Op = field in n.config ? { op: "set", node: id, field, value: n.config[field] } : { op: "set", node: id, field };
  if (value === undefined) delete n.config[field];
  else n.config[field] = value;
  t.changed.add(id);
  return [undo];
}

function put(d: Draft, id: string, member: Member, value: unknown, t: Touched): Op[] {
  const n = d.nodes.get(id) as Record<string, unknown> | undefined;
  if (!n) return [];
  const undo: Op = member in n ? { op: "put", node: id, member, value: n[member] } : { op: "put", node: id, member };
  if (value === undefined) delete n[member];
  else n[member] = value;
  t.changed.add(id);
  return [undo];
}

function group(d: Draft, id: string, g: Omit<Group, "id"> | undefined, t: Touched): Op[] {
  const { id: _, ...old } = d.groups.get(id) ?? { id };
  const had = d.groups.has(id);
  if (!had && !g) return [];
  if (g) d.groups.set(id, { ...structuredClone(g), id });
  else d.groups.delete(id);
  t.groups = true;
  return [had ? { op: "group", id, group: old as Omit<Group, "id"> } : { op: "group", id }];
}

function rename(d: Draft, op: { name?: string; description?: string }): Op[] {
  const undo: Op = { op: "name" };
  if (op.name !== undefined) { undo.name = d.name; d.name = op.name; }
  if (op.description !== undefined) { undo.description = d.description; d.description = op.description; }
  return [undo];
}
