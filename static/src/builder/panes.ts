// The pane beside the canvas and the drawer below it.
import { track } from "../canvas/gesture.ts";
import { listen } from "../listen.ts";
import { builder, canvas, whenReady } from "./canvas.ts";
import { command } from "./commands.ts";
import { keep, kept } from "./dom.ts";

const small = matchMedia("(max-width: 800px)");
const fold = document.getElementById("drawer-fold");
const edge = document.getElementById("drawer-edge");
const minHeight = 80, step = 24; // pixels

/** showTab selects a tab. */
export function showTab(name: "result" | "node" | "api" | "runs" | "problems" | "data"): void {
  if (name === "problems" || name === "data") open(true);
  const at = document.activeElement, inside = document.getElementById("pane")!.contains(at);
  document.getElementById(`tab-${name}`)?.click();
  if (inside && !at!.checkVisibility()) canvas.keys?.focus(canvas.chosen()[0]); // it would be lost with the panel
}

/** sheet shows or hides the pane on small screens, where it is a bottom sheet. */
export function sheet(on: boolean): void {
  builder.toggleAttribute("data-sheet", on);
  if (on && small.matches) document.querySelector<HTMLElement>("#pane [role=tab][aria-selected=true]")?.focus({ preventScroll: true });
}

listen<{ part?: string }>(canvas, "canvas:open", ({ part }) => {
  if (part === "label") return;
  showTab("node");
  sheet(true);
});
// Selecting a node opens the Node tab. Deselecting returns to the previous tab,
// unless the user chose another in the meantime.
const year = 31_536_000; // s
const bar = document.querySelector<HTMLElement>("#pane [role=tablist]");
const openTab = () => bar?.querySelector<HTMLElement>("[aria-selected=true]");
let before: HTMLElement | undefined; // the tab to return to

listen<{ nodes: string[] }>(canvas, "canvas:select", ({ nodes }) => {
  if (nodes.length && openTab()?.id !== "tab-node") {
    before = openTab() ?? undefined;
    showTab("node");
  } else if (!nodes.length) {
    before?.click();
    before = undefined;
  }
});
// Escape leads to the canvas when what had the focus is gone.
document.addEventListener("keydown", (e) => {
  if (e.key === "Escape" && !e.defaultPrevented && document.activeElement === document.body && !document.querySelector("dialog:modal")) canvas.keys?.focus(canvas.chosen()[0]);
});
// A click on a node that is selected already, such as after a run, opens it too.
canvas.addEventListener("click", (e) => {
  const at = e.target as Element, id = at.closest<HTMLElement>("article[data-id]")?.dataset.id;
  if (!id || at.closest("[data-port], button, a") || openTab()?.id === "tab-node" || canvas.selection.nodes.size !== 1 || !canvas.selection.nodes.has(id)) return;
  before = openTab() ?? undefined;
  showTab("node");
});
// The tab that is open is remembered, except for results, which belong to a run. Arrow keys select tabs too, so the tabs themselves are observed.
for (const tab of bar?.querySelectorAll("[role=tab]:not(#tab-result)") ?? []) new MutationObserver(() => {
  if (tab.ariaSelected === "true") document.cookie = `pane=${tab.id.slice(4)}; Path=/flows; Max-Age=${year}; SameSite=Lax${location.protocol === "https:" ? "; Secure" : ""}`;
}).observe(tab, { attributeFilter: ["aria-selected"] });
bar?.addEventListener("click", (e) => { if (e.isTrusted) before = undefined; });
bar?.addEventListener("keydown", () => { before = undefined; });

command({ name: "close-pane", title: "Close node pane", enabled: () => builder.hasAttribute("data-sheet") && small.matches, run: () => { sheet(false); canvas.keys.focus(canvas.chosen()[0]); } });
command({ name: "show-runs", title: "Show runs", icon: "history", run: () => { showTab("runs"); sheet(true); } });

// The drawer.

const isOpen = () => builder.dataset.drawer !== "closed";

/** open shows or hides the drawer. It starts closed on every page, so that it never takes space from the canvas unasked. */
function open(on: boolean): void {
  if (on) delete builder.dataset.drawer;
  else builder.dataset.drawer = "closed";
  fold?.setAttribute("aria-expanded", String(on));
}

/** size sets the height of the drawer. Its edge is a separator with a value, which arrow keys move (ARIA window splitter). */
function size(pixels: number): void {
  const maxHeight = Math.max(minHeight, Math.round(builder.clientHeight * 0.7)), h = Math.round(Math.min(maxHeight, Math.max(minHeight, pixels)));
  builder.style.setProperty("--drawer", `${h}px`);
  edge?.setAttribute("aria-valuenow", String(h));
  edge?.setAttribute("aria-valuemax", String(maxHeight));
  keep("drawer-height", String(h));
}

const height = () => document.getElementById("drawer")!.offsetHeight;

command({ name: "drawer", title: "Show or hide problems and data", icon: "chevron-down", keys: "Ctrl+J", run: () => open(!isOpen()) });
command({ name: "problems", title: "Show problems", icon: "triangle-alert", run: () => showTab("problems") });
command({ name: "data", title: "Show node data", icon: "braces", run: () => showTab("data") });

for (const tab of ["problems", "data"]) document.getElementById(`tab-${tab}`)?.addEventListener("click", (e) => { if (e.isTrusted) open(true); });

edge?.addEventListener("pointerdown", (e) => {
  const from = e.clientY, was = height();
  track(edge, e, (m) => size(was + from - m.clientY));
});
edge?.addEventListener("keydown", (e) => {
  const by = { ArrowUp: step, ArrowDown: -step, PageUp: 4 * step, PageDown: -4 * step }[e.key];
  if (by) size(height() + by);
  else if (e.key === "Enter") open(false);
  else return;
  e.preventDefault();
});

const was = Number(kept("drawer-height"));
if (was) size(was);

// Small screens show either the outline or the canvas.

command({ name: "show-outline", title: "Show outline", icon: "list-tree", enabled: () => small.matches, run: () => view("outline") });
command({ name: "show-canvas", title: "Show canvas", icon: "workflow", enabled: () => small.matches, run: () => view("canvas") });

/** view switches between outline and canvas. The canvas is fitted when it was hidden until now. */
function view(name: "outline" | "canvas"): void {
  builder.dataset.small = name;
  for (const b of document.querySelectorAll<HTMLElement>(".view")) b.setAttribute("aria-pressed", String(b.dataset.command === `show-${name}`));
  if (name === "canvas") void whenReady.then((c) => requestAnimationFrame(() => { if (!seen(c.scene.bounds())) c.view.fit(undefined, 0); }));
}

/** seen reports whether any of the flow is in view: the canvas had no size while it was hidden. */
function seen(b: { x: number; y: number; width: number; height: number }): boolean {
  const [tx, ty, k] = canvas.view.transform, { clientWidth: w, clientHeight: h } = canvas.pane;
  return b.x * k + tx < w && b.y * k + ty < h && (b.x + b.width) * k + tx > 0 && (b.y + b.height) * k + ty > 0;
}
