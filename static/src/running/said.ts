// What a node says of its step: a badge with state and time, the text as it
// comes, then a small picture of the result, tokens and cost. All of it is set
// as text. The server may put a new inside into a node; then it is said again.
import { canvas, whenReady } from "../builder/canvas.ts";
import { el } from "../builder/dom.ts";
import { icon } from "../icon.ts";
import { isOver, on, took, type StepNews, type TextNews } from "./news.ts";

type Said = { news?: StepNews; from: number; text: string; slot?: Element | null };
const nodes = new Map<string, Said>();
const keptText = 4000; // characters of a text at work; a node shows its last lines
const tick = 100; // ms

const signs: Record<string, [icon: string, tone: string]> = {
  pending: ["circle-dashed", ""], running: ["loader", "run"], retrying: ["refresh-cw", "wait"], waiting: ["pause", "wait"], succeeded: ["check", "ok"],
  reused: ["repeat", "ok"], skipped: ["skip-forward", ""], failed: ["x", "bad"], canceled: ["ban", ""],
};
const spoken = new Set(["skipped", "waiting", "retrying", "failed", "canceled", "reused"]); // states that the badge writes out

on<StepNews[]>("steps", (steps) => {
  for (const s of steps) {
    const said = at(s.node);
    said.news = s;
    said.from = performance.now() - s.ms;
    if (isOver(s.state)) said.text = "";
    write(s.node);
  }
});

on<TextNews[]>("text", (texts) => {
  for (const t of texts) {
    const said = at(t.node);
    said.text = ((t.reset ? "" : said.text) + t.text).slice(-keptText);
    body(t.node);
  }
});

on("clear", () => {
  for (const node of nodes.keys()) { badgeOf(node)?.setAttribute("hidden", ""); slotOf(node)?.setAttribute("hidden", ""); slotOf(node)?.replaceChildren(); }
  nodes.clear();
});

function at(node: string): Said {
  let said = nodes.get(node);
  if (!said) nodes.set(node, (said = { from: 0, text: "" }));
  return said;
}

const article = (node: string): HTMLElement | undefined => canvas.scene?.elements.get(node);
const slotOf = (node: string) => article(node)?.querySelector<HTMLElement>("[data-said]");
const badgeOf = (node: string) => article(node)?.querySelector<HTMLElement>("[data-badge]");

function write(node: string): void { badge(node); body(node); }

function badge(node: string): void {
  const news = nodes.get(node)?.news, b = badgeOf(node);
  if (!news || !b) return;
  const [sign, tone] = signs[news.state] ?? ["circle", ""];
  b.className = `node-badge tag ${tone}`;
  b.title = news.error ? `${news.state}: ${news.error.Text}` : news.state;
  b.replaceChildren(icon(sign), el("span", spoken.has(news.state) ? {} : { class: "unseen" }, news.state), el("span", { "data-took": "" }, time(node)));
  b.hidden = false;
}

function time(node: string): string {
  const { news, from } = nodes.get(node)!;
  if (news!.state === "running") return took(performance.now() - from);
  return news!.state === "succeeded" && news!.ms > 0 ? took(news!.ms) : "";
}

function body(node: string): void {
  const said = nodes.get(node)!, slot = slotOf(node), n = said.news;
  said.slot = slot;
  if (!slot) return;
  const parts: HTMLElement[] = [];
  if (said.text) parts.push(el("div", { class: "said-text going" }, said.text, el("span", { class: "caret", "aria-hidden": "true" })));
  else if (n?.error && n.state !== "succeeded") parts.push(el("div", { class: "said-error" }, n.error.Text, n.error.Do && el("small", {}, n.error.Do)));
  else if (n?.preview) parts.push(...preview(n));
  if (n && (n.tokens || n.cost)) parts.push(el("div", { class: "said-foot" }, el("span", {}, n.tokens ?? ""), el("span", {}, n.cost ?? "")));
  slot.hidden = !parts.length;
  slot.replaceChildren(...parts);
  const going = slot.querySelector(".going");
  if (going) going.scrollTop = going.scrollHeight;
}

function preview({ preview: p }: StepNews): HTMLElement[] {
  if (!p) return [];
  if (p.kind === "scores") return [el("div", { class: "said-scores" }, ...(p.scores ?? []).flatMap((s, i) => score(s.label, s.score, i === 0)))];
  if (p.kind === "image") {
    const img = el("img", { src: p.file, alt: p.text ?? "", loading: "lazy", draggable: "false" });
    return [el("div", { class: "said-image" }, img)];
  }
  if (p.kind === "file") return [el("div", { class: "said-file" }, icon("file"), p.text)];
  return p.text ? [el("div", { class: "said-text" }, p.text)] : [];
}

function score(label: string, value: number, best: boolean): HTMLElement[] {
  const line = el("div", { class: best ? "best" : "" }, el(best ? "b" : "span", {}, label), el("span", {}, value.toFixed(2)));
  return best ? [line, el("meter", { min: "0", max: "1", value: String(value), "aria-label": label })] : [line];
}

window.setInterval(() => {
  for (const [node, said] of nodes) {
    if (said.news?.state !== "running") continue;
    const t = badgeOf(node)?.querySelector("[data-took]"), text = time(node);
    if (t && t.textContent !== text) t.textContent = text;
  }
}, tick);

// A node whose inside is new has an empty slot.
void whenReady.then(() => {
  let frame = 0;
  new MutationObserver(() => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => { for (const [node, said] of nodes) if (said.news && (slotOf(node) !== said.slot || badgeOf(node)?.hidden)) write(node); });
  }).observe(document.getElementById("canvas-nodes")!, { childList: true, subtree: true });
});
