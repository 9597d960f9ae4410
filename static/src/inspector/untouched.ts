// A new node shows no errors before the user leaves a field or runs the flow. The list
// of problems contains them from the start.
import type { Op } from "../canvas/ops.ts";
import { canvas } from "../builder/canvas.ts";
import { listen } from "../listen.ts";
import { fieldOf, pane, section } from "./fields.ts";

const untouched = new Map<string, Set<string>>(); // keys of the fields that the user has left, by new node
const calmed = new Map<Element, Map<string, string | null>>(); // attributes before they were changed

/** change sets or removes an attribute and remembers its previous value. */
function change(e: Element, name: string, value: string | null): void {
  const was = calmed.get(e) ?? new Map<string, string | null>();
  if (!was.has(name)) was.set(name, e.getAttribute(name));
  calmed.set(e, was);
  write(e, name, value);
}

function write(e: Element, name: string, value: string | null): void {
  if (value === null) e.removeAttribute(name);
  else e.setAttribute(name, value);
}

/** restore undoes the changes inside of an element. */
function restore(root: Element): void {
  for (const [e, was] of calmed) {
    if (e.isConnected && !root.contains(e)) continue;
    for (const [name, value] of was) write(e, name, value);
    calmed.delete(e);
  }
}

/** calm hides the errors of fields of new nodes that the user has not left yet. */
function calm(): void {
  const now = section(), left = untouched.get(now?.dataset.node ?? "");
  if (!now || !left) return;
  for (const error of now.querySelectorAll(".error, .ins-problems, [data-slot=problems]"))
    if (!left.has(keyOf(error))) change(error, "hidden", "");
  for (const control of now.querySelectorAll("[aria-invalid]"))
    if (!left.has(keyOf(control))) {
      change(control, "aria-invalid", null);
      change(control, "aria-describedby", control.getAttribute("aria-describedby")?.split(" ").filter((id) => !id.endsWith("-error")).join(" ") || null);
    }
}

const keyOf = (e: Element): string => e.closest<HTMLElement>("[data-key]")?.dataset.key ?? "";

/** mark marks the new nodes on the canvas, where the style hides their badge. */
function mark(): void {
  for (const [id, article] of canvas.scene.elements) article.toggleAttribute("data-untouched", untouched.has(id));
}

listen<{ ops: Op[] }>(canvas, "canvas:ops", ({ ops }) => {
  for (const op of ops) if (op.op === "add" && op.at === undefined) untouched.set(op.node.id, new Set());
  if (untouched.size) mark();
});

pane.addEventListener("focusout", (e) => {
  const field = fieldOf(e.target as Element), left = untouched.get(section()?.dataset.node ?? "");
  if (!field || !left || field.contains((e as FocusEvent).relatedTarget as Node | null)) return;
  left.add(field.dataset.key!);
  restore(field);
});

listen<string>(document, "builder:command", (name) => {
  if (name !== "run" && name !== "publish") return;
  untouched.clear();
  restore(document.documentElement);
  mark();
});

new MutationObserver(calm).observe(pane, { childList: true, subtree: true });
