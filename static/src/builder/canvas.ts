// The canvas of this page, for the parts around it. Its code is a chunk of its
// own, so only its types are known here.
import type { FlowCanvas } from "../canvas/element.ts";

/** builder is the element around all of it: the flow's ID, and whether it may be changed. */
export const builder = document.getElementById("builder")!;

/** flowId and flowPath name the flow that is open. */
export const flowId = builder.dataset.flow!;
export const flowPath = `/flows/${encodeURIComponent(flowId)}`;
export const readonly = builder.hasAttribute("data-readonly");

const opened = location.search; // as the page came; later addresses are written by the page itself

/** asShown asks for a part of what this page shows: of a former document, where it shows one. */
export const asShown = (path: string): string => builder.dataset.replay ? path + (path.includes("?") ? opened.replace("?", "&") : opened) : path;

/** canvas is the element; before whenReady only its attributes and children are there. */
export const canvas = document.getElementById("canvas") as FlowCanvas;

/** up tells whether the canvas can be asked yet. */
export const up = (): boolean => canvas.hasAttribute("ready");

/** whenReady resolves once the canvas has adopted its nodes. */
export const whenReady: Promise<FlowCanvas> = new Promise((resolve) => {
  if (up()) resolve(canvas);
  else canvas.addEventListener("canvas:ready", () => resolve(canvas), { once: true });
});
