// The pill above the canvas: where the run stands, and what can be done.
import { html } from "../builder/dom.ts";
import { isOver, on, tell, took, type RunNews } from "./news.ts";

const place = document.getElementById("run-bar");
const tick = 100; // ms between two looks at the clock
let from = 0;
let timer = 0;
let state = "";

on<RunNews>("run", (n) => {
  if (n.state !== state || !place?.firstElementChild) renew(n);
  part("[data-steps]", `${n.done} of ${n.all} ${n.all === 1 ? "step" : "steps"}`);
  part("[data-cost]", n.cost);
  clearInterval(timer);
  if (isOver(n.state)) return part("[data-elapsed]", took(n.ms));
  from = performance.now() - n.ms;
  if (n.state === "running") timer = window.setInterval(() => part("[data-elapsed]", took(performance.now() - from)), tick);
});

/** renew takes the server's new pill; the focus stays on the same command, or on what took its place. */
function renew(n: RunNews): void {
  if (!place) return;
  state = n.state;
  const had = (document.activeElement as HTMLElement | null)?.closest<HTMLElement>("#run-bar [data-command]")?.dataset.command;
  place.replaceChildren(html(n.bar));
  if (had) (place.querySelector<HTMLElement>(`[data-command="${had}"]`) ?? place.querySelector<HTMLElement>("[data-command]"))?.focus();
  tell("bar");
}

function part(selector: string, text: string): void {
  const el = place?.querySelector<HTMLElement>(selector);
  if (!el) return;
  el.hidden = !text;
  if (el.textContent !== text) el.textContent = text;
}

on("clear", () => { clearInterval(timer); state = ""; place?.replaceChildren(); });
