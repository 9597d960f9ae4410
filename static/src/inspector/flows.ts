// The search among more flows than a page offers.
import { html } from "../builder/dom.ts";
import { ask, nodePath } from "./ask.ts";
import { pane, section } from "./fields.ts";

const searchPause = 180; // ms
let timer = 0, latestRequest = 0;

/** find asks the server for the flows that match, and offers them. The chosen flow stays. */
async function find(box: HTMLInputElement): Promise<void> {
  const request = ++latestRequest, r = await ask(`${nodePath(section()!.dataset.node!)}?${new URLSearchParams({ find: box.value })}`);
  const text = r?.ok ? await r.text() : "", field = box.closest<HTMLElement>("[data-key]");
  if (!text || request !== latestRequest || !field) return;
  const found = html(text).querySelector<HTMLElement>(`[data-key="${CSS.escape(field.dataset.key!)}"]`), offered = found?.querySelector("select"), select = field.querySelector("select");
  if (!offered || !select) return;
  const chosen = select.selectedOptions[0];
  select.replaceChildren(...offered.options);
  if (chosen?.value && ![...select.options].some((o) => o.value === chosen.value)) select.append(chosen);
  select.value = chosen?.value ?? "";
  field.querySelector(".ins-found")!.textContent = found!.querySelector(".ins-found")?.textContent ?? "";
}

pane.addEventListener("input", (e) => {
  const box = e.target as HTMLInputElement;
  if (!box.matches("[data-find-flow]")) return;
  clearTimeout(timer);
  timer = window.setTimeout(() => void find(box), searchPause);
});
pane.addEventListener("keydown", (e) => {
  const box = e.target as HTMLElement;
  if (!box.matches("[data-find-flow]") || (e.key !== "Enter" && e.key !== "ArrowDown")) return;
  e.preventDefault(); // Enter would send the form of browsers without scripts
  box.closest("[data-key]")?.querySelector("select")?.focus();
});
