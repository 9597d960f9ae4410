// Boxes in flow units: pure functions, without the document or the page.
import type { Point } from "./model.ts";

export type Box = { x: number; y: number; width: number; height: number };

/** grid is the distance in flow units between the positions that nodes snap to. */
export const grid = 10;

/** snap returns the nearest multiple of grid. */
export const snap = (v: number): number => Math.round(v / grid) * grid;

/** snapPoint returns the nearest point of the grid. */
export const snapPoint = (p: Point): Point => ({ x: snap(p.x), y: snap(p.y) });

/** enclosing returns the smallest box around all boxes, or undefined for an empty list. */
export function enclosing(boxes: Box[]): Box | undefined {
  if (!boxes.length) return undefined;
  const x = Math.min(...boxes.map((b) => b.x)), y = Math.min(...boxes.map((b) => b.y));
  return { x, y, width: Math.max(...boxes.map((b) => b.x + b.width)) - x, height: Math.max(...boxes.map((b) => b.y + b.height)) - y };
}

/** middle returns the center of a box. */
export const middle = (b: Box): Point => ({ x: b.x + b.width / 2, y: b.y + b.height / 2 });

/**
 * neighbor returns the key of the nearest box in a direction (a unit vector),
 * between the centers. Distance across the direction counts double, and boxes
 * more than about 70° off are ignored.
 */
export function neighbor(from: Box, others: Iterable<[string, Box]>, direction: Point): string | undefined {
  const a = middle(from);
  let best: string | undefined, least = Infinity;
  for (const [key, box] of others) {
    const b = middle(box), dx = b.x - a.x, dy = b.y - a.y;
    const ahead = dx * direction.x + dy * direction.y, aside = Math.abs(dx * direction.y) + Math.abs(dy * direction.x);
    if (ahead <= 0 || aside > ahead * 3) continue;
    if (ahead + 2 * aside < least) { least = ahead + 2 * aside; best = key; }
  }
  return best;
}

/** nearestLine returns the line closest to any of the offsets and how far to shift the offset onto it; undefined when all are further than within. */
export function nearestLine(offsets: number[], lines: number[], within: number): { by: number; line: number } | undefined {
  let best: { by: number; line: number } | undefined;
  for (const line of lines)
    for (const offset of offsets) {
      const by = line - offset;
      if (Math.abs(by) <= within && (!best || Math.abs(by) < Math.abs(best.by))) best = { by, line };
    }
  return best;
}
