// Renames a node in place.
import { listen } from "../listen.ts";
import { canvas } from "./canvas.ts";
import { el } from "./dom.ts";

listen<{ node: string; part?: string }>(canvas, "canvas:open", ({ node, part }) => {
  if (part === "label" && !canvas.readonly) rename(node);
});

/** rename shows a field instead of the title. It commits on Enter and when the field loses the focus; Escape cancels. */
function rename(node: string): void {
  const title = canvas.scene.elements.get(node)?.querySelector<HTMLElement>("[data-title]");
  if (!title || title.hidden) return;
  const before = canvas.draft.nodes.get(node)?.label ?? "";
  const field = el("input", { class: "renaming nodrag nopan nokey", "aria-label": "Node name", maxlength: "200", placeholder: title.textContent ?? "", autocomplete: "off" });
  field.value = before || title.textContent || "";
  let over = false;
  const end = (take: boolean) => {
    if (over) return;
    over = true;
    const label = field.value.trim();
    field.remove();
    title.hidden = false;
    if (!take || label === before || (!before && label === title.textContent)) return;
    if (label) title.textContent = label;
    canvas.commit("Rename", [label ? { op: "put", node, member: "label", value: label } : { op: "put", node, member: "label" }]);
  };
  field.addEventListener("keydown", (e) => {
    e.stopPropagation();
    if (e.key !== "Enter" && e.key !== "Escape") return;
    e.preventDefault();
    end(e.key === "Enter");
    canvas.keys.focus(node);
  });
  field.addEventListener("blur", () => end(true));
  title.hidden = true;
  title.after(field);
  field.focus({ preventScroll: true });
  field.select();
}
