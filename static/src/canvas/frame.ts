// The layers of the canvas around the nodes that the server rendered. They are
// removed again when the element leaves the page.
import { schema, type FlowDocument } from "./model.ts";
import { svg } from "./svg.ts";

/**
 * Frame has the layers, from back to front: grid, groups, edges (an SVG), nodes,
 * and a second SVG for what is drawn over nodes. Edges are behind nodes, so that a
 * node never has to be transparent for the pointer.
 */
export type Frame = {
  pane: HTMLElement; viewport: HTMLElement; grid: HTMLElement; layer: HTMLElement; groups: HTMLElement; svg: SVGElement; over: SVGElement;
  restore(d: FlowDocument): void;
};

const div = (name: string) => Object.assign(document.createElement("div"), { className: name });

/** frame builds the layers. restore removes them and leaves the element as the server would render it now. */
export function frame(canvas: HTMLElement): Frame {
  const layer = canvas.querySelector<HTMLElement>(".canvas-nodes") ?? div("canvas-nodes");
  const pane = div("canvas-pane"), viewport = div("canvas-viewport xyflow__viewport"), grid = div("canvas-grid"), groups = div("canvas-groups");
  const edges = svg("svg", { class: "canvas-edges", "aria-label": "Edges" }), over = svg("svg", { class: "canvas-over", "aria-hidden": "true" });
  pane.tabIndex = -1;
  canvas.setAttribute("role", "application");
  canvas.setAttribute("aria-roledescription", "flow canvas");
  viewport.append(groups, edges, layer, over);
  pane.append(grid, viewport);
  canvas.prepend(pane);
  const restore = (d: FlowDocument) => {
    canvas.prepend(layer);
    pane.remove();
    const script = canvas.querySelector<HTMLScriptElement>("script.canvas-document");
    if (script) script.textContent = JSON.stringify({ schema, ...d });
  };
  return { pane, viewport, grid, layer, groups, svg: edges, over, restore };
}

/** readDocument parses the document that the server rendered beside the nodes. */
export function readDocument(canvas: HTMLElement): FlowDocument {
  const text = canvas.querySelector("script.canvas-document")?.textContent;
  return text ? (JSON.parse(text) as FlowDocument) : { nodes: [], edges: [] };
}
