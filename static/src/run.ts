// The page of a run: the time so far counts up, J and K (or the arrows in the list) go through the
// steps, E folds a turn of an agent, / goes to the filter, cells of a map select items, and the picture
// of the flow stays folded.
import { copied } from "./copy.ts";
import { onClick } from "./listen.ts";
import { formatDuration } from "./running/events.ts";
import "./run_sheet.ts";
import "./strip.ts";

const tick = 100; // ms between updates of the time so far
const pause = 150; // ms after which the step that J or K reached is shown

let counted: HTMLElement | undefined;
let began = 0; // when the run began, on the clock of this page

/** count shows the time so far. The server's number is the base, because clocks differ. */
function count(): void {
  const shown = document.querySelector<HTMLElement>("#run [data-elapsed]");
  if (!shown) return;
  if (shown !== counted || shown.dataset.base !== shown.dataset.elapsed) {
    began = performance.now() - Number(shown.dataset.elapsed);
    counted = shown;
    shown.dataset.base = shown.dataset.elapsed;
  }
  shown.textContent = formatDuration(performance.now() - began);
}

window.setInterval(() => { if (!document.hidden) count(); }, tick);

/** isTyping reports whether a key belongs to a control. */
function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || target.matches("input, textarea, select"));
}

let selecting = 0;

document.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || e.shiftKey || isTyping(e.target)) return;
  const inList = e.target instanceof Element && e.target.closest(".step-list") !== null;
  if (e.key === "e") return foldCurrent(e);
  const pills = e.key === "/" ? document.querySelector<HTMLElement>("#run .thread-head .pill[aria-current]") : null;
  if (pills) {
    e.preventDefault();
    pills.focus();
    return;
  }
  const letter = { j: 1, k: -1 }[e.key];
  const by = letter ?? (inList ? { ArrowDown: 1, ArrowUp: -1 }[e.key] : undefined);
  if (by === undefined) return;
  const rows = [...document.querySelectorAll<HTMLElement>("#run .step-list .step:not(.folded) .row")];
  const from = inList ? rows.findIndex((row) => row === document.activeElement) : rows.findIndex((row) => row.ariaCurrent === "true");
  const row = rows[Math.min(Math.max(from + by, 0), rows.length - 1)];
  if (!row) return;
  e.preventDefault();
  row.focus();
  window.clearTimeout(selecting);
  if (letter) selecting = window.setTimeout(() => row.click(), pause);
});

const narrow = window.matchMedia("(min-width: 721px) and (max-width: 820px)");

// Below the list, the step that was chosen in it comes into view. On phones it opens as a sheet.
document.addEventListener("click", (e) => {
  if (!narrow.matches || !(e.target instanceof Element) || !e.target.closest(".step-list .row")) return;
  document.addEventListener("htmx:after:swap", () => document.getElementById("step")?.scrollIntoView({ block: "start" }), { once: true });
});

// The turns that the user has folded, of all updates of the page.
const foldedTurns = new Set<string>();

/** fold hides the calls of the folded turns. */
function fold(): void {
  for (const button of document.querySelectorAll<HTMLElement>("#run [data-fold]")) button.setAttribute("aria-expanded", String(!foldedTurns.has(button.dataset.fold!)));
  for (const row of document.querySelectorAll<HTMLElement>("#run .step.call[data-turn]")) row.classList.toggle("folded", foldedTurns.has(row.dataset.turn!));
}

function toggle(turn: string): void {
  if (!foldedTurns.delete(turn)) foldedTurns.add(turn);
  fold();
}

onClick(document, "#run [data-fold]", (button) => toggle(button.dataset.fold!));

/** foldCurrent folds the turn of the focused or selected row, and moves the focus to it. */
function foldCurrent(e: KeyboardEvent): void {
  const focused = document.activeElement?.closest<HTMLElement>("#run .step[data-turn]");
  const row = focused ?? document.querySelector<HTMLElement>("#run .step.current[data-turn]");
  const turn = row?.dataset.turn;
  if (!turn) return;
  e.preventDefault();
  toggle(turn);
  document.querySelector<HTMLElement>(`#run .step.turn[data-turn="${turn}"] .row`)?.focus();
}

// The request of a turn is made when it is copied.
onClick(document, "[data-copy-request]", (button) => void copied(button, fetch(button.dataset.copyRequest!).then((r) => {
  if (!r.ok) throw new Error(r.statusText);
  return r.text();
})));

const folded = "run-flow-folded";

function foldFlow(): void {
  const flow = document.querySelector<HTMLDetailsElement>("#run-flow");
  if (!flow || flow.ontoggle) return;
  flow.open = localStorage.getItem(folded) === null;
  flow.ontoggle = () => {
    if (flow.open) localStorage.removeItem(folded);
    else localStorage.setItem(folded, "true");
  };
}

/** focusScrollers lets the keyboard scroll long texts. Not all browsers do that on their own. */
function focusScrollers(): void {
  for (const text of document.querySelectorAll<HTMLElement>("#run .shape > .text")) if (text.scrollHeight > text.clientHeight) text.tabIndex = 0;
}

foldFlow();
focusScrollers();
document.addEventListener("htmx:after:swap", () => {
  foldFlow();
  fold();
  focusScrollers();
});
