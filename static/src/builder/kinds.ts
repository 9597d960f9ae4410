// The node kinds that can be added, as the page lists them.
import { snapPoint } from "../canvas/geometry.ts";
import { fits, type Edge, type FlowNode, type Attach, type Point, type PortType, type Via } from "../canvas/model.ts";
import { loadJSON, store } from "../canvas/storage.ts";
import { canvas } from "./canvas.ts";
import { freeName } from "./match.ts";

type Named = [name: string, type: PortType];
type Adds = { field: string; in: Named; out?: Named };
/** Kind is a node kind. named: its nodes need a unique name. templates: fields that may contain {{names}}. collects: the field that lists the outputs to send. */
export type Kind = { kind: string; title: string; group: string; word: string; icon: string; summary: string; named?: boolean; /** adds: a list field whose names become ports, with the names of these ports for "*". */ adds?: Adds; templates?: string[]; output?: boolean; collects?: string; /** tool: its nodes can be tools of agents. */ tool?: boolean; in: Named[]; out: Named[] };

const width = 176, height = 160; // approximate size of a new node in flow units
const apart = 44, beside = 20; // flow units to the node that it stands right of, and to any other

/** kinds lists all kinds in the order of the palette. */
export const kinds: Kind[] = JSON.parse(document.querySelector("script.kinds")?.textContent ?? "[]");
export const kindOf = (name: string): Kind | undefined => kinds.find((k) => k.kind === name);

/** suits reports whether a node of the kind can be connected to the port, or inserted into the edge. */
export function suits(k: Kind, attach: Attach): boolean {
  if (attach.edge) return suitsEdge(k, attach.edge);
  const { port } = attach;
  if (!port) return true;
  return port.side === "out" ? takes(k, port.type) || !!k.templates : gives(k, port.type);
}

// takes and gives report whether a kind has an input or output of a matching type, or adds one for a name.
export const takes = (k: Kind, type: PortType) => adding(k, type) || k.in.some(([, t]) => fits(type, t));
const gives = (k: Kind, type: PortType) => (type === "tool" && !!k.tool) || !!givenBy(k, type) || k.out.some(([, t]) => fits(t, type));
const adding = (k: Kind, type: PortType) => !!k.adds && fits(type, k.adds.in[1]);
const givenBy = (k: Kind, type: PortType) => (k.adds?.out && fits(k.adds.out[1], type) ? k.adds.out : undefined);

/** named returns the config that gives a new node ports for a name, and which ports these are: those to connect it by. */
export function named(k: Kind, name: string, from: PortType, to?: PortType): { config: Record<string, unknown>; via: Via } | undefined {
  if (!k.adds || !adding(k, from)) return undefined;
  const port = ([pattern]: Named) => pattern.replace("*", name), out = to && givenBy(k, to);
  return { config: { [k.adds.field]: [name] }, via: { into: port(k.adds.in), out: out && port(out) } };
}

/** suitsEdge reports whether a node of the kind can be inserted into the edge. */
function suitsEdge(k: Kind, e: Edge): boolean {
  const from = canvas.scene.port(e.from, "out"), to = canvas.scene.port(e.to, "in");
  return !!from && !!to && !k.collects && (takes(k, from.type) || !!k.templates) && gives(k, to.type);
}

/** place returns the position of a new node beside the port that it is connected to. */
export function place(at: Point, attach: Attach): Point {
  const agent = attach.port?.type === "tool" && canvas.scene.box(attach.port.node);
  if (agent) return clear({ x: at.x - width / 2, y: Math.max(at.y, agent.y + agent.height + apart) }, true); // tools hang below, side by side
  const dx = attach.port ? (attach.port.side === "out" ? 0 : -width) : -width / 2;
  return snapPoint({ x: at.x + dx, y: at.y - 45 });
}

/** clear returns the position, moved down or aside until it is free. */
export function clear(at: Point, aside = false): Point {
  const boxes = [...canvas.scene.boxes.keys()].map((id) => canvas.scene.box(id)!);
  const taken = (p: Point) => boxes.some((b) => p.x < b.x + b.width + beside && p.x + width + beside > b.x && p.y < b.y + b.height + beside && p.y + height + beside > b.y);
  let p = snapPoint(at);
  for (let i = 0; i < 50 && taken(p); i++) p = aside ? { x: p.x + 40, y: p.y } : { x: p.x, y: p.y + 40 };
  return p;
}

/** add adds a node of a kind and selects it. It returns the ID. */
export function add(k: Kind, at: Point, attach: Attach = {}, config: Record<string, unknown> = {}): string {
  const node: Omit<FlowNode, "id"> = { kind: k.kind, position: at, config: k.named ? { name: freeName(k.kind, new Set([...canvas.draft.nodes.values()].map((n) => n.config.name))) } : config };
  remember(k.kind);
  if (attach.port?.side === "in" && attach.port.type === "tool") {
    const id = canvas.insert({ ...node, tool: {} }, attach);
    canvas.open(id, "tool"); // the model needs its description
    return id;
  }
  if (!k.collects) return canvas.insert(node, attach);
  const output = outputOf(attach), id = output ? canvas.insert({ ...node, config: { [k.collects]: [output] } }) : canvas.insert(node, attach);
  canvas.open(id, k.templates?.[0]); // its URL
  return id;
}

/** outputOf returns the name of the output that a new node is to send, if it was dragged from it. Otherwise it sends all. */
function outputOf({ port }: Attach): unknown {
  const n = port && canvas.draft.nodes.get(port.node);
  return n && kindOf(n.kind)?.output && port.side !== "in" ? n.config.name : undefined;
}

/** nextPlace returns where a node goes without a pointer: right of the selected one, as flows are read, or of the last one in view, or else in the center of the view. */
export function nextPlace(): Point {
  const { nodes } = canvas.selection, c = canvas.view.center(), b = nodes.size === 1 ? canvas.scene.box([...nodes][0]!) : nodes.size ? undefined : lastInView();
  return clear(b ? { x: b.x + b.width + apart, y: b.y } : { x: c.x - width / 2, y: c.y - height / 2 });
}

/** lastInView returns the box of the node that ends farthest to the right of those in view. */
function lastInView() {
  const [x, y, k] = canvas.view.transform, { clientWidth: w, clientHeight: h } = canvas.pane;
  const seen = canvas.scene.visible().filter((b) => b.x * k + x < w && (b.x + b.width) * k + x > 0 && b.y * k + y < h && (b.y + b.height) * k + y > 0);
  return seen.sort((a, b) => b.x + b.width - a.x - a.width)[0];
}

/** addNext adds a node at the next place. */
export function addNext(k: Kind): string { return add(k, nextPlace()); }

// Recently used kinds come first in the floating palette.
const recentKey = "builder:recent", recentMost = 5;

/** recent returns the kinds that were added last, the latest first. */
export function recent(): string[] { return loadJSON<string[]>("localStorage", recentKey) ?? []; }

function remember(kind: string): void {
  store("localStorage", recentKey, JSON.stringify([kind, ...recent().filter((k) => k !== kind)].slice(0, recentMost)));
}
