// The outline beside the canvas. Its forms are sent as edits of the canvas, so
// that undo and offline editing work. The server renders it again after edits,
// while it is visible.
import htmx from "htmx.org/dist/htmx.esm.js";
import type { Op } from "../canvas/ops.ts";
import { nodeOf } from "../canvas/model.ts";
import { listen, onClick } from "../listen.ts";
import { asShown, builder, canvas, flowPath, isReady } from "./canvas.ts";
import { command } from "./commands.ts";
import { addNext, kindOf } from "./kinds.ts";
import { keep, kept } from "./dom.ts";

const debounce = 120; // ms after an edit
const step = 40; // flow units per move
const toggle = document.getElementById("outline-toggle");
let timer = 0;

// The outline is replaced by each response, so it is looked up each time.
const outline = (): HTMLElement => document.getElementById("outline")!;
const isVisible = (): boolean => outline().offsetParent !== null;
let opened = outline().dataset.open ?? ""; // the ID of the node that is open, or is to be opened by the next response
let loading = false, again = false;

/** show opens or closes the outline and moves the focus into it. */
function show(on: boolean): void {
  builder.toggleAttribute("data-outlined", on);
  toggle?.setAttribute("aria-pressed", String(on));
  keep("outline", on ? "open" : "closed");
  if (!on) return;
  void refresh();
  outline().focus({ preventScroll: true });
}

command({ name: "outline", title: "Show or hide the outline", icon: "list-tree", keys: "Ctrl+Shift+O", run: () => show(!builder.hasAttribute("data-outlined")) });

/** refresh loads the outline, one request at a time so that responses stay in order. */
async function refresh(): Promise<void> {
  again = true;
  if (loading) return;
  loading = true;
  showLoading();
  while (again) {
    again = false;
    try {
      await htmx.ajax("GET", asShown(`${flowPath}/outline?node=${encodeURIComponent(opened)}`), { source: outline(), target: outline(), swap: "outerMorph" });
    } catch { break; } // offline: the next edit loads it again
  }
  loading = false;
  showLoading();
  mark();
}

/** showLoading marks the page while lines of the outline may still move. Tests wait for the end. */
function showLoading(): void { builder.toggleAttribute("data-outline-loading", loading || timer !== 0); }

/** refreshSoon loads the outline, debounced. */
function refreshSoon(): void {
  clearTimeout(timer);
  timer = 0;
  if (!canvas.draft.nodes.has(opened)) opened = "";
  if (isVisible()) timer = window.setTimeout(() => { timer = 0; void refresh(); }, debounce);
  showLoading();
}

listen(canvas, "canvas:acked canvas:remote", refreshSoon);
listen(canvas, "canvas:select", () => { if (isVisible()) mark(); });

/** mark highlights the lines of selected nodes. */
function mark(): void {
  for (const a of outline().querySelectorAll<HTMLElement>("[data-line]")) a.toggleAttribute("data-selected", canvas.selection.nodes.has(a.dataset.line!));
}

onClick(document, "#outline [data-line]", (line, e) => {
  if (e.ctrlKey || e.metaKey || e.shiftKey) return;
  e.preventDefault();
  const id = line.dataset.line!;
  canvas.selection.set([id]);
  opened = opened === id ? "" : id;
  void refresh();
});

// Forms.

document.addEventListener("submit", (e) => {
  const form = (e.target as Element).closest<HTMLFormElement>("form[data-edit]");
  if (!form || !builder.contains(form) || !isReady()) return; // until the canvas is ready, the form is posted
  e.preventDefault();
  const data = new FormData(form, e.submitter);
  const text = (name: string) => String(data.get(name) ?? "").trim();
  if (text("op") === "add") return add(text("kind"));
  canvas.commit(form.dataset.edit!, opsOf(text, data));
  form.closest<HTMLDetailsElement>("details.menu")?.removeAttribute("open");
});

/** add adds a node of a kind in the center of the canvas and opens it in the outline. */
function add(kind: string): void {
  const k = kindOf(kind);
  if (!k) return;
  opened = addNext(k);
}

/** opsOf returns the operations of a form, whose fields are named like their members. */
function opsOf(text: (name: string) => string, data: FormData): Op[] {
  const node = text("node"), nodes = data.getAll("nodes").map(String), edge = { from: text("from"), to: text("to") };
  switch (text("op")) {
    case "name": return data.has("name") ? named(text("name")) : [{ op: "name", description: text("description") }];
    case "put": return [put(node, text("member"), text("value"))];
    case "connect": return canvas.draft.nodes.has(nodeOf(edge.from)) ? [{ op: "connect", edge }] : [];
    case "disconnect": return [{ op: "disconnect", edge }];
    case "move": return [{ op: "move", nodes: Object.fromEntries(nodes.map((id) => [id, moved(id, text("way"))])) }];
    case "remove": return [{ op: "remove", nodes }];
    default: return [];
  }
}

/** put returns the operation that sets a member of a node; "" removes it. */
function put(node: string, member: string, value: string): Op {
  const op = { op: "put", node, member: member as "label" } as const;
  if (!value) return op;
  return { ...op, value: member === "disabled" ? true : value };
}

function named(name: string): Op[] { return name && name !== canvas.draft.name ? [{ op: "name", name }] : []; }

/** moved returns the position of a node after one step up, down, left or right. */
function moved(id: string, way: string) {
  const p = canvas.draft.position(id), by = { left: [-step, 0], right: [step, 0], up: [0, -step], down: [0, step] }[way] ?? [0, 0];
  return { x: p.x + by[0]!, y: p.y + by[1]! };
}

if (kept("outline") === "open" || builder.hasAttribute("data-outlined")) { builder.setAttribute("data-outlined", ""); toggle?.setAttribute("aria-pressed", "true"); }
