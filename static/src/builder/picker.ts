// The floating palette: adds a node at the pointer, at a port or in an edge.
import type { Attach, Point } from "../canvas/model.ts";
import { canvas } from "./canvas.ts";
import { choose, type Choice } from "./chooser.ts";
import { add, clear, kindOf, kinds, named, place, nextPlace, recent, suits, takes, type Kind } from "./kinds.ts";
import { unusedName } from "./fill.ts";
import { ranked, score } from "./match.ts";

export type Asked = Attach & { position: Point; client?: Point };

/** pick opens the list with the kinds that fit. */
export function pick(asked: Asked): void {
  const fitting = kinds.filter((k) => suits(k, asked));
  const what = asked.port ? `Nodes that fit ${asked.port.node}.${asked.port.name}` : asked.edge ? "Nodes that fit this edge" : "Add a node";
  choose({
    label: what, placeholder: `${what}…`, none: asked.port || asked.edge ? "No matching node fits here." : "No matches.", at: asked.client,
    choices: (words) => (words.trim() ? found(fitting, words) : offered(fitting)).map(([k, heading]) => choice(k, heading, asked)),
  });
}

/** put adds a node of a kind, with the config that the edge needs: a name for which it gets ports, or a {{name}} in a template when no port fits. */
export function put(k: Kind, at: Point, attach: Attach): string {
  const { edge } = attach, port = attach.port ?? (edge && canvas.scene.port(edge.from, "out")), [field] = k.templates ?? [];
  if (port?.side !== "out") return add(k, at, attach);
  const ports = named(k, unusedName(port), port.type, edge && canvas.scene.port(edge.to, "in")?.type);
  if (ports) return add(k, at, { ...attach, via: ports.via }, ports.config);
  return add(k, at, attach, field && (k.kind === "template" || !takes(k, port.type)) ? { [field]: `{{${unusedName(port)}}}` } : {});
}

/** offered returns the kinds that fit, with recently used ones first. */
function offered(fitting: Kind[]): [Kind, string][] {
  const used = recent().map(kindOf).filter((k): k is Kind => !!k && fitting.includes(k));
  return [...used.map((k): [Kind, string] => [k, "Recent"]), ...fitting.filter((k) => !used.includes(k)).map((k): [Kind, string] => [k, k.group])];
}

/** found returns the kinds that match, the best first. */
function found(fitting: Kind[], words: string): [Kind, string][] {
  return ranked(fitting, (k) => score(words, k.title, k.group, k.summary, k.kind)).map((k) => [k, ""]);
}

/** choice returns the list item of a kind. A new node avoids overlaps, except when it is inserted into an edge; without a position on the screen it goes to the next place. */
function choice(k: Kind, heading: string, asked: Asked): Choice {
  const at = place(asked.position, asked), free = !asked.client && !asked.edge ? nextPlace() : asked.edge ? at : clear(at);
  return { title: k.title, note: k.summary, heading, icon: k.icon, word: k.word, run: () => put(k, free, { port: asked.port, edge: asked.edge }) };
}
