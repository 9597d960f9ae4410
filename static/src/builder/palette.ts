// The palette at the side: search, click to add in the center, or drag.
import type { Edge, Point } from "../canvas/model.ts";
import { chord } from "../canvas/shortcuts.ts";
import { canvas, isReady } from "./canvas.ts";
import { add, addNext, clear, kindOf, place, suits, type Kind } from "./kinds.ts";
import { score } from "./match.ts";
import { put } from "./picker.ts";
import { closeRail } from "./rail.ts";

const palette = document.getElementById("palette");
const threshold = 5; // pixels; below it a press is a click

/** search hides the kinds that do not match, and groups without any match. */
function search(words: string): void {
  let any = false;
  for (const group of palette!.querySelectorAll<HTMLElement>("[data-palette-group]")) {
    let some = false;
    for (const button of group.querySelectorAll<HTMLElement>(".kind")) {
      const k = kindOf(button.dataset.kind!), hit = !!k && score(words, k.title, k.group, k.summary) > 0;
      button.parentElement!.hidden = !hit;
      some ||= hit;
    }
    group.hidden = !some;
    any ||= some;
  }
  palette!.querySelector<HTMLElement>(".none")!.hidden = any;
}

/** reset shows all kinds again. */
function reset(field: HTMLInputElement): void { field.value = ""; search(""); }

/** buttons returns what arrows visit: the kinds that are shown, or the groups of the rail while the focus is not in a list. */
function buttons(): HTMLElement[] {
  const of = (what: string) => [...palette!.querySelectorAll<HTMLElement>(what)].filter((b) => b.checkVisibility());
  return document.activeElement?.matches(".rail-group") || !of(".kind").length ? of(".rail-group") : of(".kind");
}

/** stop makes one button the tab stop of the palette. */
function stop(button: HTMLElement | undefined): void {
  for (const b of palette!.querySelectorAll<HTMLElement>(".kind, .rail-group")) b.tabIndex = b === button ? 0 : -1;
}

/** walk moves the focus between the search field and the kinds or groups; Enter in the field adds the first match. */
function walk(e: KeyboardEvent, field: HTMLInputElement): void {
  if (e.key === "ArrowRight" && (e.target as Element).matches(".rail-group")) { e.preventDefault(); (e.target as HTMLElement).click(); return; }
  const all = buttons(), at = all.indexOf(document.activeElement as HTMLElement);
  if (chord(e) === "Enter" && document.activeElement === field) { e.preventDefault(); all[0]?.click(); return; }
  if (e.key === "Escape" && field.value) { e.preventDefault(); reset(field); field.focus(); return; }
  const next = e.key === "ArrowDown" ? at + 1 : e.key === "ArrowUp" ? at - 1 : undefined;
  if (next === undefined) return;
  e.preventDefault();
  (all[next] ?? field).focus();
}

// Dragging.

// The state of a drag. HTML's own drag and drop is not used: it sends no events
// on touch screens, and its preview cannot be moved by the page.
let ghost: HTMLElement | undefined;
let target: Edge | undefined;
let dragged = false; // the click that follows a drag is ignored

/** press drags a kind from the palette. The drop inserts it into an edge or adds it at the pointer; Escape cancels. */
function press(e: PointerEvent): void {
  const button = (e.target as Element).closest<HTMLElement>(".kind"), k = button && kindOf(button.dataset.kind!);
  if (!k || e.button) return;
  const from = { x: e.clientX, y: e.clientY }, stop = new AbortController(), { signal } = stop;
  dragged = false;
  addEventListener("pointermove", (m) => {
    const far = Math.hypot(m.clientX - from.x, m.clientY - from.y) > threshold;
    if (!ghost && !far) return;
    ghost ??= lift(button);
    if (!dragged) closeRail(); // it would cover the canvas
    dragged = true;
    ghost.style.transform = `translate(${m.clientX - 40}px,${m.clientY - 14}px)`;
    aim(k, { x: m.clientX, y: m.clientY });
  }, { signal });
  const end = () => { stop.abort(); ghost?.remove(); ghost = target = undefined; canvas.edges.aim(undefined); };
  addEventListener("pointerup", (u) => { const edge = target, was = !!ghost; end(); if (was) drop(k, { x: u.clientX, y: u.clientY }, edge); }, { signal });
  addEventListener("pointercancel", end, { signal });
  addEventListener("keydown", (key) => { if (key.key === "Escape" && ghost) { key.preventDefault(); key.stopPropagation(); end(); } }, { signal, capture: true });
}

/** lift returns the preview that follows the pointer: a copy of the button. */
function lift(button: HTMLElement): HTMLElement {
  const g = button.cloneNode(true) as HTMLElement;
  g.className = "kind ghost";
  g.setAttribute("aria-hidden", "true");
  g.tabIndex = -1;
  document.body.append(g);
  return g;
}

/** over reports whether a position is on the canvas. */
function over(p: Point): boolean { return !!document.elementFromPoint(p.x, p.y)?.closest("flow-canvas"); }

/** aim highlights the edge under the pointer, if a node of the kind can be inserted into it. */
function aim(k: Kind, p: Point): void {
  const edge = over(p) ? canvas.edges.under(p) : undefined;
  canvas.edges.aim(target = edge && suits(k, { edge }) ? edge : undefined);
}

/** drop adds a node of the kind where it was dropped, unless that is outside of the canvas. On an output, a node that sends outputs sends this one. */
function drop(k: Kind, p: Point, edge: Edge | undefined): void {
  if (!over(p)) return;
  const node = document.elementFromPoint(p.x, p.y)?.closest<HTMLElement>("article[data-id]")?.dataset.id, b = k.collects && node && canvas.scene.box(node);
  if (b && kindOf(canvas.draft.nodes.get(node!)?.kind ?? "")?.output) add(k, clear({ x: b.x + b.width + 48, y: b.y }), { port: { node: node!, name: "value", side: "out", type: "any", many: false } });
  else put(k, place(canvas.view.toFlow(p), {}), { edge });
}

if (palette) {
  const field = palette.querySelector("input")!;
  field.addEventListener("input", () => search(field.value));
  palette.addEventListener("keydown", (e) => walk(e, field));
  palette.addEventListener("pointerdown", press);
  palette.addEventListener("focusin", (e) => { if ((e.target as Element).matches(".kind, .rail-group")) stop(e.target as HTMLElement); });
  const first = () => stop(buttons()[0]);
  first();
  addEventListener("resize", first); // the rail has other buttons
  palette.addEventListener("dragstart", (e) => e.preventDefault());
  palette.addEventListener("click", (e) => {
    const k = kindOf((e.target as Element).closest<HTMLElement>(".kind")?.dataset.kind ?? "");
    if (!k || !isReady()) return; // until the canvas is ready, the form is posted
    e.preventDefault();
    if (!dragged) addNext(k);
    dragged = false;
    reset(field);
    closeRail();
  });
}
