// What others do, as it happens: their edits, who they are, what becomes of the
// flow. The stream says which revision this page knows, so what happened while
// it was cut comes with the next connection.
import { builder, canvas, flowPath, whenReady } from "./canvas.ts";
import { html } from "./dom.ts";
import { askReload } from "./state.ts";

const hiddenFor = 60_000; // ms after which a page that nobody sees lets its connection go
const again = 10_000; // ms until a stream that was refused is tried again
const passed = ["flow:ops", "flow:published", "flow:live", "flow:run", "flow:tried", "flow:pinned"]; // told to the page as they come

let source: EventSource | undefined;
let timer = 0;

function open(): void {
  if (source || builder.dataset.replay) return; // a former document does not change
  source = new EventSource(`${flowPath}/events?rev=${canvas.sync.rev}`);
  for (const name of passed) source.addEventListener(name, (e) => document.dispatchEvent(new CustomEvent(name, { detail: JSON.parse(e.data) })));
  source.addEventListener("flow:people", (e) => document.getElementById("others")?.replaceWith(html(JSON.parse(e.data).html)));
  source.addEventListener("flow:reload", () => { close(); askReload(); });
  source.addEventListener("error", () => {
    if (source?.readyState !== EventSource.CLOSED) return; // the browser tries again by itself
    close();
    timer = window.setTimeout(open, again);
  });
}

function close(): void {
  clearTimeout(timer);
  source?.close();
  source = undefined;
}

document.addEventListener("visibilitychange", () => {
  clearTimeout(timer);
  if (document.hidden) timer = window.setTimeout(close, hiddenFor);
  else open();
});
addEventListener("pagehide", close);
addEventListener("pageshow", (e) => { if (e.persisted) open(); });
void whenReady.then(open);
