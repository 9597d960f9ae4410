// The small picture of the whole flow. All boxes are one path: while panning
// only the frame of what is seen changes.
import type { FlowCanvas } from "./element.ts";
import type { Box } from "./scene.ts";
import { svg } from "./svg.ts";
import { infiniteExtent, XYMinimap } from "./xyflow.ts";

const width = 180, height = 120; // pixels

export class Minimap {
  readonly element = svg("svg", { class: "canvas-minimap", "aria-hidden": "true", width: String(width), height: String(height) }) as SVGSVGElement;
  private nodes = this.element.appendChild(svg("path", { class: "canvas-minimap-nodes" }));
  private view = this.element.appendChild(svg("path", { class: "canvas-minimap-view", "fill-rule": "evenodd" }));
  private scale = 1; // flow units per pixel
  private all: Box = { x: 0, y: 0, width: 0, height: 0 };
  private map: ReturnType<typeof XYMinimap> | undefined;
  private frame = 0;
  private dirty = true;

  constructor(private canvas: FlowCanvas) {}

  start(): void {
    const { panZoom } = this.canvas.view;
    this.map = XYMinimap({ domNode: this.element, panZoom, getTransform: () => this.canvas.view.transform, getViewScale: () => this.scale });
    const { clientWidth: w, clientHeight: h } = this.canvas.pane;
    this.map.update({ translateExtent: infiniteExtent, width: w, height: h, pannable: true, zoomable: true });
    this.paint();
  }

  /** paint draws in the next frame, however often it is asked. */
  paint(nodes = true): void {
    this.dirty ||= nodes;
    this.frame ||= requestAnimationFrame(() => { this.frame = 0; this.draw(); });
  }

  private draw(): void {
    if (this.dirty) this.drawNodes();
    this.dirty = false;
    const [tx, ty, k] = this.canvas.view.transform, { clientWidth: w, clientHeight: h } = this.canvas.pane;
    const v = { x: -tx / k, y: -ty / k, width: w / k, height: h / k };
    const x = Math.min(this.all.x, v.x), y = Math.min(this.all.y, v.y);
    const right = Math.max(this.all.x + this.all.width, v.x + v.width), bottom = Math.max(this.all.y + this.all.height, v.y + v.height);
    this.scale = Math.max((right - x) / width, (bottom - y) / height);
    const W = width * this.scale, H = height * this.scale, ox = x - (W - right + x) / 2, oy = y - (H - bottom + y) / 2;
    this.element.setAttribute("viewBox", `${ox} ${oy} ${W} ${H}`);
    this.view.setAttribute("d", `M${ox},${oy}h${W}v${H}h${-W}zM${v.x},${v.y}h${v.width}v${v.height}h${-v.width}z`);
  }

  private drawNodes(): void {
    let d = "";
    for (const id of this.canvas.scene.boxes.keys()) {
      const b = this.canvas.scene.box(id)!;
      if (!this.canvas.scene.hidden(id)) d += `M${b.x},${b.y}h${b.width}v${b.height}h${-b.width}z`;
    }
    this.nodes.setAttribute("d", d);
    this.all = this.canvas.scene.bounds();
  }

  end(): void {
    cancelAnimationFrame(this.frame);
    this.map?.destroy();
  }
}
