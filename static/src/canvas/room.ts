// Room for a node that is inserted into an edge: pure geometry over boxes.
import { grid, snap, type Box } from "./geometry.ts";
import type { Point } from "./model.ts";

const between = 48; // flow units from the new node to the next one
const beside = 20; // flow units that nodes keep between each other

/** touch reports whether two boxes overlap or are closer than nodes should be. */
const touch = (a: Box, b: Box): boolean => a.x < b.x + b.width + beside && b.x < a.x + a.width + beside && a.y < b.y + b.height + beside && b.y < a.y + a.height + beside;

/**
 * makeRoom returns the new positions of a new node and of the nodes that make
 * room for it. node is the box where it should be, and targets are the nodes that
 * it feeds. They move right together with everything after them, and so does
 * what they would cover; none moves up or down. after returns the nodes that
 * depend on one.
 */
export function makeRoom(boxes: Map<string, Box>, node: string, want: Box, targets: string[], after: (id: string) => Iterable<string>): Record<string, Point> {
  const all = new Map([...boxes].filter(([id]) => id !== node)), moved = new Set<string>();
  const ahead = targets.map((id) => all.get(id)).filter((b) => b !== undefined && b.x + b.width > want.x) as Box[];
  const by = Math.max(0, ...ahead.map((b) => Math.ceil((want.x + want.width + between - b.x) / grid) * grid));
  const now = (id: string): Box => { const b = all.get(id)!; return moved.has(id) ? { ...b, x: b.x + by } : b; };
  const push = (id: string): void => {
    const { x } = all.get(id)!;
    moved.add(id);
    for (const next of after(id)) if (!moved.has(next) && (all.get(next)?.x ?? -Infinity) >= x) moved.add(next);
  };
  if (by) for (const id of targets) if (all.has(id) && ahead.includes(all.get(id)!)) push(id);
  const own = { ...want };
  for (let grown = true; grown; ) {
    grown = false;
    own.y = free(own, want.y, [...all.keys()].map(now));
    for (const id of all.keys())
      if (!moved.has(id) && [...moved].some((m) => touch(now(m), all.get(id)!))) { push(id); grown = true; }
  }
  const places: Record<string, Point> = { [node]: { x: own.x, y: own.y } };
  for (const id of moved) places[id] = { x: now(id).x, y: now(id).y };
  return places;
}

/** free returns the y nearest to the wanted one at which the box touches no other. */
function free(box: Box, want: number, others: Box[]): number {
  const beneath = others.filter((b) => touch({ ...box, y: b.y }, b));
  const ys = [want, ...beneath.flatMap((b) => [b.y - beside - box.height, b.y + b.height + beside].map((y) => (y < want ? Math.floor(y / grid) : Math.ceil(y / grid)) * grid))];
  return ys.filter((y) => !beneath.some((b) => touch({ ...box, y }, b))).sort((a, b) => Math.abs(a - want) - Math.abs(b - want))[0] ?? snap(want);
}
