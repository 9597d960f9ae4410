// Copies nodes as JSON text, so that they can be pasted into other flows and
// tabs. Credentials are left out: documents refer to them by name, and a name
// may mean something else in another workspace.
import type { Announcer, Committer } from "./context.ts";
import { snapPoint } from "./geometry.ts";
import { ends, nodeOf, schema, type Draft, type Edge, type FlowNode, type Group, type Point } from "./model.ts";
import type { Op } from "./ops.ts";
import { loadJSON, store } from "./storage.ts";
import { count } from "./text.ts";

export type Clip = { app: "sluice"; schema: string; nodes: FlowNode[]; edges: Edge[]; groups: Group[] };

const kept = "canvas:clip"; // key of the last copy
const aside = 40; // flow units between a duplicate and its origin

/** ClipboardContext is what the clipboard needs of the canvas. */
export interface ClipboardContext extends Committer {
  readonly draft: Draft;
  readonly selection: { readonly nodes: Set<string>; set(nodes: Iterable<string>): void };
  readonly announce: Announcer;
}

/**
 * Clipboard copies and pastes through the browser's copy, cut and paste events.
 * Unlike navigator.clipboard they need neither HTTPS nor a permission. Menus, which
 * are the only way on touch screens, use write and read instead. The text
 * is a flow document with an app member, so that a copied part of a flow can be
 * read and edited as text.
 */
export class Clipboard {
  constructor(private canvas: ClipboardContext) {}

  /** copy writes the selected nodes, with their incoming edges so that a paste can keep them. It reports whether anything was copied. */
  copy(e: ClipboardEvent): boolean {
    const nodes = this.canvas.selection.nodes;
    if (!nodes.size || !e.clipboardData) return false;
    e.clipboardData.setData("text/plain", this.keep(nodes));
    e.preventDefault();
    return true;
  }

  /** write copies nodes for a menu, where there is no copy event. */
  async write(ids: Iterable<string>): Promise<void> {
    const text = this.keep(new Set(ids));
    await navigator.clipboard?.writeText(text).catch(() => {});
  }

  /** read returns the text to paste for a menu: of the system's clipboard or, where a page may not read that, of the last copy in this browser. */
  async read(): Promise<string> {
    const text = await navigator.clipboard?.readText?.().catch(() => "");
    return text && read(text) ? text : JSON.stringify(loadJSON<Clip>("localStorage", kept) ?? "");
  }

  /** keep returns nodes as text, and remembers it for read. */
  private keep(nodes: Set<string>): string {
    const text = JSON.stringify(this.clip(nodes), null, 2);
    store("localStorage", kept, text);
    this.canvas.announce.say(`Copied ${count(nodes.size, "node")}`);
    return text;
  }

  /** clip returns nodes with their edges and complete groups, as it is copied. */
  clip(ids: Set<string>): Clip {
    const { draft } = this.canvas;
    const nodes = [...ids].map((id) => draft.nodes.get(id)).filter((n) => n !== undefined).map((n) => ({ ...structuredClone(n), position: draft.position(n.id), config: withoutCredentials(n.config) }));
    const edges = draft.edges.filter((e) => ids.has(nodeOf(e.to)));
    const groups = [...draft.groups.values()].filter((g) => g.nodes.every((n) => ids.has(n)));
    return { app: "sluice", schema, nodes, edges, groups };
  }

  /** paste adds nodes at a position, under new IDs, and reports whether the text held any. With incoming, edges from existing nodes are kept. */
  paste(text: string, to: Point, incoming: boolean): boolean {
    const clip = read(text);
    if (!clip || this.canvas.readonly) return false;
    const left = Math.min(...clip.nodes.map((n) => n.position?.x ?? 0)), top = Math.min(...clip.nodes.map((n) => n.position?.y ?? 0));
    this.put("Paste", clip, (n) => snapPoint({ x: (n.position?.x ?? 0) - left + to.x, y: (n.position?.y ?? 0) - top + to.y }), incoming);
    return true;
  }

  /** duplicate copies nodes within the flow, with the edges between them. */
  duplicate(ids: string[], to?: (id: string) => Point): void {
    if (!ids.length || this.canvas.readonly) return;
    const { draft } = this.canvas, clip = this.clip(new Set(ids));
    for (const n of clip.nodes) n.config = structuredClone(draft.nodes.get(n.id)!.config); // within one flow credentials keep their meaning
    const offset = (n: FlowNode) => ({ x: (n.position?.x ?? 0) + aside, y: (n.position?.y ?? 0) + aside });
    this.put("Duplicate", clip, (n) => (to ? to(n.id) : offset(n)), false);
  }

  /** put adds a clip under new IDs as one step of the history, and selects what it added. */
  private put(label: string, clip: Clip, place: (n: FlowNode) => Point, incoming: boolean): void {
    const { draft } = this.canvas, taken = new Set<string>();
    const ids = new Map(clip.nodes.map((n) => [n.id, draft.free(n.id, taken)]));
    const ops: Op[] = clip.nodes.map((n) => ({ op: "add", node: { ...n, id: ids.get(n.id)!, position: place(n) } }));
    for (const e of clip.edges) {
      const [a, from] = ends(e.from), [b, to] = ends(e.to), source = ids.get(a) ?? (incoming && draft.nodes.has(a) ? a : undefined);
      if (source && ids.has(b)) ops.push({ op: "connect", edge: { from: `${source}.${from}`, to: `${ids.get(b)}.${to}` } });
    }
    clip.groups.forEach((g) => {
      let id = g.id;
      for (let i = 2; draft.groups.has(id); i++) id = `${g.id}_${i}`;
      ops.push({ op: "group", id, group: { label: g.label, color: g.color, nodes: g.nodes.map((n) => ids.get(n)!) } });
    });
    this.canvas.commit(label, JSON.parse(JSON.stringify(ops))); // drops undefined members, as sending does
    this.canvas.selection.set(ids.values());
    this.canvas.announce.say(`${label === "Paste" ? "Pasted" : "Duplicated"} ${count(ids.size, "node")}`);
  }
}

/** read parses what copy wrote, or a flow document. */
function read(text: string): Clip | undefined {
  try {
    const c = JSON.parse(text) as Partial<Clip>;
    if (c.schema !== schema || !Array.isArray(c.nodes) || !c.nodes.length) return undefined;
    if (!c.nodes.every((n) => typeof n.id === "string" && typeof n.kind === "string")) return undefined;
    return { app: "sluice", schema, nodes: c.nodes.map((n) => ({ ...n, config: n.config ?? {} })), edges: c.edges ?? [], groups: c.groups ?? [] };
  } catch { return undefined; } // some other text
}

/** withoutCredentials returns a config without the values that refer to a credential. */
function withoutCredentials(config: Record<string, unknown>): Record<string, unknown> {
  const keep = Object.entries(structuredClone(config)).filter(([, v]) => !(v && typeof v === "object" && "credential" in v));
  return Object.fromEntries(keep);
}
