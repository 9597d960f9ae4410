// Loads the builder on pages that have one, or the API pane on its own page.

/** builder resolves once the builder of this page listens to its canvas; it is undefined on other pages. */
export const builder = document.getElementById("builder") ? import("./builder/index.ts") : undefined;
if (!builder && document.getElementById("flow-api")) void import("./api/index.ts");

// The last press of a button of the canvas before the builder listens is repeated for it.
if (builder) {
  let pressed: HTMLElement | null | undefined;
  const stop = new AbortController();
  document.addEventListener("click", (e) => { pressed = (e.target as Element).closest<HTMLElement>("[data-command][type=button]") ?? pressed; }, { signal: stop.signal });
  void builder.then(() => { stop.abort(); pressed?.click(); });
}
