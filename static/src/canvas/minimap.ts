// The minimap. All nodes are one path. While the view moves, only the frame of
// the visible part is moved, without painting; the scale is updated afterwards.
import { enclosing, type Box } from "./geometry.ts";
import { track } from "./gesture.ts";
import type { Point } from "./model.ts";
import type { Scene } from "./scene.ts";
import { svg } from "./svg.ts";
import type { Viewport } from "./viewport.ts";

const width = 140, height = 92; // pixels
const zoomStep = 1.2; // factor per turn of the wheel

/** MinimapContext is what the minimap needs of the canvas. */
export interface MinimapContext {
  readonly scene: Scene;
  readonly view: Viewport;
}

/**
 * Minimap shows all nodes and the visible part. It is aria-hidden and not a tab
 * stop: keys and the outline offer the same functions.
 */
export class Minimap {
  readonly element = Object.assign(document.createElement("div"), { className: "canvas-minimap" });
  private map = svg("svg", { width: String(width), height: String(height) });
  private nodes = this.map.appendChild(svg("path", { class: "canvas-minimap-nodes" }));
  private view = Object.assign(document.createElement("div"), { className: "canvas-minimap-view" });
  private scale = 1; // flow units per pixel
  private origin: Point = { x: 0, y: 0 }; // the map's upper left corner, in flow units
  private frame = 0;
  private all: Box = { x: 0, y: 0, width: 0, height: 0 }; // around all nodes
  private dirty = true; // nodes moved, or the scale is out of date
  private stop = new AbortController();

  constructor(private canvas: MinimapContext) {
    this.element.setAttribute("aria-hidden", "true");
    this.element.append(this.map, this.view);
  }

  /** start listens and paints for the first time, once the view exists. */
  start(): void {
    const { signal } = this.stop;
    this.element.addEventListener("pointerdown", (e) => this.press(e), { signal });
    this.element.addEventListener("wheel", (e) => this.wheel(e), { signal, passive: false });
    this.paint();
  }

  /** paint draws once in the next frame. */
  paint(nodes = true): void {
    this.dirty ||= nodes;
    this.frame ||= requestAnimationFrame(() => { this.frame = 0; this.draw(); });
  }

  /** draw moves the frame of the visible part, and redraws the nodes only when they changed: writing styles is cheap, painting is not. */
  private draw(): void {
    const seen = this.seen(), all = (this.all = this.dirty ? this.canvas.scene.bounds() : this.all);
    const whole = all.x >= seen.x && all.y >= seen.y && all.x + all.width <= seen.x + seen.width && all.y + all.height <= seen.y + seen.height;
    if (this.element.hidden !== whole) this.element.hidden = whole; // a map of a flow that is fully visible adds nothing
    if (whole) return;
    if (this.dirty) this.drawNodes(seen);
    this.dirty = false;
    const { x, y } = this.origin, { style } = this.view;
    const w = `${Math.round(seen.width / this.scale)}px`, h = `${Math.round(seen.height / this.scale)}px`;
    if (style.width !== w || style.height !== h) Object.assign(style, { width: w, height: h });
    style.transform = `translate(${(seen.x - x) / this.scale}px,${(seen.y - y) / this.scale}px)`;
  }

  /** seen returns the visible part of the flow. */
  private seen(): Box {
    const { transform: [x, y, zoom], size } = this.canvas.view;
    return { x: -x / zoom, y: -y / zoom, width: size.width / zoom, height: size.height / zoom };
  }

  /** drawNodes draws all nodes as one path and chooses the scale so that nodes and view fit. */
  private drawNodes(seen: Box): void {
    const { scene } = this.canvas, all = enclosing([this.all, seen])!;
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

  /** press centers the view where the map is pressed, and follows the pointer. */
  private press(e: PointerEvent): void {
    if (e.button) return;
    e.preventDefault();
    const r = this.element.getBoundingClientRect(), { scale, origin } = this;
    const go = (m: PointerEvent) => this.canvas.view.centerOn({ x: origin.x + (m.clientX - r.left) * scale, y: origin.y + (m.clientY - r.top) * scale });
    track(this.element, e, go);
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
