// The switch Required of an input: it is required as long as it has no default.
import { canvas } from "../builder/canvas.ts";
import { pane, section } from "./fields.ts";

/** empty are the defaults that make an input optional until another is typed. A number and a file have none: one has to be given. */
const empty: Record<string, unknown> = { text: "", area: "", list: [], boolean: false, json: {} };

pane.addEventListener("change", (e) => {
  const box = e.target as HTMLInputElement, field = box.closest<HTMLElement>("[data-set]"), node = section()?.dataset.node;
  if (!box.matches("[data-required]") || !field || !node) return;
  e.stopPropagation();
  const now = canvas.draft.nodes.get(node)?.config.default, value = empty[field.dataset.value!];
  if (box.checked && now !== undefined) canvas.commit("Change required", [{ op: "set", node, field: "default" }]);
  if (!box.checked && now === undefined && value !== undefined) canvas.commit("Change required", [{ op: "set", node, field: "default", value }]);
  if (!box.checked) field.querySelector<HTMLElement>("textarea, input:not([type=hidden], [data-required]), select")?.focus();
}, { capture: true });
