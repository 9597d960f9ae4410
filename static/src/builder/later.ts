// Opens the lists of kinds, nodes and commands. Their code is part of the first download,
// so that no key press after their shortcut is lost. All other parts load while the
// browser is idle after the canvas is ready, so that they also work offline later.
import { listen } from "../listen.ts";
import { canvas, isReady, whenReady } from "./canvas.ts";
import { command, perform } from "./commands.ts";
import { add, clear, kindOf } from "./kinds.ts";
import type { Asked as MenuAsked } from "./menu.ts";
import { pick, type Asked } from "./picker.ts";
import { findNode, searchAll } from "./search.ts";

/** extras loads the other parts as one chunk; separate chunks would split their shared code further. */
const extras = () => import("./extras.ts");
const edits = () => isReady() && !canvas.readonly;

listen<Asked>(canvas, "canvas:palette", pick);
listen<MenuAsked>(canvas, "canvas:menu", (target, e) => { e.preventDefault(); void extras().then((x) => x.showMenu(target)); });
command({ name: "palette", title: "Add a node", icon: "plus", hint: "Right of the selected node", enabled: edits, run: () => pick({ position: canvas.view.center() }) });
command({ name: "add-input", title: "Add an input", icon: "log-in", enabled: () => edits() && !!kindOf("input"), run: () => { const k = kindOf("input")!, c = canvas.view.center(); add(k, clear({ x: c.x - 110, y: c.y - 45 })); } });
command({ name: "commands", title: "All commands", icon: "command", keys: "Ctrl+K", enabled: isReady, run: () => searchAll() });
command({ name: "find", title: "Find a node", icon: "search", keys: "Ctrl+F", enabled: isReady, run: () => findNode() });
command({ name: "shortcuts", title: "Shortcuts", icon: "keyboard", keys: "?", enabled: isReady, run: () => void extras().then((e) => e.open()) });

// A form of the outline that is sent before its code is loaded waits for it.
let late = true;
document.addEventListener("submit", (e) => {
  const form = e.target as HTMLFormElement;
  if (!late || !form.dataset.edit) return;
  e.preventDefault();
  void extras().then(() => { late = false; form.requestSubmit(e.submitter); });
});

// What the canvas asks of this code before it is loaded is asked again: pinning and renaming.
// Opening a node is not, because the inspector opened it already and the focus may be in a
// field by now.
const early: CustomEvent[] = [];
for (const name of ["canvas:pin", "canvas:open"]) canvas.addEventListener(name, (e) => {
  const event = e as CustomEvent<{ part?: string }>;
  if (late && (name === "canvas:pin" || event.detail.part === "label")) early.push(event);
});
// Until their code is loaded, these commands load it. It replaces them.
for (const [name, keys] of [["show-api", "A"], ["outline", "Ctrl+Shift+O"]]) command({ name: name!, title: name!, keys, run: () => void extras().then(() => perform(name!)) });

void whenReady.then(() => {
  const idle = window.requestIdleCallback ?? ((act: () => void) => setTimeout(act, 1000)); // Safari has none
  idle(() => void extras().then(() => {
    late = false;
    for (const { type, detail } of early) canvas.dispatchEvent(new CustomEvent(type, { detail }));
  }));
});
