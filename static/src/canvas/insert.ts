// Inserting nodes into edges. What follows the edge moves right to make room.
import type { Announcer, Emitter } from "./context.ts";
import type { HasEdges } from "./edges.ts";
import type { Box } from "./geometry.ts";
import { at, edgeKey, fits, nodeOf, type Edge, type Point, type Via } from "./model.ts";
import type { Op } from "./ops.ts";

const between = 48; // flow units from the node before to the new one
const firstPort = 50; // flow units from the top of a node to its first port, about

/** InsertContext is what inserting nodes needs of the canvas. */
export interface InsertContext extends Emitter, HasEdges {
  readonly announce: Announcer;
  readonly drawing: typeof import("./drawing.ts") | undefined;
  /** implied returns the edges that the document doesn't have, such as those from outputs to the nodes that send them. */
  implied(): Edge[];
}

/** Insert returns the operations for a node in an edge, and shows how other nodes make room. */
export class Insert {
  constructor(private canvas: InsertContext) {}

  /** ops returns the operations that insert a node into an edge, or undefined when no ports fit. via names its ports. */
  ops(id: string, edge: Edge, via: Via = {}): Op[] | undefined {
    const { scene } = this.canvas, from = scene.port(edge.from, "out"), to = scene.port(edge.to, "in"), ports = scene.ports.get(id) ?? [];
    const takes = from && ports.find((p) => p.side === "in" && fits(from.type, p.type)), gives = to && ports.find((p) => p.side === "out" && fits(p.type, to.type));
    const into = via.into ? `${id}.${via.into}` : takes && at(takes), out = via.out ? `${id}.${via.out}` : gives && at(gives);
    if (!into || !out) return undefined;
    const place = this.canvas.draft.edgesInto(edge.to).findIndex((e) => edgeKey(e) === edgeKey(edge)); // a list port keeps its order
    return [
      { op: "disconnect", edge },
      { op: "connect", edge: { from: out, to: edge.to }, at: place },
      { op: "connect", edge: { from: edge.from, to: into } },
    ];
  }

  /** room returns the new positions of a node that is inserted into an edge, and of those that make room for it. It stands right of the source, with their ports level. */
  room(id: string, edge: Edge): Record<string, Point> {
    const { draft, scene, edges } = this.canvas, source = scene.box(nodeOf(edge.from)), own = scene.box(id);
    if (!source || !own) return {};
    const level = edges.levels(edge).out ?? 0, port = (scene.ports.get(id) ?? []).find((p) => p.side === "in"), to = nodeOf(edge.to);
    const want: Box = { ...own, x: source.x + source.width + between, y: Math.round(source.y + level - ((port && scene.level(port)) ?? firstPort)) };
    const boxes = new Map(scene.visible().map((b): [string, Box] => [b.id, b]));
    const after = (n: string) => draft.after(n, this.canvas.implied());
    const places = this.canvas.drawing?.makeRoom(boxes, id, want, [to], after) ?? {};
    return Object.fromEntries(Object.entries(places).filter(([n, p]) => p.x !== draft.position(n).x || p.y !== draft.position(n).y));
  }

  /** show lets nodes glide from where they were, and tells the page about those that made room. */
  show(id: string, from: Map<string, Point>): void {
    const { scene, edges, announce } = this.canvas, others = [...from.keys()].filter((n) => n !== id).length;
    edges.glide(from);
    this.canvas.emit("canvas:inserted", { node: id, moved: others });
    announce.say(`Inserted ${scene.title(id)}${others ? `, moved ${others === 1 ? "1 node" : `${others} nodes`}` : ""}`);
  }
}
