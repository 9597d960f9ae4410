// The canvas of this page, for the parts around it. Its code is a separate chunk,
// so only its types are imported.
import type { FlowCanvas } from "../canvas/element.ts";

/** builder is the root element of the builder. */
export const builder = document.getElementById("builder")!;

/** flowId and flowPath identify the open flow. */
export const flowId = builder.dataset.flow!;
export const flowPath = `/flows/${encodeURIComponent(flowId)}`;
export const readonly = builder.hasAttribute("data-readonly");

const opened = location.search; // of the loaded page; scripts change the URL later

/** asShown returns the URL of a part of this page. When the page replays a run, the URL refers to the document of that run. */
export const asShown = (path: string): string => builder.dataset.replay ? path + (path.includes("?") ? opened.replace("?", "&") : opened) : path;

/** canvas is the element; before whenReady only its attributes and children can be used. */
export const canvas = document.getElementById("canvas") as FlowCanvas;

/** isReady reports whether the canvas is ready. */
export const isReady = (): boolean => canvas.hasAttribute("ready");

/** whenReady resolves once the canvas has adopted its nodes. */
export const whenReady: Promise<FlowCanvas> = new Promise((resolve) => {
  if (isReady()) resolve(canvas);
  else canvas.addEventListener("canvas:ready", () => resolve(canvas), { once: true });
});
