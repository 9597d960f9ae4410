// Lays a flow out from left to right. Loaded on first use. A large flow takes a
// second, so it is laid out in a worker, which runs this same file.
import { Graph, layout as dagre } from "@dagrejs/dagre";
import type { Point } from "./model.ts";

const many = 300; // nodes; above it the page would noticeably freeze

type Ends = { from: string; to: string };
type Places = Record<string, Point>;
export type Sized = { id: string; x: number; y: number; width: number; height: number };

/** arrange returns a position for each node, without blocking the page. */
export function arrange(nodes: Sized[], edges: Ends[]): Promise<Places> {
  return nodes.length > many ? inWorker(nodes, edges) : Promise.resolve(layout(nodes, edges));
}

/** inWorker starts this file again in a worker: import.meta.url is the chunk that the bundler made of it. A worker has no document, see below. */
function inWorker(nodes: Sized[], edges: Ends[]): Promise<Places> {
  const worker = new Worker(import.meta.url, { type: "module" });
  const answer = new Promise<Places>((resolve, reject) => {
    worker.onmessage = (e: MessageEvent<Places>) => resolve(e.data);
    worker.onerror = () => reject(new Error("The layout failed."));
  });
  worker.postMessage({ nodes, edges });
  return answer.finally(() => worker.terminate());
}

if (typeof document === "undefined") onmessage = (e: MessageEvent<{ nodes: Sized[]; edges: Ends[] }>) => postMessage(layout(e.data.nodes, e.data.edges));

/** layout returns positions with the same upper left corner as before. */
function layout(nodes: Sized[], edges: Ends[]): Places {
  const g = new Graph();
  g.setGraph({ rankdir: "LR", nodesep: 30, ranksep: 44 });
  g.setDefaultEdgeLabel(() => ({}));
  for (const n of nodes) g.setNode(n.id, { width: n.width, height: n.height });
  for (const e of edges) g.setEdge(e.from, e.to);
  dagre(g);
  const places = nodes.map((n) => ({ id: n.id, x: g.node(n.id).x - n.width / 2, y: g.node(n.id).y - n.height / 2 }));
  const dx = Math.min(...nodes.map((n) => n.x)) - Math.min(...places.map((p) => p.x));
  const dy = Math.min(...nodes.map((n) => n.y)) - Math.min(...places.map((p) => p.y));
  const snap = (v: number) => Math.round(v / 10) * 10;
  return Object.fromEntries(places.map((p) => [p.id, { x: snap(p.x + dx), y: snap(p.y + dy) }]));
}
