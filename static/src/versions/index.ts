// Publishing and versions in the builder: the dialog with the changes, the state in the header,
// and links to the history.
import htmx from "htmx.org/dist/htmx.esm.js";
import { builder, canvas, flowPath, readonly } from "../builder/canvas.ts";
import { command } from "../builder/commands.ts";
import { el } from "../builder/dom.ts";
import { problems } from "../builder/problems.ts";
import { subscribe } from "../running/events.ts";
import { listen, onClick } from "../listen.ts";

const quiet = 1200; // ms to debounce the refresh of the header

type Published = { flow: string; version: number; url: string; first: boolean };

/** dialog returns the publish dialog, creating it if needed. */
function dialog(): HTMLDialogElement {
  const there = document.getElementById("publish-dialog");
  if (there instanceof HTMLDialogElement) return there;
  const made = el("dialog", { id: "publish-dialog", class: "dialog publish", "aria-label": "Publish" });
  document.body.append(made);
  return made;
}

async function publish(): Promise<void> {
  const d = dialog();
  const parts = import("../builder/extras.ts"); // what the dialog does after the first publish
  await htmx.ajax("GET", `${flowPath}/publish`, { source: d, target: d, swap: "innerHTML" });
  await parts;
  if (d.childElementCount > 0 && !d.open) d.showModal();
}

let later = 0;
const state = () => document.getElementById("flow-state");

/** refresh loads the state of the flow in the header again, but not while a chip is open. */
function refresh(): void {
  const place = state();
  if (place?.querySelector("[open]")) return refreshSoon();
  if (place) void htmx.ajax("GET", `${flowPath}/publish/button`, { source: place, target: place, swap: "none" });
}

/** refreshSoon loads the state when edits pause, or at once if it counts other problems than the list, which every edit updates. */
function refreshSoon(): void {
  window.clearTimeout(later);
  const counted = Number(state()?.querySelector<HTMLElement>("[data-count]")?.dataset.count ?? 0);
  later = window.setTimeout(refresh, counted === problems() ? quiet : 0);
}

command({ name: "publish", title: "Publish", hint: "Make the draft the live version", icon: "radio", keys: "Ctrl+Shift+P", enabled: () => !readonly, run: () => void publish() });
command({ name: "versions", title: "Versions", hint: "History of published versions", icon: "history", run: () => location.assign(`${flowPath}/versions`) });
command({ name: "compare", title: "Compare draft with live", icon: "arrow-right-left", run: () => location.assign(`${flowPath}/compare`) });

listen<{ state: string }>(canvas, "canvas:state", ({ state }) => { if (state === "saved") refreshSoon(); });
listen(canvas, "canvas:acked canvas:remote", () => requestAnimationFrame(refreshSoon)); // the list of problems is updated first

subscribe("over", () => { if (document.querySelector("#run-button.primary")) later = window.setTimeout(refresh, quiet); }); // after the first success, the next step is to publish

// After the first publish the dialog stays open with the URL to call; later ones
// show a toast.
listen<Published>(document, "flow:published", ({ first, version }) => {
  builder.dataset.live = String(version);
  if (!first) dialog().close();
});

onClick(document, "#publish-dialog :is([data-reveal], [data-close])", (button, e) => {
  e.preventDefault();
  dialog().close();
  canvas.open(button.dataset.reveal);
});
