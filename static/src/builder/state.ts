// The state in the top bar: saving, undo and redo, zoom.
import type { SaveState } from "../canvas/sync.ts";
import { toast } from "../toasts.ts";
import { builder, canvas, whenReady } from "./canvas.ts";

const state = document.getElementById("save-state");
const zoom = document.getElementById("zoom");
const brief = 4000; // ms that a change by somebody else is shown
let told = 0;

type State = { state: SaveState; waiting: number; rev: number };
const words: Record<SaveState, (n: number) => string> = {
  saved: () => "Saved", saving: () => "Saving…", reload: () => "Changed elsewhere · Reload",
  offline: (n) => `Offline · ${n} unsaved ${n === 1 ? "change" : "changes"}`,
};

let last: SaveState = "saved";

canvas.addEventListener("canvas:state", (e) => {
  const s = (e as CustomEvent<State>).detail;
  builder.dataset.rev = String(s.rev);
  if (s.state === "reload" && last !== "reload") askReload();
  if (s.state === last && s.state !== "offline") return;
  last = s.state;
  say(words[s.state](s.waiting), s.state);
});

function say(text: string, of: string): void {
  if (!state) return;
  clearTimeout(told);
  if (state.textContent !== text) state.textContent = text;
  state.dataset.state = of;
}

/** elsewhere shows briefly that somebody else changed the draft. */
export function elsewhere(): void {
  const people = [...document.querySelectorAll("#others .unseen")].map((e) => e.textContent);
  say(people.length === 1 ? `Changed by ${people[0]}` : "Changed elsewhere", "saving");
  told = window.setTimeout(() => say(words[last](canvas.sync.waiting), last), brief);
}

/** askReload asks to reload a page that is too far behind. */
export function askReload(): void {
  toast("This flow changed too much elsewhere. Reload the page to continue.", "bad", { label: "Reload", act: () => location.reload() });
}

canvas.addEventListener("canvas:history", (e) => turns((e as CustomEvent<{ undo?: string; redo?: string }>).detail));
canvas.addEventListener("canvas:view", (e) => {
  if (zoom) zoom.textContent = `${Math.round((e as CustomEvent<{ zoom: number }>).detail.zoom * 100)} %`;
});

function turns(labels: { undo?: string; redo?: string }): void {
  turn("undo", "Undo", labels.undo, "Ctrl+Z");
  turn("redo", "Redo", labels.redo, "Ctrl+Shift+Z");
}

function turn(id: string, word: string, label: string | undefined, keys: string): void {
  const b = document.getElementById(id) as HTMLButtonElement | null;
  if (!b) return;
  b.disabled = !label;
  b.title = label ? `${word} “${label}” (${keys})` : `Nothing to ${word.toLowerCase()}`;
  b.setAttribute("aria-label", label ? `${word} ${label}` : word);
}

const blank = document.getElementById("blank");
function showBlank(): void { if (blank) blank.hidden = canvas.draft.nodes.size > 0; }

void whenReady.then((c) => {
  turns(c.history.labels);
  if (zoom) zoom.textContent = `${Math.round(c.view.transform[2] * 100)} %`;
  showBlank();
});
for (const name of ["canvas:ops", "canvas:remote"]) canvas.addEventListener(name, showBlank);
