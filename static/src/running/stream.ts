// Follows one run: its stream sends the current state and then each change, and
// reconnects when it was interrupted.
import { builder, canvas, flowId, flowPath, whenReady } from "../builder/canvas.ts";
import { command } from "../builder/commands.ts";
import { keep, kept } from "../builder/dom.ts";
import { load, store } from "../canvas/storage.ts";
import { isOver } from "../canvas/text.ts";
import { say } from "../say.ts";
import * as asked from "./asked.ts";
import { bus, subscribe, show, shown, publish, formatDuration, type RunEvent, type StepEvent, type AgentEvent, type ItemsEvent, type TextEvent } from "./events.ts";

const key = `run:${flowId}`;
let source: EventSource | undefined;
let painted = new Map<string, StepEvent | undefined>(); // the last step of each node; none for a tool whose first call waits

/** follow shows a run on the canvas. live: it was started here. */
export function follow(run: string, live: boolean): void {
  leave();
  show({ id: run, live, over: false, state: "queued" });
  store("sessionStorage", key, run);
  if (live) say("Run started");
  source = new EventSource(`${flowPath}/runs/${encodeURIComponent(run)}/events`);
  receive<StepEvent[]>("steps", (steps) => { for (const s of steps) painted.set(s.node, s); paint(steps.map((s) => s.node)); late(steps); publish("steps", steps); });
  receive<ItemsEvent[]>("items", (items) => publish("items", items));
  receive<AgentEvent[]>("agents", (agents) => {
    const tools = asked.take(agents);
    for (const node of tools) painted.set(node, painted.get(node));
    paint(tools);
    publish("agents", agents);
    publish("asked", tools);
  });
  receive<TextEvent[]>("text", (texts) => publish("text", texts));
  receive<RunEvent>("run", (n) => { shown!.state = n.state; publish("run", n); });
  receive("over", () => over());
  source.addEventListener("error", () => { if (source?.readyState === EventSource.CLOSED) stop(); });
}

/** receive calls act with the data of each event of a name. */
function receive<T>(name: string, act: (detail: T) => void): void {
  source!.addEventListener(name, (e) => act(JSON.parse((e as MessageEvent<string>).data || "null") as T));
}

/** stop closes the stream; the run stays on the page. */
function stop(): void { source?.close(); source = undefined; }

/** over marks the run as finished. The server closes the stream then; an EventSource would reconnect. */
function over(): void {
  stop();
  if (!shown) return;
  shown.over = true;
  publish("over", shown);
}

/** leave stops showing the run. */
export function leave(): void {
  stop();
  show(undefined);
  store("sessionStorage", key, "");
  asked.forget();
  const nodes = [...painted.keys()];
  painted = new Map();
  paint(nodes);
  publish("clear");
}

/** paint shows the states of nodes on the canvas. */
function paint(nodes: Iterable<string>): void {
  const steps = [...nodes].map((node) => {
    const step = painted.get(node), state = asked.stateOf(node, step);
    return state === step?.state ? { node, state, ms: step.ms, items: step.items } : { node, state };
  });
  if (steps.length) canvas.dispatchEvent(new CustomEvent("canvas:paint", { detail: { steps } }));
}

/** late records the latency of steps. */
function late(steps: StepEvent[]): void {
  if (!shown?.live) return;
  requestAnimationFrame(() => {
    for (const s of steps) performance.mark("run:painted", { detail: { node: s.node, state: s.state, late: Date.now() - s.at } });
  });
}

command({ name: "leave-run", title: "Close run", icon: "x", enabled: () => !!shown, run: () => {
  if (builder.dataset.replay) location.assign(flowPath);
  else { leave(); history.replaceState(null, "", flowPath); }
} });

// Following the run: pans to the running node.

let following = kept("follow") === "on";
const showFollowing = () => document.querySelectorAll('[data-command="follow"]').forEach((b) => b.setAttribute("aria-pressed", String(following)));
command({ name: "follow", title: "Follow run on canvas", icon: "eye", run: () => { following = !following; keep("follow", following ? "on" : "off"); showFollowing(); } });
bus.addEventListener("bar", showFollowing);

subscribe<StepEvent[]>("steps", (steps) => {
  if (!shown?.live) return;
  const now = steps.findLast((s) => s.state === "running");
  if (following && now && canvas.scene.elements.has(now.node)) canvas.view.reveal(now.node);
});

// At the end the result is announced, and the view goes to a failed node.
subscribe<RunEvent>("run", (n) => {
  if (!isOver(n.state) || !shown?.live) return;
  if (n.state === "succeeded") say(`Run succeeded in ${formatDuration(n.ms)}`);
  else if (n.state === "canceled") say("Run canceled");
  else say(`Run failed${n.title ? ` at ${n.title}` : ""}: ${n.error?.Text ?? ""}`);
  if (n.state === "failed" && n.error?.Node) goTo(n.error.Node);
});

/** goTo selects a failed node and brings it into view. The focus follows only if the user is not working elsewhere. */
function goTo(node: string): void {
  if (!canvas.scene.elements.has(node)) return;
  canvas.selection.set([node]);
  canvas.view.reveal(node);
  const at = document.activeElement;
  if (!at || at === document.body || at.closest("flow-canvas, #run-bar, .builder-top")) canvas.keys.focus(node);
}

/** last returns the run to show when the page opens: from the URL, or the one shown before a reload. */
function last(): string | null {
  const asked = new URLSearchParams(location.search).get("run");
  if (asked || builder.dataset.replay) return asked; // the run shown before has another document
  return load("sessionStorage", key) || null;
}

void whenReady.then(() => { const run = last(); if (run) follow(run, false); });
addEventListener("pagehide", stop);
addEventListener("pageshow", (e) => { if (e.persisted && shown && !shown.over) follow(shown.id, shown.live); });
