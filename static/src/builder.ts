// Loads the builder on pages that have one, or the API pane on its own page.

/** builder resolves once the builder of this page listens to its canvas; it is undefined on other pages. */
export const builder = document.getElementById("builder") ? import("./builder/index.ts") : undefined;
if (!builder && document.getElementById("flow-api")) void import("./api/index.ts");
