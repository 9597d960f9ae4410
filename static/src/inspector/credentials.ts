// Creates a credential without leaving the flow, and selects it.
import { flowPath } from "../builder/canvas.ts";
import { el, html } from "../builder/dom.ts";
import { icon } from "../icon.ts";
import { onClick } from "../listen.ts";
import { ask, nodePath } from "./ask.ts";
import { pane, section, send, settle } from "./fields.ts";
import { part } from "./values.ts";

let dialog: HTMLDialogElement | undefined;
let key: string | undefined; // of the field to fill in; its element may be replaced while the dialog is open

onClick(pane, "[data-new-credential]", (button) => {
  key = button.closest<HTMLElement>("[data-key]")!.dataset.key;
  void open(button.dataset.newCredential!, button.dataset.hosts ?? "");
});

/** open shows the form for a new credential. */
async function open(provider: string, hosts: string): Promise<void> {
  const r = await ask(`${flowPath}/credentials?${new URLSearchParams({ provider, hosts })}`);
  if (!r?.ok) return;
  dialog ??= createDialog();
  dialog.querySelector(".body")!.replaceChildren(html(await r.text()));
  dialog.showModal();
}

function createDialog(): HTMLDialogElement {
  const close = el("button", { type: "button", class: "btn quiet small only", "aria-label": "Close", title: "Close" }, icon("x"));
  const d = el("dialog", { class: "dialog", id: "credential-dialog", "aria-labelledby": "credential-dialog-title" },
    el("header", {}, el("h2", { id: "credential-dialog-title" }, "New credential"), close), el("div", { class: "body" }));
  close.addEventListener("click", () => d.close());
  d.addEventListener("close", () => d.querySelector(".body")!.replaceChildren()); // do not leave secrets in the page
  d.addEventListener("submit", (e) => { e.preventDefault(); void add(e.target as HTMLFormElement); });
  d.addEventListener("change", (e) => {
    const t = e.target as HTMLSelectElement, name = d.querySelector<HTMLInputElement>("[name=name]"), hosts = d.querySelector<HTMLElement>("[data-plain-only]");
    if (t.name === "provider" && hosts) hosts.hidden = t.value !== ""; // the hosts of a provider are known
    if (t.name === "provider" && name && (!name.value || [...t.options].some((o) => o.value === name.value))) name.value = t.value;
  });
  document.body.append(d);
  return d;
}

/** add submits the form and selects the new credential in the field. */
async function add(form: HTMLFormElement): Promise<void> {
  const r = await ask(form.getAttribute("action")!, { method: "POST", body: new URLSearchParams(new FormData(form) as unknown as Record<string, string>) });
  if (r?.status === 422) {
    dialog!.querySelector(".body")!.replaceChildren(html(await r.text()));
    dialog!.querySelector<HTMLElement>("[aria-invalid]")?.focus();
  }
  if (!r?.ok) return;
  const { name } = (await r.json()) as { name: string }, field = pane.querySelector<HTMLElement>(`[data-key="${CSS.escape(key ?? "")}"]`);
  dialog!.close();
  const select = field && part(field, "kept");
  if (!select) return;
  select.append(el("option", { value: JSON.stringify({ credential: name }) }, name));
  select.value = JSON.stringify({ credential: name });
  send(field);
  select.focus();
}

// Moves a value that looks like a secret into a credential. The server edits the
// draft; the edit arrives over the event stream like one by another user.
onClick<HTMLButtonElement>(pane, "[data-move-secret]", (button, e) => {
  const node = section()?.dataset.node;
  if (!node) return;
  e.preventDefault();
  settle();
  button.disabled = true;
  void ask(`${nodePath(node)}/secret`, { method: "POST", body: new URLSearchParams({ move: button.value }) }).then(() => { button.disabled = false; });
});
