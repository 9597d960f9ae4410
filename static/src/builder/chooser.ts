// A searchable list: for the floating palette, the command palette and finding a
// node. The focus stays in the field; arrows move through the list, Enter
// chooses, Escape closes. It follows the combobox pattern of the ARIA Authoring
// Practices: aria-activedescendant names the active option, which has no focus.
import type { Point } from "../canvas/model.ts";
import { icon } from "../icon.ts";
import { chip, el, keysOf } from "./dom.ts";

/** Choice is an item of the list. word is the group of kinds that sets the color of the icon. */
export type Choice = { title: string; note?: string; heading?: string; icon?: string; word?: string; keys?: string; run(): void };
/** Ask configures the list. at is a position in the window; without it the list is centered. */
export type Ask = { label: string; placeholder: string; none: string; choices(words: string): Choice[]; at?: Point; /** more finds items that take a request; they are added below. */ more?(words: string): Promise<Choice[]> };

const pause = 150; // ms of no typing before a request
const gap = 12; // pixels kept free at the edges of the window

const dialog = el("dialog", { class: "chooser", id: "chooser" });
const field = el("input", { class: "chooser-field", type: "text", role: "combobox", "aria-autocomplete": "list", "aria-expanded": "true", "aria-controls": "chooser-list", autocomplete: "off", spellcheck: "false" });
const list = el("div", { id: "chooser-list", role: "listbox" });
const empty = el("p", { class: "none", role: "status" });
dialog.append(el("header", {}, icon("search"), field), list, empty);
document.body.append(dialog);

let ask: Ask | undefined;
let shown: Choice[] = [];
let active = 0;
let timer = 0;

/** choose opens the list; the chosen item runs. */
export function choose(a: Ask): void {
  ask = a;
  field.value = "";
  field.placeholder = a.placeholder;
  for (const e of [dialog, field, list]) e.setAttribute("aria-label", a.label);
  dialog.toggleAttribute("data-anchored", !!a.at);
  fill();
  if (!dialog.open) dialog.showModal();
  put(a.at);
  field.focus();
}

/** put places the dialog at a position, but within the window. */
function put(at: Point | undefined): void {
  if (!at) return dialog.removeAttribute("style");
  const x = Math.min(at.x, innerWidth - dialog.offsetWidth - gap), y = Math.min(at.y, innerHeight - 360 - gap);
  Object.assign(dialog.style, { left: `${Math.max(gap, x)}px`, top: `${Math.max(gap, y)}px` });
}

/** fill lists the items that match the text of the field. */
function fill(): void {
  shown = ask!.choices(field.value);
  active = 0;
  draw();
  clearTimeout(timer);
  const asked = ask!, words = field.value.trim();
  if (asked.more && words) timer = window.setTimeout(() => void asked.more!(words).then((found) => {
    if (ask !== asked || field.value.trim() !== words || !dialog.open) return;
    shown = [...asked.choices(field.value), ...found];
    active = Math.min(active, Math.max(0, shown.length - 1));
    draw();
  }), pause);
}

/** draw renders the items. */
function draw(): void {
  list.replaceChildren();
  let heading: string | undefined;
  shown.forEach((c, i) => {
    if (c.heading !== heading && c.heading) list.append(el("div", { class: "heading", role: "presentation" }, c.heading));
    heading = c.heading;
    list.append(line(c, i));
  });
  list.hidden = !shown.length;
  empty.textContent = shown.length ? "" : ask!.none;
  empty.hidden = !!shown.length;
  mark();
}

function line(c: Choice, i: number): HTMLElement {
  const sign = c.icon && (c.word ? chip(c.icon) : icon(c.icon));
  const words = el("span", { class: "words" }, el("b", {}, c.title), c.note && el("small", {}, c.note));
  const e = el("div", { role: "option", id: `choice-${i}`, "aria-selected": "false", "data-group": c.word, "data-at": String(i) }, sign || undefined, words, c.keys ? keysOf(c.keys) : undefined);
  return e;
}

/** mark shows which item is active. */
function mark(): void {
  for (const o of list.querySelectorAll("[role=option]")) o.setAttribute("aria-selected", String(o.id === `choice-${active}`));
  const at = document.getElementById(`choice-${active}`);
  if (at) field.setAttribute("aria-activedescendant", at.id);
  else field.removeAttribute("aria-activedescendant");
  at?.scrollIntoView({ block: "nearest" });
}

/** take closes the list and runs an item. It closes first: the item may open another dialog. */
function take(i: number): void {
  const c = shown[i];
  dialog.close();
  c?.run();
}

const steps: Record<string, (n: number) => number> = {
  ArrowDown: (n) => (active + 1) % n, ArrowUp: (n) => (active + n - 1) % n, PageDown: (n) => Math.min(n - 1, active + 8), PageUp: () => Math.max(0, active - 8),
};

field.addEventListener("input", fill);
field.addEventListener("keydown", (e) => {
  e.stopPropagation();
  if (e.key === "Enter" && !e.isComposing) { e.preventDefault(); take(active); }
  const step = steps[e.key];
  if (!step || !shown.length) return;
  e.preventDefault();
  active = step(shown.length);
  mark();
});
list.addEventListener("pointermove", (e) => {
  const at = Number((e.target as Element).closest<HTMLElement>("[data-at]")?.dataset.at ?? active);
  if (at !== active) { active = at; mark(); }
});
list.addEventListener("click", (e) => {
  const at = (e.target as Element).closest<HTMLElement>("[data-at]")?.dataset.at;
  if (at) take(Number(at));
});
dialog.addEventListener("click", (e) => { if (e.target === dialog) dialog.close(); });
