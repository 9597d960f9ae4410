// The commands of the canvas, for buttons and menus; the canvas has keys for most.
import type { Alignment } from "../canvas/align.ts";
import { builder, canvas, readonly, isReady } from "./canvas.ts";
import { command } from "./commands.ts";

const edits = () => isReady() && !canvas.readonly;
// Conditions of commands: something is selected or focused, several nodes, or anything that can be deleted.
const some = () => edits() && canvas.chosen().length > 0;
const several = () => edits() && canvas.selection.nodes.size > 1;
const anything = () => edits() && (canvas.chosen().length > 0 || canvas.selection.edges.size > 0);

command({ name: "open", title: "Open node", icon: "settings", enabled: () => isReady() && canvas.chosen().length > 0, run: () => void canvas.open(canvas.chosen()[0]) });

if (!readonly) {
  command({ name: "undo", title: "Undo", icon: "undo-2", keys: "Ctrl+Z", enabled: () => isReady() && !!canvas.history.labels.undo, run: () => canvas.history.undo() });
  command({ name: "redo", title: "Redo", icon: "redo-2", keys: "Ctrl+Shift+Z Ctrl+Y", enabled: () => isReady() && !!canvas.history.labels.redo, run: () => canvas.history.redo() });
  command({ name: "tidy", title: "Tidy", hint: "Lay out the selection or everything", icon: "wand-sparkles", enabled: edits, run: () => void canvas.tidy() });
  command({ name: "rename", title: "Rename node", icon: "pencil", enabled: some, run: () => void canvas.open(canvas.chosen()[0], "label") });
  command({ name: "disable", title: "Disable or enable", icon: "ban", enabled: some, run: () => canvas.disable() });
  command({ name: "duplicate", title: "Duplicate", icon: "copy", enabled: some, run: () => canvas.clipboard.duplicate(canvas.chosen()) });
  command({ name: "delete", title: "Delete", icon: "trash-2", enabled: anything, run: () => canvas.erase() });
  command({ name: "delete-reconnect", title: "Delete and reconnect neighbors", icon: "merge", enabled: canReconnect, run: () => canvas.erase(true) });
  command({ name: "group", title: "Group", icon: "box", enabled: several, run: () => canvas.groups.group() });
  command({ name: "ungroup", title: "Ungroup", icon: "boxes", enabled: () => some() && canvas.chosen().some((id) => !!canvas.draft.groupOf(id)), run: () => canvas.groups.ungroup() });
  const alignments: [Alignment, string, string][] = [
    ["left", "Align left", "align-start-vertical"], ["center", "Align centers", "align-center-vertical"], ["top", "Align tops", "align-start-horizontal"],
    ["middle", "Align middles", "align-center-horizontal"], ["columns", "Distribute horizontally", "align-horizontal-distribute-center"], ["rows", "Distribute vertically", "align-vertical-distribute-center"],
  ];
  for (const [how, title, icon] of alignments) command({ name: `align-${how}`, title, icon, enabled: several, run: () => void canvas.align(how) });
}
command({ name: "menu", title: "Open selection menu", icon: "ellipsis", enabled: () => isReady() && canvas.chosen().length > 0, run: () => void canvas.menu() });
command({ name: "select-mode", title: "Select by dragging", hint: "For touch screens, where a finger otherwise pans", icon: "mouse-pointer-2", enabled: isReady, run: selectMode });
command({ name: "zoom-in", title: "Zoom in", icon: "plus", enabled: isReady, run: () => canvas.view.zoomBy(1.2) });
command({ name: "zoom-out", title: "Zoom out", icon: "minus", enabled: isReady, run: () => canvas.view.zoomBy(1 / 1.2) });
command({ name: "zoom-100", title: "Zoom to 100%", icon: "search", enabled: isReady, run: () => canvas.view.zoomTo(1) });
command({ name: "fit", title: "Zoom to fit", icon: "maximize", enabled: isReady, run: () => canvas.view.fit() });
command({ name: "fit-selection", title: "Zoom to selection", icon: "scan", enabled: () => isReady() && canvas.chosen().length > 0, run: () => canvas.view.fit(canvas.chosen()) });
command({ name: "select-all", title: "Select all", icon: "mouse-pointer-2", enabled: isReady, run: () => canvas.selection.all() });
command({ name: "show-flows", title: "Go to flows", icon: "workflow", run: () => location.assign("/flows") });
command({ name: "export", title: "Export flow", icon: "download", run: () => location.assign(`/flows/${builder.dataset.flow}/export`) });

/** canReconnect reports whether the neighbors of the selection can be connected to each other. */
function canReconnect(): boolean { return some() && canvas.connect.reconnectOps(new Set(canvas.chosen())).length > 0; }

/** selectMode switches between panning and selecting with a finger. */
function selectMode(): void {
  canvas.selecting = !canvas.selecting;
  document.getElementById("select-mode")?.setAttribute("aria-pressed", String(canvas.selecting));
}
