// The tooltip of an edge: the last value that went over it. Loaded when an edge is
// first pointed at.
import type { Edge, Point } from "../canvas/model.ts";
import { nodeOf, portOf } from "../canvas/model.ts";
import { asShown, canvas, flowPath } from "../builder/canvas.ts";
import { el, html } from "../builder/dom.ts";
import { fetchPart } from "../builder/requests.ts";
import { icon } from "../icon.ts";
import { shown, subscribe } from "./events.ts";

const gap = 14; // pixels between the pointer and the tooltip
const tip = el("div", { class: "wire-tip", role: "tooltip", hidden: "" });
const answers = new Map<string, Promise<string>>(); // by output port; a run clears them
let wanted: Edge | undefined;

document.querySelector(".stage")!.append(tip);
for (const name of ["run", "over", "clear"]) subscribe(name, () => answers.clear());
canvas.addEventListener("canvas:view", hide);
canvas.addEventListener("keydown", (e) => { if (e.key === "Escape") hide(); }, { capture: true }); // WCAG 1.4.13

function hide(): void { tip.hidden = true; wanted = undefined; }

/** show shows the value of an edge beside a position of the window; undefined hides it. aloud: it is announced too. */
export async function show(edge: Edge | undefined, at: Point, aloud = false): Promise<void> {
  if (!edge) return hide();
  wanted = edge;
  const text = await value(edge);
  if (wanted !== edge) return;
  if (!text) return hide();
  const { scene } = canvas, type = scene.port(edge.from, "out")?.type ?? "any";
  const head = el("header", {}, el("span", {}, portOf(edge.from)), icon("arrow-right"), el("span", {}, scene.title(nodeOf(edge.to))), el("small", {}, type));
  tip.replaceChildren(head, html(text));
  tip.hidden = false;
  put(at);
  if (aloud) canvas.announce.say(tip.innerText);
}

/** value requests the content for the shown run, or the last one, once per output. */
function value({ from }: Edge): Promise<string> {
  const known = answers.get(from), query = new URLSearchParams({ from, ...(shown ? { run: shown.id } : {}) });
  const answer = known ?? fetchPart(asShown(`${flowPath}/wire?${query}`)).then((r) => (r?.ok ? r.text() : ""), () => "");
  answers.set(from, answer);
  return answer;
}

/** put places the tooltip below the position, or above it where there is no space, within the canvas. */
function put(at: Point): void {
  const s = canvas.getBoundingClientRect(), x = at.x - s.x - tip.offsetWidth / 2, below = at.y - s.y + gap;
  const y = below + tip.offsetHeight > s.height ? at.y - s.y - gap - tip.offsetHeight : below;
  tip.style.transform = `translate(${Math.round(Math.max(8, Math.min(x, s.width - tip.offsetWidth - 8)))}px,${Math.round(Math.max(8, y))}px)`;
}
