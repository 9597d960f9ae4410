// Dropping an edge on a text field (a template, a prompt, a URL) inserts {{name}} at the
// cursor or the end of the text and connects the edge to that placeholder.
import { at, nodeOf, portOf, type Edge, type Port } from "../canvas/model.ts";
import type { Op } from "../canvas/ops.ts";
import { listen } from "../listen.ts";
import { canvas } from "./canvas.ts";
import { kindOf } from "./kinds.ts";
import { freeName } from "./match.ts";
import { placeholderName, withPlaceholder } from "./placeholders.ts";

/** Fill is a drop of an edge from a port: on a node, or on an element of the page. */
type Fill = { port: Port; node?: string; el?: Element; moving?: Edge };

listen<Fill>(canvas, "canvas:fill", ({ port, node, el, moving }, e) => {
  if (port.side !== "out") return;
  const place = el?.closest<HTMLElement>("[data-set]"), into = node ?? place?.closest<HTMLElement>("[data-node]")?.dataset.node ?? "";
  const field = place ? fieldOf(place, into) : textOf(into);
  if (!field) return;
  e.preventDefault();
  const cursor = place?.querySelector<HTMLTextAreaElement | HTMLInputElement>("[data-template]");
  fill(port, into, field, cursor === document.activeElement ? cursor?.selectionStart ?? undefined : undefined, moving);
});

/** fieldOf returns the name of an inspector's field, if it is a template. */
function fieldOf(place: HTMLElement, node: string): string | undefined {
  const name = place.dataset.set!;
  return kindOf(canvas.draft.nodes.get(node)?.kind ?? "")?.templates?.includes(name) ? name : undefined;
}

/** textOf returns the template field that a drop on the node fills: one with a text, or else the first without an edge. */
function textOf(node: string): string | undefined {
  const n = canvas.draft.nodes.get(node), all = (kindOf(n?.kind ?? "")?.templates ?? []).filter((f) => !canvas.draft.edgesInto(`${node}.${f}`).length);
  return all.find((f) => n!.config[f] && typeof n!.config[f] === "string") ?? all[0];
}

/** fill adds the placeholder and the edge as one step of the history. It reuses an existing placeholder of the port. */
function fill(port: Port, node: string, field: string, cursor: number | undefined, moving: Edge | undefined): void {
  const { draft, connect } = canvas, n = draft.nodes.get(node)!, text = n.config[field] ?? "";
  const reason = typeof text !== "string" ? "This field holds a secret." : connect.refusalFor(port, { node, name: "", side: "in", type: "any", many: false });
  if (reason) return connect.refuse(reason);
  const known = draft.edgesFrom(at(port)).find((e) => nodeOf(e.to) === node && (text as string).includes(`{{${portOf(e.to)}}}`));
  const name = known ? portOf(known.to) : unusedName(port, node);
  const ops: Op[] = [{ op: "set", node, field, value: withPlaceholder(text as string, name, cursor) }];
  if (moving) ops.unshift({ op: "disconnect", edge: moving });
  if (!known) ops.push({ op: "connect", edge: { from: at(port), to: `${node}.${name}` } });
  canvas.commit(`Use ${name}`, ops);
  canvas.announce.say(`Added ${name} to ${field} of ${canvas.scene.title(node)}`);
}

/** unusedName returns a name for a value: the name of an input, the ID of a node for its first output, or else both ID and port. */
export function unusedName(port: Port, node = ""): string {
  const { draft } = canvas, n = draft.nodes.get(port.node)!, k = kindOf(n.kind);
  const base = k?.named ? String(n.config.name ?? n.id) : k?.out[0]?.[0] === port.name ? n.id : `${n.id}_${port.name}`;
  const into = kindOf(draft.nodes.get(node)?.kind ?? "");
  return freeName(placeholderName(base), new Set([...draft.edgesOf(node).filter((e) => nodeOf(e.to) === node).map((e) => portOf(e.to)), ...(into?.in ?? []).map(([name]) => name), ...(into?.templates ?? [])]));
}
