// The Data tab: inputs and outputs of the selected node in the shown or the last
// run; and pins, outputs that draft runs use instead of running a node.
import htmx from "htmx.org/dist/htmx.esm.js";
import { canvas, flowPath, readonly } from "../builder/canvas.ts";
import { command } from "../builder/commands.ts";
import { el, html } from "../builder/dom.ts";
import { showTab } from "../builder/panes.ts";
import type { Edge, Point } from "../canvas/model.ts";
import { isOver } from "../canvas/text.ts";
import { icon } from "../icon.ts";
import { listen } from "../listen.ts";
import { say } from "../say.ts";
import { ask } from "./ask.ts";
import { subscribe, shown, type StepEvent } from "./events.ts";
import { show as showWire } from "./wire.ts";

const place = document.getElementById("node-data")!;
const tab = document.getElementById("tab-data")!;
const debounce = 150; // ms
let latestRequest = 0;
let timer = 0;

const selectedNode = (): string | undefined => { const list = [...(canvas.selection?.nodes ?? [])]; return list.length === 1 ? list[0] : undefined; };
const inView = () => tab.getAttribute("aria-selected") === "true";

/** load loads the data of the selected node, if the tab is visible. */
function load(): void {
  clearTimeout(timer);
  if (inView()) timer = window.setTimeout(() => void fetchData(), debounce);
}

/** fetchData loads the data. Of several requests only the latest response is shown. */
async function fetchData(): Promise<void> {
  const node = selectedNode(), request = ++latestRequest;
  if (!node) return;
  const r = await ask(`${flowPath}/data/${encodeURIComponent(node)}${shown ? `?run=${encodeURIComponent(shown.id)}` : ""}`);
  const text = r?.ok ? await r.text() : "";
  if (!text || request !== latestRequest) return;
  const field = outputs();
  showData(text, field && field.value !== field.defaultValue ? field : undefined);
}

/** outputs returns the field for an output to pin. */
const outputs = () => place.querySelector<HTMLTextAreaElement>("[data-pin-form] textarea");

/** nameOf returns what names a control of the tab in each of its renderings. */
const nameOf = (e: Element): string => e.id || e.textContent.trim();

let last = "";

/** showData shows the data and invalidates pending requests. Data that is shown already stays; of other data the focus stays, and the text of a field that is being written. */
function showData(text: string, typed?: HTMLTextAreaElement): void {
  latestRequest++;
  if (text === last && place.firstElementChild) return;
  last = text;
  const focused = place.contains(document.activeElement) ? nameOf(document.activeElement!) : undefined;
  place.replaceChildren(html(text));
  htmx.process(place);
  const field = outputs();
  if (typed && field?.id === typed.id) {
    field.value = typed.value;
    field.closest("details")!.open = true;
  }
  if (focused) [...place.querySelectorAll<HTMLElement>("button, a, summary, textarea")].find((e) => nameOf(e) === focused)?.focus({ preventScroll: true });
}

listen(canvas, "canvas:select", load);
tab.addEventListener("click", () => void fetchData());
subscribe<StepEvent[]>("steps", (steps) => { if (steps.some((s) => s.node === selectedNode() && isOver(s.state))) load(); });
subscribe("over", load);
subscribe("clear", load);
load(); // the tab was opened before this script was loaded

// The tooltip with the last value of the hovered or selected edge, or of the edge at the focused port.
const tipDelay = 150; // ms
let edgeTimer = 0;
listen<{ edge?: Edge; client: Point; focus?: boolean }>(canvas, "canvas:edge", ({ edge, client, focus }) => {
  clearTimeout(edgeTimer);
  edgeTimer = window.setTimeout(() => showWire(edge, client, focus), edge ? tipDelay : 0);
});

// Pins.

if (!readonly) command({ name: "pin", title: "Pin or unpin output", hint: "Draft runs use it instead of running the node", icon: "pin", keys: "P", enabled: () => !!selectedNode(), run: () => void togglePin(selectedNode()!) });

/** togglePin pins or unpins the output of a node. */
async function togglePin(node: string): Promise<void> {
  const off = isPinned(node);
  const r = await ask(`${flowPath}/${off ? "unpin" : "pin"}/${encodeURIComponent(node)}`, new URLSearchParams(shown && !off ? { run: shown.id } : {}));
  if (!r) return;
  showData(await r.text());
  if (r.ok) showPin(node, !off);
  else showTab("data"); // the tab shows the reason
}

// The canvas handles the key P itself and emits canvas:pin with the affected nodes.
listen<{ nodes: string[] }>(canvas, "canvas:pin", ({ nodes }) => { if (!readonly) for (const node of nodes) void togglePin(node); });

place.addEventListener("submit", (e) => {
  const f = e.target as HTMLFormElement;
  if (!f.hasAttribute("data-pin-form")) return;
  e.preventDefault();
  const body = new URLSearchParams([...new FormData(f)] as [string, string][]);
  if (shown && !body.has("run")) body.set("run", shown.id);
  void ask(f.getAttribute("action")!, body).then(async (r) => {
    if (!r) return;
    const node = place.querySelector<HTMLElement>("[data-node]")!.dataset.node!, on = !f.action.includes("/unpin/");
    showData(await r.text());
    if (r.ok) showPin(node, on);
  });
});

const article = (node: string): HTMLElement | undefined => canvas.scene?.elements.get(node);
const pinOf = (node: string) => article(node)?.querySelector("[data-pinned]");
function isPinned(node: string): boolean { return !!pinOf(node); }

/** showPin shows or removes the pin on a node, as the server renders it. */
function showPin(node: string, pinned: boolean): void {
  if (pinned === isPinned(node)) return;
  say(pinned ? "Output pinned" : "Output unpinned");
  if (!pinned) return pinOf(node)!.remove();
  const sign = el("span", { class: "node-mark", "data-pinned": "", title: "Pinned: draft runs use this output instead of running the node." }, icon("pin"), el("span", { class: "unseen" }, "pinned"));
  article(node)?.querySelector("[data-title]")?.after(sign);
}

listen<{ node: string; pinned: boolean }>(document, "flow:pinned", ({ node, pinned }) => showPin(node, pinned));
