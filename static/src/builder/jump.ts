// Goes to a node, and to one of its fields: from problems, search and outline.
import { canvas, up } from "./canvas.ts";
import { perform } from "./commands.ts";

/** jump selects a node, shows it and opens it, at a field when there is one. */
export function jump(node: string, field?: string): void {
  if (!canvas.scene?.elements.has(node)) return;
  canvas.selection.set([node]);
  reveal(node);
  canvas.open(node, field || undefined);
}

/** reveal goes to a node. */
export function reveal(node: string): void {
  bring(node);
  canvas.keys.focus(node);
}

/** bring brings a node into view and makes it readable; the focus stays where it is. */
export function bring(node: string): void {
  if (canvas.view.transform[2] < 0.5) canvas.view.fit([node]);
  else canvas.view.reveal(node);
}

document.addEventListener("click", (e) => {
  if (!up()) return;
  const target = e.target as Element;
  const link = target.closest<HTMLElement>("[data-jump]"), show = target.closest<HTMLElement>("[data-reveal]"), trouble = target.closest<HTMLElement>("[data-trouble]");
  if (link && !e.ctrlKey && !e.metaKey) { e.preventDefault(); jump(link.dataset.jump!, link.dataset.field); }
  if (show) { perform("show-canvas"); reveal(show.dataset.reveal!); }
  if (trouble) troubleOf(trouble.closest<HTMLElement>("article")!.dataset.id!);
});

/** troubleOf opens a node where its first problem is mended. */
function troubleOf(node: string): void {
  const first = document.querySelector<HTMLElement>(`#problems [data-jump="${CSS.escape(node)}"]`);
  jump(node, first?.dataset.field);
}
