// Ways around nodes along horizontal and vertical lines. Pure functions over boxes.
import type { Box } from "./geometry.ts";
import type { Point } from "./model.ts";
import { wall, type Way } from "./route.ts";

const clear = 12; // flow units between a way and a node that it goes around
const apart = 4; // flow units between the ways of different ports along the same node
const turn = 30; // flow units of detour that one turn less is worth
const late = 1e-6; // of equal ways, the one that goes up or down near its end: ways to one port meet
const round = 14; // radius of turns
const most = 24; // nodes that are gone around; beyond that the curve is drawn

/** lanes returns the turns of a way along horizontal and vertical lines, also where a curve would be free. With back it arrives from the right. */
export function lanes(s: Point, t: Point, others: Box[], own: Box[], back = false): Point[] | undefined {
  return avoiding(s, t, others, [], own, clear, back ? -1 : 1);
}

/** detour returns a way with rounded turns around the nodes that the curve hits. */
export function detour(s: Point, t: Point, boxes: Box[], first: Box[], own: Box[], slot: number): Way | undefined {
  const points = avoiding(s, t, boxes, first, own, clear + (slot % 3) * apart, 1) ?? avoiding(s, t, boxes, first, own, clear, 1);
  return points && rounded(points);
}

/** avoiding returns the turns of a way. It begins with some nodes to go around and adds those that the way itself hits, because most nodes of a flow matter to none of its edges. */
function avoiding(s: Point, t: Point, boxes: Box[], first: Box[], own: Box[], by: number, side: 1 | -1): Point[] | undefined {
  const around = [...first];
  while (around.length <= most) {
    const path = shortest({ x: s.x + by, y: s.y }, { x: t.x - by * side, y: t.y }, [...around, ...own], by);
    if (!path) return undefined;
    const points = [s, ...path, t], hit = boxes.filter((b) => !around.includes(b) && points.some((p, i) => i > 0 && crosses(points[i - 1]!, p, b)));
    if (!hit.length) return points;
    around.push(...hit);
  }
  return undefined;
}

/** crosses reports whether a horizontal or vertical line passes a box. */
function crosses(a: Point, b: Point, box: Box): boolean {
  return Math.min(a.x, b.x) < box.x + box.width + wall - 1 && Math.max(a.x, b.x) > box.x - wall + 1 && Math.min(a.y, b.y) < box.y + box.height + wall - 1 && Math.max(a.y, b.y) > box.y - wall + 1;
}

type State = { x: number; y: number; flat: boolean; cost: number; before?: State };

/** shortest returns the turns of the shortest way with few turns, by Dijkstra's algorithm over the lines beside the boxes. It leaves and arrives horizontally. */
function shortest(from: Point, to: Point, boxes: Box[], by: number): Point[] | undefined {
  const lines = (list: number[]) => [...new Set(list)].sort((a, b) => a - b);
  const xs = lines([from.x, to.x, ...boxes.flatMap((b) => [b.x - by, b.x + b.width + by])]);
  const ys = lines([from.y, to.y, ...boxes.flatMap((b) => [b.y - by, b.y + b.height + by])]);
  const free = (a: Point, b: Point) => !boxes.some((box) => crosses(a, b, box));
  const key = (x: number, y: number, flat: boolean) => (x * ys.length + y) * 2 + Number(flat);
  const best = new Map<number, number>(), open: State[] = [{ x: xs.indexOf(from.x), y: ys.indexOf(from.y), flat: true, cost: 0 }];
  const point = (n: State): Point => ({ x: xs[n.x]!, y: ys[n.y]! });
  while (open.length) {
    let least = 0;
    for (let i = 1; i < open.length; i++) if (open[i]!.cost < open[least]!.cost) least = i;
    const [n] = open.splice(least, 1) as [State], at = point(n);
    if (n.flat && at.x === to.x && at.y === to.y) return turns(n, point);
    if ((best.get(key(n.x, n.y, n.flat)) ?? Infinity) < n.cost) continue;
    for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]] as const) {
      const next: State = { x: n.x + dx, y: n.y + dy, flat: dy === 0, cost: 0, before: n };
      if (xs[next.x] === undefined || ys[next.y] === undefined) continue;
      const p = point(next);
      next.cost = n.cost + Math.abs(p.x - at.x) + Math.abs(p.y - at.y) * (1 + Math.abs(p.x - to.x) * late) + (next.flat === n.flat ? 0 : turn);
      const k = key(next.x, next.y, next.flat);
      if (next.cost >= (best.get(k) ?? Infinity) || !free(at, p)) continue;
      best.set(k, next.cost);
      open.push(next);
    }
  }
  return undefined;
}

/** turns returns the points of a way, without those on a straight line. */
function turns(last: State, point: (n: State) => Point): Point[] {
  const all: Point[] = [];
  for (let n: State | undefined = last; n; n = n.before) all.unshift(point(n));
  return all.filter((p, i) => i === 0 || i === all.length - 1 || !((all[i - 1]!.x === p.x && p.x === all[i + 1]!.x) || (all[i - 1]!.y === p.y && p.y === all[i + 1]!.y)));
}

/** rounded returns lines with rounded turns. */
export function rounded(points: Point[]): Way {
  const length = (a: Point, b: Point) => Math.hypot(b.x - a.x, b.y - a.y);
  const toward = (a: Point, b: Point, by: number): Point => { const l = length(a, b) || 1; return { x: a.x + ((b.x - a.x) * by) / l, y: a.y + ((b.y - a.y) * by) / l }; };
  const path = points.filter((p, i) => !i || length(points[i - 1]!, p) > 0);
  let d = `M${path[0]!.x},${path[0]!.y}`;
  for (let i = 1; i < path.length - 1; i++) {
    const [a, p, b] = [path[i - 1]!, path[i]!, path[i + 1]!], r = Math.min(round, length(a, p) / 2, length(p, b) / 2), from = toward(p, a, r), to = toward(p, b, r);
    d += ` L${from.x},${from.y} Q${p.x},${p.y} ${to.x},${to.y}`;
  }
  const end = path.at(-1)!;
  let left = path.slice(1).reduce((sum, p, i) => sum + length(path[i]!, p), 0) / 2, middle = path[0]!;
  for (let i = 1; i < path.length && left >= 0; i++) {
    const l = length(path[i - 1]!, path[i]!);
    middle = toward(path[i - 1]!, path[i]!, Math.min(l, left));
    left -= l;
  }
  return { d: `${d} L${end.x},${end.y}`, middle };
}
