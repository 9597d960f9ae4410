// Observes what changes in the page: nodes, their content and their sizes. A
// ResizeObserver sees sizes, and a MutationObserver ports that change without
// changing the size.
import type { Scene } from "./scene.ts";
import type { Status } from "./status.ts";
import type { Swaps } from "./swaps.ts";
import { handleClass, nodeClass } from "./xyflow.ts";

/** WatchContext is what watching the nodes needs of the canvas. */
export interface WatchContext {
  readonly layer: HTMLElement;
  readonly scene: Scene;
  readonly status: Status;
  readonly swaps: Swaps;
}

/**
 * Watch reports changes that no other part makes: htmx swaps and morphs, fonts
 * that load, a textarea that grows. A morph makes elements equal to what the
 * server sent, so it also removes the classes and attributes that the canvas had
 * added; Watch has them restored.
 */
export class Watch {
  private sizes = new ResizeObserver((entries) => this.resized(entries));
  private insides = new MutationObserver((records) => this.changed(records));
  private known = new WeakSet<Element>(); // elements whose first report came, which measure has read already

  constructor(private canvas: WatchContext) {
    this.insides.observe(canvas.layer, { childList: true, subtree: true, attributes: true, attributeFilter: ["class", "data-step", "data-port", "data-type", "data-many", "data-first", "data-side"] });
  }

  /** start and stop observe the size of a node's element. */
  start(el: HTMLElement): void { this.sizes.observe(el); }
  stop(el: HTMLElement): void { this.sizes.unobserve(el); this.known.delete(el); }

  end(): void {
    this.sizes.disconnect();
    this.insides.disconnect();
  }

  /** resized measures nodes whose size changed. A ResizeObserver always reports once when it starts; that first report is skipped, the node has just been measured. */
  private resized(entries: ResizeObserverEntry[]): void {
    const ids: string[] = [];
    for (const { target } of entries) {
      if (this.known.has(target)) ids.push((target as HTMLElement).dataset.id!);
      else this.known.add(target);
    }
    this.canvas.swaps.remeasure(ids);
  }

  /** changed collects the mutations of one batch, so that each affected node is read and measured once. */
  private changed(records: MutationRecord[]): void {
    const inside = new Set<string>(), steps = new Set<string>();
    for (const r of records) {
      if (r.target === this.canvas.layer) this.nodes(r);
      else if (shellLost(r)) this.canvas.swaps.reshell(this.nodeOf(r.target));
      else if (r.type === "attributes" && r.attributeName === "data-step") steps.add(this.nodeOf(r.target));
      else if (this.portsChanged(r)) inside.add(this.nodeOf(r.target));
      if (r.type === "childList" && r.target !== this.canvas.layer) steps.add(this.nodeOf(r.target));
    }
    inside.delete("");
    for (const id of inside) if (this.canvas.scene.elements.has(id)) this.canvas.scene.readPorts(id);
    this.canvas.swaps.remeasure([...inside]);
    for (const id of steps) this.canvas.status.read(id);
  }

  /** nodes handles added and removed <article> elements. Removals come first: a replaced node is both. */
  private nodes(r: MutationRecord): void {
    for (const n of r.removedNodes) if (n instanceof HTMLElement && n.dataset.id) this.canvas.swaps.left(n);
    for (const n of r.addedNodes) if (n instanceof HTMLElement && n.dataset.id) this.canvas.swaps.arrived(n);
  }

  private nodeOf(n: Node): string {
    return (n instanceof Element ? n : n.parentElement)?.closest<HTMLElement>("article[data-id]")?.dataset.id ?? "";
  }

  /** portsChanged reports whether ports were added or removed, or lost their attributes to a morph. */
  private portsChanged(r: MutationRecord): boolean {
    if (r.type === "childList") return [...r.addedNodes, ...r.removedNodes].some((n) => n instanceof Element && (n.matches("[data-port]") || n.querySelector("[data-port]")));
    const el = r.target as HTMLElement;
    return el.hasAttribute("data-port") && (r.attributeName !== "class" || !el.classList.contains(handleClass));
  }
}

/** shellLost reports whether a morph of a whole node overwrote the attributes of the canvas. */
function shellLost(r: MutationRecord): boolean {
  const el = r.target as HTMLElement;
  return r.type === "attributes" && r.attributeName === "class" && el.matches("article[data-id]") && !el.classList.contains(nodeClass);
}
