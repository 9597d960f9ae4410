// "/" focuses the page's search field, except while typing.

function typing(): boolean {
  const at = document.activeElement;
  return at instanceof HTMLInputElement || at instanceof HTMLTextAreaElement || at instanceof HTMLSelectElement || (at instanceof HTMLElement && at.isContentEditable);
}

document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || typing()) return;
  if (document.activeElement?.closest("[role=application]")) return; // the canvas has its own "/"
  const field = document.querySelector<HTMLInputElement>("input[type=search][data-slash]");
  if (!field) return;
  event.preventDefault();
  field.focus();
  field.select();
});
