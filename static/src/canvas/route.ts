// Ways of edges: a curve, or around the nodes that the curve would pass behind.
import type { Box } from "./geometry.ts";
import type { Point } from "./model.ts";

/** Way is the shape of an edge as SVG path data, and the point halfway along it. */
export type Way = { d: string; middle: Point };

/** Detour returns a way around some nodes of all, or undefined if no way exists. */
export type Detour = (s: Point, t: Point, all: Box[], around: Box[], own: Box[], slot: number) => Way | undefined;

/** wall is how far around a node, in flow units, no way enters. */
export const wall = 4;
const samples = 64; // points of a curve that are checked

/** route returns the way from an output to an input. others are the nodes that it must not pass behind, own are those of its ends; slot keeps ways of different ports apart. Without a detour it is a curve. */
export function route(s: Point, t: Point, others: Box[], own: Box[], slot: number, detour: Detour | undefined): Way {
  const around = detour ? hitByCurve(s, t, others) : [];
  return (around.length ? detour!(s, t, others, around, own, slot) : undefined) ?? curve(s, t);
}

/** rising is route for an edge that leaves upward and arrives from below, as those of tools to their agent: the same way, turned. */
export function rising(s: Point, t: Point, others: Box[], own: Box[], slot: number, detour: Detour | undefined): Way {
  const turned = (p: Point): Point => ({ x: -p.y, y: p.x }), box = (b: Box): Box => ({ x: -b.y - b.height, y: b.x, width: b.height, height: b.width });
  const { d, middle } = route(turned(s), turned(t), others.map(box), own.map(box), slot, detour);
  return { d: d.replace(/([-\d.e]+),([-\d.e]+)/g, (_, x: string, y: string) => `${y},${-Number(x)}`), middle: { x: middle.y, y: -middle.x } };
}

/** curve returns the curve between two points. It leaves to the right and arrives from the left. */
export function curve(s: Point, t: Point): Way {
  const c = handle(s, t);
  return { d: `M${s.x},${s.y} C${s.x + c},${s.y} ${t.x - c},${t.y} ${t.x},${t.y}`, middle: { x: (s.x + t.x) / 2, y: (s.y + t.y) / 2 } };
}

/** handle returns the length of the handles of the curve. */
const handle = (s: Point, t: Point): number => (t.x >= s.x ? (t.x - s.x) / 2 : 6.25 * Math.sqrt(s.x - t.x));

const inside = (b: Box, x: number, y: number, by: number) => x > b.x - by && x < b.x + b.width + by && y > b.y - by && y < b.y + b.height + by;

/** hitByCurve returns the boxes that the curve passes. */
function hitByCurve(s: Point, t: Point, boxes: Box[]): Box[] {
  const c = handle(s, t), left = Math.min(s.x, t.x - c), right = Math.max(s.x + c, t.x), top = Math.min(s.y, t.y), bottom = Math.max(s.y, t.y);
  const near = boxes.filter((b) => b.x - wall < right && b.x + b.width + wall > left && b.y - wall < bottom && b.y + b.height + wall > top);
  if (!near.length) return near;
  const hit = new Set<Box>();
  for (let i = 0; i <= samples; i++) {
    const u = i / samples, v = 1 - u, p = v * v * v, q = 3 * v * v * u, r = 3 * v * u * u, w = u * u * u;
    const x = p * s.x + q * (s.x + c) + r * (t.x - c) + w * t.x, y = (p + q) * s.y + (r + w) * t.y;
    for (const b of near) if (inside(b, x, y, wall - 1)) hit.add(b);
  }
  return [...hit];
}
