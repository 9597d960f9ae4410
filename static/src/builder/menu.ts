// The context menu (right button, long press or Shift+F10). Its items are
// commands.
import type { Edge, FlowNode, Point } from "../canvas/model.ts";
import { step } from "../arrows.ts";
import { icon } from "../icon.ts";
import { canvas } from "./canvas.ts";
import { command, commands, keysOfCommand, perform, type Command } from "./commands.ts";
import { el, keysOf } from "./dom.ts";
import { withoutEmptySections } from "./match.ts";
import { toast } from "../toasts.ts";

export type Asked = { nodes: string[]; edges: (Edge | undefined)[]; client?: Point };

const ofNode = ["open", "rename", "fit-selection", "", "run-to", "run-from", "pin", "disable", "", "duplicate", "copy", "cut", "group", "ungroup", "new-child", "", "delete-reconnect", "delete"];
const ofEdge = ["insert", "", "delete"];
const ofNothing = ["palette", "paste", "select-all", "", "fit", "tidy", "find"];
const gap = 8; // pixels kept free at the edges of the window

const sheet = el("div", { class: "float-menu", role: "menu", popover: "manual", "aria-label": "Actions" });
document.getElementById("main")!.append(sheet); // in a landmark; the top layer places it
let back: Element | null = null; // the element that had the focus before
let edge: Edge | undefined;
let at: Point | undefined;

command({ name: "insert", title: "Insert a node here", icon: "plus", enabled: () => !canvas.readonly && !!edge && canvas.draft.hasEdge(edge), run: () => canvas.palette(at, { edge }) });

// Copying without a keyboard. The code of the clipboard is loaded after the canvas.
const copies = () => !!canvas.drawing && canvas.chosen().length > 0;
command({ name: "copy", title: "Copy", icon: "clipboard-copy", enabled: copies, run: () => void canvas.clipboard.write(canvas.chosen()) });
command({ name: "cut", title: "Cut", icon: "scissors", enabled: () => copies() && !canvas.readonly, run: () => { void canvas.clipboard.write(canvas.chosen()); canvas.erase(); } });
command({ name: "paste", title: "Paste", icon: "clipboard-paste", enabled: () => !!canvas.drawing && !canvas.readonly, run: () => void paste(at) });

/** paste adds the copied nodes at a position of the window, or in the middle of the view. */
async function paste(client: Point | undefined): Promise<void> {
  const to = client ? canvas.view.toFlow(client) : canvas.view.center();
  if (!canvas.clipboard.paste(await canvas.clipboard.read(), to, false)) toast("Nothing to paste. Copy nodes first.", "wait");
}

/** showMenu shows the context menu of the selected nodes, of an edge, or of the empty canvas. */
export function showMenu(asked: Asked): void {
  const nodes = asked.nodes.length > 0 && !asked.edges.length;
  edge = nodes ? undefined : asked.edges[0];
  at = asked.client;
  if (nodes && !canvas.selection.nodes.size) canvas.selection.set(asked.nodes);
  open(nodes ? ofNode : edge ? ofEdge : ofNothing, asked.client);
}

/** open shows the menu with the commands that are enabled. */
function open(names: string[], client: Point | undefined): void {
  const known = new Map(commands().map((c) => [c.name, c]));
  const items = names.map((n) => (n ? known.get(n) : null)).filter((c) => c !== undefined);
  sheet.replaceChildren(...withoutEmptySections(items).map((c) => (c ? item(c) : el("hr"))));
  if (!sheet.querySelector("button")) return;
  back = document.activeElement;
  pressed = false;
  sheet.showPopover();
  const p = client ?? { x: innerWidth / 2, y: innerHeight / 2 };
  const within = (at: number, size: number, window: number) => `${Math.max(gap, Math.min(at, window - size - gap))}px`;
  Object.assign(sheet.style, { left: within(p.x, sheet.offsetWidth, innerWidth), top: within(p.y, sheet.offsetHeight, innerHeight) });
  sheet.querySelector("button")!.focus();
}

function item(c: Command): HTMLElement {
  const keys = keysOfCommand(c), title = c.name === "disable" ? disableWord() : c.title;
  const b = el("button", { type: "button", role: "menuitem", class: "item", tabindex: "-1" }, c.icon ? icon(c.icon) : undefined, title, keys ? keysOf(keys) : undefined);
  if (c.name.startsWith("delete")) b.classList.add("danger");
  b.addEventListener("click", () => { close(); perform(c.name); });
  return b;
}

function disableWord(): string {
  return canvas.chosen().some((id) => !(canvas.draft.nodes.get(id) as FlowNode | undefined)?.disabled) ? "Disable" : "Enable";
}

// The popover is manual: a right click or a long press opens it between the press
// and the release, and an automatic popover takes that release for a click outside
// of it and closes again.
// For the same reason, a click counts only after a press inside: the finger that opened the menu may
// be lifted over an item.
let pressed = false;
sheet.addEventListener("pointerdown", () => { pressed = true; });
sheet.addEventListener("click", (e) => { if (e.detail && !pressed) e.stopImmediatePropagation(); }, true);
document.addEventListener("pointerdown", (e) => { if (!sheet.contains(e.target as Node)) sheet.hidePopover(); }, { capture: true });
for (const type of ["blur", "resize"]) addEventListener(type, () => sheet.hidePopover()); // a turned phone, for example

/** close hides the menu and returns the focus to where it was. */
function close(): void {
  sheet.hidePopover();
  if (back instanceof HTMLElement && back.isConnected) back.focus({ preventScroll: true });
}

sheet.addEventListener("keydown", (e) => {
  const all = [...sheet.querySelectorAll<HTMLElement>("button")], to = step(e.key, all.indexOf(document.activeElement as HTMLElement), all.length);
  e.stopPropagation();
  if (to !== undefined) { e.preventDefault(); all[to]!.focus(); }
  if (e.key === "Escape" || e.key === "Tab") { e.preventDefault(); close(); }
});
