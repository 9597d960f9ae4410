// Shows the states of a run's steps on nodes and edges. A state comes from
// inside a node (data-step, rendered by the server) or from the page. Color is
// never the only sign: a badge inside the node has the text.
import type { Announce } from "./announce.ts";
import { isTool, type HasEdges } from "./edges.ts";
import { edgeKey, nodeOf, portOf, type Edge } from "./model.ts";
import { duration, isOver } from "./text.ts";

const wave = 300; // milliseconds that an edge is shown as running, at least
const called: Record<string, string> = { running: "running", retrying: "running", waiting: "waiting", succeeded: "carried", reused: "carried" }; // states of a tool and of its edge

/** Step is the state of a node in a run: how long it took, and how many items each output has. */
export type Step = {
  node: string; state: string;
  ms?: number; // duration in milliseconds
  items?: Record<string, number>; // by output port
};

/** StatusContext is what the status of steps needs of the canvas. */
export interface StatusContext extends HasEdges {
  readonly layer: HTMLElement;
  readonly announce: Announce;
}

/**
 * Status shows a run. states has the state of each node's step, results how long
 * it took and how many items it produced. They are kept apart from the elements,
 * because the server may replace an element at any time (refresh).
 */
export class Status {
  private states = new Map<string, string>();
  private results = new Map<string, Step>();
  private waves = new Map<string, number>(); // timers of edges that are briefly shown as running, by edge key

  constructor(private canvas: StatusContext) {}

  /** of returns the state of a node's step. */
  of(node: string): string | undefined { return this.states.get(node); }

  /** read reads the state from inside a node, after a swap. */
  read(node: string): void {
    const el = this.canvas.scene.elements.get(node)?.querySelector<HTMLElement>("[data-step]");
    if (el) this.paint(node, el.dataset.step!);
  }

  /** readAll reads the states of all nodes, once at the start. */
  readAll(): void {
    for (const el of this.canvas.layer.querySelectorAll<HTMLElement>("[data-step]")) this.read(el.closest<HTMLElement>("article[data-id]")?.dataset.id ?? "");
  }

  /** paint shows the state of a step; "" removes it. */
  paint(node: string, state: string): void {
    const el = this.canvas.scene.elements.get(node);
    if (!el || (this.states.get(node) ?? "") === state) return;
    if (state) { this.states.set(node, state); el.dataset.state = state; }
    else { this.states.delete(node); delete el.dataset.state; }
    for (const e of this.canvas.draft.edgesOf(node)) this.edge(e);
    if (!isOver(state)) this.result({ node, state });
    this.canvas.announce.name(node);
    if (state === "failed") this.canvas.announce.say(`${this.canvas.scene.title(node)} failed`);
  }

  /** result shows the duration of a step on its node, and the number of items on its outgoing edges. */
  private result(s: Step): void {
    const el = this.canvas.scene.elements.get(s.node);
    if (s.ms === undefined && !s.items) this.results.delete(s.node);
    else this.results.set(s.node, s);
    if (el && s.ms !== undefined) el.dataset.took = duration(s.ms);
    else delete el?.dataset.took;
    for (const e of this.canvas.draft.edgesOf(s.node)) if (nodeOf(e.from) === s.node) this.canvas.edges.count(edgeKey(e), s.items?.[portOf(e.from)]);
  }

  /** took returns the duration of a node's last step as text, or "". */
  took(node: string): string {
    const ms = this.results.get(node)?.ms;
    return ms === undefined ? "" : ` in ${duration(ms)}`;
  }

  private show(s: Step): void {
    this.paint(s.node, s.state);
    if (isOver(s.state)) this.result(s);
    this.canvas.announce.name(s.node);
  }

  /** edge paints an edge by the states of its two nodes: carried (data went over it), running (its target runs), idle (it will not carry anything in this run), or none. That of a tool has the state of its last call. It stays running for a moment, so that a fast run can be seen. */
  private edge(e: Edge): void {
    const key = edgeKey(e), el = this.canvas.edges.element(key), a = this.states.get(nodeOf(e.from)), b = this.states.get(nodeOf(e.to));
    const carried = a === "succeeded" || a === "reused";
    const state = isTool(e) ? called[a ?? ""] ?? "" : !a && !b ? "" : carried && b === "running" ? "running" : carried && b && b !== "skipped" ? "carried" : "idle";
    const shown = el?.getAttribute("data-state") ?? "";
    if (!el || shown === state || (state === "carried" && this.waves.has(key))) return;
    const begins = (state === "running" || state === "carried") && shown !== "running";
    if (state) el.setAttribute("data-state", begins ? "running" : state);
    else el.removeAttribute("data-state");
    clearTimeout(this.waves.get(key));
    this.waves.delete(key);
    if (begins) this.waves.set(key, window.setTimeout(() => { this.waves.delete(key); this.edge(e); }, wave));
  }

  /** edgesPainted paints edges that were added after their nodes had a state. */
  edgesPainted(): void {
    if (this.states.size) for (const e of this.canvas.draft.edges) this.edge(e);
    for (const s of this.results.values()) this.result(s);
  }

  /** refresh shows the state on an element that was replaced. */
  refresh(node: string): void {
    const state = this.states.get(node), el = this.canvas.scene.elements.get(node);
    if (state && el) el.dataset.state = state;
    const result = this.results.get(node);
    if (result) this.result(result);
  }

  /** showSteps shows the steps of an event. */
  showSteps(steps: Step[]): void { for (const s of steps) this.show(s); }

  /** forget drops the state of a node that was deleted; an undo of the deletion shows it without one. */
  forget(node: string): void { if (!this.canvas.draft.nodes.has(node)) { this.states.delete(node); this.results.delete(node); } }
}
