// Loads the builder on pages that have one.

/** builder resolves once the builder of this page listens to its canvas; it is undefined on other pages. */
export const builder = document.getElementById("builder") ? import("./builder/index.ts") : undefined;
