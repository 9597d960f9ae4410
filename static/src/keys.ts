// A new key is shown once: it is removed from pages that enter the browser's
// back/forward cache.
window.addEventListener("pagehide", () => {
  for (const key of document.querySelectorAll("[data-new-key]")) key.textContent = "shown once, no longer available";
});
