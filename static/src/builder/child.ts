// Makes a flow of the selected nodes, and puts a node that runs it in their place.
import type { Op } from "../canvas/ops.ts";
import { icon } from "../icon.ts";
import { saved } from "../running/start.ts";
import { toast } from "../toasts.ts";
import { canvas, flowPath, isReady, readonly } from "./canvas.ts";
import { command } from "./commands.ts";
import { el } from "./dom.ts";
import { fetchPart, redirected } from "./requests.ts";

if (!readonly) command({ name: "new-child", title: "New child flow from selection", hint: "A flow of its own that this one runs", icon: "workflow", enabled: () => isReady() && !canvas.readonly && canvas.chosen().length > 0, run: ask });

const name = el("input", { class: "input", id: "child-name", maxlength: "200", required: "", autocomplete: "off" });
const error = el("p", { class: "error", role: "alert" });
const cancel = el("button", { type: "button", class: "btn" }, "Cancel");
const create = el("button", { class: "btn primary" }, "Create flow");
const dialog = el("dialog", { class: "dialog", id: "child-dialog", "aria-labelledby": "child-title" },
  el("header", {}, el("h2", { id: "child-title" }, "New child flow")),
  el("form", { class: "body form", method: "dialog" },
    el("div", { class: "field" }, el("label", { for: "child-name" }, "Name"), name, el("p", { class: "help" }, "The selected nodes become a published flow. A Subflow node runs it in their place.")),
    error, el("footer", {}, cancel, create)));
document.body.append(dialog);
let nodes: string[] = [];

/** ask asks for the name of the new flow. */
function ask(): void {
  nodes = canvas.chosen();
  error.replaceChildren();
  const group = canvas.draft.groupOf(nodes[0]!), titles = nodes.map((id) => canvas.scene.elements.get(id)?.querySelector("[data-title]")?.textContent ?? "").filter(Boolean);
  name.value = group?.label && group.nodes.every((id) => nodes.includes(id)) ? group.label : titles.slice(0, 2).join(" and ");
  dialog.showModal();
  name.select();
}

cancel.addEventListener("click", () => dialog.close());
dialog.querySelector("form")!.addEventListener("submit", (e) => { e.preventDefault(); void make(); });

/** make creates the flow and replaces the nodes as one step of the history. */
async function make(): Promise<void> {
  create.disabled = true;
  if (!(await saved())) { create.disabled = false; return; }
  const body = new URLSearchParams([["rev", String(canvas.sync.rev)], ["name", name.value], ...nodes.map((id) => ["node", id])]);
  const r = await fetchPart(`${flowPath}/child`, { method: "POST", body });
  create.disabled = false;
  if (r && redirected(r)) return;
  const answer = r && ((await r.json().catch(() => undefined)) as { ops?: Op[]; detail?: string } | undefined);
  if (!answer?.ops) return error.replaceChildren(icon("circle-alert"), el("span", {}, answer?.detail ?? "Can't reach Sluice. Nothing was created. Try again."));
  dialog.close();
  canvas.commit("New child flow", answer.ops);
  const made = answer.ops.find((op) => op.op === "add")?.node.id;
  if (made) { canvas.selection.set([made]); canvas.keys.focus(made); }
  toast(`“${name.value.trim()}” is a flow of its own now.`, "ok", { label: "Undo", act: () => canvas.history.undo() });
}
