// Helper lines: while nodes are dragged, their edges and middles catch those
// of other nodes, and a line shows which.
import type { Box } from "./scene.ts";
import { svg } from "./svg.ts";

const catchPx = 5; // on the screen

export class Guides {
  private xs: number[] = [];
  private ys: number[] = [];
  private line = svg("path", { class: "canvas-guides" });

  constructor(private layer: SVGElement) {}

  /** begin remembers the lines of the nodes that lie still. */
  begin(still: Iterable<Box>): void {
    this.xs = [];
    this.ys = [];
    for (const b of still) {
      this.xs.push(b.x, b.x + b.width / 2, b.x + b.width);
      this.ys.push(b.y, b.y + b.height / 2, b.y + b.height);
    }
  }

  /** catch gives by how much to shift the dragged box so that it lies on a line, and draws the line. */
  catch(b: Box, zoom: number): { dx: number; dy: number } {
    const x = nearest([b.x, b.x + b.width / 2, b.x + b.width], this.xs, catchPx / zoom);
    const y = nearest([b.y, b.y + b.height / 2, b.y + b.height], this.ys, catchPx / zoom);
    const d = (x ? `M${x.line},${b.y - 2000}V${b.y + 2000}` : "") + (y ? `M${b.x - 2000},${y.line}H${b.x + 2000}` : "");
    if (d) { this.line.setAttribute("d", d); this.layer.append(this.line); }
    else this.line.remove();
    return { dx: x?.by ?? 0, dy: y?.by ?? 0 };
  }

  end(): void { this.line.remove(); }
}

function nearest(own: number[], lines: number[], within: number): { by: number; line: number } | undefined {
  let best: { by: number; line: number } | undefined;
  for (const line of lines)
    for (const o of own) {
      const by = line - o;
      if (Math.abs(by) <= within && (!best || Math.abs(by) < Math.abs(best.by))) best = { by, line };
    }
  return best;
}
