// Aligns and distributes nodes: pure geometry over boxes.
import type { Box } from "./geometry.ts";
import type { Point } from "./model.ts";

export type Alignment = "left" | "center" | "right" | "top" | "middle" | "bottom" | "columns" | "rows";
type Named = Box & { id: string };

/** align returns the new positions of boxes. "columns" and "rows" distribute them evenly between the outermost two. */
export function align(how: Alignment, boxes: Named[]): Record<string, Point> {
  if (how === "columns") return spread(boxes, "x", "width");
  if (how === "rows") return spread(boxes, "y", "height");
  const left = Math.min(...boxes.map((b) => b.x)), right = Math.max(...boxes.map((b) => b.x + b.width));
  const top = Math.min(...boxes.map((b) => b.y)), bottom = Math.max(...boxes.map((b) => b.y + b.height));
  const place: Record<typeof how, (b: Box) => Point> = {
    left: (b) => ({ x: left, y: b.y }),
    center: (b) => ({ x: (left + right - b.width) / 2, y: b.y }),
    right: (b) => ({ x: right - b.width, y: b.y }),
    top: (b) => ({ x: b.x, y: top }),
    middle: (b) => ({ x: b.x, y: (top + bottom - b.height) / 2 }),
    bottom: (b) => ({ x: b.x, y: bottom - b.height }),
  };
  return Object.fromEntries(boxes.map((b) => [b.id, place[how](b)]));
}

/** spread keeps the outermost two boxes and makes the gaps between all of them equal. */
function spread(boxes: Named[], axis: "x" | "y", size: "width" | "height"): Record<string, Point> {
  const sorted = boxes.toSorted((a, b) => a[axis] - b[axis]), first = sorted[0]!, last = sorted.at(-1)!;
  const room = last[axis] + last[size] - first[axis] - sorted.reduce((sum, b) => sum + b[size], 0);
  const gap = room / Math.max(1, sorted.length - 1);
  let next = first[axis];
  const out: Record<string, Point> = {};
  for (const b of sorted) {
    out[b.id] = { x: b.x, y: b.y, [axis]: Math.round(next) };
    next += b[size] + gap;
  }
  return out;
}
