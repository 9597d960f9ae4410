// The latest calls, polled while they are visible.
import htmx from "htmx.org/dist/htmx.esm.js";
import { html } from "../builder/dom.ts";
import { fetchPart } from "../builder/requests.ts";
import { copied } from "../copy.ts";
import { onClick } from "../listen.ts";
import { toast } from "../toasts.ts";

const interval = 3000; // ms
const pane = document.getElementById("flow-api")!;
const list = () => document.getElementById("api-calls");

/** inView reports whether the pane is visible. */
export const inView = (): boolean => !document.hidden && pane.checkVisibility({ visibilityProperty: true });

/** poll loads the list; the server responds with 204 while its mark is unchanged. */
async function poll(): Promise<void> {
  const now = list();
  if (!now || !inView() || now.contains(document.activeElement)) return; // keep the focus
  await htmx.ajax("GET", `${now.dataset.path}?mark=${now.dataset.mark}`, { source: now, target: now, swap: "outerMorph" });
}

/** pollKeys updates the last use of keys while any key is unused. The server stores a use
 * some seconds after the call. Only these texts are replaced: the list may contain a new
 * key, which is shown only once. */
async function pollKeys(): Promise<void> {
  const path = list()?.dataset.path;
  if (!path || !inView() || !document.querySelector("#flow-keys [data-unused]")) return;
  const r = await fetchPart(path.replace(/\/api\/calls$/, "/keys"));
  if (!r?.ok) return;
  for (const fresh of html(await r.text()).querySelectorAll<HTMLElement>("[data-key]:not([data-unused])")) {
    const shown = document.querySelector<HTMLElement>(`#flow-keys [data-key="${fresh.dataset.key}"][data-unused]`);
    if (!shown) continue;
    delete shown.dataset.unused;
    for (const part of [".used", ".calls"]) shown.querySelector(part)!.replaceWith(fresh.querySelector(part)!);
  }
}

window.setInterval(() => { void poll(); void pollKeys(); }, interval);
document.addEventListener("flow:run", () => void poll());

onClick(pane, "[data-copy-url]", (button) => void copied(button, command(button.dataset.copyUrl!)));

/** command fetches the curl command of a call, with its inputs. */
async function command(path: string): Promise<string> {
  const r = await fetchPart(path);
  if (r?.ok) return r.text();
  toast("No command available: the inputs of this call were deleted or are too large.", "wait");
  throw new Error(`${path}: ${r?.status}`);
}
