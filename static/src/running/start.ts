// Starts runs of the draft: immediately when no input is missing, or else with the
// form in the dialog.
import { canvas, flowId, flowPath, readonly, whenReady } from "../builder/canvas.ts";
import { command } from "../builder/commands.ts";
import { html, keep, kept } from "../builder/dom.ts";
import { toast } from "../toasts.ts";
import { ask } from "./ask.ts";
import { shown, publish } from "./events.ts";
import { follow } from "./stream.ts";

const dialog = document.getElementById("run-dialog") as HTMLDialogElement | null;
const saveTimeout = 8000; // ms to wait for the draft to be saved
const typedKey = `run:${flowId}`;
let busy = false;

// selectedNode returns the only selected or focused node. canStart and isActive decide which commands are enabled.
const selectedNode = (): string | undefined => { const list = canvas.chosen?.() ?? []; return list.length === 1 ? list[0] : undefined; };
const canStart = () => !readonly && !!dialog && !busy && !document.documentElement.hasAttribute("data-unreachable");
const isActive = () => !!shown && !shown.over;

command({ name: "run", title: "Run draft", hint: "Uses the inputs of the last run", icon: "play", keys: "Ctrl+Enter", enabled: canStart, run: () => void startRun(new URLSearchParams(), false) });
command({ name: "run-example", title: "Run the example", icon: "play", enabled: canStart, run: () => void startRun(new URLSearchParams(), false, true) });
command({ name: "run-with", title: "Run with inputs…", icon: "play", enabled: canStart, run: () => void startRun(new URLSearchParams(), true) });
command({ name: "run-to", title: "Run to here", hint: "This node and everything it depends on", icon: "play", enabled: () => canStart() && !!selectedNode(), run: () => void startRun(new URLSearchParams({ until: selectedNode()! }), false) });
command({ name: "run-from", title: "Run from here", hint: "Reuses earlier results", icon: "skip-forward", enabled: () => canStart() && !!selectedNode() && !!shown?.over, run: () => void rerun(selectedNode()!) });
command({ name: "rerun", title: "Rerun", hint: "Same inputs; unchanged steps are reused", icon: "repeat", enabled: () => canStart() && !!shown?.over, run: () => void rerun("") });
command({ name: "stop", title: "Stop run", icon: "square", enabled: isActive, run: () => void ask(`${flowPath}/runs/${shown!.id}/cancel`, new URLSearchParams()) });

/** startRun loads the form and, unless alwaysAsk is set or an input is missing, sends it. Before the first run the form has the examples, which are sent only if example is set. */
async function startRun(params: URLSearchParams, alwaysAsk: boolean, example = false): Promise<void> {
  busy = true;
  try {
    if (!(await saved())) return;
    const r = await ask(`${flowPath}/run?${params}`);
    if (!r || !showForm(await r.text())) return;
    const f = form()!, fields = f.querySelectorAll("[name^='in.']").length, ready = f.querySelector("button[type=submit]") && f.checkValidity();
    if (ready && (!fields || (!alwaysAsk && (example || f.hasAttribute("data-ran"))))) await send(new FormData(f));
    else openDialog();
  } finally { busy = false; }
}

/** rerun reruns the shown run on the draft, reusing its results. from is the first node to run again. */
async function rerun(from: string): Promise<void> {
  busy = true;
  try { if (await saved()) await send(new URLSearchParams({ parent: shown!.id, from })); }
  finally { busy = false; }
}

/** send starts a run and follows it, or shows the form with its errors. */
async function send(body: FormData | URLSearchParams): Promise<void> {
  const r = await ask(`${flowPath}/run`, body);
  if (!r) return;
  if (r.status === 422) { showForm(await r.text()); openDialog(); return; }
  const { run } = (await r.json()) as { run: string };
  keep(typedKey, "");
  dialog?.close();
  if (document.activeElement === document.body) canvas.keys.focus(canvas.chosen()[0]); // what had the focus is gone
  performance.mark("run:started");
  publish("started", run);
  follow(run, true);
}

/** saved waits until every change is saved, so that the server has the draft as shown. */
export async function saved(): Promise<boolean> {
  const c = await whenReady;
  if (!c.sync.waiting) return true;
  c.sync.flush();
  const done = await new Promise<boolean>((resolve) => {
    const late = window.setTimeout(() => finish(false), saveTimeout);
    const check = () => { if (!c.sync.waiting) finish(true); };
    const finish = (ok: boolean) => { clearTimeout(late); canvas.removeEventListener("canvas:state", check); resolve(ok); };
    canvas.addEventListener("canvas:state", check);
    check();
  });
  if (!done) toast("Your latest changes aren't saved yet. Check your connection and try again.", "bad");
  return done;
}

const form = (): HTMLFormElement | null => dialog?.querySelector("form") ?? null;

/** showForm shows the form that the server rendered and restores typed input. */
function showForm(text: string): boolean {
  if (!dialog) return false;
  dialog.replaceChildren(html(text));
  remember();
  return true;
}

/** openDialog opens the form and focuses the first field with an error, or else the first field. */
function openDialog(): void {
  if (!dialog) return;
  if (!dialog.open) dialog.showModal();
  (dialog.querySelector<HTMLElement>("[aria-invalid]") ?? dialog.querySelector<HTMLElement>("textarea, input:not([type=hidden]), select") ?? dialog.querySelector<HTMLElement>("[data-jump]"))?.focus();
}

// Input that was not submitted survives closing the dialog and a reload.

/** texts returns the fields whose values can be stored as text. */
function texts(f: HTMLFormElement): (HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement)[] {
  return [...f.querySelectorAll<HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement>("input[name^='in.']:not([type=file], [type=checkbox]), textarea[name^='in.'], select[name^='in.']")];
}

/** remember fills in stored input, unless the form shows errors for what was just sent. */
function remember(): void {
  const f = form();
  if (!f || f.querySelector("[aria-invalid]")) return;
  try {
    const typed = JSON.parse(kept(typedKey) || "{}") as Record<string, string>;
    for (const t of texts(f)) if (typed[t.name] !== undefined) t.value = typed[t.name]!;
  } catch { /* stored by another version */ }
}

dialog?.addEventListener("input", () => {
  const f = form();
  if (f) keep(typedKey, JSON.stringify(Object.fromEntries(texts(f).map((t) => [t.name, t.value]))));
});

dialog?.addEventListener("submit", (e) => {
  const f = e.target as HTMLFormElement;
  if (f.id !== "run-form") return;
  e.preventDefault();
  const button = f.querySelector<HTMLButtonElement>("button[type=submit]");
  if (button?.disabled) return;
  if (button) button.disabled = true;
  void send(new FormData(f)).finally(() => { if (button) button.disabled = false; });
});

dialog?.addEventListener("keydown", (e) => {
  if (e.key !== "Enter" || !(e.ctrlKey || e.metaKey)) return;
  e.preventDefault();
  form()?.requestSubmit();
});

dialog?.addEventListener("click", (e) => {
  const target = e.target as Element;
  if (target.closest("[data-jump]")) dialog.close();
  if (!target.closest("[data-fill-examples]")) return;
  for (const field of dialog.querySelectorAll<HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement>("[data-example]")) {
    if (field instanceof HTMLInputElement && field.type === "checkbox") field.checked = field.dataset.example === "true";
    else if (!(field instanceof HTMLInputElement && field.type === "file")) field.value = field.dataset.example!;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }
});
