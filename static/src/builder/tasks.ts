// Groups shortcuts by task, the way users look for them in the help dialog.

/** Listed is a line of the help dialog. */
export type Listed = { chords: string[]; what: string };

/** tasks lists the first chord of each shortcut by task, in the order of the dialog. */
export const tasks: [task: string, chords: string[]][] = [
  ["Run and publish", ["Ctrl+Enter", "P", "Ctrl+Shift+P", "A"]],
  ["Add and edit", ["/", "E", "F2", "D", "Ctrl+D", "Alt+Drag", "Ctrl+C", "Delete", "Shift+Delete", "Ctrl+G", "Ctrl+Shift+G", "T", "Ctrl+Z", "Ctrl+Shift+Z"]],
  ["Select and move", ["Arrows", "Alt+Arrows", "Enter", "Space", "Ctrl+A", "Shift+Drag", "Escape", "Shift+F10"]],
  ["Find and view", ["Ctrl+K", "Ctrl+F", "Ctrl+J", "Ctrl+Shift+O", "+", "-", "Ctrl+0", "Shift+1", "Shift+2", "?"]],
];

/** byTask groups shortcuts. Those without a task come last. */
export function byTask(list: Listed[]): [task: string, list: Listed[]][] {
  const left = new Set(list);
  const groups = tasks.map(([task, chords]): [string, Listed[]] => {
    const found = chords.flatMap((c) => list.filter((s) => left.has(s) && s.chords.includes(c) && left.delete(s)));
    return [task, found];
  });
  return [...groups, ["Other", [...left]] as [string, Listed[]]].filter(([, found]) => found.length > 0);
}
