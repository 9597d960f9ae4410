// The model field: a searchable list of models. Any other text is accepted too.
import type { Op } from "../canvas/ops.ts";
import { canvas, flowPath, readonly } from "../builder/canvas.ts";
import { html } from "../builder/dom.ts";
import { fetchPart } from "../builder/requests.ts";
import { toast } from "../toasts.ts";
import { ask, fragment, nodePath } from "./ask.ts";
import { fieldOf, pane, section, send } from "./fields.ts";

const searchPause = 180; // ms
let timer = 0, latestRequest = 0;

const boxOf = (e: EventTarget | null): HTMLElement | null => (e instanceof Element ? e.closest<HTMLElement>("[data-models]") : null);
const input = (box: HTMLElement): HTMLInputElement => box.querySelector<HTMLInputElement>("[role=combobox]")!;
const list = (box: HTMLElement): HTMLElement => box.querySelector<HTMLElement>("[data-models-list]")!;
const options = (box: HTMLElement): HTMLElement[] => [...box.querySelectorAll<HTMLElement>("[role=option]:not([hidden], [data-unfit])")];
const typing = (t: Element): boolean => t.closest(".ins-connect") !== null; // the key of a provider

let styled: Promise<unknown> | undefined;

/** style loads the styles of the list, once. */
function style(sheet: string): Promise<unknown> {
  return (styled ??= new Promise((done) => {
    const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href: sheet, onload: done, onerror: done });
    document.head.append(link);
  }));
}

/** open shows the list of models for a query. Of several requests only the latest response is shown. */
async function open(box: HTMLElement, query: string, connected = ""): Promise<void> {
  const request = ++latestRequest, l = list(box);
  if (l.hidden) l.replaceChildren(html(`<p class="help">Looking for models…</p>`));
  l.hidden = false;
  void style(l.dataset.sheet!);
  if (!l.matches(":popover-open")) l.showPopover();
  place(box);
  input(box).setAttribute("aria-expanded", "true");
  const r = await ask(`${flowPath}/models?${new URLSearchParams({ task: box.dataset.models!, q: query, model: input(box).value, connected })}`);
  await styled;
  if (request !== latestRequest || !r?.ok || l.hidden) return;
  l.replaceChildren(html(await r.text()));
  filter(l);
  place(box);
  const found = l.querySelector("[role=dialog]")!;
  found.id = "models-found";
  input(box).setAttribute("aria-controls", found.id);
}

const wantedTraits = new Set<string>(); // the filter: only models with all of these are shown

/** filter hides models without all wanted traits. */
function filter(l: HTMLElement): void {
  for (const b of l.querySelectorAll<HTMLElement>("[data-models-filter]")) b.ariaPressed = String(wantedTraits.has(b.dataset.modelsFilter!));
  const offered = new Set([...l.querySelectorAll<HTMLElement>("[data-models-filter]")].map((b) => b.dataset.modelsFilter!));
  for (const o of l.querySelectorAll<HTMLElement>("[data-traits]")) {
    const has = o.dataset.traits!.split(",");
    o.toggleAttribute("data-unfit", [...wantedTraits].some((w) => offered.has(w) && !has.includes(w)));
  }
}

/** place positions the list below or above the field, wide enough for one line per model. */
function place(box: HTMLElement): void {
  const l = list(box), at = box.getBoundingClientRect(), gap = 4, edge = 8, width = Math.min(630, innerWidth - 2 * edge);
  const below = innerHeight - at.bottom - gap - edge, above = at.top - gap - edge, down = below >= 320 || below >= above;
  l.style.width = `${width}px`;
  l.style.left = `${Math.max(edge, Math.min(at.right, innerWidth - edge) - width)}px`;
  l.style.maxHeight = `${Math.min(560, down ? below : above)}px`;
  l.style.top = down ? `${at.bottom + gap}px` : "auto";
  l.style.bottom = down ? "auto" : `${innerHeight - at.top + gap}px`;
}

/** connect tests a key of a provider or a server of one's own, and lists its models. */
async function connect(box: HTMLElement, form: HTMLFormElement): Promise<void> {
  const error = form.querySelector<HTMLElement>("[data-connect-error]")!;
  if (form.classList.contains("htmx-request")) return; // the button was pressed twice
  form.classList.add("htmx-request");
  error.hidden = true;
  for (const f of form.elements) f.removeAttribute("aria-invalid");
  const r = await fetchPart(form.getAttribute("action")!, { method: "POST", body: new URLSearchParams(new FormData(form) as unknown as Record<string, string>) });
  form.classList.remove("htmx-request");
  const reply = (r && (r.status === 201 || r.status === 422) ? await r.json().catch(() => undefined) : undefined) as { message?: string; name?: string; field?: string } | undefined;
  if (r?.status === 201) {
    toast(reply?.message ?? "Connected.", "ok");
    input(box).focus();
    return open(box, "", reply?.name ?? form.dataset.connect!);
  }
  error.textContent = reply?.message ?? "Key not saved. Check your connection and try again.";
  error.hidden = false;
  const wrong = form.querySelector<HTMLInputElement>(`[name="${CSS.escape(reply?.field ?? "secret")}"]`) ?? form.querySelector<HTMLInputElement>("[name=secret]")!;
  wrong.setAttribute("aria-invalid", "true");
  wrong.focus();
}

/** close hides the list and ignores a pending response. */
function close(box: HTMLElement): void {
  latestRequest++;
  list(box).hidden = true;
  if (list(box).matches(":popover-open")) list(box).hidePopover();
  input(box).setAttribute("aria-expanded", "false");
  for (const name of ["aria-activedescendant", "aria-controls"]) input(box).removeAttribute(name);
}

/** active moves the highlight by a number of options. */
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
  void commitModel(box);
}

/** commitModel commits the model. A hosted model is pinned with its version and schema. */
async function commitModel(box: HTMLElement): Promise<void> {
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
    if (!box || typing(e.target as Element)) return;
    clearTimeout(timer);
    timer = window.setTimeout(() => void open(box, input(box).value), searchPause);
  });
  pane.addEventListener("change", (e) => {
    const box = boxOf(e.target);
    if (box?.dataset.models === "hosted" && !typing(e.target as Element)) void commitModel(box);
  });
  pane.addEventListener("click", (e) => {
    const t = e.target as Element, box = boxOf(t), option = t.closest<HTMLElement>("[data-model]");
    if (!box) return;
    if (option) return choose(box, option.dataset.model!);
    const trait = t.closest<HTMLElement>("[data-models-filter]")?.dataset.modelsFilter;
    if (trait) {
      if (!wantedTraits.delete(trait)) wantedTraits.add(trait);
      return filter(list(box));
    }
    const all = t.closest<HTMLElement>("[data-models-all]");
    if (all) {
      for (const o of all.parentElement!.querySelectorAll<HTMLElement>("[role=option][hidden]")) o.hidden = false;
      return all.remove();
    }
    const field = t.matches("[role=combobox]");
    if (!field && !t.closest("[data-models-open]")) return;
    if (!list(box).hidden) return field ? undefined : close(box);
    input(box).focus();
    void open(box, "");
  });
  pane.addEventListener("pointerdown", (e) => { if ((e.target as Element).closest("[data-models-list]") && !typing(e.target as Element)) e.preventDefault(); }); // the field keeps the focus
  pane.addEventListener("submit", (e) => {
    const form = (e.target as Element).closest<HTMLFormElement>("form[data-connect]"), box = boxOf(form);
    if (!form || !box) return;
    e.preventDefault();
    e.stopPropagation();
    void connect(box, form);
  }, { capture: true });
  pane.addEventListener("toggle", (e) => { // one key at a time; its field has the focus
    const d = e.target as HTMLDetailsElement;
    if (!d.matches?.(".ins-connect") || !d.open) return;
    for (const other of pane.querySelectorAll<HTMLDetailsElement>(".ins-connect[open]")) if (other !== d) other.open = false;
    [...d.querySelectorAll<HTMLInputElement>("input:not([type=hidden])")].find((i) => !i.value)!.focus();
    d.scrollIntoView({ block: "nearest" });
  }, { capture: true });
  addEventListener("resize", () => { const box = pane.querySelector<HTMLElement>("[data-models]:has([data-models-list]:not([hidden]))"); if (box) place(box); });
  pane.addEventListener("focusout", (e) => {
    const box = boxOf(e.target);
    if (box && !box.contains(e.relatedTarget as Node)) { clearTimeout(timer); close(box); }
  });
  pane.addEventListener("keydown", (e) => {
    const box = boxOf(e.target);
    if (box && e.key === "Escape" && typing(e.target as Element)) { e.preventDefault(); input(box).focus(); return close(box); }
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

/** upgrade sets the version of the flow that a node runs. */
function upgrade(field: HTMLElement, version: string): void {
  field.querySelector<HTMLInputElement>("input[name^='text.']")!.value = version;
  send(field);
}

pane.addEventListener("click", (e) => {
  const t = e.target as Element, place = t.closest<HTMLElement>("[data-upgrade]"), take = t.closest<HTMLElement>("[data-upgrade-take]"), node = section()?.dataset.node;
  if (!place || !node) return;
  const version = t.closest<HTMLElement>("[data-upgrade-version]")?.dataset.upgradeVersion;
  if (version) return upgrade(fieldOf(place)!, version);
  if (take) { e.preventDefault(); void pin(node, take.dataset.upgradeTake!); }
  else if (t.closest("[data-upgrade-ask]")) void ask(`${nodePath(node)}/upgrade`).then(fragment).then((answer) => answer && place.replaceChildren(answer));
});
