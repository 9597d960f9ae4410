// Guides: while nodes are dragged, their borders and centers snap to those of
// other nodes, and a line shows which.
import { middle, nearestLine, type Box } from "./geometry.ts";
import { svg } from "./svg.ts";

const catchPx = 5; // on the screen

/** Guides holds the lines of one drag: left, center and right of every other node, and the same vertically. */
export class Guides {
  private xs: number[] = [];
  private ys: number[] = [];
  private line = svg("path", { class: "canvas-guides" });

  constructor(private layer: SVGElement) {}

  /** begin records the lines of the nodes that are not dragged. */
  begin(still: Iterable<Box>): void {
    this.xs = [];
    this.ys = [];
    for (const b of still) {
      this.xs.push(...xLines(b));
      this.ys.push(...yLines(b));
    }
  }

  /** catch returns how far to shift the dragged box onto a line, and draws the line. */
  catch(b: Box, zoom: number): { dx: number; dy: number } {
    const x = nearestLine(xLines(b), this.xs, catchPx / zoom);
    const y = nearestLine(yLines(b), this.ys, catchPx / zoom);
    const d = (x ? `M${x.line},${b.y - 2000}V${b.y + 2000}` : "") + (y ? `M${b.x - 2000},${y.line}H${b.x + 2000}` : "");
    if (d) { this.line.setAttribute("d", d); this.layer.append(this.line); }
    else this.line.remove();
    return { dx: x?.by ?? 0, dy: y?.by ?? 0 };
  }

  end(): void { this.line.remove(); }
}

/** xLines and yLines return the lines of a box that can be aligned. */
const xLines = (b: Box): number[] => [b.x, middle(b).x, b.x + b.width];
const yLines = (b: Box): number[] => [b.y, middle(b).y, b.y + b.height];
