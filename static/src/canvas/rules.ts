// Which edges may be: the rules of the server, asked before it is, so that a
// port can say at once why an edge does not fit. The server has the last word.
import { at, edgeKey, fits, type Draft, type Edge, type Port } from "./model.ts";
import type { Op } from "./ops.ts";

/** pair puts two ports in the order of an edge, or nothing when both are on the same side. */
export function pair(a: Port, b: Port): [from: Port, to: Port] | undefined {
  if (a.side === b.side) return undefined;
  return a.side === "out" ? [a, b] : [b, a];
}

/** refusal says why two ports cannot be connected, in a sentence, or nothing when they can. */
export function refusal(draft: Draft, a: Port, b: Port, moving?: Edge): string | undefined {
  const p = pair(a, b);
  if (!p) return a.side === "out" ? "Both are outputs. Connect an output to an input." : "Both are inputs. Connect an output to an input.";
  const [from, to] = p, edge = { from: at(from), to: at(to) };
  if (from.node === to.node) return "A node cannot feed itself.";
  if (!fits(from.type, to.type)) return `${edge.from} gives ${from.type}, ${edge.to} takes ${to.type}.`;
  if (draft.hasEdge(edge) && !(moving && edgeKey(moving) === edgeKey(edge))) return "These ports are connected already.";
  if (draft.after(to.node).has(from.node)) return `This would make a circle: ${from.node} depends on ${to.node}.`;
  return undefined;
}

/** joining gives the ops that connect two ports. An input that takes one edge gives its old one up. */
export function joining(draft: Draft, a: Port, b: Port, moving?: Edge): Op[] {
  const [from, to] = pair(a, b)!, edge = { from: at(from), to: at(to) };
  if (moving && edgeKey(moving) === edgeKey(edge)) return [];
  const ops: Op[] = moving ? [{ op: "disconnect", edge: moving }] : [];
  if (!to.many)
    for (const old of draft.edgesInto(edge.to)) if (!moving || edgeKey(old) !== edgeKey(moving)) ops.push({ op: "disconnect", edge: old });
  return [...ops, { op: "connect", edge }];
}

/** circle are the nodes that an edge from this port must not touch, for it would make a circle. */
export function circle(draft: Draft, p: Port): Set<string> {
  if (p.side === "in") return draft.after(p.node);
  const before = new Set<string>();
  const queue = [p.node];
  for (let n = queue.pop(); n !== undefined; n = queue.pop())
    for (const e of draft.edgesOf(n)) {
      const from = e.from.slice(0, e.from.indexOf("."));
      if (from !== n && !before.has(from)) { before.add(from); queue.push(from); }
    }
  return before;
}
