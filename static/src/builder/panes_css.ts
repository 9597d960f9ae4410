// The styles of the panes beside the canvas. The page only prefetches them, unless it
// opens with the API tab.
document.getElementById("panes-css")?.setAttribute("rel", "stylesheet");
