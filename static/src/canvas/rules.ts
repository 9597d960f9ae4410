// Which edges are allowed. These are the server's rules, checked here first so
// that a port can explain at once why an edge does not fit; the server decides.
import { at, edgeKey, fits, type Draft, type Edge, type Port } from "./model.ts";
import type { Op } from "./ops.ts";

/**
 * loopOver returns the input of a child flow over which its node would loop if an edge
 * brought it a list: the input takes one item, and the node runs the flow for each. The
 * server makes such nodes (nodes/map.go).
 */
export function loopOver(draft: Draft, from: Port, to: Port): string | undefined {
  const input = /^input\.(.+)$/.exec(to.name)?.[1];
  return input && draft.nodes.get(to.node)?.kind === "map" && from.type === "list" && !fits(from.type, to.type) ? input : undefined;
}

/** loopOp returns the operation that makes a node loop over an input. An input that has no value, such as a preselected one, is not looped over any more. */
function loopOp(draft: Draft, to: Port, input: string): Op {
  const { config } = draft.nodes.get(to.node)!, over = Array.isArray(config.over) ? (config.over as string[]) : [];
  const fed = over.filter((name) => name !== input && (config[`input.${name}`] !== undefined || draft.edgesInto(`${to.node}.input.${name}`).length));
  return { op: "set", node: to.node, field: "over", value: [...fed, input] };
}

/** pair returns two ports in the direction of an edge, or undefined when both are on the same side. */
export function pair(a: Port, b: Port): [from: Port, to: Port] | undefined {
  if (a.side === b.side) return undefined;
  return a.side === "out" ? [a, b] : [b, a];
}

/**
 * refusal returns why two ports cannot be connected, or undefined when they
 * can. moving is the edge that would be replaced; title names a node.
 */
export function refusal(draft: Draft, a: Port, b: Port, moving?: Edge, title: (node: string) => string = (id) => draft.title(id)): string | undefined {
  const p = pair(a, b);
  if (!p) return a.side === "out" ? "Both are outputs. Connect an output to an input." : "Both are inputs. Connect an output to an input.";
  const [from, to] = p, edge = { from: at(from), to: at(to) };
  if (from.node === to.node) return "A node can't connect to itself.";
  if (!fits(from.type, to.type) && !loopOver(draft, from, to)) return `Type mismatch: ${title(from.node)} outputs ${from.type}, ${title(to.node)} needs ${to.type}.`;
  if (draft.hasEdge(edge) && !(moving && edgeKey(moving) === edgeKey(edge))) return "These ports are already connected.";
  if (draft.after(to.node).has(from.node)) return `This would create a loop: ${title(from.node)} already depends on ${title(to.node)}.`;
  return undefined;
}

/** connectOps returns the operations that connect two ports. An input loses its old edges when it takes one, or with replace. */
export function connectOps(draft: Draft, a: Port, b: Port, moving?: Edge, replace = false): Op[] {
  const [from, to] = pair(a, b)!, edge = { from: at(from), to: at(to) }, input = loopOver(draft, from, to);
  if (moving && edgeKey(moving) === edgeKey(edge)) return [];
  const ops: Op[] = moving ? [{ op: "disconnect", edge: moving }] : [];
  if (!to.many || replace)
    for (const old of draft.edgesInto(edge.to)) if (!moving || edgeKey(old) !== edgeKey(moving)) ops.push({ op: "disconnect", edge: old });
  if (input) ops.push(loopOp(draft, to, input));
  return [...ops, { op: "connect", edge }];
}

/** loopNodes returns the nodes that an edge from this port must not touch, because it would close a loop. */
export const loopNodes = (draft: Draft, p: Port): Set<string> => p.side === "in" ? draft.after(p.node) : draft.before(p.node);
