// The visible part of the canvas: pan, zoom, fit, and the remembered view.
// Positions in the document are in flow units, those on the screen in pixels.
import type { Emitter, Repaintable } from "./context.ts";
import type { Box } from "./geometry.ts";
import type { Draft, Point } from "./model.ts";
import type { Scene } from "./scene.ts";
import { loadJSON, store } from "./storage.ts";
import { interrupt, next } from "./transitions.ts";
import { getViewportForBounds, infiniteExtent, lib, panBy, PanOnScrollMode, pointToRendererPoint, XYPanZoom, type PanZoomInstance, type Transform, type View } from "./xyflow.ts";

const minZoom = 0.03, maxZoom = 2.5; // at the least, 500 nodes fit
const farZoom = 0.45; // below it labels are unreadable, and hiding them makes frames cheaper
const tileZoom = 0.2; // below it titles are too, and nodes are tiles in the color of their kind or state
const startZoom = 0.7, phone = 600; // a flow that is larger on a pane up to this width in pixels is shown from its beginning
const gridStep = 20; // flow units between dots
const reduced = matchMedia("(prefers-reduced-motion: reduce)");
const quietFrames = 6; // without a wheel event, until the gesture has ended
const side = 16, above = 64, below = 64; // pixels kept free when fitting: for the run bar above and the zoom bar below; the minimap hides when all is in view

/**
 * prepareDetail guesses how much detail the first view will show: from the
 * remembered zoom, or from the positions of the nodes. Set before the first layout,
 * it saves styling every node twice; show corrects a wrong guess.
 */
export function prepareDetail(pane: HTMLElement, draft: Draft, key: string): void {
  const all = [...draft.nodes.values()].map((n) => n.position ?? { x: 0, y: 0 }), span = (of: number[]) => Math.max(...of) - Math.min(...of);
  if (all.length < 50) return;
  const zoom = loadJSON<View>("localStorage", key)?.zoom ?? Math.min((innerWidth - 700) / span(all.map((p) => p.x)), (innerHeight - 250) / span(all.map((p) => p.y))); // panes and bars take the rest, roughly
  pane.toggleAttribute("data-far", zoom < farZoom);
  pane.toggleAttribute("data-tiles", zoom < tileZoom);
}

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

/** HasView is the part of a context for converting positions between the screen and the flow. */
export interface HasView {
  readonly pane: HTMLElement;
  readonly view: Viewport;
}

/**
 * Viewport owns the transform of the canvas: [x, y, zoom], where x and y are the
 * position of the flow's origin in pixels of the pane.
 *
 * During a pan or zoom the nodes are covered by a transparent element
 * (data-held), because browsers otherwise hit-test hundreds of nodes under the
 * pointer in every frame. The cover has to go before the next press, or the press
 * would miss its node: see release and pointerMoved.
 */
export class Viewport {
  transform: Transform;
  readonly panZoom: PanZoomInstance;
  /** size is the size of the pane in pixels. */
  size = { width: 0, height: 0 };
  private step = 0; // pixels between dots; 0 before the first frame, which has to set them whatever the zoom
  private space = false;
  private saving = 0;
  private inGesture = false; // during a gesture
  private ending = 0; // the animation frame that may end a wheel gesture
  private sizes = new ResizeObserver(() => this.resized());

  constructor(private canvas: ViewportContext, private key: string) {
    this.transform = [0, 0, canvas.pane.hasAttribute("data-tiles") ? 0 : canvas.pane.hasAttribute("data-far") ? tileZoom : 1];
    this.panZoom = XYPanZoom({
      domNode: canvas.pane, minZoom, maxZoom, translateExtent: infiniteExtent, viewport: { x: 0, y: 0, zoom: 1 },
      onDraggingChange: (on) => canvas.pane.toggleAttribute("data-panning", on),
      onPanZoomStart: (gesture) => { this.keepGesture(); this.inGesture = !!gesture; },
      onPanZoomEnd: (gesture) => { this.endGestureAfter(gesture?.type === "wheel" ? quietFrames : 0); this.remember(); },
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

  /**
   * configure sets the options of the library. XYPanZoom ignores all input until
   * its first update, and each update needs the complete set of options.
   */
  configure(mode: { selecting?: boolean; connecting?: boolean } = {}): void {
    this.panZoom.update({
      noWheelClassName: "nowheel", noPanClassName: this.space ? "never" : "nopan", preventScrolling: true, panOnScroll: true, panOnDrag: [0, 1],
      panOnScrollMode: PanOnScrollMode.Free, panOnScrollSpeed: 0.5, userSelectionActive: !!mode.selecting, zoomOnPinch: true, zoomOnScroll: false,
      zoomOnDoubleClick: false, zoomActivationKeyPressed: false, lib, connectionInProgress: !!mode.connecting, paneClickDistance: 1,
      onTransformChange: (t) => this.show(t),
    });
  }

  /** show applies a transform. It runs in every frame of a gesture, so it must not read layout or restyle nodes. */
  private show(t: Transform): void {
    const was = this.transform, { pane, viewport } = this.canvas;
    this.transform = t;
    viewport.style.transform = `translate(${t[0]}px,${t[1]}px) scale(${t[2]})`;
    this.dots(t);
    if (t[2] < farZoom !== was[2] < farZoom) pane.toggleAttribute("data-far", t[2] < farZoom);
    if (t[2] < tileZoom !== was[2] < tileZoom) pane.toggleAttribute("data-tiles", t[2] < tileZoom);
    if (this.inGesture) pane.toggleAttribute("data-held", true); // disables hit testing of nodes, which is expensive in each frame
    this.canvas.minimap?.paint(!this.inGesture);
    if (t[2] !== was[2]) this.canvas.emit("canvas:view", { zoom: t[2] });
    this.canvas.moved();
  }

  /** dots moves the grid. It styles a leaf: a custom property on the pane would restyle every node. */
  private dots([x, y, zoom]: Transform): void {
    const { style } = this.canvas.grid, step = gridStep * zoom * (zoom < farZoom ? 4 : 1);
    style.backgroundPosition = `${x}px ${y}px`;
    if (step !== this.step) style.backgroundSize = `${step}px ${step}px`;
    this.step = step;
  }

  /** endGestureAfter ends a gesture after a number of frames. A timer would end it between two wheel events where frames are slow. */
  private endGestureAfter(frames: number): void {
    this.keepGesture();
    if (frames) this.ending = requestAnimationFrame(() => this.endGestureAfter(frames - 1));
    else this.release();
  }

  /** keepGesture cancels a scheduled end of the gesture. */
  private keepGesture(): void {
    cancelAnimationFrame(this.ending);
    this.ending = 0;
  }

  /** release ends a gesture and enables hit testing again. */
  release(): void {
    this.keepGesture();
    this.inGesture = false;
    this.canvas.pane.removeAttribute("data-held");
    this.canvas.minimap?.paint();
  }

  /** remember stores the view in this browser, debounced. It is a convenience and not part of the document. */
  private remember(): void {
    clearTimeout(this.saving);
    this.saving = window.setTimeout(() => {
      const [x, y, zoom] = this.transform;
      store("localStorage", this.key, JSON.stringify({ x, y, zoom }));
    }, 150);
  }

  /** restore shows the remembered view, or fits the whole flow. */
  restore(): void {
    const v = loadJSON<View>("localStorage", this.key);
    if (v && Number.isFinite(v.x + v.y + v.zoom)) return void this.panZoom.setViewport(v);
    this.start();
  }

  /** start shows the whole flow or, on a screen too narrow to read it then, its beginning. */
  private start(): void {
    const { scene } = this.canvas, all = scene.bounds(), { width, height } = this.size;
    const fits = Math.min((width - 2 * side) / all.width, (height - above - below) / all.height);
    if (!all.width || width > phone || fits >= startZoom) return this.fit(undefined, 0);
    const [first] = [...scene.elements.keys()].map((id) => scene.bounds([id])).filter((b) => b.width).sort((a, b) => a.x - b.x || a.y - b.y);
    if (!first) return this.fit(undefined, 0);
    const high = all.height * startZoom <= height - above - below;
    void this.panZoom.setViewport({ x: side - all.x * startZoom, y: high ? (height - all.height * startZoom) / 2 - all.y * startZoom : height / 2 - (first.y + first.height / 2) * startZoom, zoom: startZoom });
  }

  /** fit shows some nodes, or all of them, with a margin. */
  fit(ids?: Iterable<string>, ms = 200): void {
    const b = this.canvas.scene.bounds(ids);
    if (b.width) this.to(b, ms, 1);
  }

  /** to shows a box as large as possible up to a zoom, within the space that toolbars leave. */
  private to(b: Box, ms: number, zoom: number): void {
    const { width, height } = this.size;
    const free = { x: `${side}px`, top: `${above}px`, bottom: `${below}px` } as const;
    this.move(getViewportForBounds(b, width, height, minZoom, zoom, free), ms);
  }

  /** move shows a view. The movement takes ms, unless the user prefers reduced motion (WCAG 2.3.3); every point moves in a straight line. */
  private move(to: View, ms: number): void {
    const [x, y, zoom] = this.transform, begin = performance.now();
    const step = (now: number): void => {
      const rest = ms && !reduced.matches ? Math.min(1, Math.max(0, 1 - (now - begin) / ms)) ** 3 : 0, at = (from: number, end: number) => end + (from - end) * rest;
      void this.panZoom.setViewport({ x: at(x, to.x), y: at(y, to.y), zoom: at(zoom, to.zoom) });
      if (rest) next(step);
      else this.remember();
    };
    step(begin);
  }

  zoomBy(factor: number): void { this.zoomTo(this.transform[2] * factor); }
  zoomTo(zoom: number): void {
    const [x, y, was] = this.transform, { width, height } = this.size, to = Math.min(maxZoom, Math.max(minZoom, zoom)), at = (middle: number, from: number) => middle + (from - middle) * to / was;
    this.move({ x: at(width / 2, x), y: at(height / 2, y), zoom: to }, 100);
  }

  /** reveal pans as little as needed to show a whole node; the zoom stays. */
  reveal(id: string): void {
    const el = this.canvas.scene.elements.get(id);
    if (!el) return;
    const r = el.getBoundingClientRect(), p = this.canvas.pane.getBoundingClientRect(), margin = 24;
    const dx = Math.max(0, p.left + margin - r.left) || Math.min(0, p.right - margin - r.right);
    const dy = Math.max(0, p.top + margin - r.top) || Math.min(0, p.bottom - margin - r.bottom);
    if (dx || dy) this.pan({ x: dx, y: dy });
  }

  /** pan moves the view by pixels. The library calls it too, when a drag reaches the edge of the pane. */
  pan = (delta: Point): Promise<boolean> =>
    panBy({ delta, panZoom: this.panZoom, transform: this.transform, translateExtent: infiniteExtent, ...this.size });

  /** toFlow converts a position in the window to flow units. */
  toFlow(client: Point): Point {
    const r = this.canvas.pane.getBoundingClientRect();
    return pointToRendererPoint({ x: client.x - r.left, y: client.y - r.top }, this.transform);
  }

  /** center returns the center of the visible part, in flow units. */
  center(): Point {
    const { width, height } = this.size;
    return pointToRendererPoint({ x: width / 2, y: height / 2 }, this.transform);
  }

  /** holdSpace lets the mouse pan over nodes while the key is down. */
  holdSpace(on: boolean): void {
    if (this.space === on) return;
    this.space = on;
    this.canvas.pane.toggleAttribute("data-space", on);
    this.configure();
  }

  /** pointerMoved enables hit testing when the pointer moves during a gesture, so that a press finds its target. The next wheel event disables it again. */
  pointerMoved(): void {
    if (this.ending) this.release();
    else this.canvas.pane.removeAttribute("data-held");
  }

  /** centerOn centers the view on a position of the flow, at the same zoom. */
  centerOn(p: Point): void {
    const { width, height } = this.size, zoom = this.transform[2];
    this.move({ x: width / 2 - p.x * zoom, y: height / 2 - p.y * zoom, zoom }, 0);
  }

  /** end stops everything. destroy does not unbind all listeners of d3-zoom, so the pane must be discarded too. */
  end(): void {
    clearTimeout(this.saving);
    this.keepGesture();
    interrupt();
    this.sizes.disconnect();
    this.panZoom.destroy();
  }
}
