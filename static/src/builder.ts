// Loads the builder on pages that have one, or the API pane on its own page.
if (document.getElementById("builder")) void import("./builder/index.ts");
else if (document.getElementById("flow-api")) void import("./api/index.ts");
