// The lists of kinds, nodes and commands, which have to be there for what is typed
// right after their key, and what is not: that is loaded after the canvas is ready,
// while the browser is idle, so that it is there when the connection breaks.
import { listen } from "../listen.ts";
import { canvas, isReady, whenReady } from "./canvas.ts";
import { command } from "./commands.ts";
import { add, clear, kindOf } from "./kinds.ts";
import type { Asked as MenuAsked } from "./menu.ts";
import { pick, type Asked } from "./picker.ts";
import { all, find } from "./search.ts";

/** extras loads them all as one file: each file of its own would split what they share into more. */
const extras = () => import("./extras.ts");
const edits = () => isReady() && !canvas.readonly;

listen<Asked>(canvas, "canvas:palette", pick);
listen<MenuAsked>(canvas, "canvas:menu", (asked, e) => { e.preventDefault(); void extras().then((x) => x.showMenu(asked)); });
command({ name: "palette", title: "Add a node", icon: "plus", hint: "Right of the selected node", enabled: edits, run: () => pick({ position: canvas.view.center() }) });
command({ name: "add-input", title: "Add an input", icon: "log-in", enabled: () => edits() && !!kindOf("input"), run: () => { const k = kindOf("input")!, c = canvas.view.center(); add(k, clear({ x: c.x - 110, y: c.y - 45 })); } });
command({ name: "commands", title: "All commands", icon: "command", keys: "Ctrl+K", enabled: isReady, run: () => all() });
command({ name: "find", title: "Find a node", icon: "search", keys: "Ctrl+F", enabled: isReady, run: () => find() });
command({ name: "shortcuts", title: "Shortcuts", icon: "keyboard", keys: "?", enabled: isReady, run: () => void extras().then((e) => e.open()) });

void whenReady.then(() => {
  const idle = window.requestIdleCallback ?? ((act: () => void) => setTimeout(act, 1000)); // Safari has none
  idle(() => void extras());
});
