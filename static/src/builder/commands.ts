// The commands of the builder, by name. Buttons (data-command), shortcuts, menus
// and the command palette all use them.
import { chord } from "../canvas/shortcuts.ts";
import { onClick } from "../listen.ts";

/** Command is an action of the builder. keys is a chord such as Ctrl+Enter; several are separated by a space. */
export type Command = { name: string; title: string; hint?: string; icon?: string; keys?: string; enabled?(): boolean; run(): void };

const all = new Map<string, Command>();

/** command registers a command, or replaces the one of the same name. */
export function command(c: Command): void { all.set(c.name, c); }

/** commands returns the commands that are enabled. */
export function commands(): Command[] { return [...all.values()].filter(ready); }

/** perform runs a command and reports whether it exists and is enabled. */
export function perform(name: string): boolean {
  const c = all.get(name);
  if (!c || !ready(c)) return false;
  start(c);
  return true;
}

/** start runs a command and dispatches builder:command. */
function start(c: Command): void {
  document.dispatchEvent(new CustomEvent("builder:command", { detail: c.name }));
  c.run();
}

const ready = (c: Command): boolean => c.enabled?.() ?? true;

onClick(document, "[data-command]", (button, e) => {
  const name = button.dataset.command!;
  if (button.matches(":disabled, [aria-disabled=true]") || perform(name)) e.preventDefault(); // a disabled link leads nowhere
  else if (button.matches("[type=button]") && document.querySelector("flow-canvas:not([ready])")) addEventListener("canvas:ready", () => perform(name), { once: true });
});

// Shortcuts of the canvas (canvas/shortcuts.ts) for commands that have none of their own.
const canvasKeys: Record<string, string> = { rename: "F2", disable: "D", duplicate: "Ctrl+D", group: "Ctrl+G", ungroup: "Ctrl+Shift+G", delete: "Delete", palette: "/", "select-all": "Ctrl+A", fit: "Shift+1", "fit-selection": "Shift+2", copy: "Ctrl+C", cut: "Ctrl+X", paste: "Ctrl+V", tidy: "T", open: "E" };

/** keysOfCommand returns the shortcut of a command, to be shown beside it. */
export function keysOfCommand(c: Command): string | undefined { return c.keys?.split(" ")[0] ?? canvasKeys[c.name]; }

/** chordsOf returns the chords of a command. */
export function chordsOf(c: Command): string[] { return c.keys?.split(" ") ?? []; }

// The canvas handles its own keys first. Keys without a modifier work only while
// the canvas has the focus.
document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.isComposing) return;
  const pressed = chord(event), plain = !/^(Ctrl|Alt)\+/.test(pressed);
  if (plain && !inCanvas()) return;
  const c = [...all.values()].find((c) => chordsOf(c).includes(pressed) && ready(c));
  if (!c || (inField(event.target) && ownOfFields.has(pressed)) || document.querySelector("dialog:modal")) return;
  event.preventDefault();
  start(c);
});

/** ownOfFields are chords that text fields handle. */
const ownOfFields = new Set(["Ctrl+Z", "Ctrl+Shift+Z", "Ctrl+Y", "Ctrl+A", "Ctrl+C", "Ctrl+X", "Ctrl+V", "Ctrl+D"]);

/** inField reports whether an element is a text field. */
function inField(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || target.matches("input, textarea, select") || !!target.closest(".cm-editor"));
}

/** inCanvas reports whether the canvas has the focus. Single keys are shortcuts only then, so that they do not disturb typing or speech input (WCAG 2.1.4). */
function inCanvas(): boolean {
  const at = document.activeElement;
  return !!at && !inField(at) && !!at.closest("[role=application]");
}
