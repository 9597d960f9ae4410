// The keys of the canvas in one table; the sheet behind "?" is made of it too.

/** Commands are what shortcuts do; the element has them all. */
export interface Commands {
  readonly history: { undo(): void; redo(): void };
  readonly selection: { all(): void; toggle(node: string): void };
  readonly clipboard: { duplicate(nodes: string[]): void };
  readonly groups: { group(): void; ungroup(): void };
  readonly acts: { escape(): void; pin(): boolean };
  readonly keys: { readonly node: string | undefined; enter(): boolean };
  readonly view: { zoomBy(factor: number): void; zoomTo(zoom: number): void; fit(nodes?: Iterable<string>): void; holdSpace(on: boolean): void };
  chosen(): string[];
  erase(reconnect?: boolean): void;
  open(node: string | undefined, part?: string): boolean;
  disable(): void;
  tidy(): Promise<void>;
  palette(): void;
  menu(): boolean;
}

/** Shortcut is something a key does. run gives false when it left the key to the browser. */
export type Shortcut = { chords: string[]; what: string; edits?: boolean; run: (c: Commands, e: KeyboardEvent) => boolean | void };

/** chord writes a key with its modifiers, such as Ctrl+Shift+Z. Ctrl stands for Command too. */
export function chord(e: KeyboardEvent): string {
  const digit = /^Digit(\d)$/.exec(e.code)?.[1]; // Shift+1 is "!" on one keyboard and "1" on another
  const named = e.key.length > 1, letter = /^[a-z]$/i.test(e.key);
  const key = digit && (e.shiftKey || e.ctrlKey || e.metaKey) ? digit : e.key === " " ? "Space" : letter ? e.key.toUpperCase() : e.key;
  const shift = e.shiftKey && (named || letter || digit || e.key === " ");
  return `${e.ctrlKey || e.metaKey ? "Ctrl+" : ""}${e.altKey ? "Alt+" : ""}${shift ? "Shift+" : ""}${key}`;
}

export const shortcuts: Shortcut[] = [
  { chords: ["Ctrl+Z"], what: "Undo", edits: true, run: (c) => c.history.undo() },
  { chords: ["Ctrl+Shift+Z", "Ctrl+Y"], what: "Redo", edits: true, run: (c) => c.history.redo() },
  { chords: ["Delete", "Backspace"], what: "Delete what is selected", edits: true, run: (c) => c.erase() },
  { chords: ["Shift+Delete", "Shift+Backspace"], what: "Delete, and join what the node was between", edits: true, run: (c) => c.erase(true) },
  { chords: ["Ctrl+A"], what: "Select all nodes", run: (c) => c.selection.all() },
  { chords: ["Ctrl+D"], what: "Duplicate", edits: true, run: (c) => c.clipboard.duplicate(c.chosen()) },
  { chords: ["Ctrl+G"], what: "Group", edits: true, run: (c) => c.groups.group() },
  { chords: ["Ctrl+Shift+G"], what: "Ungroup", edits: true, run: (c) => c.groups.ungroup() },
  { chords: ["Escape"], what: "Cancel, then clear the selection", run: (c) => c.acts.escape() },
  { chords: ["Enter"], what: "Go into the node, to its ports", run: (c) => c.keys.enter() },
  { chords: ["Space"], what: "Select the node; hold to pan", run: (c) => space(c) },
  { chords: ["E"], what: "Open the node", run: (c) => c.open(c.chosen()[0]) },
  { chords: ["F2"], what: "Rename the node", edits: true, run: (c) => c.open(c.chosen()[0], "label") },
  { chords: ["D"], what: "Disable or enable", edits: true, run: (c) => c.disable() },
  { chords: ["P"], what: "Pin what the node gave, or let go of it", edits: true, run: (c) => c.acts.pin() },
  { chords: ["T"], what: "Tidy the selection, or everything", edits: true, run: (c) => void c.tidy() },
  { chords: ["/"], what: "Add a node", edits: true, run: (c) => c.palette() },
  { chords: ["+", "="], what: "Zoom in", run: (c) => c.view.zoomBy(1.2) },
  { chords: ["-"], what: "Zoom out", run: (c) => c.view.zoomBy(1 / 1.2) },
  { chords: ["Ctrl+0"], what: "Zoom to 100 %", run: (c) => c.view.zoomTo(1) },
  { chords: ["Shift+1"], what: "Show everything", run: (c) => c.view.fit() },
  { chords: ["Shift+2"], what: "Show the selection", run: (c) => c.view.fit(c.chosen()) },
  { chords: ["Shift+F10", "ContextMenu"], what: "Menu of the node", run: (c) => c.menu() },
];

/** held are keys that are not single presses, for the sheet. */
export const held = [
  { chords: ["Arrows"], what: "Walk to the next node; move what is selected by 10, with Shift by 40" },
  { chords: ["Alt+Arrows"], what: "Walk along edges" },
  { chords: ["Ctrl+C", "Ctrl+X", "Ctrl+V"], what: "Copy, cut, paste; Shift on paste keeps incoming edges" },
  { chords: ["Shift+Drag"], what: "Select by a rectangle; on a node keep one axis" },
  { chords: ["Alt+Drag"], what: "Drag copies; Alt on the way leaves the grid" },
];

function space(c: Commands): void {
  const id = c.keys.node;
  if (id) c.selection.toggle(id);
  else c.view.holdSpace(true);
}
