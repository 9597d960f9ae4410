// Loads the builder where a page has one, and the API where it is the page.
if (document.getElementById("builder")) void import("./builder/index.ts");
else if (document.getElementById("flow-api")) void import("./api/index.ts");
