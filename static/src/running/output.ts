// Shows a step in its node: a badge with its state, its duration, streamed text,
// then a preview of the result, tokens and cost. All of it is set as text. The
// preview has a reserved height, so a run never moves anything; styles show the
// whole of it over the neighbors while the node is hovered or selected. When the
// server replaces the content of a node, it is shown again.
import { canvas, whenReady } from "../builder/canvas.ts";
import { el } from "../builder/dom.ts";
import { isOver } from "../canvas/text.ts";
import { icon } from "../icon.ts";
import { askedSince } from "./asked.ts";
import { formatDuration, stateLabel, subscribe, type AgentEvent, type ItemsEvent, type StepEvent, type TextEvent } from "./events.ts";

/** NodeOutput is what a node shows of its step. from is when it started (performance.now); slot is the element that it was written to. */
type NodeOutput = { step?: StepEvent; agent?: AgentEvent; items?: ItemsEvent; from: number; text: string; slot?: Element | null };
const nodes = new Map<string, NodeOutput>();
const maxText = 4000; // characters of streamed text; a node shows the last lines
const tick = 100; // ms

const signs: Record<string, [icon: string, tone: string]> = {
  pending: ["circle-dashed", ""], running: ["loader", "run"], retrying: ["refresh-cw", "wait"], waiting: ["pause", "wait"], succeeded: ["check", "ok"],
  reused: ["repeat", "ok"], skipped: ["skip-forward", ""], failed: ["x", "bad"], canceled: ["ban", ""],
};
const minShownTime = 50; // ms; shorter durations are not shown, to leave the space to the title

subscribe<StepEvent[]>("steps", (steps) => {
  for (const s of steps) {
    const output = at(s.node);
    output.step = s;
    output.from = performance.now() - s.ms;
    if (isOver(s.state)) output.text = "";
    write(s.node);
  }
});

subscribe<ItemsEvent[]>("items", (items) => {
  for (const i of items) {
    at(i.node).items = i;
    body(i.node);
  }
});

subscribe<AgentEvent[]>("agents", (agents) => {
  for (const a of agents) {
    at(a.node).agent = a;
    body(a.node);
  }
});

subscribe<Set<string>>("asked", (tools) => {
  for (const node of tools) { at(node); write(node); }
});

subscribe<TextEvent[]>("text", (texts) => {
  for (const t of texts) {
    const output = at(t.node);
    output.text = ((t.reset ? "" : output.text) + t.text).slice(-maxText);
    body(t.node);
  }
});

subscribe("clear", () => {
  for (const node of nodes.keys()) { badgeOf(node)?.setAttribute("hidden", ""); slotOf(node)?.replaceChildren(); }
  nodes.clear();
});

/** at returns the entry of a node, creating it if needed. */
function at(node: string): NodeOutput {
  let output = nodes.get(node);
  if (!output) nodes.set(node, (output = { from: 0, text: "" }));
  return output;
}

const article = (node: string): HTMLElement | undefined => canvas.scene?.elements.get(node);
const slotOf = (node: string) => article(node)?.querySelector<HTMLElement>("[data-result]");
const badgeOf = (node: string) => article(node)?.querySelector<HTMLElement>("[data-badge]");

function write(node: string): void { badge(node); body(node); }

/** badge shows the state of the step on the corner of the node, and its duration beside the title. */
function badge(node: string): void {
  const step = stepOf(node), b = badgeOf(node);
  if (!b) return;
  b.hidden = !step;
  if (!step) return;
  const [sign, tone] = signs[step.state] ?? ["circle", ""];
  const label = stateLabel(step.state);
  b.title = step.error ? `${label}: ${step.error.Text}` : isOver(step.state) && step.ms > 0 ? `${label} in ${formatDuration(step.ms)}` : label;
  b.replaceChildren(el("span", { class: `node-state ${tone}` }, icon(sign), el("span", { class: "unseen" }, label)), el("span", { "data-took": "" }, time(node)));
}

/** stepOf returns the step that a node shows. A tool whose call waits for an answer shows that. */
function stepOf(node: string): Pick<StepEvent, "state" | "ms" | "error"> | undefined {
  return askedSince(node) === undefined ? nodes.get(node)?.step : { state: "waiting", ms: 0 };
}

/** time returns the elapsed time of a running step, or the duration of one that succeeded. */
function time(node: string): string {
  const { step, from } = nodes.get(node)!, since = askedSince(node);
  if (since !== undefined) return formatDuration(performance.now() - since);
  if (step!.state === "running" || step!.state === "waiting") return formatDuration(performance.now() - from);
  return step!.state === "succeeded" && step!.ms >= minShownTime ? formatDuration(step!.ms) : "";
}

/** body shows streamed text while it arrives, then the error or a preview of the result. */
function body(node: string): void {
  const output = nodes.get(node)!, slot = slotOf(node), n = output.step;
  output.slot = slot;
  if (!slot) return;
  if (askedSince(node) !== undefined) return slot.replaceChildren(el("div", { class: "result wait" }, el("b", {}, "Waiting for an answer")));
  const parts: HTMLElement[] = [];
  if (output.text) parts.push(el("div", { class: "result-text going" }, output.text, el("span", { class: "caret", "aria-hidden": "true" })));
  else if (output.agent && n && !isOver(n.state)) parts.push(working(output.agent));
  else if (output.items && (!n || !isOver(n.state) || output.items.failed > 0)) parts.push(...progress(output.items));
  else if (n?.error && n.state !== "succeeded") parts.push(el("div", { class: "result-error" }, n.error.Text, n.error.Do && el("small", {}, n.error.Do)));
  else if (n?.preview) parts.push(...preview(n));
  else if (n?.state === "waiting") parts.push(el("div", { class: "result-text" }, "Waiting"));
  else if (n?.state === "skipped") parts.push(el("div", { class: "result-text" }, "Skipped: other branch"));
  if (n && (n.tokens || n.cost)) parts.push(el("div", { class: "result-foot" }, el("span", {}, n.tokens ?? ""), el("span", {}, n.cost ?? "")));
  slot.replaceChildren(...(parts.length ? [el("div", { class: `result${n?.error && !output.text && n.state !== "succeeded" ? " bad" : ""}` }, ...parts)] : []));
  const going = slot.querySelector(".going");
  if (going) going.scrollTop = going.scrollHeight;
}

/** working returns what an agent does, how much of its context is used, and its cost. */
function working(a: AgentEvent): HTMLElement {
  const does = a.asks?.length ? `Waiting for an answer: ${a.asks.map((q) => q.tool).join(", ")}` : a.calls?.join(", ") || "Thinking";
  const head = el("p", { title: does }, el("b", {}, `Turn ${a.turn}${a.turns ? ` of ${a.turns}` : ""}`), ` · ${does}`);
  const context = a.context ? [el("meter", { min: "0", max: "1", value: String(a.used), "aria-label": "Context" }), el("span", { title: `Context: ${a.context} tokens, then it is shortened` }, a.context)] : [];
  const cost = a.cost ? el("span", { title: `Cost: ${a.cost}${a.limit ? ` of ${a.limit}` : ""}` }, a.cost) : "";
  return el("div", { class: "result-agent" }, head, ...context, cost);
}

/** progress returns a meter of the finished items of a step and a link to the run of one item. */
function progress(i: ItemsEvent): HTMLElement[] {
  const label = `${i.done.toLocaleString("en")} of ${i.total.toLocaleString("en")}`;
  const link = el("a", { href: i.open ?? i.details, title: i.open ? `Open item ${i.item} on its canvas` : `Show item ${i.item}` }, i.failed ? `${i.failed.toLocaleString("en")} failed` : `Item ${i.item}`);
  const meter = el("meter", { min: "0", max: String(Math.max(1, i.total)), value: String(i.done), "aria-label": "Finished items" });
  return [el("div", { class: `result-items${i.failed ? " some" : ""}` }, el("b", {}, label), link, meter)];
}

/** preview returns the elements of a result, by its kind. */
function preview({ preview: p }: StepEvent): HTMLElement[] {
  if (!p) return [];
  if (p.kind === "scores") return [el("div", { class: "result-scores" }, ...(p.scores ?? []).flatMap((s, i) => score(s.label, s.score, i === 0)))];
  if (p.kind === "image") {
    const img = el("img", { src: p.file, alt: p.text ?? "", loading: "lazy", draggable: "false" });
    return [el("div", { class: "result-image" }, img)];
  }
  if (p.kind === "file") return [el("div", { class: "result-file" }, icon("file"), p.text)];
  return p.text ? [el("div", { class: "result-text" }, ...(p.port ? [el("b", {}, p.port), " "] : []), p.text)] : [];
}

function score(label: string, value: number, best: boolean): HTMLElement[] {
  const meter = el("meter", { min: "0", max: "1", value: String(value), "aria-label": label });
  return [el("div", { class: best ? "best" : "" }, el(best ? "b" : "span", {}, label), meter, el("span", { title: String(value) }, value.toFixed(2)))];
}

window.setInterval(() => {
  for (const [node, output] of nodes) {
    if (askedSince(node) === undefined && output.step?.state !== "running" && output.step?.state !== "waiting") continue;
    const t = badgeOf(node)?.querySelector("[data-took]"), text = time(node);
    if (t && t.textContent !== text) t.textContent = text;
  }
}, tick);

// When the content of a node was replaced, its slot is empty.
void whenReady.then(() => {
  let frame = 0;
  new MutationObserver(() => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => { for (const [node, output] of nodes) if (stepOf(node) && (slotOf(node) !== output.slot || badgeOf(node)?.hidden)) write(node); });
  }).observe(document.getElementById("canvas-nodes")!, { childList: true, subtree: true });
});
