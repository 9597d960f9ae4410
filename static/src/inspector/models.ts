// The model field: a searchable list of models. Any other text is accepted too.
import type { Op } from "../canvas/ops.ts";
import { canvas, flowPath, readonly } from "../builder/canvas.ts";
import { html } from "../builder/dom.ts";
import { ask, fragment, nodePath } from "./ask.ts";
import { fieldOf, pane, section, send } from "./fields.ts";

const searchPause = 180; // ms
let timer = 0, asked = 0;

const boxOf = (e: EventTarget | null): HTMLElement | null => (e instanceof Element ? e.closest<HTMLElement>("[data-models]") : null);
const input = (box: HTMLElement): HTMLInputElement => box.querySelector<HTMLInputElement>("[role=combobox]")!;
const list = (box: HTMLElement): HTMLElement => box.querySelector<HTMLElement>("[data-models-list]")!;
const options = (box: HTMLElement): HTMLElement[] => [...box.querySelectorAll<HTMLElement>("[role=option]")];

/** open shows the list of models for a query. Of several requests only the latest response is shown. */
async function open(box: HTMLElement, query: string): Promise<void> {
  const request = ++asked, l = list(box);
  if (l.hidden) l.replaceChildren(html(`<p class="help">Looking for models…</p>`));
  l.hidden = false;
  input(box).setAttribute("aria-expanded", "true");
  const r = await ask(`${flowPath}/models?task=${box.dataset.models}&q=${encodeURIComponent(query)}`);
  if (request !== asked || !r?.ok || l.hidden) return;
  l.replaceChildren(html(await r.text()));
  const found = l.querySelector("[role=listbox]")!;
  found.id = "models-found";
  input(box).setAttribute("aria-controls", found.id);
}

/** close hides the list, and ignores a response that is still to come. */
function close(box: HTMLElement): void {
  asked++;
  list(box).hidden = true;
  input(box).setAttribute("aria-expanded", "false");
  for (const name of ["aria-activedescendant", "aria-controls"]) input(box).removeAttribute(name);
}

/** active moves the highlight through the options. */
function active(box: HTMLElement, by: number): void {
  const all = options(box), at = all.findIndex((o) => o.ariaSelected === "true"), to = all.at((at < 0 && by < 0 ? by : at + by) % (all.length || 1));
  if (at >= 0) all[at]!.ariaSelected = "false";
  if (!to) return;
  to.ariaSelected = "true";
  to.scrollIntoView({ block: "nearest" });
  input(box).setAttribute("aria-activedescendant", to.id);
}

/** choose takes a model from the list. */
function choose(box: HTMLElement, model: string): void {
  input(box).value = model;
  close(box);
  void taken(box);
}

/** taken commits the model. A hosted model is pinned with its version and schema. */
async function taken(box: HTMLElement): Promise<void> {
  const field = fieldOf(box)!, node = section()!.dataset.node!, model = input(box).value.trim(), now = canvas.draft.nodes.get(node)?.config.model ?? "";
  if (box.dataset.models !== "hosted" || !model) return send(field);
  if (model !== now && !(await pin(node, model))) send(field); // only by name, when its schema is not available
}

/** pin sets a node to the current version of a hosted model. */
async function pin(node: string, model: string): Promise<boolean> {
  const r = await ask(`${nodePath(node)}/pin?model=${encodeURIComponent(model)}`);
  if (!r?.ok) return false;
  const { ops } = (await r.json()) as { ops: Op[] };
  if (ops?.length) canvas.commit("Choose a model", ops);
  return true;
}

if (!readonly) {
  pane.addEventListener("input", (e) => {
    const box = boxOf(e.target);
    if (!box) return;
    clearTimeout(timer);
    timer = window.setTimeout(() => void open(box, input(box).value), searchPause);
  });
  pane.addEventListener("change", (e) => {
    const box = boxOf(e.target);
    if (box?.dataset.models === "hosted") void taken(box);
  });
  pane.addEventListener("click", (e) => {
    const t = e.target as Element, box = boxOf(t), option = t.closest<HTMLElement>("[data-model]");
    if (!box) return;
    if (option) return choose(box, option.dataset.model!);
    if (!t.closest("[data-models-open]")) return;
    if (!list(box).hidden) return close(box);
    input(box).focus();
    void open(box, "");
  });
  pane.addEventListener("pointerdown", (e) => { if ((e.target as Element).closest("[data-models-list]")) e.preventDefault(); }); // the field keeps the focus
  pane.addEventListener("focusout", (e) => {
    const box = boxOf(e.target);
    if (box && !box.contains(e.relatedTarget as Node)) { clearTimeout(timer); close(box); }
  });
  pane.addEventListener("keydown", (e) => {
    const box = boxOf(e.target);
    if (!box || !(e.target as Element).matches("[role=combobox]")) return;
    const shown = !list(box).hidden, to = box.querySelector<HTMLElement>("[role=option][aria-selected=true]");
    if (e.key === "ArrowDown" || e.key === "ArrowUp") { if (shown) active(box, e.key === "ArrowDown" ? 1 : -1); else void open(box, ""); }
    else if (e.key === "Enter" && shown && to) choose(box, to.dataset.model!);
    else if (e.key === "Escape" && shown) close(box);
    else return;
    e.preventDefault();
  }, { capture: true });
}

// Upgrading to a newer version, after showing what changes.

pane.addEventListener("click", (e) => {
  const t = e.target as Element, place = t.closest<HTMLElement>("[data-upgrade]"), take = t.closest<HTMLElement>("[data-upgrade-take]"), node = section()?.dataset.node;
  if (!place || !node) return;
  if (take) { e.preventDefault(); void pin(node, take.dataset.upgradeTake!); }
  else if (t.closest("[data-upgrade-ask]")) void ask(`${nodePath(node)}/upgrade`).then(fragment).then((answer) => answer && place.replaceChildren(answer));
});
