// Connecting by taps or keys: one port, then another.
import { fingers, type Connect } from "./connect.ts";
import type { Announcer } from "./context.ts";
import { at, type Port } from "./model.ts";
import { loopNodes } from "./rules.ts";
import { count } from "./text.ts";
import type { HasScene } from "./scene.ts";

/** TapsContext is what connecting by taps and keys needs of the canvas. */
export interface TapsContext extends HasScene {
  readonly readonly: boolean;
  readonly pane: HTMLElement;
  readonly connect: Connect;
  readonly announce: Announcer;
  readonly keys: { order(): string[] };
}

/**
 * Taps connects two ports without dragging, which WCAG 2.5.7 asks for: tap or
 * press Enter on a port, then on another. While the first is pending, arrow keys
 * only visit ports that fit.
 */
export class Taps {
  /** pending is the port that was chosen first. */
  pending: Port | undefined;

  private hint = Object.assign(document.createElement("div"), { className: "canvas-hint" });

  constructor(private canvas: TapsContext) { this.hint.setAttribute("aria-hidden", "true"); }

  /** at announces a port that could be the second one, with its node: a port's own name is "value" on many. */
  at(el: HTMLElement): void {
    const p = this.canvas.connect.portOf(el);
    if (p) this.canvas.announce.say(`${this.canvas.scene.title(p.node)} › ${p.name}`);
  }

  /** tap chooses the first port, or connects it to the second. */
  tap(el: HTMLElement): void {
    const { connect } = this.canvas, port = connect.portOf(el), first = this.pending;
    if (!port || this.canvas.readonly) return;
    if (!first) return this.choose(port);
    this.cancel();
    if (at(first) === at(port) && first.side === port.side) return;
    const reason = connect.refusalFor(first, port);
    if (reason) connect.refuse(reason);
    else connect.join(first, port);
  }

  private choose(port: Port): void {
    const { announce, scene } = this.canvas;
    this.pending = port;
    this.remark();
    const n = this.candidates().length, what = `${scene.title(port.node)} › ${port.name}`;
    this.hint.textContent = `Connecting ${what}: ${count(n, "port")} ${n === 1 ? "fits" : "fit"}. ${fingers.matches ? "Tap a port or a node, or empty space to cancel." : "Arrows choose, Enter connects, Esc cancels."}`;
    this.canvas.pane.append(this.hint);
    announce.say(`Connecting ${what}. ${count(n, "matching port")}. Use the arrow keys to choose, Enter to connect, Escape to cancel.`);
  }

  /** remark marks the first port and those that fit, also after the server rendered some of them again. */
  remark(): void {
    if (!this.pending) return;
    this.canvas.connect.mark(this.pending);
    this.canvas.scene.portElement(this.pending)?.setAttribute("data-pending", "");
  }

  /** cancel forgets the first port and reports whether there was one. */
  cancel(): boolean {
    if (!this.pending) return false;
    this.canvas.scene.portElement(this.pending)?.removeAttribute("data-pending");
    this.pending = undefined;
    this.hint.remove();
    this.canvas.connect.unmark();
    return true;
  }

  /** candidates returns the ports that fit the first one, in the order of the nodes. */
  candidates(): Port[] {
    const first = this.pending, { draft, keys, scene, connect } = this.canvas;
    if (!first) return [];
    const around = loopNodes(draft, first);
    return keys.order().flatMap((id) => scene.ports.get(id) ?? []).filter((p) => connect.fitsFrom(first, p, around));
  }
}
