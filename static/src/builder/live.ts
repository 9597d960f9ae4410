// Live events of the flow: edits by other users, presence, publishing. The
// stream starts from the revision of this page, so events missed while it was
// interrupted arrive with the next connection.
import { builder, canvas, flowPath, whenReady } from "./canvas.ts";
import { html } from "./dom.ts";
import { askReload } from "./state.ts";

const hiddenFor = 60_000; // ms until a hidden page closes its connection
const retryAfter = 10_000; // ms until a rejected stream is retried
const forwarded = ["flow:ops", "flow:published", "flow:live", "flow:run", "flow:tried", "flow:pinned"]; // dispatched on the document

let source: EventSource | undefined;
let timer = 0;

/** open connects, unless it is connected. */
function open(): void {
  if (source || builder.dataset.replay) return; // the document of a past run does not change
  source = new EventSource(`${flowPath}/events?rev=${canvas.sync.rev}`);
  for (const name of forwarded) source.addEventListener(name, (e) => document.dispatchEvent(new CustomEvent(name, { detail: JSON.parse(e.data) })));
  source.addEventListener("flow:people", (e) => document.getElementById("others")?.replaceWith(html(JSON.parse(e.data).html)));
  source.addEventListener("flow:reload", () => { close(); askReload(); });
  source.addEventListener("error", () => {
    if (source?.readyState !== EventSource.CLOSED) return; // the browser reconnects
    close();
    timer = window.setTimeout(open, retryAfter);
  });
}

/** close disconnects. A hidden page does too after a minute: with HTTP/1.1 a browser has only six connections per server, for all tabs. */
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
