// Rows of lists and maps. The last row is empty; filling it adds another.
import { onClick } from "../listen.ts";
import { fieldOf, pane, send } from "./fields.ts";
import { part, rows } from "./values.ts";

pane.addEventListener("input", (e) => {
  const row = (e.target as Element).closest<HTMLElement>("[data-row]");
  if (row) grow(row);
});

/** empty reports whether a row has neither a name nor a value. */
const empty = (row: HTMLElement): boolean => !part(row, "text")?.value && !part(row, "kept")?.value && !part(row, "name")?.value;

/** grow adds a row when the last one is no longer empty. */
export function grow(row: HTMLElement): void {
  const all = rows(row.parentElement!);
  if (empty(row) || row !== all.at(-1) || row.querySelector(".ins-face")) return;
  const next = row.cloneNode(true) as HTMLElement;
  next.removeAttribute("data-started");
  for (const c of next.querySelectorAll("input")) { c.value = ""; c.removeAttribute("value"); }
  row.after(next);
  number(row.parentElement!);
}

/** number updates the row numbers in accessible labels. */
function number(list: HTMLElement): void {
  for (const [i, row] of rows(list).entries())
    for (const c of row.querySelectorAll("[aria-label]")) c.setAttribute("aria-label", c.getAttribute("aria-label")!.replace(/\d+(?=(, \w+)?$)/, String(i + 1)));
}

// Enter goes from a name to its value, and else to the next row.
pane.addEventListener("keydown", (e) => {
  const t = e.target as HTMLElement, row = t.closest<HTMLElement>("[data-row]");
  if (e.key !== "Enter" || e.isComposing || !row || !t.matches("input")) return;
  e.preventDefault();
  send(fieldOf(row)!);
  const inputs = [row, row.nextElementSibling].flatMap((r) => (r?.matches("[data-row]") ? [...r.querySelectorAll<HTMLElement>("input:not([type=hidden], [type=file])")] : []));
  inputs[inputs.indexOf(t) + 1]?.focus();
});

onClick(pane, "[data-row-do]", (button) => {
  const row = button.closest<HTMLElement>("[data-row]");
  if (!row) return;
  const field = fieldOf(row)!, list = row.parentElement!, all = rows(list), at = all.indexOf(row);
  if (button.dataset.rowDo === "up") {
    if (at > 0 && !empty(row)) all[at - 1]!.before(row);
    button.focus();
  } else {
    const next = all[at + 1] ?? all[at - 1];
    if (all.length > 1) row.remove();
    else for (const c of row.querySelectorAll("input")) c.value = "";
    next?.querySelector<HTMLElement>("input:not([type=hidden]), select, button")?.focus();
  }
  number(list);
  field.toggleAttribute("data-removing", button.dataset.rowDo === "remove");
  send(field);
  field.removeAttribute("data-removing");
});

// Pasting several lines adds an item per line.
pane.addEventListener("paste", (e) => {
  const t = e.target as HTMLInputElement, row = t.closest<HTMLElement>("[data-row]"), lines = e.clipboardData?.getData("text/plain").split(/\r?\n/).filter(Boolean) ?? [];
  if (!row || row.closest(".ins-map") || t.closest(".cond-rows") || lines.length < 2) return;
  e.preventDefault();
  let at = row;
  for (const line of lines) {
    const c = part(at, "text")!;
    c.value = c.value && at === row ? c.value + line : line;
    grow(at);
    at = (at.nextElementSibling as HTMLElement | null)?.matches("[data-row]") ? (at.nextElementSibling as HTMLElement) : at;
  }
  send(fieldOf(row)!);
});
