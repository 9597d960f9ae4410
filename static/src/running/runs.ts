// The Runs tab: the latest runs of this flow, refreshed when one starts or ends
// and, while it is visible, every few seconds, because clients start runs too.
import { flowPath } from "../builder/canvas.ts";
import { html } from "../builder/dom.ts";
import { ask } from "./ask.ts";
import { subscribe, shown } from "./events.ts";

const place = document.getElementById("flow-runs")!;
const tab = document.getElementById("tab-runs")!;
const interval = 5000, delay = 200; // ms
let timer = 0;
let last = "";

const inView = () => tab.getAttribute("aria-selected") === "true" && !document.hidden && tab.checkVisibility();

/** soon loads the list after a pause, in which the server records the run. */
function soon(): void {
  clearTimeout(timer);
  timer = window.setTimeout(() => void load(), delay);
}

/** load replaces the list, unless it is unchanged or has the focus. */
async function load(): Promise<void> {
  const r = await ask(`${flowPath}/runs${shown ? `?run=${encodeURIComponent(shown.id)}` : ""}`);
  if (!r?.ok) return;
  const text = await r.text();
  if (text === last || place.contains(document.activeElement)) return; // keep the focus
  last = text;
  place.replaceChildren(html(text));
}

tab.addEventListener("click", soon);
subscribe("started", soon);
subscribe("over", soon);
document.addEventListener("flow:run", soon);
window.setInterval(() => { if (inView()) void load(); }, interval);
