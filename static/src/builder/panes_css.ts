// The styles of what opens beside the canvas. The page only prefetches them, unless it
// begins with the API tab.
document.getElementById("panes-css")?.setAttribute("rel", "stylesheet");
