// The API tab. Its content and script are loaded when it is first shown, or when
// the pointer enters the tab. If it was open last, the page is rendered with it.
import htmx from "htmx.org/dist/htmx.esm.js";
import { follow } from "../running/stream.ts";
import { canvas, flowPath, readonly, whenReady } from "./canvas.ts";
import { command, perform } from "./commands.ts";
import { bring } from "./jump.ts";
import { sheet, showTab } from "./panes.ts";

const api = document.getElementById("tab-api")!;
const pane = document.getElementById("flow-api")!;
const shown = (tab: HTMLElement): boolean => tab.getAttribute("aria-selected") === "true";

let fetching: Promise<void> | undefined;

/** fetched loads the content of the tab once. */
function fetched(): Promise<void> {
  if (!pane.querySelector(".api-later")) return Promise.resolve();
  return fetching ??= htmx.ajax("GET", `${flowPath}/api`, { source: pane, target: pane, swap: "innerHTML" }).finally(() => { fetching = undefined; });
}

/** load loads the content and the script of the tab. */
async function load(): Promise<void> {
  const [{ begin }] = await Promise.all([import("../api/draft.ts"), whenReady, fetched()]);
  begin({ canvas, path: flowPath, show: showNode, follow });
}

/** show opens the tab and waits for its content. */
async function show(): Promise<void> {
  showTab("api");
  sheet(true);
  await fetched();
}

/** showNode selects a node and brings it into view; the pane stays open. */
function showNode(node: string): boolean {
  if (!canvas.scene.elements.has(node)) return false;
  if (perform("show-canvas")) sheet(false);
  canvas.selection.set([node]);
  showTab("api"); // selecting a node shows it
  bring(node);
  return true;
}

api.addEventListener("pointerenter", () => void load(), { once: true });
if (shown(api)) void load();

// Arrow keys select the tab too, so the tab itself is observed.
new MutationObserver(() => { if (shown(api)) void load(); }).observe(api, { attributeFilter: ["aria-selected"] });

command({ name: "show-api", title: "Show the API", hint: "Call this flow from code", icon: "terminal", keys: "A", run: () => void show() });
if (!readonly) {
  command({ name: "try-api", title: "Try the API", hint: "Send a real request", icon: "send", run: () => void show().then(() => open("#api-try", "textarea, select, input:not([type=hidden]), button")) });
  command({ name: "new-key", title: "New key for this flow", icon: "key-round", run: () => void show().then(() => open("#api-keys", "input:not([type=hidden]), button, a")) });
}

/** open scrolls a section of the pane into view and focuses its first control. */
function open(section: string, first: string): void {
  const s = document.querySelector<HTMLElement>(section), d = s?.querySelector("details");
  if (d) d.open = true;
  s?.scrollIntoView({ block: "start" });
  s?.querySelector<HTMLElement>(`${d ? "details > :not(summary)" : ""} :is(${first})`)?.focus({ preventScroll: true });
}
