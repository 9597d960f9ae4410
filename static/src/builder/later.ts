// What nobody needs before the canvas is ready is loaded after it: the searchable
// lists and the list of shortcuts. They are fetched while the browser is idle, so
// that they are there when the connection breaks.
import { listen } from "../listen.ts";
import { canvas, isReady, whenReady } from "./canvas.ts";
import { command } from "./commands.ts";
import { add, clear, kindOf } from "./kinds.ts";
import type { Asked } from "./picker.ts";

/** lists loads them all as one file: each file of its own would split what they share into more. */
const lists = () => import("./lists.ts");
const edits = () => isReady() && !canvas.readonly;
const pick = async (asked: Asked): Promise<void> => (await lists()).pick(asked);

listen<Asked>(canvas, "canvas:palette", (asked) => void pick(asked));
command({ name: "palette", title: "Add a node", icon: "plus", hint: "Right of the selected node", enabled: edits, run: () => void pick({ position: canvas.view.center() }) });
command({ name: "add-input", title: "Add an input", icon: "log-in", enabled: () => edits() && !!kindOf("input"), run: () => { const k = kindOf("input")!, c = canvas.view.center(); add(k, clear({ x: c.x - 110, y: c.y - 45 })); } });
command({ name: "commands", title: "All commands", icon: "command", keys: "Ctrl+K", enabled: isReady, run: () => void lists().then((l) => l.all()) });
command({ name: "find", title: "Find a node", icon: "search", keys: "Ctrl+F", enabled: isReady, run: () => void lists().then((l) => l.find()) });
command({ name: "shortcuts", title: "Shortcuts", icon: "keyboard", keys: "?", enabled: isReady, run: () => void lists().then((l) => l.open()) });

void whenReady.then(() => {
  const idle = window.requestIdleCallback ?? ((act: () => void) => setTimeout(act, 1000)); // Safari has none
  idle(() => void lists());
});
