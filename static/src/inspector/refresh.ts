// Updates the inspector from the server without disturbing typed input: it replaces
// only fields that the server renders differently.
import { fieldOf, isWaiting, later, pane, remind, section, settleTyped, unsent } from "./fields.ts";
import { same as equal } from "./parse.ts";
import { part, read, rows } from "./values.ts";

const known = new Map<string, string>(); // how the server last rendered each field

/** show shows a node's inspector, replacing another or updating its own. */
export function show(fresh: HTMLElement): void {
  const now = section(), same = now?.dataset.node === fresh.dataset.node, list = now?.querySelector("[data-models-list]:popover-open");
  if (same && shape(now!) === shape(fresh)) merge(now!, fresh);
  else if (same && list) list.addEventListener("toggle", () => show(fresh), { once: true }); // with the form in it; once it is closed
  else replace(now, fresh);
}

const fields = (s: ParentNode): HTMLElement[] => [...s.querySelectorAll<HTMLElement>("[data-key]")];
const shape = (s: ParentNode): string => fields(s).map((f) => `${f.dataset.key} ${f.dataset.value}`).join();
const find = (s: ParentNode, key: string | undefined): HTMLElement | null => s.querySelector<HTMLElement>(`[data-key="${CSS.escape(key ?? "")}"]`);

/**
 * merge compares each field with how the server rendered it last time, not with the
 * page: the page contains what the user typed, and elements that scripts added.
 */
function merge(now: HTMLElement, fresh: HTMLElement): void {
  head(now, fresh);
  for (const f of fields(fresh)) {
    const key = f.dataset.key!, is = find(now, key)!, html = f.outerHTML;
    if (known.get(key) === html && (unsent(is) || !outdated(is, f))) continue; // rows that a script removed may be back, by undo
    known.set(key, html);
    if (unsent(is) || is.contains(document.activeElement) && !key.startsWith("port:") && !outdated(is, f)) slots(is, f);
    else {
      const on = document.activeElement as HTMLInputElement, at = controls(is).indexOf(on);
      keepTryResult(is, f);
      is.replaceWith(f);
      (follow(f, on) ?? controls(f)[at])?.focus({ preventScroll: true });
    }
  }
}

/** outdated reports whether the rows of a list or map are not those of the draft, such as after undo. Texts are written by shown. */
function outdated(now: HTMLElement, fresh: HTMLElement): boolean {
  const names = (f: HTMLElement) => rows(f).filter((r) => part(r, "text")?.value).map((r) => r.querySelector<HTMLInputElement>("[data-case-name]")?.value); // not those of a case that is begun
  return ["list", "map"].includes(now.dataset.value!) && !(equal(read(now).value, read(fresh).value) && equal(names(now), names(fresh)));
}

/** keepTryResult moves the result of the Try button, or its pending state, to the new rendering. */
function keepTryResult(now: ParentNode, fresh: ParentNode): void {
  const tried = now.querySelector("[data-tried]"), to = fresh.querySelector("[data-tried]");
  if (tried && to) to.replaceWith(tried);
}

/** head updates the parts outside of fields: the name and problems of the node. */
function head(now: HTMLElement, fresh: HTMLElement): void {
  const was = now.querySelector("[data-slot=problems]"), is = fresh.querySelector("[data-slot=problems]");
  if (was && is) was.replaceWith(is);
  else if (is) now.querySelector(".ins-head")!.after(is);
  else was?.remove();
  now.querySelector("[data-slot=settings]")?.replaceChildren(fresh.querySelector("[data-slot=settings]")?.textContent ?? "");
  now.setAttribute("aria-label", fresh.getAttribute("aria-label")!);
  const title = now.querySelector<HTMLInputElement>(".ins-title"), to = fresh.querySelector<HTMLInputElement>(".ins-title");
  if (title && to) title.placeholder = to.placeholder;
}

/** slots updates the texts around a field, but not its controls. */
function slots(now: HTMLElement, fresh: HTMLElement): void {
  const to = [...fresh.querySelectorAll<HTMLElement>("[data-slot]")];
  [...now.querySelectorAll<HTMLElement>("[data-slot]")].forEach((slot, i) => { if (to[i]) slot.replaceChildren(...to[i].childNodes); });
  now.toggleAttribute("data-fed", fresh.hasAttribute("data-fed"));
  for (const c of fresh.querySelectorAll("[aria-describedby], [aria-invalid]")) {
    const is = c.id ? document.getElementById(c.id) : null;
    for (const name of ["aria-describedby", "aria-invalid"])
      if (c.hasAttribute(name)) is?.setAttribute(name, c.getAttribute(name)!);
      else if (!now.hasAttribute("data-unread")) is?.removeAttribute(name);
  }
}

/** controls returns the controls of a field in order; the same control has the same index in another rendering. */
const controls = (field: ParentNode): HTMLInputElement[] => [...field.querySelectorAll<HTMLInputElement>("input:not([type=hidden]), textarea, select, button")];

/** follow returns the button that moves the same edge on, in a new rendering of its port, or the one that moves it back. */
function follow(fresh: ParentNode, on: HTMLInputElement): HTMLElement | undefined {
  if (on.name !== "place") return undefined;
  const edge = (b: { value: string }) => b.value.slice(0, b.value.lastIndexOf(">"));
  const same = [...fresh.querySelectorAll<HTMLButtonElement>("[name=place]:enabled")].filter((b) => edge(b) === edge(on));
  return same.find((b) => b.title === on.title) ?? same[0];
}

/** replace shows other fields, and keeps the focus and what is being typed. */
function replace(now: HTMLElement | null, fresh: HTMLElement): void {
  const at = document.activeElement as HTMLInputElement | null, same = now?.dataset.node === fresh.dataset.node;
  const focused = same && at && now!.contains(at) ? (at.closest<HTMLElement>(".cm-editor")?.parentElement?.querySelector<HTMLInputElement>("textarea, input") ?? at) : null;
  const field = focused && fieldOf(focused), index = field ? controls(field).indexOf(focused) : -1, typing = !!field && isWaiting(field), text = focused?.value;
  if (same) settleTyped();
  if (!same) known.clear();
  for (const f of fields(fresh)) known.set(f.dataset.key!, f.outerHTML);
  folds(fresh);
  if (same) keepTryResult(now!, fresh);
  pane.replaceChildren(fresh);
  remind(fresh);
  if (!same) pane.parentElement!.scrollTop = 0;
  const to = field && find(fresh, field.dataset.key), back = to ? controls(to)[index] : focused?.id ? (document.getElementById(focused.id) as HTMLInputElement | null) : null;
  if (!back) return;
  if (text !== undefined && back.value !== text && back.matches("textarea, input:not([type=checkbox], [type=radio], [type=file])")) back.value = text;
  back.focus({ preventScroll: true });
  if (to && typing && back.matches("[role=combobox]")) back.dispatchEvent(new Event("input", { bubbles: true })); // opens its list, and sends it later
  else if (to && typing) later(to);
}

/** folds opens the sections that were open in this tab. */
function folds(s: HTMLElement): void {
  for (const d of s.querySelectorAll<HTMLDetailsElement>("[data-fold]")) if (open.has(d.dataset.fold!)) d.open = open.get(d.dataset.fold!)!;
}
const open = new Map<string, boolean>();
pane.addEventListener("click", (e) => {
  const d = (e.target as Element).closest("summary")?.parentElement as HTMLDetailsElement | null;
  if (d?.dataset.fold) open.set(d.dataset.fold, !d.open); // the click toggles it
});
