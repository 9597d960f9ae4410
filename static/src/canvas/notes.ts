// Notes are resized by their lower right corner. The size is two fields of the
// note's config, so that it is saved with the flow. The inspector has the same
// fields, for use without a pointer.
import type { Committer } from "./context.ts";
import type { HasEdges } from "./edges.ts";
import { snap } from "./geometry.ts";
import { track } from "./gesture.ts";
import type { Point } from "./model.ts";
import type { HasView } from "./viewport.ts";

const corner = matchMedia("(pointer: coarse)").matches ? 32 : 16; // pixels at the corner that take a press
const minSize = { width: 120, height: 60 }, maxSize = 2000; // flow units

/** NotesContext is what resizing notes needs of the canvas. */
export interface NotesContext extends Committer, HasEdges, HasView {}

/** Notes resizes notes. The size is shown during the gesture and committed at its end, as two fields of one step. */
export class Notes {
  constructor(private canvas: NotesContext) {}

  /** at returns the note whose corner is at a position of the screen. */
  at(target: EventTarget | null, p: Point): HTMLElement | undefined {
    const el = (target as Element | null)?.closest<HTMLElement>('article[data-kind="note"]');
    if (!el || this.canvas.readonly) return undefined;
    const r = el.getBoundingClientRect();
    return p.x > r.right - corner && p.y > r.bottom - corner ? el : undefined;
  }

  /** press resizes a note with the pointer. */
  press(e: PointerEvent, el: HTMLElement): void {
    const { pane, view, edges, scene } = this.canvas, id = el.dataset.id!, from = view.toFlow({ x: e.clientX, y: e.clientY });
    const was = scene.box(id)!;
    let width = was.width, height = was.height;
    track(pane, e, (m) => {
      const to = view.toFlow({ x: m.clientX, y: m.clientY });
      width = within(was.width + to.x - from.x, minSize.width);
      height = within(was.height + to.y - from.y, minSize.height);
      el.style.width = `${width}px`;
      el.style.minHeight = `${height}px`;
      edges.drawOf(id);
    }, () => this.keep(id, width, height));
  }

  /** keep commits the new size, if it changed. */
  private keep(node: string, width: number, height: number): void {
    const { config } = this.canvas.draft.nodes.get(node)!;
    if (width === config.width && height === config.height) return;
    this.canvas.commit("Resize", [{ op: "set", node, field: "width", value: width }, { op: "set", node, field: "height", value: height }]);
  }
}

/** within returns a size on the grid between a minimum and the maximum. */
function within(v: number, low: number): number { return Math.min(maxSize, Math.max(low, snap(v))); }
