// Announcements for screen readers: one polite live region. A later sentence
// replaces an earlier one, so that holding a key does not queue up fifty.
import type { HasScene } from "./scene.ts";
import { count } from "./text.ts";

const pause = 120; // milliseconds in which a later sentence replaces an earlier one

/** AnnounceContext is what announcements need of the canvas. */
export interface AnnounceContext extends HasScene {
  readonly status: { of(node: string): string | undefined; took(node: string): string };
}

/** Announce owns the live region and the accessible names of nodes. It is polite: it waits until the screen reader has finished its sentence. */
export class Announce {
  readonly region = Object.assign(document.createElement("div"), { className: "canvas-live" });
  private timer = 0;

  constructor(private canvas: AnnounceContext) {
    this.region.setAttribute("aria-live", "polite");
    this.region.setAttribute("role", "status");
  }

  /** say announces a sentence after a short pause. */
  say(text: string): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => { this.region.textContent = text; }, pause);
  }

  /** moved announces where a node is now, or how many nodes were moved. */
  moved(ids: string[]): void {
    const [id] = ids;
    if (!id) return;
    const p = this.canvas.draft.position(id);
    this.say(ids.length === 1 ? `Moved ${this.canvas.scene.title(id)} to ${Math.round(p.x)}, ${Math.round(p.y)}` : `Moved ${count(ids.length, "node")}`);
  }

  /** name sets the accessible label of a node: its title, kind, connections and state. */
  name(id: string): void {
    const { scene, draft, status } = this.canvas, el = scene.elements.get(id);
    if (!el) return;
    const ports = scene.ports.get(id) ?? [], into = draft.edgesOf(id).filter((e) => e.to.startsWith(`${id}.`)).length;
    const inputs = ports.filter((p) => p.side === "in").length;
    const state = status.of(id), disabled = draft.nodes.get(id)?.disabled;
    const parts = [scene.title(id), el.dataset.kindTitle ?? el.dataset.kind, count(inputs, "input"), into ? `${into} connected` : "", disabled ? "disabled" : "", state ? `last run ${state}${status.took(id)}` : ""];
    el.setAttribute("aria-label", parts.filter(Boolean).join(", "));
  }

  end(): void { clearTimeout(this.timer); }
}
