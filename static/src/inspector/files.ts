// Uploads a file for a field, and removes it.
import { flowPath } from "../builder/canvas.ts";
import { el } from "../builder/dom.ts";
import { onClick } from "../listen.ts";
import { toast } from "../toasts.ts";
import { ask } from "./ask.ts";
import { fieldOf, pane, send } from "./fields.ts";
import { part, rows } from "./values.ts";

pane.addEventListener("change", (e) => {
  const input = e.target as HTMLInputElement;
  if (input.matches("[data-upload]") && input.files?.[0]) void upload(input, input.files[0]);
});

for (const input of pane.querySelectorAll<HTMLInputElement>("[data-upload]")) if (input.files?.[0]) void upload(input, input.files[0]); // chosen before this script was loaded

/** upload sends a file; the response is the value that refers to it. */
async function upload(input: HTMLInputElement, file: File): Promise<void> {
  const label = input.closest("label")!.querySelector("[data-says]")!, was = label.textContent;
  label.textContent = `Uploading ${file.name}…`;
  const body = new FormData();
  body.append("file", file);
  const r = await ask(`${flowPath}/files`, { method: "POST", body });
  label.textContent = was;
  input.value = "";
  if (!r) return toast("Upload failed. Check your connection and try again.", "bad");
  if (r.ok) take(fieldOf(input)!, await r.text());
}

/** take writes the value of a file into a field; the next rendering shows its name. */
function take(field: HTMLElement, value: string): void {
  if (field.dataset.value === "list") {
    const last = rows(field).at(-1)!, row = last.cloneNode(true) as HTMLElement;
    part(row, "kept")!.value = value;
    part(row, "text")!.value = "";
    last.before(row);
  } else {
    part(field, "kept")!.value = value;
    part(field, "text")!.value = "";
  }
  send(field);
}

onClick(pane, "[data-file-do=remove]", (button) => {
  const field = fieldOf(button)!;
  part(field, "kept")!.value = "";
  field.querySelector(".ins-row")?.replaceWith(el("p", { class: "help" }, "Removed."));
  send(field);
});
