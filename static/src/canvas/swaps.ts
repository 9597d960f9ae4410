// Nodes that the server added, removed or rendered again. The canvas owns the
// <article>, the server its content: after a swap the ports are found and
// measured again.
import type { Announce } from "./announce.ts";
import type { Repaintable } from "./context.ts";
import type { HasEdges } from "./edges.ts";
import type { Groups } from "./groups.ts";
import type { Port } from "./model.ts";
import type { Status } from "./status.ts";

/** SwapsContext is what taking over rendered nodes needs of the canvas. */
export interface SwapsContext extends HasEdges {
  readonly groups: Groups;
  readonly status: Status;
  readonly announce: Announce;
  readonly minimap: Repaintable | undefined;
  readonly drag: { forget(node: string): void };
  readonly watch: { start(el: HTMLElement): void; stop(el: HTMLElement): void };
  readonly changes: { attach(node: string): void; markConnected(): void };
  readonly connect: { portOf(el: HTMLElement): Port | undefined };
  readonly taps: { remark(): void };
  readonly keys: { resetOrder(): void; ensureTabStop(): void };
}

/**
 * Swaps keeps the canvas in step with the HTML that the server sends: as a
 * response to a change (insides), or as elements that htmx adds, replaces or
 * morphs in the page (arrived, left, reshell; called by Watch).
 */
export class Swaps {
  constructor(private canvas: SwapsContext) {}

  /** adopt takes over an element that was added after the start. */
  adopt(el: HTMLElement): HTMLElement {
    const { scene, drag, watch, draft, status } = this.canvas, id = scene.adopt(el);
    drag.forget(id);
    watch.start(el);
    el.toggleAttribute("data-disabled", !!draft.nodes.get(id)?.disabled);
    status.refresh(id);
    return el;
  }

  /** measured measures nodes that were added or changed, and draws their edges. */
  measured(ids: string[]): void {
    const { scene, edges, announce, changes } = this.canvas;
    scene.measure(ids);
    for (const id of ids) {
      edges.drawOf(id);
      edges.rename(id);
      announce.name(id);
      changes.attach(id);
    }
  }

  /** remeasure measures nodes whose size or ports changed. */
  remeasure(ids: string[]): void {
    const { scene, edges, changes, groups, minimap } = this.canvas, there = ids.filter((id) => scene.elements.has(id));
    if (!there.length) return;
    this.measured(there);
    changes.markConnected();
    edges.reroute();
    groups.draw();
    minimap?.paint();
  }

  /** arrived handles an element that was added to the page, new or in place of another. */
  arrived(el: HTMLElement): void {
    const { scene, edges, groups, keys } = this.canvas, id = el.dataset.id!, old = scene.elements.get(id);
    if (old === el || !el.isConnected) return; // known already, or removed before the observer ran
    if (old?.isConnected) old.remove();
    this.adopt(el);
    edges.sync();
    groups.sync();
    keys.resetOrder();
    keys.ensureTabStop();
    this.remeasure([id]);
  }

  /** left handles an element that was removed from the page. */
  left(el: HTMLElement): void {
    const { scene, drag, watch } = this.canvas, id = el.dataset.id!;
    if (scene.elements.get(id) !== el || el.isConnected) return;
    drag.forget(id);
    watch.stop(el);
    scene.drop(id);
  }

  /** reshell restores the attributes of an <article> after a morph of the whole node. */
  reshell(id: string): void {
    const { scene, status, keys, announce } = this.canvas;
    scene.reshell(id);
    status.refresh(id);
    keys.ensureTabStop();
    announce.name(id);
  }

  /** insides replaces the content of nodes by what the server rendered. Their elements stay. */
  insides(html: string): void {
    const template = document.createElement("template");
    template.innerHTML = html;
    for (const fresh of template.content.querySelectorAll<HTMLElement>("article[data-id]")) {
      const el = this.canvas.scene.elements.get(fresh.dataset.id!);
      if (el) this.inside(el, fresh);
    }
  }

  /**
   * inside moves the new content into the existing <article>, which keeps its position, its selection and its listeners.
   * The focus stays on the same port, by name and side: an input and an output may share a name. A control that is
   * gone gives it to the node, so that the keyboard is not lost.
   */
  private inside(el: HTMLElement, fresh: HTMLElement): void {
    const { scene, connect, taps } = this.canvas, id = fresh.dataset.id!;
    const was = document.activeElement as HTMLElement, inner = el !== was && el.contains(was), port = inner && connect.portOf(was);
    Object.assign(el.dataset, fresh.dataset);
    for (const c of fresh.classList) el.classList.add(c);
    el.removeAttribute("aria-busy");
    el.replaceChildren(...fresh.childNodes);
    (window as { htmx?: { process(el: Element): void } }).htmx?.process(el);
    scene.readPorts(id);
    taps.remark();
    if (inner) ((port && scene.portElement(port)) || el).focus({ preventScroll: true });
    this.remeasure([id]);
  }
}
