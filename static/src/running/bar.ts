// The run bar above the canvas: state, progress and commands.
import { html } from "../builder/dom.ts";
import { isOver } from "../canvas/text.ts";
import { subscribe, publish, formatDuration, type RunEvent } from "./events.ts";

const place = document.getElementById("run-bar");
const tick = 100; // ms between updates of the elapsed time
let from = 0;
let timer = 0;
let state = "";

subscribe<RunEvent>("run", (n) => {
  if (n.state !== state || !place?.firstElementChild) replaceBar(n);
  part("[data-steps]", n.steps);
  part("[data-cost]", n.cost);
  clearInterval(timer);
  if (isOver(n.state)) return part("[data-elapsed]", formatDuration(n.ms));
  from = performance.now() - n.ms;
  if (n.state === "running" || n.state === "waiting") timer = window.setInterval(() => part("[data-elapsed]", formatDuration(performance.now() - from)), tick);
});

/** replaceBar replaces the bar and keeps the focus on the same command, or else the first. */
function replaceBar(n: RunEvent): void {
  if (!place) return;
  state = n.state;
  const had = (document.activeElement as HTMLElement | null)?.closest<HTMLElement>("#run-bar [data-command]")?.dataset.command;
  place.replaceChildren(html(n.bar));
  if (had) (place.querySelector<HTMLElement>(`[data-command="${had}"]`) ?? place.querySelector<HTMLElement>("[data-command]"))?.focus();
  publish("bar");
}

/** part writes a part of the bar; it is hidden while it has no text. */
function part(selector: string, text: string): void {
  const el = place?.querySelector<HTMLElement>(selector);
  if (!el) return;
  el.hidden = !text;
  if (el.textContent !== text) el.textContent = text;
}

subscribe("clear", () => { clearInterval(timer); state = ""; place?.replaceChildren(); });
