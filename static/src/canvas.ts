// Loads the canvas on pages that have one, now or after a swap.

function load(): void {
  if (document.querySelector("flow-canvas") && !customElements.get("flow-canvas")) void import("./canvas/index.ts");
}

load();
document.addEventListener("htmx:after:swap", load);
