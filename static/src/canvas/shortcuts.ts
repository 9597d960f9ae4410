// The keyboard shortcuts of the canvas. The help dialog ("?") lists them too.

/** Commands are what shortcuts do; the element has them all. */
export interface Commands {
  readonly history: { undo(): void; redo(): void };
  readonly selection: { all(): void; toggle(node: string): void };
  readonly clipboard: { duplicate(nodes: string[]): void };
  readonly groups: { group(): void; ungroup(): void };
  readonly actions: { escape(): void; pin(nodes?: string[]): boolean };
  readonly keys: { readonly node: string | undefined; enter(): boolean; space(): void };
  readonly view: { zoomBy(factor: number): void; zoomTo(zoom: number): void; fit(nodes?: Iterable<string>): void };
  chosen(): string[];
  erase(reconnect?: boolean): void;
  open(node: string | undefined, part?: string): boolean;
  disable(nodes?: string[]): void;
  tidy(): Promise<void>;
  palette(): void;
  menu(): boolean;
}

/** Shortcut binds keys to a command. run returns false to leave the key to the browser. */
export type Shortcut = { chords: string[]; what: string; edits?: boolean; run: (c: Commands, e: KeyboardEvent) => boolean | void };

/** chord returns a key with its modifiers, such as Ctrl+Shift+Z. Ctrl stands for Command too. */
export function chord(e: KeyboardEvent): string {
  const digit = /^Digit(\d)$/.exec(e.code)?.[1]; // Shift+1 is "!" on one keyboard and "1" on another
  const named = e.key.length > 1, letter = /^[a-z]$/i.test(e.key);
  const key = digit && (e.shiftKey || e.ctrlKey || e.metaKey) ? digit : e.key === " " ? "Space" : letter ? e.key.toUpperCase() : e.key;
  const shift = e.shiftKey && (named || letter || digit || e.key === " ");
  return `${e.ctrlKey || e.metaKey ? "Ctrl+" : ""}${e.altKey ? "Alt+" : ""}${shift ? "Shift+" : ""}${key}`;
}

/**
 * shortcuts are tried in order. Keys without Ctrl or Alt work only while the canvas
 * has the focus (WCAG 2.1.4), which Keys makes sure of. edits marks those that a
 * read-only canvas ignores.
 */
export const shortcuts: Shortcut[] = [
  { chords: ["Ctrl+Z"], what: "Undo", edits: true, run: (c) => c.history.undo() },
  { chords: ["Ctrl+Shift+Z", "Ctrl+Y"], what: "Redo", edits: true, run: (c) => c.history.redo() },
  { chords: ["Delete", "Backspace"], what: "Delete selection", edits: true, run: (c) => c.erase() },
  { chords: ["Shift+Delete", "Shift+Backspace"], what: "Delete and reconnect neighbors", edits: true, run: (c) => c.erase(true) },
  { chords: ["Ctrl+A"], what: "Select all", run: (c) => c.selection.all() },
  { chords: ["Ctrl+D"], what: "Duplicate", edits: true, run: (c) => c.clipboard.duplicate(c.chosen()) },
  { chords: ["Ctrl+G"], what: "Group", edits: true, run: (c) => c.groups.group() },
  { chords: ["Ctrl+Shift+G"], what: "Ungroup", edits: true, run: (c) => c.groups.ungroup() },
  { chords: ["Escape"], what: "Cancel, then clear the selection", run: (c) => c.actions.escape() },
  { chords: ["Enter"], what: "Go to the node's ports", run: (c) => c.keys.enter() },
  { chords: ["Space"], what: "Select node; hold to pan", run: (c) => c.keys.space() },
  { chords: ["E"], what: "Open node", run: (c) => c.open(at(c)) },
  { chords: ["F2"], what: "Rename node", edits: true, run: (c) => c.open(at(c), "label") },
  { chords: ["D"], what: "Disable or enable", edits: true, run: (c) => c.disable(one(c)) },
  { chords: ["P"], what: "Pin or unpin output", edits: true, run: (c) => c.actions.pin(one(c)) },
  { chords: ["T"], what: "Tidy selection or everything", edits: true, run: (c) => void c.tidy() },
  { chords: ["/"], what: "Add a node", edits: true, run: (c) => c.palette() },
  { chords: ["+", "="], what: "Zoom in", run: (c) => c.view.zoomBy(1.2) },
  { chords: ["-"], what: "Zoom out", run: (c) => c.view.zoomBy(1 / 1.2) },
  { chords: ["Ctrl+0"], what: "Zoom to 100%", run: (c) => c.view.zoomTo(1) },
  { chords: ["Shift+1"], what: "Zoom to fit", run: (c) => c.view.fit() },
  { chords: ["Shift+2"], what: "Zoom to selection", run: (c) => c.view.fit(c.chosen()) },
  { chords: ["Shift+F10", "ContextMenu"], what: "Open node menu", run: (c) => c.menu() },
];

/** held lists what is not a single key press, for the help dialog. */
export const held = [
  { chords: ["Arrows"], what: "Go to the next node, or move the selection by 10 (with Shift by 40)" },
  { chords: ["Alt+Arrows"], what: "Follow edges" },
  { chords: ["Ctrl+C", "Ctrl+X", "Ctrl+V"], what: "Copy, cut, paste; Shift on paste keeps incoming edges" },
  { chords: ["Shift+Drag"], what: "Select with a rectangle; on a node, lock the axis" },
  { chords: ["Alt+Drag"], what: "Copy by dragging; pressed during a drag, ignore the grid" },
];

/** one returns the focused node if it is not part of the selection, as a command for nodes means it then. */
function one(c: Commands): string[] | undefined {
  const focused = c.keys.node;
  return focused && !c.chosen().includes(focused) ? [focused] : undefined;
}

/** at returns the node that a command for one node means: the focused one, which is where the user is, before a selected one. */
function at(c: Commands): string | undefined { return c.keys.node ?? c.chosen()[0]; }
