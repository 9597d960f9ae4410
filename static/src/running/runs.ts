// The tab Runs: the last runs of this flow, anew when one begins or ends and,
// while the tab is seen, every few seconds: programs start runs too.
import { flowPath } from "../builder/canvas.ts";
import { html } from "../builder/dom.ts";
import { ask } from "./ask.ts";
import { on, shown } from "./news.ts";

const place = document.getElementById("flow-runs")!;
const tab = document.getElementById("tab-runs")!;
const often = 5000, rest = 200; // ms
let timer = 0;
let last = "";

const inView = () => tab.getAttribute("aria-selected") === "true" && !document.hidden && tab.checkVisibility();

function soon(): void {
  clearTimeout(timer);
  timer = window.setTimeout(() => void load(), rest);
}

async function load(): Promise<void> {
  const r = await ask(`${flowPath}/runs${shown ? `?run=${encodeURIComponent(shown.id)}` : ""}`);
  if (!r?.ok) return;
  const text = await r.text();
  if (text === last || place.contains(document.activeElement)) return; // who walks through it keeps their place
  last = text;
  place.replaceChildren(html(text));
}

tab.addEventListener("click", soon);
on("started", soon);
on("over", soon);
document.addEventListener("flow:run", soon);
window.setInterval(() => { if (inView()) void load(); }, often);
