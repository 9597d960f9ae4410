// The styles that the first paint does not need. The page applies them when it is idle, unless it
// opens with a tab that needs them.
for (const link of document.querySelectorAll<HTMLLinkElement>("link[data-late]")) link.media = "all";
