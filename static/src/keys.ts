// A new key is shown once: a page that the browser keeps, to come back to it
// quickly, does not keep the key.
window.addEventListener("pagehide", () => {
  for (const key of document.querySelectorAll("[data-new-key]")) key.textContent = "shown once, no longer available";
});
