// Making an edge by taps or keys: one port, then another.
import type { Connect } from "./connect.ts";
import type { Announcer } from "./context.ts";
import { at, type Draft, type Port } from "./model.ts";
import { circle, refusal } from "./rules.ts";
import type { Scene } from "./scene.ts";

/** TapsContext is what connecting by taps and keys needs of the canvas. */
export interface TapsContext {
  readonly readonly: boolean;
  readonly draft: Draft;
  readonly scene: Scene;
  readonly connect: Connect;
  readonly announce: Announcer;
  readonly keys: { order(): string[] };
}

export class Taps {
  /** pending is the port that was chosen first. */
  pending: Port | undefined;

  constructor(private canvas: TapsContext) {}

  /** tap takes the first port, or connects it with this second one. */
  tap(el: HTMLElement): void {
    const { connect, draft } = this.canvas, port = connect.portOf(el), first = this.pending;
    if (!port || this.canvas.readonly) return;
    if (!first) return this.choose(port, el);
    this.cancel();
    if (at(first) === at(port) && first.side === port.side) return;
    const reason = refusal(draft, first, port);
    if (reason) connect.refuse(reason);
    else connect.join(first, port);
  }

  private choose(port: Port, el: HTMLElement): void {
    const { connect, announce, scene } = this.canvas;
    this.pending = port;
    connect.mark(port);
    el.setAttribute("data-pending", "");
    const n = this.candidates().length;
    announce.say(`Connecting ${scene.title(port.node)} ${port.name}. ${n} ports fit: arrow keys go through them, Enter connects, Escape cancels.`);
  }

  /** cancel forgets the first port; it tells whether there was one. */
  cancel(): boolean {
    if (!this.pending) return false;
    this.canvas.scene.portElement(this.pending)?.removeAttribute("data-pending");
    this.pending = undefined;
    this.canvas.connect.unmark();
    return true;
  }

  /** candidates are the ports that the first one fits, in the order of the nodes. */
  candidates(): Port[] {
    const first = this.pending, { draft, keys, scene, connect } = this.canvas;
    if (!first) return [];
    const around = circle(draft, first);
    return keys.order().flatMap((id) => scene.ports.get(id) ?? []).filter((p) => connect.fitsFrom(first, p, around));
  }
}
