// Goes to a node or one of its fields, from problems, search and the outline.
import { onClick } from "../listen.ts";
import { canvas, isReady } from "./canvas.ts";
import { perform } from "./commands.ts";

/** jump selects a node, scrolls to it and opens it, at a field if given. */
export function jump(node: string, field?: string): void {
  if (!canvas.scene?.elements.has(node)) return;
  canvas.selection.set([node]);
  reveal(node);
  canvas.open(node, field || undefined);
}

/** reveal scrolls to a node and focuses it. */
export function reveal(node: string): void {
  bring(node);
  canvas.keys.focus(node);
}

/** bring scrolls to a node at a readable zoom, without changing the focus. */
export function bring(node: string): void {
  if (canvas.view.transform[2] < 0.5) canvas.view.fit([node]);
  else canvas.view.reveal(node);
}

onClick(document, "[data-jump]", (link, e) => {
  if (!isReady() || e.ctrlKey || e.metaKey) return;
  e.preventDefault();
  jump(link.dataset.jump!, link.dataset.field);
});
onClick(document, "[data-reveal]", (button) => {
  if (!isReady()) return;
  perform("show-canvas");
  reveal(button.dataset.reveal!);
});
onClick(document, "[data-trouble]", (mark) => { if (isReady()) openProblem(mark.closest<HTMLElement>("article")!.dataset.id!); });

/** openProblem opens a node at the field of its first problem. */
function openProblem(node: string): void {
  const first = document.querySelector<HTMLElement>(`#problems [data-jump="${CSS.escape(node)}"]`);
  jump(node, first?.dataset.field);
}
