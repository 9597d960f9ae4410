// Loads the canvas on pages that have one, now or after a swap. It is ready only after the builder
// around it listens, so that no click, key or touch on a node is lost between the two.
import { builder } from "./builder.ts";

function load(): void {
  if (!document.querySelector("flow-canvas") || customElements.get("flow-canvas")) return;
  const canvas = () => import("./canvas/index.ts");
  void (builder?.then(canvas, canvas) ?? canvas());
}

load();
document.addEventListener("htmx:after:swap", load);
