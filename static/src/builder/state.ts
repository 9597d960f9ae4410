// The state in the top bar: saving, undo and redo, zoom.
import type { SaveState } from "../canvas/sync.ts";
import { listen } from "../listen.ts";
import { toast } from "../toasts.ts";
import { builder, canvas, whenReady } from "./canvas.ts";
import { kindOf } from "./kinds.ts";

const state = document.getElementById("save-state");
const zoom = document.getElementById("zoom");
const noticeDuration = 4000; // ms that a change by another user is shown
let timer = 0;

type State = { state: SaveState; waiting: number; rev: number };
const words: Record<SaveState, (n: number) => string> = {
  saved: () => "Saved", saving: () => "Saving…", reload: () => "Changed elsewhere · Reload",
  offline: (n) => `Offline · ${n} unsaved ${n === 1 ? "change" : "changes"}`,
};

let last: SaveState = "saved"; // the state that the bar shows, to update it only on changes

listen<State>(canvas, "canvas:state", (s) => {
  builder.dataset.rev = String(s.rev);
  if (s.state === "reload" && last !== "reload") askReload();
  if (s.state === last && s.state !== "offline") return;
  last = s.state;
  showState(words[s.state](s.waiting), s.state);
});

let unread = 0; // fields with a text that cannot be saved

/** showUnread shows that fields have texts that cannot be saved, such as invalid JSON. */
export function showUnread(fields: number): void {
  if (fields === unread) return;
  unread = fields;
  showState(words[last](canvas.sync.waiting), last);
}

/** showState shows a state; the element is a live region, so equal texts are not written again. */
function showState(text: string, of: string): void {
  if (!state) return;
  clearTimeout(timer);
  if (of === "saved" && unread) [text, of] = [`${unread} ${unread === 1 ? "field" : "fields"} not saved`, "offline"];
  if (state.textContent !== text) state.textContent = text;
  state.dataset.state = of;
}

/** showRemoteChange briefly shows that another tab or another user changed the draft. */
export function showRemoteChange(): void {
  const people = [...document.querySelectorAll("#others .unseen")].map((e) => e.textContent);
  showState(people.length === 1 ? `Changed by ${people[0]}` : "Changed elsewhere", "saving");
  timer = window.setTimeout(() => showState(words[last](canvas.sync.waiting), last), noticeDuration);
}

/** askReload asks the user to reload a page that is too far behind to catch up. */
export function askReload(): void {
  toast("This flow changed too much elsewhere. Reload the page to continue.", "bad", { label: "Reload", act: () => location.reload() });
}

let inserted: Element | null | undefined; // the toast that offers to undo the last change, until the next one

listen(canvas, "canvas:ops", () => inserted?.remove());
listen<{ node: string; moved: number }>(canvas, "canvas:inserted", ({ node, moved }) => {
  const title = kindOf(canvas.draft.nodes.get(node)?.kind ?? "")?.title ?? "Node";
  if (!moved) return;
  toast(`${title} added, ${moved === 1 ? "1 node" : `${moved} nodes`} moved`, "ok", { label: "Undo", act: () => canvas.history.undo() });
  inserted = document.getElementById("toasts")?.lastElementChild;
});

listen(canvas, "canvas:history", showHistory);
listen<{ zoom: number }>(canvas, "canvas:view", (view) => showZoom(view.zoom));

function showZoom(factor: number): void { if (zoom) zoom.textContent = `${Math.round(factor * 100)}%`; }

/** showHistory updates the undo and redo buttons; their tooltips name the next step. */
function showHistory(labels: { undo?: string; redo?: string }): void {
  showButton("undo", "Undo", labels.undo, "Ctrl+Z");
  showButton("redo", "Redo", labels.redo, "Ctrl+Shift+Z");
}

function showButton(id: string, word: string, label: string | undefined, keys: string): void {
  const b = document.getElementById(id) as HTMLButtonElement | null;
  if (!b) return;
  b.disabled = !label;
  b.title = label ? `${word} “${label}” (${keys})` : `Nothing to ${word.toLowerCase()}`;
  b.setAttribute("aria-label", label ? `${word} ${label}` : word);
}

const blank = document.getElementById("blank");
/** showBlank shows the hint for an empty flow. */
function showBlank(): void { if (blank) blank.hidden = canvas.draft.nodes.size > 0; }

void whenReady.then((c) => {
  if (kindOf("first_of")) c.fallback = { kind: "first_of", into: "values", out: "value" };
  showHistory(c.history.labels);
  showZoom(c.view.transform[2]);
  showBlank();
});
listen(canvas, "canvas:ops canvas:remote", showBlank);
