// What part of the canvas is seen: pan, zoom, fit, and where a person was last
// time. Positions of the document are in flow units, the screen's in pixels.
import type { Emitter, Repaintable } from "./context.ts";
import type { Box } from "./geometry.ts";
import type { Point } from "./model.ts";
import type { Scene } from "./scene.ts";
import { getViewportForBounds, infiniteExtent, lib, panBy, PanOnScrollMode, pointToRendererPoint, XYPanZoom, type PanZoomInstance, type Transform } from "./xyflow.ts";

const minZoom = 0.1, maxZoom = 2.5;
const farZoom = 0.45; // below it labels cannot be read, and hiding them makes frames cheaper
const gridStep = 20; // flow units between dots
const quietFrames = 6; // after a turn of the wheel, until it is taken for the last
const side = 24, above = 64, below = 64; // pixels kept free around what is fitted: the pill of a run above, the bar of zoom below
const map = 144, roomy = 640; // what the minimap takes with its margin, where the pane is at least so wide and high

/** ViewportContext is what the viewport needs of the canvas. */
export interface ViewportContext extends Emitter {
  readonly pane: HTMLElement;
  readonly viewport: HTMLElement;
  readonly grid: HTMLElement;
  readonly scene: Scene;
  readonly minimap: Repaintable | undefined;
  /** moved is called when anything may have moved on the screen. */
  moved(): void;
}

export class Viewport {
  transform: Transform = [0, 0, 1];
  readonly panZoom: PanZoomInstance;
  /** size is that of the pane in pixels. */
  size = { width: 0, height: 0 };
  private space = false;
  private saving = 0;
  private held = false; // by a gesture
  private settling = 0; // the frame that may end a turn of the wheel
  private sizes = new ResizeObserver(() => this.resized());

  constructor(private canvas: ViewportContext, private key: string) {
    this.panZoom = XYPanZoom({
      domNode: canvas.pane, minZoom, maxZoom, translateExtent: infiniteExtent, viewport: { x: 0, y: 0, zoom: 1 },
      onDraggingChange: (on) => canvas.pane.toggleAttribute("data-panning", on),
      onPanZoomStart: (gesture) => { this.unsettle(); this.held = !!gesture; },
      onPanZoomEnd: (gesture) => { this.settle(gesture?.type === "wheel" ? quietFrames : 0); this.remember(); },
    });
    this.configure();
    this.resized();
    this.sizes.observe(canvas.pane);
  }

  private resized(): void {
    const { clientWidth: width, clientHeight: height } = this.canvas.pane;
    this.size = { width, height };
    this.canvas.minimap?.paint();
  }

  /** configure tells the library the mode; it wants all options each time. */
  configure(mode: { selecting?: boolean; connecting?: boolean } = {}): void {
    this.panZoom.update({
      noWheelClassName: "nowheel", noPanClassName: this.space ? "never" : "nopan", preventScrolling: true, panOnScroll: true, panOnDrag: [0, 1],
      panOnScrollMode: PanOnScrollMode.Free, panOnScrollSpeed: 0.5, userSelectionActive: !!mode.selecting, zoomOnPinch: true, zoomOnScroll: false,
      zoomOnDoubleClick: false, zoomActivationKeyPressed: false, lib, connectionInProgress: !!mode.connecting, paneClickDistance: 1,
      onTransformChange: (t) => this.show(t),
    });
  }

  private show(t: Transform): void {
    const was = this.transform, { pane, viewport } = this.canvas;
    this.transform = t;
    viewport.style.transform = `translate(${t[0]}px,${t[1]}px) scale(${t[2]})`;
    this.dots(t, was[2]);
    if (t[2] < farZoom !== was[2] < farZoom) pane.toggleAttribute("data-far", t[2] < farZoom);
    if (this.held) pane.toggleAttribute("data-held", true); // a curtain: what is under the pointer need not be found for each frame
    this.canvas.minimap?.paint(!this.held);
    if (t[2] !== was[2]) this.canvas.emit("canvas:view", { zoom: t[2] });
    this.canvas.moved();
  }

  /** dots moves the grid. It is a leaf: a custom property on the pane would restyle every node. */
  private dots([x, y, zoom]: Transform, was: number): void {
    const { style } = this.canvas.grid, step = gridStep * zoom * (zoom < farZoom ? 4 : 1);
    style.backgroundPosition = `${x}px ${y}px`;
    if (zoom !== was) style.backgroundSize = `${step}px ${step}px`;
  }

  /** settle ends a gesture when so many frames were quiet. A clock would end it between two turns of the wheel where frames are slow. */
  private settle(frames: number): void {
    this.unsettle();
    if (frames) this.settling = requestAnimationFrame(() => this.settle(frames - 1));
    else this.release();
  }

  private unsettle(): void {
    cancelAnimationFrame(this.settling);
    this.settling = 0;
  }

  /** release takes away the curtain that a gesture laid over the nodes. */
  release(): void {
    this.unsettle();
    this.held = false;
    this.canvas.pane.removeAttribute("data-held");
    this.canvas.minimap?.paint();
  }

  private remember(): void {
    clearTimeout(this.saving);
    this.saving = window.setTimeout(() => {
      const [x, y, zoom] = this.transform;
      try { localStorage.setItem(this.key, JSON.stringify({ x, y, zoom })); } catch { /* full or forbidden: the view is a comfort only */ }
    }, 150);
  }

  /** restore shows what was seen last; without a memory it fits the whole flow. */
  restore(): void {
    try {
      const v = JSON.parse(localStorage.getItem(this.key) ?? "");
      if (Number.isFinite(v.x + v.y + v.zoom)) return void this.panZoom.setViewport(v);
    } catch { /* nothing kept */ }
    this.fit(undefined, 0);
  }

  /** fit shows the nodes, or all of them, with a margin. */
  fit(ids?: Iterable<string>, ms = 200): void {
    const b = this.canvas.scene.bounds(ids);
    if (b.width) this.to(b, ms, 1);
  }

  private to(b: Box, ms: number, zoom: number): void {
    const { width, height } = this.size;
    const free = { x: `${side}px`, top: `${above}px`, bottom: `${Math.min(width, height) < roomy ? below : map}px` } as const;
    void this.panZoom.setViewport(getViewportForBounds(b, width, height, minZoom, zoom, free), this.time(ms)).then(() => this.remember());
  }

  zoomBy(factor: number): void { void this.panZoom.scaleBy(factor, this.time(100)).then(() => this.remember()); }
  zoomTo(zoom: number): void { void this.panZoom.scaleTo(zoom, this.time(100)).then(() => this.remember()); }

  /** reveal pans just so far that a node is seen whole, and changes no zoom. */
  reveal(id: string): void {
    const el = this.canvas.scene.elements.get(id);
    if (!el) return;
    const r = el.getBoundingClientRect(), p = this.canvas.pane.getBoundingClientRect(), margin = 24;
    const dx = Math.max(0, p.left + margin - r.left) || Math.min(0, p.right - margin - r.right);
    const dy = Math.max(0, p.top + margin - r.top) || Math.min(0, p.bottom - margin - r.bottom);
    if (dx || dy) this.pan({ x: dx, y: dy });
  }

  pan = (delta: Point): Promise<boolean> =>
    panBy({ delta, panZoom: this.panZoom, transform: this.transform, translateExtent: infiniteExtent, ...this.size });

  /** toFlow turns a place on the screen into one of the flow. */
  toFlow(client: Point): Point {
    const r = this.canvas.pane.getBoundingClientRect();
    return pointToRendererPoint({ x: client.x - r.left, y: client.y - r.top }, this.transform);
  }

  /** centre is the middle of what is seen, in flow units. */
  centre(): Point {
    const { width, height } = this.size;
    return pointToRendererPoint({ x: width / 2, y: height / 2 }, this.transform);
  }

  /** holdSpace lets the mouse pan over nodes too, as long as the key is down. */
  holdSpace(on: boolean): void {
    if (this.space === on) return;
    this.space = on;
    this.canvas.pane.toggleAttribute("data-space", on);
    this.configure();
  }

  /** stirred lifts the curtain, since the pointer goes on to something that a press must find. Another turn of the wheel lays it again. */
  stirred(): void {
    if (this.settling) this.release();
    else this.canvas.pane.removeAttribute("data-held");
  }

  get spaceHeld(): boolean { return this.space; }

  private time(ms: number): { duration: number } | undefined {
    return ms && !matchMedia("(prefers-reduced-motion: reduce)").matches ? { duration: ms } : undefined;
  }

  /** centreOn brings a place of the flow into the middle, at the same zoom. */
  centreOn(p: Point): void {
    const { width, height } = this.size, zoom = this.transform[2];
    void this.panZoom.setViewport({ x: width / 2 - p.x * zoom, y: height / 2 - p.y * zoom, zoom }).then(() => this.remember());
  }

  end(): void {
    clearTimeout(this.saving);
    this.unsettle();
    this.sizes.disconnect();
    this.panZoom.destroy();
  }
}
