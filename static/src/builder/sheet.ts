// The list of shortcuts, generated from the commands and the canvas.
import { icon } from "../icon.ts";
import { canvas } from "./canvas.ts";
import { chordsOf, commands } from "./commands.ts";
import { el, keysOf } from "./dom.ts";
import { byTask } from "./tasks.ts";

const dialog = el("dialog", { class: "dialog shortcuts", id: "shortcuts", "aria-labelledby": "shortcuts-title" });
document.body.append(dialog);

/** fill lists the shortcuts each time the dialog opens, because which commands are enabled changes. */
function fill(): void {
  const close = el("button", { type: "button", class: "btn quiet small only", "aria-label": "Close" }, icon("x"));
  close.addEventListener("click", () => dialog.close());
  const own = commands().filter((c) => c.keys).map((c) => ({ chords: chordsOf(c), what: c.title }));
  const known = new Set(own.flatMap((s) => s.chords));
  const ofCanvas = canvas.shortcuts.filter((s) => !s.chords.every((c) => known.has(c)) && !(canvas.readonly && "edits" in s && s.edits));
  dialog.replaceChildren(
    el("header", {}, el("h2", { id: "shortcuts-title" }, "Shortcuts"), close),
    el("div", { class: "body" }, el("p", { class: "help" }, "Single keys work while the canvas has the focus."), ...byTask([...own, ...ofCanvas]).map(([task, list]) => part(task, list))),
  );
}

/** part returns a section of the list. */
function part(title: string, list: { chords: string[]; what: string }[]): HTMLElement {
  const lines = list.flatMap((s) => [el("dt", {}, ...s.chords.map(keysOf)), el("dd", {}, s.what)]);
  return el("section", {}, el("h3", {}, title), el("dl", {}, ...lines));
}

export function open(): void { fill(); dialog.showModal(); }
