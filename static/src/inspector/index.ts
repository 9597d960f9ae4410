// The inspector of the selected node. It follows the selection and is refreshed
// when the draft changes.
import type { Op } from "../canvas/ops.ts";
import { asShown, canvas, flowPath, readonly, whenReady } from "../builder/canvas.ts";
import { el } from "../builder/dom.ts";
import { listen } from "../listen.ts";
import { ask, fragment, nodePath } from "./ask.ts";
import { send, fieldOf, pane, section, settle, shown } from "./fields.ts";
import { show } from "./refresh.ts";

let selected: string[] = [];
let wantedField: string | undefined; // a field to focus once its node is shown
let loading: AbortController | undefined;
let timer = 0;

listen<{ nodes: string[] }>(canvas, "canvas:select", ({ nodes }) => {
  settle();
  if (nodes.length === selected.length && nodes.every((n, i) => n === selected[i])) return;
  selected = [...nodes];
  wantedField = undefined;
  void load();
});

/** load shows the selection: a node, several, or the flow itself. */
async function load(): Promise<void> {
  loading?.abort();
  const stop = (loading = new AbortController()), [node] = selected;
  if (selected.length > 1) { showSeveral(); if (!lost) return; }
  if (node && !readonly) void import("./controls.ts");
  if (node && canvas.sync.adds(node)) return showSaving(); // once it is saved, load runs again
  const r = await ask(asShown(node ? nodePath(node) : `${flowPath}/overview`), { signal: stop.signal });
  if (stop.signal.aborted) return;
  reach(!!r);
  if (selected.length > 1) return;
  if (!r && section()?.dataset.node !== node) showUnreachable();
  const answer = await fragment(r);
  if (!answer || stop.signal.aborted || (node && canvas.sync.waiting && section()?.dataset.node === node)) return; // unsaved changes come first; once they are saved, load runs again
  if (node) show(answer);
  else pane.replaceChildren(answer);
  focus();
  if (node) void showLast(node, stop.signal);
}

/** showLast shows what the node did in the last run. */
async function showLast(node: string, signal: AbortSignal): Promise<void> {
  const last = await fragment(await ask(asShown(`${nodePath(node)}/last`), { signal }));
  const place = section()?.dataset.node === node ? section()!.querySelector("[data-last]") : null;
  if (!signal.aborted) place?.replaceChildren(...(last ? [last] : []));
}

// Without the server, settings cannot be loaded and flows cannot run.

const unreachable = "Can't reach Sluice. Settings load when it is back.";
const retryPause = 2000; // ms
let lost = false;

/** reach notes whether the server answers. While it does not, Run is disabled and the settings are asked for again. */
function reach(answers: boolean): void {
  if (!answers) { clearTimeout(timer); timer = window.setTimeout(() => void load(), retryPause); }
  if (answers === !lost) return;
  lost = !answers;
  document.documentElement.toggleAttribute("data-unreachable", lost); // disables the commands that run the flow
  const run = document.getElementById("run-button");
  run?.setAttribute("aria-disabled", String(lost));
  if (run && lost) { run.dataset.title = run.title; run.title = unreachable; }
  else if (run) run.title = run.dataset.title ?? "";
}

listen<{ state: string }>(canvas, "canvas:state", ({ state }) => { if (state === "offline") reach(false); });

/** showUnreachable replaces the settings of another node, which no longer belong to the selection. */
function showUnreachable(): void {
  pane.replaceChildren(el("p", { class: "pane-empty", role: "status" }, unreachable));
}

/** showSaving shows that a new node is not saved yet, so the server does not know it. */
function showSaving(): void {
  pane.replaceChildren(el("p", { class: "pane-empty" }, "Saving…"));
}

/** showSeveral shows the names of the selected nodes and the commands for all of them. */
function showSeveral(): void {
  const names = selected.map((id) => el("li", {}, el("a", { href: nodePath(id), "data-jump": id }, canvas.scene.elements.get(id)?.querySelector("[data-title]")?.textContent ?? id)));
  const acts = [["align-left", "Align left"], ["align-top", "Align tops"], ["align-columns", "Distribute horizontally"], ["align-rows", "Distribute vertically"], ["group", "Group"], ["new-child", "New child flow"], ["disable", "Disable or enable"], ["duplicate", "Duplicate"], ["delete", "Delete"]];
  const buttons = readonly ? [] : acts.map(([name, title]) => el("button", { type: "button", class: "btn small", "data-command": name }, title));
  pane.replaceChildren(el("section", { class: "ins", "aria-label": "Selected nodes" }, el("header", { class: "ins-head" }, el("h2", {}, `${selected.length} nodes`)),
    el("div", { class: "ins-part ins-acts" }, ...buttons), el("ul", { class: "ins-part ins-ports" }, ...names)));
}

// Changes of the draft.

listen<{ ops: Op[] }>(canvas, "canvas:ops", ({ ops }) => {
  for (const op of ops) {
    if (op.op === "set") shown(op.node, `set:${op.field}`, op.value);
    if (op.op === "put") shown(op.node, `put:${op.member}`, op.value);
  }
});
listen(canvas, "canvas:acked canvas:remote canvas:refused", () => {
  clearTimeout(timer);
  timer = window.setTimeout(() => { if (selected.length < 2 && !canvas.sync.waiting) void load(); }, 60); // debounce
});

// Focusing a field.

listen<{ node: string; part?: string }>(canvas, "canvas:open", ({ node, part }) => {
  if (part === "label" && !canvas.readonly) return;
  if (selected[0] !== node || selected.length > 1) { canvas.selection.set([node]); }
  wantedField = part ?? "";
  if (section()?.dataset.node === node) focus();
});

/** focus focuses the wanted field and opens the section that contains it. */
function focus(): void {
  if (wantedField === undefined || !section()) return;
  if (!wantedField && matchMedia("(max-width: 800px)").matches) { wantedField = undefined; return; } // an on-screen keyboard would cover the pane
  const field = wantedField ? pane.querySelector<HTMLElement>(`[data-key="${CSS.escape(`set:${wantedField}`)}"]`) : pane.querySelector<HTMLElement>(".ins-part [data-set], [data-put]");
  wantedField = undefined;
  const fold = field?.closest("details");
  if (fold) fold.open = true;
  field?.querySelector<HTMLElement>("input:not([type=hidden], [type=file]), textarea, select, button")?.focus();
}

// Buttons of the form; without scripts the form is posted.

pane.addEventListener("submit", (e) => {
  const by = (e as SubmitEvent).submitter as HTMLButtonElement | null, form = e.target as HTMLElement;
  if (!form.matches("[data-pane]")) return;
  e.preventDefault();
  if (by?.name !== "disconnect" && by?.name !== "place") {
    const field = document.activeElement && fieldOf(document.activeElement);
    if (field && !field.querySelector("[data-models=hosted]")) send(field);
    return;
  }
  const [from, to, place] = by.value.split(">") as [string, string, string];
  const edge = { from, to };
  if (by.name === "place") canvas.commit("Change order", [{ op: "disconnect", edge }, { op: "connect", edge, at: Number(place) }]);
  else canvas.commit("Disconnect", [{ op: "disconnect", edge }]);
});

// The editor for JSON and templates is loaded when such a field gets the focus.

pane.addEventListener("focusin", (e) => {
  const t = e.target as HTMLElement;
  if (!readonly && t.matches("[data-code]")) void import("./code.ts").then(({ edit }) => requestAnimationFrame(() => edit(t as HTMLTextAreaElement))); // by then the click has set the cursor
});

pane.addEventListener("keydown", (e) => {
  if (e.key !== "Escape" || e.defaultPrevented || !section()) return;
  settle();
  canvas.keys.focus(section()!.dataset.node!);
});

void whenReady.then(() => {
  selected = [...canvas.selection.nodes];
  if (selected.length) void load();
});
