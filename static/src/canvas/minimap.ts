// The small picture of the whole flow. All boxes are one path. While the view
// moves only the frame of what is seen does, and it is moved, not painted; the
// scale is chosen anew when the view lies still.
import { enclosing, type Box } from "./geometry.ts";
import type { Point } from "./model.ts";
import type { Scene } from "./scene.ts";
import { svg } from "./svg.ts";
import type { Viewport } from "./viewport.ts";

const width = 180, height = 120; // pixels
const zoomStep = 1.2; // of one turn of the wheel

/** MinimapContext is what the minimap needs of the canvas. */
export interface MinimapContext {
  readonly scene: Scene;
  readonly view: Viewport;
}

export class Minimap {
  readonly element = Object.assign(document.createElement("div"), { className: "canvas-minimap" });
  private map = svg("svg", { width: String(width), height: String(height) });
  private nodes = this.map.appendChild(svg("path", { class: "canvas-minimap-nodes" }));
  private view = Object.assign(document.createElement("div"), { className: "canvas-minimap-view" });
  private scale = 1; // flow units per pixel
  private origin: Point = { x: 0, y: 0 }; // of the flow, at the map's upper left corner
  private frame = 0;
  private dirty = true; // nodes moved, or the scale should be chosen anew
  private stop = new AbortController();

  constructor(private canvas: MinimapContext) {
    this.element.setAttribute("aria-hidden", "true");
    this.element.append(this.map, this.view);
  }

  start(): void {
    const { signal } = this.stop;
    this.element.addEventListener("pointerdown", (e) => this.press(e), { signal });
    this.element.addEventListener("wheel", (e) => this.wheel(e), { signal, passive: false });
    this.paint();
  }

  /** paint draws in the next frame, however often it is asked. */
  paint(nodes = true): void {
    this.dirty ||= nodes;
    this.frame ||= requestAnimationFrame(() => { this.frame = 0; this.draw(); });
  }

  private draw(): void {
    const seen = this.seen();
    if (this.dirty) this.drawNodes(seen);
    this.dirty = false;
    const { x, y } = this.origin, { style } = this.view;
    const w = `${Math.round(seen.width / this.scale)}px`, h = `${Math.round(seen.height / this.scale)}px`;
    if (style.width !== w || style.height !== h) Object.assign(style, { width: w, height: h });
    style.transform = `translate(${(seen.x - x) / this.scale}px,${(seen.y - y) / this.scale}px)`;
  }

  /** seen is the part of the flow that is on the screen. */
  private seen(): Box {
    const { transform: [x, y, zoom], size } = this.canvas.view;
    return { x: -x / zoom, y: -y / zoom, width: size.width / zoom, height: size.height / zoom };
  }

  private drawNodes(seen: Box): void {
    const { scene } = this.canvas, all = enclosing([scene.bounds(), seen])!;
    let d = "";
    for (const id of scene.boxes.keys()) {
      const b = scene.box(id)!;
      if (!scene.hidden(id)) d += `M${b.x},${b.y}h${b.width}v${b.height}h${-b.width}z`;
    }
    this.nodes.setAttribute("d", d);
    this.scale = Math.max(all.width / width, all.height / height) || 1;
    this.origin = { x: all.x - (width * this.scale - all.width) / 2, y: all.y - (height * this.scale - all.height) / 2 };
    this.map.setAttribute("viewBox", `${this.origin.x} ${this.origin.y} ${width * this.scale} ${height * this.scale}`);
  }

  /** press goes where the map is pressed, and follows the pointer. */
  private press(e: PointerEvent): void {
    if (e.button) return;
    e.preventDefault();
    const r = this.element.getBoundingClientRect(), { scale, origin } = this, held = new AbortController();
    const go = (m: PointerEvent) => this.canvas.view.centreOn({ x: origin.x + (m.clientX - r.left) * scale, y: origin.y + (m.clientY - r.top) * scale });
    this.element.setPointerCapture(e.pointerId);
    this.element.addEventListener("pointermove", go, held);
    for (const name of ["pointerup", "pointercancel"]) this.element.addEventListener(name, () => held.abort(), held);
    go(e);
  }

  private wheel(e: WheelEvent): void {
    e.preventDefault();
    this.canvas.view.zoomBy(e.deltaY < 0 ? zoomStep : 1 / zoomStep);
  }

  end(): void {
    cancelAnimationFrame(this.frame);
    this.stop.abort();
  }
}
