// Loads the builder where a page has one.
if (document.getElementById("builder")) void import("./builder/index.ts");
