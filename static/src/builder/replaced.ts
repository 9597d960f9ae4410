// Shows a note when a client replaced the draft over the API, with a button to undo it.
// The server renders the note of an earlier replacement into the page.
import htmx from "htmx.org/dist/htmx.esm.js";
import { listen } from "../listen.ts";
import { canvas, flowPath, whenReady } from "./canvas.ts";

const place = (): HTMLElement | null => document.getElementById("replaced");

/** show fetches the note. */
function show(): void {
  const at = place();
  if (at) void htmx.ajax("GET", `${flowPath}/replaced`, { source: at, target: at, swap: "outerHTML" });
}

listen<{ tab?: string }>(document, "flow:ops", ({ tab }) => { if (tab === "api") show(); });
void whenReady.then(() => { if (Number(place()?.dataset.at) < canvas.sync.rev) show(); }); // there were edits before this part was loaded
