// Lays a flow out from left to right. Loaded when it is first asked for.
import { Graph, layout as arrange } from "@dagrejs/dagre";
import type { Point } from "./model.ts";

export type Sized = { id: string; x: number; y: number; width: number; height: number };

/** layout gives each node its place. What is laid out stays where its upper left corner was. */
export function layout(nodes: Sized[], edges: { from: string; to: string }[]): Record<string, Point> {
  const g = new Graph();
  g.setGraph({ rankdir: "LR", nodesep: 30, ranksep: 80 });
  g.setDefaultEdgeLabel(() => ({}));
  for (const n of nodes) g.setNode(n.id, { width: n.width, height: n.height });
  for (const e of edges) g.setEdge(e.from, e.to);
  arrange(g);
  const places = nodes.map((n) => ({ id: n.id, x: g.node(n.id).x - n.width / 2, y: g.node(n.id).y - n.height / 2 }));
  const dx = Math.min(...nodes.map((n) => n.x)) - Math.min(...places.map((p) => p.x));
  const dy = Math.min(...nodes.map((n) => n.y)) - Math.min(...places.map((p) => p.y));
  const snap = (v: number) => Math.round(v / 10) * 10;
  return Object.fromEntries(places.map((p) => [p.id, { x: snap(p.x + dx), y: snap(p.y + dy) }]));
}
